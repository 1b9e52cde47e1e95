//! Protocols, versions, code sets and service contexts on the two sides of a gateway.

use std::sync::{Arc, Mutex};

use oxorb::bridge::Interfaces;
use oxorb::dynamic::{
    Dynamic, DynamicServant, Exception, Invocation, Results, Signature, TypeCode, invoke,
};
use oxorb::gateway::{Gateway, GatewaySettings};
use oxorb::ior::{Ior, Version};
use oxorb::poa::{Policies, RtPolicies};
use oxorb::policy::{Qos, RequestQos};
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy};
use oxorb::servant::Context;
use oxorb::values::CharSet;
use oxorb::{Builder, CompletionStatus, Interface as _, Orb};
use oxorb_bridge_tests::parts::{ListenerRef, PartRef};
use oxorb_testkit::authority::Authority;
use oxorb_testkit::net::free_port;
use oxorb_testkit::{until, watchdog};

use crate::bridge::{Ear, Forwards, LONG, TCP, listening, parts, serve, use_it};
use crate::gateway::{calling_back, end, port, reference, resolve, settings, start, target};

const LIGHT: &str = "giop-lite-rt+tcp://127.0.0.1:0";

/// Returns the name `Target`, with the profile of the first protocol outside only.
fn first_profile(client: &Orb, gateway: &Gateway) -> PartRef {
    let mut here = target(gateway);
    here.profiles.truncate(1);
    client.resolve(&here.to_string()).unwrap()
}

#[test]
fn requests_without_references_pass_unread_from_and_to_each_protocol() {
    let _guard = watchdog(LONG);
    let sides = [(TCP, TCP), (TCP, "uiop://"), ("uiop://", "shm://"), ("shm://", TCP)];
    for (before, behind) in sides {
        let interfaces = match before == behind {
            true => Interfaces::default(),
            false => parts(),
        };
        let (server, there) = serve(listening(behind));
        let settings = GatewaySettings { interfaces, ..settings() };
        let gateway = start(before, settings, &there.to_ior());
        let client = Orb::builder().build().unwrap();
        use_it(&first_profile(&client, &gateway));
        until("all oneways count", || gateway.statistics().oneways == 10);
        let counted = gateway.statistics();
        assert_eq!((counted.failed, counted.rewritten), (1, 0), "{before} {behind}");
        end(&gateway, &[&client, &server]);
    }
}

#[test]
fn requests_in_other_forms_pass_if_the_types_are_known() {
    let _guard = watchdog(LONG);
    for (before, behind) in [(LIGHT, TCP), (LIGHT, LIGHT), ("uiop://", LIGHT)] {
        let (server, there) = serve(listening(behind));
        let settings = GatewaySettings { interfaces: parts(), ..settings() };
        let gateway = start(before, settings, &there.to_ior());
        let client = Orb::builder().build().unwrap();
        use_it(&first_profile(&client, &gateway));
        end(&gateway, &[&client, &server]);
    }
}

#[test]
fn servers_are_called_by_clients_of_other_versions() {
    let _guard = watchdog(LONG);
    for (behind, version) in [
        ("1.0", Version::V1_1),
        ("1.0", Version::V1_2),
        ("1.1", Version::V1_2),
        ("1.2", Version::V1_0),
        ("1.2", Version::V1_1),
    ] {
        let (server, there) = serve(listening(TCP));
        server.bind("Part", &there);
        let at = port(there.reference().ior());
        let url = format!("corbaloc::{behind}@127.0.0.1:{at}/Part");
        let settings = GatewaySettings { interfaces: parts(), ..calling_back() };
        let gateway = Gateway::new(listening(TCP), listening(TCP), settings).unwrap();
        gateway.open_as("Target", &url, "IDL:Parts/Part:1.0").unwrap();
        gateway.listen().unwrap();
        let client = listening(TCP).max_giop(version).build().unwrap();
        let part = first_profile(&client, &gateway);
        use_it(&part);
        let ear: ListenerRef = client.root_poa().activate(Ear).unwrap();
        assert_eq!(part.tell(Some(&ear), "callback").unwrap(), 8, "{behind} {version}");
        let another = part.another().unwrap().unwrap();
        assert_eq!(port(another.reference().ior()), port(&target(&gateway)));
        end(&gateway, &[&client, &server]);
    }
}

