//! A gateway and clients or servers that attack it.

use std::sync::{Arc, Mutex};

use oxorb::__gen::Op;
use oxorb::bridge::{Error, Interfaces};
use oxorb::dynamic::{
    Dynamic, DynamicServant, Exception, Invocation, Results, Signature, TypeCode, invoke,
};
use oxorb::gateway::{Fate, GatewaySettings, Side, UnknownTypes};
use oxorb::incident::Incident;
use oxorb::ior::{IiopProfile, Ior, TaggedProfile, Version};
use oxorb::servant::Context;
use oxorb::{
    CompletionStatus, Interface as _, ObjectRef, Orb, SystemException, SystemExceptionKind, minor,
};
use oxorb_bridge_tests::parts::{ListenerRef, PartRef};
use oxorb_testkit::watchdog;

use crate::bridge::{Ear, Forwards, LONG, TCP, listening, parts, serve};
use crate::gateway::{
    Echoing, call, calling_back, echoes, port, reference, references, resolve, settings, start,
    target,
};

/// Returns a reference with another object key.
fn with_key(ior: &Ior, change: impl FnOnce(&mut Vec<u8>)) -> Ior {
    let mut profile = ior.iiop_profiles().next().unwrap();
    change(&mut profile.object_key);
    Ior { type_id: ior.type_id.clone(), profiles: vec![profile.to_profile()] }
}

/// Number of octets before the object id in a key of the gateway: the form of the key, and the name of the POA.
const BEFORE_ID: usize = 22;

fn key(ior: &Ior) -> Vec<u8> {
    ior.iiop_profiles().next().unwrap().object_key
}

