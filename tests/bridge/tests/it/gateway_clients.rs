//! Clients of a gateway with oneways, old GIOP, another byte order, other code sets, connections for callbacks, TLS and
//! time limits.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use oxorb::bridge::Interfaces;
use oxorb::dynamic::{Dynamic, Exception, Signature, TypeCode, invoke};
use oxorb::gateway::{Fate, Gateway, GatewaySettings, Side, UnknownTypes};
use oxorb::incident::Incident;
use oxorb::ior::{IiopEndpoint, IiopProfile, Ior, TaggedComponent, TlsMechanism, Version};
use oxorb::policy::RelativeRoundtripTimeout;
use oxorb::servant::Context;
use oxorb::values::ByteOrder;
use oxorb::{
    Builder, CompletionStatus, Interface as _, ObjectRef, Orb, Outcome, Servant,
    SystemExceptionKind, Upcall, minor,
};
use oxorb_bridge_tests::parts::{ListenerRef, Pair, PartRef};
use oxorb_testkit::authority::Authority;
use oxorb_testkit::{until, watchdog};

use crate::bridge::{Ear, LONG, TCP, listening, parts, serve, use_it};
use crate::gateway::{
    Echoing, call, calling_back, echoes, end, port, reference, references, resolve, settings,
    start, target,
};

#[test]
fn a_oneway_with_a_refused_reference_is_not_forwarded() {
    let _guard = watchdog(LONG);
    for (interfaces, unknown) in [
        (parts(), UnknownTypes::Search),
        (parts(), UnknownTypes::Refuse),
        (Interfaces::default(), UnknownTypes::Search),
    ] {
        let (server, there) = serve(listening(TCP));
        let settings = GatewaySettings { interfaces, unknown, ..settings() };
        let gateway = start(TCP, settings, &there.to_ior());
        let client = listening(TCP).build().unwrap();
        let part: PartRef = client.resolve(&target(&gateway).to_string()).unwrap();
        let ear: ListenerRef = client.root_poa().activate(Ear).unwrap();
        part.note(&ear.to_ior()).unwrap();
        until("the reference is refused", || gateway.statistics().refused == 1);
        until("the request has failed", || gateway.statistics().failed == 1);
        assert_eq!(gateway.statistics().oneways, 0);
        // The connection serves further requests, and the server has not received the word.
        part.note("five!").unwrap();
        until("the other oneway is forwarded", || part.noted().unwrap() > 0);
        assert_eq!(part.noted().unwrap(), 5);
        end(&gateway, &[&client, &server]);
    }
}

/// Makes calls with references in both directions.
fn use_references(client: &Orb, part: &PartRef, here: &Ior) {
    let ear: ListenerRef = client.root_poa().activate(Ear).unwrap();
    assert_eq!(part.tell(Some(&ear), "callback").unwrap(), 8);
    assert_eq!(part.tell(None, "nobody").unwrap(), -1);
    let all = [("one", Some(ear.clone())), ("none", None)]
        .map(|(name, who)| Pair { name: name.into(), who });
    let back = part.listeners(&all).unwrap();
    let own = back[0].who.as_ref().unwrap();
    assert_eq!(port(own.reference().ior()), port(ear.reference().ior()));
    assert!(back[1].who.is_none());
    let another = part.another().unwrap().unwrap();
    assert_eq!(port(another.reference().ior()), port(here));
    assert_eq!(another.tell(Some(&ear), "ear").unwrap(), 3);
}

#[test]
fn clients_of_old_giop_pass_references_if_the_types_are_known() {
    let _guard = watchdog(LONG);
    for version in [Version::V1_0, Version::V1_1] {
        let (server, there) = serve(listening(TCP));
        let settings = GatewaySettings { interfaces: parts(), ..calling_back() };
        let gateway = start(TCP, settings, &there.to_ior());
        let client = listening(TCP).max_giop(version).build().unwrap();
        let here = target(&gateway);
        let part: PartRef = client.resolve(&here.to_string()).unwrap();
        use_it(&part);
        use_references(&client, &part, &here);
        assert_eq!(gateway.statistics().refused, 0);
        end(&gateway, &[&client, &server]);
    }
}

#[test]
fn references_pass_in_both_byte_orders() {
    let _guard = watchdog(LONG);
    let orders = [ByteOrder::Big, ByteOrder::Little];
    for (from, to) in orders.into_iter().flat_map(|from| orders.map(|to| (from, to))) {
        for interfaces in [parts(), Interfaces::default()] {
            let (server, there) = serve(listening(TCP).byte_order(to));
            let settings = GatewaySettings { interfaces, ..calling_back() };
            let gateway = start(TCP, settings, &there.to_ior());
            let client = listening(TCP).byte_order(from).build().unwrap();
            let here = target(&gateway);
            let part: PartRef = client.resolve(&here.to_string()).unwrap();
            use_references(&client, &part, &here);
            let counted = gateway.statistics();
            assert!(counted.references >= 4, "{from:?} {to:?}: {counted:?}");
            assert_eq!(counted.refused, 0, "{from:?} {to:?}");
            end(&gateway, &[&client, &server]);
        }
    }
}