#[test]
fn messages_in_fragments_pass() {
    let _guard = watchdog(LONG);
    let in_pieces = |endpoint: &str| listening(endpoint).setting("FragmentSize", "1024");
    for interfaces in [parts(), Interfaces::default()] {
        let (server, there) = serve(in_pieces(TCP));
        let settings = GatewaySettings { interfaces, ..calling_back() };
        let gateway = Gateway::new(in_pieces(TCP), in_pieces(TCP), settings).unwrap();
        gateway.open("Target", &there.to_ior()).unwrap();
        gateway.listen().unwrap();
        let client = in_pieces(TCP).build().unwrap();
        let part = first_profile(&client, &gateway);
        use_it(&part);
        let ear: ListenerRef = client.root_poa().activate(Ear).unwrap();
        let word = "word ".repeat(1000);
        assert_eq!(part.tell(Some(&ear), &word).unwrap(), 5000);
        end(&gateway, &[&client, &server]);
    }
}

#[test]
fn text_keeps_its_meaning_between_code_sets() {
    let _guard = watchdog(LONG);
    let latin = |builder: Builder| builder.native_chars(CharSet::Iso8859_1).prefer_utf8(false);
    let utf_8 = |builder: Builder| builder;
    let sets: [fn(Builder) -> Builder; 2] = [latin, utf_8];
    for (client, server) in sets.into_iter().flat_map(|one| sets.map(|other| (one, other))) {
        let (server, there) = serve(server(listening(TCP)));
        let settings = GatewaySettings { interfaces: parts(), ..calling_back() };
        let gateway = start(TCP, settings, &there.to_ior());
        let client = client(listening(TCP)).build().unwrap();
        let part = first_profile(&client, &gateway);
        let word = "Gr\u{f6}\u{df}e";
        part.note(word).unwrap();
        until("the oneway arrives", || part.noted().unwrap() > 0);
        assert_eq!(part.noted().unwrap(), word.len() as i64);
        assert_eq!(part.wide("weit: \u{20ac}").unwrap(), "weit: \u{20ac}");
        let ear: ListenerRef = client.root_poa().activate(Ear).unwrap();
        assert_eq!(part.tell(Some(&ear), word).unwrap(), word.len() as i32);
        end(&gateway, &[&client, &server]);
    }
}

const RANKED: &str = "IDL:Ranked:1.0";

fn rank() -> Signature {
    Signature::new("rank").with_in("who", TypeCode::OBJECT).returning(TypeCode::SHORT)
}

/// Servant that returns the priority of its thread.
struct Ranked(Signature);

impl DynamicServant for Ranked {
    fn repository_id(&self) -> &str {
        RANKED
    }

    fn signature(&self, operation: &str) -> Option<&Signature> {
        (operation == self.0.operation).then_some(&self.0)
    }

    fn invoke(&self, invocation: Invocation<'_>) -> Result<Results, Exception> {
        let priority = invocation.orb.thread_priority();
        Ok(Results::returning(priority.map_or(-1, |priority| priority.get())))
    }
}

#[test]
fn priorities_and_qualities_of_service_pass() {
    let _guard = watchdog(LONG);
    for before in ["uiop://", TCP] {
        for interfaces in [parts(), Interfaces::default()] {
            let (server, there) = serve(listening(TCP));
            let settings = GatewaySettings { interfaces, ..settings() };
            let gateway = start(before, settings, &there.to_ior());
            let client = Orb::builder().build().unwrap();
            let part = first_profile(&client, &gateway);
            for asked in [300, 12] {
                client.set_thread_priority(Priority::new(asked).unwrap()).unwrap();
                assert_eq!(part.priority().unwrap(), asked, "{before}");
            }
            let said = Qos { importance: 7, ..Qos::default() };
            assert_eq!(part.with(RequestQos(said)).importance().unwrap(), 7, "{before}");
            assert_eq!(part.importance().unwrap(), -1, "{before}");
            end(&gateway, &[&client, &server]);
        }
    }
}