#[track_caller]
fn system<T: std::fmt::Debug>(result: Result<T, Exception>) -> SystemException {
    match result {
        Err(Exception::System(exception)) => exception,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nobody_calls_what_was_not_handed_out() {
    let _guard = watchdog(LONG);
    let server = Echoing::start(TCP);
    let gateway = start(TCP, calling_back(), &server.ior.to_string());
    let other = start(TCP, calling_back(), &server.ior.to_string());
    let client = listening(TCP).build().unwrap();
    let here = target(&gateway);
    for at in (BEFORE_ID..key(&here).len()).step_by(7) {
        let forged = with_key(&here, |key| key[at] ^= 1);
        assert!(resolve(&client, &forged).non_existent().unwrap(), "octet {at} of the key");
    }
    for length in [3, 20, BEFORE_ID, 50, key(&here).len() - 1] {
        let forged = with_key(&here, |key| key.truncate(length));
        assert!(resolve(&client, &forged).non_existent().unwrap(), "{length} octets of the key");
    }
    let foreign = with_key(&here, |own| *own = key(&target(&other)));
    assert!(resolve(&client, &foreign).non_existent().unwrap(), "the key of another gateway");

    // Clients outside cannot call an object that the gateway has for servers inside.
    let ear: ObjectRef = client.root_poa().create_reference().unwrap();
    let echo = resolve(&client, &here);
    call(&echo, "object", reference(ear.reference().ior())).unwrap();
    let inside = references(&server.seen.lock().unwrap()[0]).remove(0);
    assert_ne!(port(&inside), port(&here));
    let crossed = with_key(&here, |own| *own = key(&inside));
    assert!(resolve(&client, &crossed).non_existent().unwrap());
    assert!(!resolve(&client, &here).non_existent().unwrap());

    // A forged reference is not passed on either.
    let forged = with_key(&here, |key| key.push(0));
    let refused = system(call(&echo, "object", reference(&forged)));
    assert_eq!(refused.minor, minor::no_permission::REFERENCE_REFUSED);
    gateway.shutdown().unwrap();
    other.shutdown().unwrap();
    for orb in [&client, &server.orb] {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn references_from_outside_are_refused_unless_their_addresses_are_permitted() {
    let _guard = watchdog(LONG);
    for interfaces in [parts(), Interfaces::default()] {
        let (server, there) = serve(listening(TCP));
        let settings = GatewaySettings { interfaces, ..settings() };
        let gateway = start(TCP, settings, &there.to_ior());
        let client = listening(TCP).build().unwrap();
        let part: PartRef = client.resolve(&target(&gateway).to_string()).unwrap();
        let ear: ListenerRef = client.root_poa().activate(Ear).unwrap();
        let refused = part.tell(Some(&ear), "callback").unwrap_err();
        assert_eq!(refused.kind, SystemExceptionKind::NoPermission, "{refused}");
        assert_eq!(refused.minor, minor::no_permission::REFERENCE_REFUSED);
        assert_eq!(refused.completed, CompletionStatus::No);
        assert_eq!(part.tell(None, "nobody").unwrap(), -1);
        assert_eq!(gateway.statistics().refused, 1);
        let outside = gateway.orb(Side::Outside).connection_statistics();
        assert_eq!(outside.count(Incident::NotPassed), 1);
        gateway.shutdown().unwrap();
        for orb in [&client, &server] {
            orb.shutdown(true).unwrap();
        }
    }
}

#[test]
fn only_tcp_at_permitted_addresses_is_called_back() {
    let _guard = watchdog(LONG);
    let server = Echoing::start(TCP);
    let callbacks = Some("allow 192.0.2.0/24".parse().unwrap());
    let settings = GatewaySettings { callbacks, ..settings() };
    let gateway = start(TCP, settings, &server.ior.to_string());
    let at = |host: &str| {
        let profile = IiopProfile::new(Version::V1_2, host, 2809, b"key");
        Ior { type_id: "IDL:T:1.0".to_owned(), profiles: vec![profile.to_profile()] }
    };
    let permitted = at("192.0.2.1");
    assert_eq!(gateway.fate(&permitted, Side::Outside), Fate::Replaced(permitted.clone()));
    for host in ["10.0.0.7", "127.0.0.1", "::1", "localhost", ""] {
        let fate = gateway.fate(&at(host), Side::Outside);
        assert!(matches!(fate, Fate::Refused(_)), "{host}: {fate:?}");
    }
    let mut local = at("192.0.2.1");
    local.profiles[0].tag = 0x5441_4f00;
    assert!(matches!(gateway.fate(&local, Side::Outside), Fate::Refused(_)));
    gateway.shutdown().unwrap();
    server.orb.shutdown(true).unwrap();
}

#[test]
fn loops_through_the_gateway_end() {
    let _guard = watchdog(LONG);
    let server = listening(TCP).build().unwrap();
    let here: Arc<Mutex<Option<oxorb::Ref>>> = Arc::default();
    let forwards = Arc::new(Forwards(Arc::clone(&here)));
    let there = server.root_poa().activate_servant(forwards).unwrap();
    let gateway = start(TCP, settings(), &there.ior().to_string());
    *here.lock().unwrap() = Some(resolve(&server, &target(&gateway)));
    let client = Orb::builder().build().unwrap();
    let object = resolve(&client, &target(&gateway));
    for _ in 0..3 {
        let looped = system(call(&object, "text", Dynamic::String("round".into())));
        assert_eq!(looped.kind, SystemExceptionKind::Transient, "{looped}");
        assert_eq!(looped.minor, minor::transient::FORWARD_LOOP);
    }

    let own = target(&gateway).to_string();
    gateway.open("Itself", &own).unwrap();
    assert!(matches!(gateway.reference("Itself"), Err(Error::Itself(_))));
    let url = format!("corbaloc::127.0.0.1:{}/Target", port(&target(&gateway)));
    gateway.open_as("ItselfByName", &url, "IDL:T:1.0").unwrap();
    assert!(matches!(gateway.reference("ItselfByName"), Err(Error::Itself(_))));
    assert!(matches!(gateway.reference("Nothing"), Err(Error::Unknown(_))));
    gateway.shutdown().unwrap();
    for orb in [&client, &server] {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn a_client_cannot_forward_its_callbacks_to_other_addresses() {
    let _guard = watchdog(LONG);
    let (server, there) = serve(listening(TCP));
    let callbacks = Some("allow 127.0.0.1".parse().unwrap());
    let gateway = start(TCP, GatewaySettings { callbacks, ..settings() }, &there.to_ior());
    let client = listening(TCP).build().unwrap();
    let here = target(&gateway);
    let part: PartRef = client.resolve(&here.to_string()).unwrap();
    let profile = |host: &str, port: u16, key: &[u8]| {
        IiopProfile::new(Version::V1_2, host, port, key).to_profile()
    };
    let elsewhere = |key: &[u8]| profile("127.0.0.2", 1, key);
    let named = || profile("127.0.0.1", port(&here), b"Target");
    for profiles in [
        vec![elsewhere(b"key")],
        // Key that the gateway has signed.
        vec![elsewhere(&key(&here))],
        // Profile beside one of a name that the gateway has opened.
        vec![elsewhere(b"key"), named()],
        vec![named(), elsewhere(b"key")],
        vec![named(), elsewhere(b"Target")],
    ] {
        let type_id = "IDL:Parts/Listener:1.0".to_owned();
        let to = resolve(&client, &Ior { type_id, profiles });
        let forwards = Arc::new(Forwards(Arc::new(Mutex::new(Some(to)))));
        let ear = client.root_poa().activate_servant(forwards).unwrap();
        let ear = ListenerRef::from_ref(ear);
        let refused = part.tell(Some(&ear), "callback").unwrap_err();
        assert_eq!(refused.minor, minor::no_permission::REFERENCE_REFUSED, "{refused}");
    }
    gateway.shutdown().unwrap();
    for orb in [&client, &server] {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn a_forward_to_a_permitted_address_or_to_the_gateway_is_followed() {
    let _guard = watchdog(LONG);
    let (server, there) = serve(listening(TCP));
    let inner: ListenerRef = server.root_poa().activate(Ear).unwrap();
    let callbacks = Some("allow 127.0.0.1".parse().unwrap());
    let gateway = start(TCP, GatewaySettings { callbacks, ..settings() }, &there.to_ior());
    gateway.open_as("Inner", &inner.to_ior(), "IDL:Parts/Listener:1.0").unwrap();
    let client = listening(TCP).build().unwrap();
    let part: PartRef = client.resolve(&target(&gateway).to_string()).unwrap();
    let outer: ListenerRef = client.root_poa().activate(Ear).unwrap();
    let own = gateway.reference("Inner").unwrap();
    for to in [outer.reference().ior(), own.reference().ior()] {
        let mut with_padding = to.clone();
        with_padding.profiles.push(TaggedProfile { tag: 0x4f58_4f31, data: vec![0; 3] });
        for to in [to, &with_padding] {
            let to = resolve(&client, to);
            let forwards = Arc::new(Forwards(Arc::new(Mutex::new(Some(to)))));
            let ear = client.root_poa().activate_servant(forwards).unwrap();
            let ear = ListenerRef::from_ref(ear);
            assert_eq!(part.tell(Some(&ear), "callback").unwrap(), 8);
        }
    }
    gateway.shutdown().unwrap();
    for orb in [&client, &server] {
        orb.shutdown(true).unwrap();
    }
}

/// Servant that answers each operation with the same reference.
struct Answering(Signature, Ior);

impl DynamicServant for Answering {
    fn repository_id(&self) -> &str {
        "IDL:B:1.0"
    }

    fn signature(&self, _: &str) -> Option<&Signature> {
        Some(&self.0)
    }

    fn invoke(&self, _: Invocation<'_>) -> Result<Results, Exception> {
        Ok(Results::returning(reference(&self.1)))
    }
}

#[test]
fn a_client_does_not_choose_the_types_of_its_answers() {
    let _guard = watchdog(LONG);
    let get = || Signature::new("get").returning(TypeCode::OBJECT);
    for unknown in [UnknownTypes::Refuse, UnknownTypes::Search] {
        let server = Echoing::start(TCP);
        let mut interfaces = echoes();
        interfaces.add("IDL:A:1.0", [Signature::new("get").returning(TypeCode::LONG)]);
        interfaces.add("IDL:B:1.0", [get()]);
        let settings = GatewaySettings { interfaces, unknown, ..calling_back() };
        let gateway = start(TCP, settings, &server.ior.to_string());
        let client = listening(TCP).build().unwrap();
        let hidden: ObjectRef = client.root_poa().create_reference().unwrap();
        let answering = Answering(get(), hidden.reference().ior().clone());
        let answering = oxorb::dynamic::servant(answering);
        let answering = client.root_poa().activate_servant(answering).unwrap();
        // The server calls B::get. The type id names an interface whose `get` returns no reference.
        let as_another = Ior { type_id: "IDL:A:1.0".to_owned(), ..answering.ior().clone() };
        let echo = resolve(&client, &target(&gateway));
        call(&echo, "object", reference(&as_another)).unwrap();
        let inside = references(&server.seen.lock().unwrap()[0]).remove(0);
        let called = resolve(&server.orb, &inside);
        let got = invoke(&called, &get(), &[], &Context::new()).map(|done| done.returns);
        match unknown {
            UnknownTypes::Refuse => {
                assert_eq!(system(got).minor, minor::no_permission::UNKNOWN_TYPES);
            }
            UnknownTypes::Search => {
                assert_eq!(port(&references(&got.unwrap())[0]), port(&inside));
            }
        }
        gateway.shutdown().unwrap();
        for orb in [&client, &server.orb] {
            orb.shutdown(true).unwrap();
        }
    }
}

static TEXT: Op = Op::twoway("text");

#[test]
fn text_is_decoded_if_unknown_types_are_refused() {
    let _guard = watchdog(LONG);
    let server = Echoing::start(TCP);
    let unknown = UnknownTypes::Refuse;
    let settings = GatewaySettings { interfaces: echoes(), unknown, ..settings() };
    let gateway = start(TCP, settings, &server.ior.to_string());
    let client = listening(TCP).build().unwrap();
    let echo = resolve(&client, &target(&gateway));
    let ear: ObjectRef = client.root_poa().create_reference().unwrap();
    // The search does not accept this much white space.
    let text = format!("{}{}", " ".repeat(100), ear.to_ior());
    let refused = system(call(&echo, "text", Dynamic::String(text)));
    assert_eq!(refused.minor, minor::no_permission::REFERENCE_REFUSED);
    // A NUL within the text, and none at its end.
    let url = ear.to_ior();
    for octets in [[url.as_bytes(), b"\0x\0"].concat(), url.as_bytes().to_vec()] {
        let answered: oxorb::Result<()> = echo.invoke(
            &TEXT,
            |e| {
                e.ulong(octets.len() as u32);
                e.copy_octets(&octets);
                Ok(())
            },
            |d| d.string().map(|_| ()),
        );
        let refused = answered.unwrap_err();
        assert_eq!(refused.kind, SystemExceptionKind::Marshal, "{refused}");
    }
    assert_eq!(gateway.statistics().rewritten, 3, "the gateway has decoded each request");
    assert!(server.seen.lock().unwrap().is_empty());
    gateway.shutdown().unwrap();
    for orb in [&client, &server.orb] {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn addresses_beside_a_signed_key_are_not_passed_on() {
    let _guard = watchdog(LONG);
    let server = Echoing::start(TCP);
    let gateway = start(TCP, calling_back(), &server.ior.to_string());
    let client = listening(TCP).build().unwrap();
    let here = target(&gateway);
    let echo = resolve(&client, &here);
    let ear: ObjectRef = client.root_poa().create_reference().unwrap();
    call(&echo, "object", reference(ear.reference().ior())).unwrap();
    let inside = references(&server.seen.lock().unwrap()[0]).remove(0);
    let elsewhere = |own: &Ior| {
        let profiles = [key(own), b"key".to_vec()]
            .map(|key| IiopProfile::new(Version::V1_2, "10.0.0.7", 2809, &key).to_profile());
        Ior { type_id: own.type_id.clone(), profiles: profiles.into() }
    };
    call(&echo, "object", reference(&elsewhere(&inside))).unwrap();
    let seen = references(&server.seen.lock().unwrap()[1]).remove(0);
    assert_eq!(seen.profiles[0], inside.profiles[0]);
    assert_eq!(seen.iiop_profiles().count(), inside.iiop_profiles().count());
    assert_eq!(gateway.fate(&elsewhere(&here), Side::Inside), Fate::Own(server.ior.clone()));
    gateway.shutdown().unwrap();
    for orb in [&client, &server.orb] {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn only_what_is_permitted_becomes_part_of_a_key() {
    let _guard = watchdog(LONG);
    let server = Echoing::start(TCP);
    let callbacks = Some("allow 192.0.2.0/24".parse().unwrap());
    let settings = GatewaySettings { callbacks, ..settings() };
    let gateway = start(TCP, settings, &server.ior.to_string());
    let client = Orb::builder().build().unwrap();
    let profile =
        |host: &str, key: &[u8]| IiopProfile::new(Version::V1_2, host, 2809, key).to_profile();
    let ior = |profiles| Ior { type_id: "IDL:T:1.0".to_owned(), profiles };
    let both = ior(vec![profile("10.0.0.7", b"hidden"), profile("192.0.2.1", b"key")]);
    let kept = ior(vec![profile("192.0.2.1", b"key")]);
    assert_eq!(gateway.fate(&both, Side::Outside), Fate::Replaced(kept));
    call(&resolve(&client, &target(&gateway)), "object", reference(&both)).unwrap();
    let seen = references(&server.seen.lock().unwrap()[0]).remove(0);
    assert!(!key(&seen).windows(6).any(|octets| octets == b"hidden"));
    let long = ior(vec![profile("192.0.2.1", &[7; 17 << 10])]);
    for side in [Side::Outside, Side::Inside] {
        let fate = gateway.fate(&long, side);
        assert!(matches!(&fate, Fate::Refused(reason) if reason.contains("longer")), "{fate:?}");
    }
    gateway.shutdown().unwrap();
    for orb in [&client, &server.orb] {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn addresses_of_the_gateway_are_recognized_from_the_start() {
    let _guard = watchdog(LONG);
    let server = Echoing::start(TCP);
    let gateway = start(TCP, calling_back(), &server.ior.to_string());
    let sides = [Side::Outside, Side::Inside];
    for side in sides {
        let own: ObjectRef = gateway.orb(side).root_poa().create_reference().unwrap();
        for host in ["127.0.0.1", "::ffff:127.0.0.1", "::FFFF:7F00:1"] {
            let port = port(own.reference().ior());
            let profile = IiopProfile::new(Version::V1_2, host, port, b"key").to_profile();
            let forged = Ior { type_id: "IDL:T:1.0".to_owned(), profiles: vec![profile] };
            for from in sides {
                let fate = gateway.fate(&forged, from);
                let is_own = |reason: &str| reason.contains("it has an address of the gateway");
                assert!(matches!(&fate, Fate::Refused(reason) if is_own(reason)), "{fate:?}");
            }
        }
    }
    gateway.shutdown().unwrap();
    server.orb.shutdown(true).unwrap();
}