#[test]
fn text_from_a_client_of_a_url_passes_if_code_sets_are_equal_or_types_are_known() {
    let _guard = watchdog(LONG);
    let latin = listening(TCP).setting("NativeCharCodeSet", "ISO-8859-1");
    for (server, interfaces, passes) in [
        (listening(TCP), Interfaces::default(), false),
        (listening(TCP), echoes(), true),
        (latin, Interfaces::default(), true),
    ] {
        let server = Echoing::with(server);
        let settings = GatewaySettings { interfaces, ..settings() };
        let gateway = start(TCP, settings, &server.ior.to_string());
        let client = Orb::builder().build().unwrap();
        // The URL states no code set, so the client sends text in ISO 8859-1.
        let url = format!("corbaloc::1.2@127.0.0.1:{}/Target", port(&target(&gateway)));
        let named: ObjectRef = client.resolve(&url).unwrap();
        let text = Dynamic::String("Grüße".into());
        match call(named.reference(), "text", text.clone()) {
            Ok(back) => assert!(passes && back == text, "{back:?}"),
            Err(Exception::System(refused)) => {
                assert!(!passes, "{refused}");
                assert_eq!(refused.minor, minor::marshal::NOT_ALIKE, "{refused}");
                assert_eq!(refused.completed, CompletionStatus::No, "{refused}");
            }
            Err(other) => panic!("{other:?}"),
        }
        end(&gateway, &[&client, &server.orb]);
    }
}

#[test]
fn a_client_that_cannot_be_reached_is_called_back_over_its_connection() {
    let _guard = watchdog(LONG);
    for interfaces in [parts(), Interfaces::default()] {
        let (server, there) = serve(listening(TCP));
        let callbacks = Some("allow 192.0.2.0/24".parse().unwrap());
        let settings = GatewaySettings { interfaces, callbacks, ..settings() };
        let outside = listening(TCP).setting("AcceptBiDirectionalGIOP", "1");
        let gateway = Gateway::new(outside, listening(TCP), settings).unwrap();
        gateway.open("Target", &there.to_ior()).unwrap();
        gateway.listen().unwrap();
        // An address of documentation, which nobody has, as for a client behind NAT.
        let hidden = "iiop://127.0.0.1:0/hostname_in_ior=192.0.2.77";
        let client = listening(hidden).setting("OfferBiDirectionalGIOP", "1").build().unwrap();
        let here = target(&gateway);
        let part: PartRef = client.resolve(&here.to_string()).unwrap();
        use_references(&client, &part, &here);
        let outside = gateway.orb(Side::Outside).connection_statistics();
        assert!(outside.count(Incident::BidirectionalAccepted) > 0);
        assert_eq!(client.connection_statistics().accepted, 0, "the gateway has not connected");
        end(&gateway, &[&client, &server]);
    }
}

#[test]
fn addresses_of_the_gateway_are_recognized_over_tls() {
    let _guard = watchdog(LONG);
    let authority = Authority::new("Gateway CA");
    let certificate = authority.sign("gateway", &["127.0.0.1"]).display().to_string();
    let roots = authority.roots().display().to_string();
    let trusting = |builder: Builder| builder.setting("TlsRoots", &roots);
    let server = Echoing::start(TCP);
    let outside = listening("iiops://127.0.0.1:0").setting("TlsCertificate", &certificate);
    // Text passes between the code sets of a URL and of the server, because the types are known.
    let settings = GatewaySettings { interfaces: echoes(), ..calling_back() };
    let gateway = Gateway::new(trusting(outside), listening(TCP), settings).unwrap();
    gateway.open("Target", &server.ior.to_string()).unwrap();
    gateway.listen().unwrap();
    let client = trusting(Orb::builder()).build().unwrap();
    let here = target(&gateway);
    let text = Dynamic::String("words".into());
    assert_eq!(call(&resolve(&client, &here), "text", text.clone()).unwrap(), text);
    assert_eq!(gateway.fate(&here, Side::Outside), Fate::Original(server.ior.clone()));

    let url = oxorb::ior::corbaloc(&here).unwrap();
    let at = url.split('@').nth(1).and_then(|rest| rest.split('/').next()).unwrap();
    let tls: u16 = at.rsplit_once(':').unwrap().1.parse().unwrap();
    let named: ObjectRef = client.resolve(&format!("corbaloc:iiops:1.2@{at}/Target")).unwrap();
    let named = named.reference();
    assert_eq!(call(named, "text", text.clone()).unwrap(), text);
    assert_eq!(gateway.fate(named.ior(), Side::Outside), Fate::Original(server.ior.clone()));

    let endpoint = IiopEndpoint { host: "127.0.0.1".to_owned(), port: tls };
    let mechanism = TlsMechanism { addresses: vec![endpoint], ..TlsMechanism::default() };
    for (host, port, components) in [
        ("127.0.0.1", tls, vec![]),
        ("127.0.0.1", 0, vec![TaggedComponent::ssl_sec_trans(0x66, 6, tls)]),
        ("127.0.0.1", 1, vec![TaggedComponent::csi_tls(&mechanism)]),
    ] {
        let profile = IiopProfile::new(Version::V1_2, host, port, b"key");
        let profile = IiopProfile { components, ..profile };
        let profiles = vec![profile.to_profile()];
        let forged = Ior { type_id: "IDL:T:1.0".to_owned(), profiles };
        for from in [Side::Outside, Side::Inside] {
            let fate = gateway.fate(&forged, from);
            let is_own = |reason: &str| reason.contains("it has an address of the gateway");
            assert!(matches!(&fate, Fate::Refused(reason) if is_own(reason)), "{fate:?}");
        }
    }
    end(&gateway, &[&client, &server.orb]);
}