#[test]
fn priorities_pass_with_requests_that_are_decoded() {
    let _guard = watchdog(LONG);
    let server = listening(TCP).build().unwrap();
    let callers =
        PriorityModelPolicy { model: PriorityModel::ClientPropagated, server_priority: 0 };
    let policies = Policies {
        realtime: RtPolicies { priority_model: Some(callers), ..RtPolicies::default() },
        ..Policies::default()
    };
    let poa = server.root_poa().create_poa("ranked", policies).unwrap();
    let there = poa.activate_servant(oxorb::dynamic::servant(Ranked(rank()))).unwrap();
    let mut interfaces = Interfaces::default();
    interfaces.add(RANKED, [rank()]);
    let settings = GatewaySettings { interfaces, ..settings() };
    let gateway = start(TCP, settings, &there.ior().to_string());
    let client = Orb::builder().build().unwrap();
    let object = resolve(&client, &target(&gateway));
    for asked in [300, 12] {
        client.set_thread_priority(Priority::new(asked).unwrap()).unwrap();
        let nobody = [reference(&Ior::nil())];
        let rank = invoke(&object, &rank(), &nobody, &Context::new()).unwrap();
        assert_eq!(rank.returns, Dynamic::Short(asked));
    }
    assert_eq!(gateway.statistics().rewritten, 2);
    end(&gateway, &[&client, &server]);
}

#[test]
fn a_forward_of_a_server_is_followed_to_another_server() {
    let _guard = watchdog(LONG);
    for interfaces in [parts(), Interfaces::default()] {
        let (server, part) = serve(listening(TCP));
        let first = listening(TCP).build().unwrap();
        let to = resolve(&first, part.reference().ior());
        let forwards = Arc::new(Forwards(Arc::new(Mutex::new(Some(to)))));
        let there = first.root_poa().activate_servant(forwards).unwrap();
        let settings = GatewaySettings { interfaces, ..settings() };
        let gateway = start(TCP, settings, &there.ior().to_string());
        let client = Orb::builder().build().unwrap();
        let part = first_profile(&client, &gateway);
        use_it(&part);
        let another = part.another().unwrap().unwrap();
        assert_eq!(port(another.reference().ior()), port(&target(&gateway)));
        end(&gateway, &[&client, &first, &server]);
    }
}

#[test]
fn both_sides_are_protected_by_tls() {
    let _guard = watchdog(LONG);
    let (inner, outer) = (Authority::new("Inner CA"), Authority::new("Outer CA"));
    let member = |builder: Builder, authority: &Authority, name: &str| {
        let certificate = authority.sign(name, &["127.0.0.1"]).display().to_string();
        let roots = authority.roots().display().to_string();
        builder.setting("TlsCertificate", &certificate).setting("TlsRoots", &roots)
    };
    let secure = || listening("iiops://127.0.0.1:0").setting("TlsClients", "required");
    let (server, there) = serve(member(secure(), &inner, "server"));
    let settings = GatewaySettings { interfaces: parts(), ..calling_back() };
    let outside = member(secure(), &outer, "gateway");
    let inside = member(secure(), &inner, "gateway");
    let gateway = Gateway::new(outside, inside, settings).unwrap();
    gateway.open("Target", &there.to_ior()).unwrap();
    gateway.listen().unwrap();
    let client = member(secure(), &outer, "alice").build().unwrap();
    let part = first_profile(&client, &gateway);
    use_it(&part);
    let ear: ListenerRef = client.root_poa().activate(Ear).unwrap();
    assert_eq!(part.tell(Some(&ear), "callback").unwrap(), 8);

    // The server accepts no certificate of the outer authority, and the gateway no client without a certificate.
    let direct: PartRef = client.resolve(&there.to_ior()).unwrap();
    assert!(direct.noted().is_err());
    let roots = outer.roots().display().to_string();
    let nobody = Orb::builder().setting("TlsRoots", &roots).build().unwrap();
    assert!(first_profile(&nobody, &gateway).noted().is_err());
    end(&gateway, &[&nobody, &client, &server]);
}

#[test]
fn a_gateway_may_start_before_its_server() {
    let _guard = watchdog(LONG);
    let at = free_port();
    let url = format!("corbaloc::1.2@127.0.0.1:{at}/Part");
    let settings = GatewaySettings { interfaces: parts(), ..settings() };
    let gateway = Gateway::new(listening(TCP), listening(TCP), settings).unwrap();
    gateway.open_as("Target", &url, "IDL:Parts/Part:1.0").unwrap();
    gateway.listen().unwrap();
    let client = Orb::builder().build().unwrap();
    let part = first_profile(&client, &gateway);
    assert_eq!(part.noted().unwrap_err().completed, CompletionStatus::No);
    let (server, there) = serve(listening(&format!("iiop://127.0.0.1:{at}")));
    server.bind("Part", &there);
    assert_eq!(part.noted().unwrap(), 0);
    end(&gateway, &[&client, &server]);
}