const HURRIED: &str = "IDL:Hurried:1.0";

/// Servant that records the deadlines of its requests.
#[derive(Default)]
struct Hurried(Mutex<Vec<Option<Instant>>>);

impl Servant for Hurried {
    fn repository_id(&self) -> &str {
        HURRIED
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        self.0.lock().unwrap().push(upcall.deadline());
        upcall.done()
    }
}

impl Hurried {
    /// Calls the servant with time limits and without, and checks its deadlines.
    fn check(&self, object: &oxorb::Ref) {
        let late = Signature::new("late").with_in("who", TypeCode::OBJECT);
        let nobody = [reference(&Ior::nil())];
        let began = Instant::now();
        let hour = Duration::from_secs(3600);
        // The ORBs have no limits themselves, so the servant sees only those of the calls.
        for limit in [Some(hour), Some(2 * hour), None] {
            let limited = object.with_timeout(limit);
            invoke(&limited, &late, &nobody, &Context::new()).unwrap();
        }
        let seen = std::mem::take(&mut *self.0.lock().unwrap());
        let hours = |at: Instant| ((at - began).as_secs_f64() / 3600.0).round();
        let hours: Vec<_> = seen.into_iter().map(|deadline| deadline.map(hours)).collect();
        assert_eq!(hours, [Some(1.0), Some(2.0), None]);
    }
}

#[test]
fn time_limits_reach_servers_and_clients_that_are_called_back() {
    let _guard = watchdog(LONG);
    for is_known in [false, true] {
        let interfaces = || {
            let mut interfaces = Interfaces::default();
            if is_known {
                let late = Signature::new("late").with_in("who", TypeCode::OBJECT);
                interfaces.add(HURRIED, [late]);
            }
            interfaces
        };
        let unlimited = || listening(TCP).round_trip_timeout(None::<Duration>);
        let server = unlimited().build().unwrap();
        let servant = Arc::new(Hurried::default());
        let there = server.root_poa().activate_servant(servant.clone()).unwrap();
        let settings = GatewaySettings { interfaces: interfaces(), ..calling_back() };
        let gateway = Gateway::new(unlimited(), unlimited(), settings).unwrap();
        gateway.open("Target", &there.ior().to_string()).unwrap();
        // Hands the callback on to a client inside.
        let echoing = Echoing::start(TCP);
        gateway.open("Echo", &echoing.ior.to_string()).unwrap();
        gateway.listen().unwrap();
        let client = unlimited().build().unwrap();
        servant.check(&resolve(&client, &target(&gateway)));

        let servant = Arc::new(Hurried::default());
        let back = client.root_poa().activate_servant(servant.clone()).unwrap();
        let echo = gateway.reference("Echo").unwrap();
        let echo = resolve(&client, echo.reference().ior());
        call(&echo, "object", reference(back.ior())).unwrap();
        let inside = references(&echoing.seen.lock().unwrap()[0]).remove(0);
        servant.check(&resolve(&server, &inside));
        end(&gateway, &[&client, &echoing.orb, &server]);
    }
}

#[test]
fn a_call_whose_time_ends_at_the_server_is_a_timeout() {
    let _guard = watchdog(LONG);
    for interfaces in [parts(), Interfaces::default()] {
        let (server, there) = serve(listening(TCP));
        let settings = GatewaySettings { interfaces, ..settings() };
        let gateway = start(TCP, settings, &there.to_ior());
        let client = Orb::builder().build().unwrap();
        let part: PartRef = client.resolve(&target(&gateway).to_string()).unwrap();
        assert_eq!(part.slow(1).unwrap(), 1);
        let hurried = part.with(RelativeRoundtripTimeout(Duration::from_millis(100)));
        let late = hurried.slow(1000).unwrap_err();
        assert_eq!(late.kind, SystemExceptionKind::Timeout, "{late}");
        assert_eq!(part.slow(1).unwrap(), 1, "the connections serve further requests");
        end(&gateway, &[&client, &server]);
    }
}
