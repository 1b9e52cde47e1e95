//! Clients, a gateway and servers: references, restarts and the end of a gateway.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use oxorb::bridge::Interfaces;
use oxorb::dynamic::{
    Dynamic, DynamicServant, DynamicValue, Exception, Field, Invocation, Label, Results, Signature,
    TypeCode, invoke,
};
use oxorb::gateway::{Fate, Gateway, GatewaySettings, Side, SigningKey, UnknownTypes};
use oxorb::incident::Incident;
use oxorb::ior::{Ior, TaggedProfile};
use oxorb::poa::{IdAssignment, Lifespan, Policies};
use oxorb::servant::Context;
use oxorb::values::{ByteOrder, RawProfile, RawReference, ValueModifier, Visibility};
use oxorb::{
    Any, Builder, Interface as _, ObjectRef, Orb, Outcome, Ref, Servant, SystemExceptionKind,
    Upcall, minor,
};
use oxorb_bridge_tests::parts::{ListenerRef, Pair, PartRef};
use oxorb_testkit::net::free_port;
use oxorb_testkit::{until, watchdog};

use crate::bridge::{Ear, LONG, TCP, listening, parts, serve, use_it};

pub(crate) const ECHO: &str = "IDL:Echo:1.0";

/// Servant that returns its argument, and remembers it.
pub(crate) struct Echo {
    signatures: Vec<Signature>,
    seen: Arc<Mutex<Vec<Dynamic>>>,
    own: Arc<OnceLock<Ior>>,
}

/// Returns the operations of [`Echo`].
pub(crate) fn signatures() -> Vec<Signature> {
    let members = [("name", TypeCode::STRING), ("who", TypeCode::OBJECT)];
    let pair = TypeCode::structure("IDL:Pair:1.0", "Pair", members);
    let members =
        [(Label::Value(1), "who", TypeCode::OBJECT), (Label::Default, "name", TypeCode::STRING)];
    let choice = TypeCode::union("IDL:Choice:1.0", "Choice", TypeCode::BOOLEAN, members);
    let members = [
        ("name", TypeCode::STRING, Visibility::Public),
        ("who", TypeCode::OBJECT, Visibility::Public),
    ];
    let value = TypeCode::value("IDL:Value:1.0", "Value", ValueModifier::None, None, members);
    let held = TypeCode::exception("IDL:Held:1.0", "Held", [("who", TypeCode::OBJECT)]);
    let echo = |(name, ty): (&str, TypeCode)| {
        Signature::new(name).with_in("value", ty.clone()).returning(ty)
    };
    let echoes = [
        ("object", TypeCode::OBJECT),
        ("anything", TypeCode::ANY),
        ("text", TypeCode::STRING),
        ("pair", pair),
        ("choice", choice),
        ("value", value),
        ("all", TypeCode::sequence(TypeCode::OBJECT)),
    ];
    let mut all: Vec<_> = echoes.map(echo).into();
    all.push(Signature::new("held").with_in("value", TypeCode::OBJECT).raising(held));
    all.push(Signature::new("own").returning(TypeCode::ANY));
    all
}

pub(crate) fn signature(operation: &str) -> Signature {
    signatures().into_iter().find(|one| one.operation == operation).unwrap()
}

pub(crate) fn echoes() -> Interfaces {
    let mut interfaces = Interfaces::default();
    interfaces.add(ECHO, signatures());
    interfaces
}

impl DynamicServant for Echo {
    fn repository_id(&self) -> &str {
        ECHO
    }

    fn signature(&self, operation: &str) -> Option<&Signature> {
        self.signatures.iter().find(|one| one.operation == operation)
    }

    fn invoke(&self, invocation: Invocation<'_>) -> Result<Results, Exception> {
        let Some(value) = invocation.args.first() else {
            let own = reference(self.own.get().unwrap());
            return Ok(Results::returning(Any::with_type(TypeCode::OBJECT, own).unwrap()));
        };
        self.seen.lock().unwrap().push(value.clone());
        match invocation.signature.raises.first() {
            None => Ok(Results::returning(value.clone())),
            Some(held) => {
                let who = Field { name: "who".into(), value: value.clone() };
                Err(Exception::user(held.clone(), Dynamic::Struct(vec![who])).unwrap())
            }
        }
    }
}

/// Server of an [`Echo`].
pub(crate) struct Echoing {
    pub(crate) orb: Orb,
    pub(crate) ior: Ior,
    pub(crate) seen: Arc<Mutex<Vec<Dynamic>>>,
}

impl Echoing {
    pub(crate) fn start(endpoint: &str) -> Echoing {
        Echoing::with(listening(endpoint))
    }

    /// Starts the server with an ORB of this builder.
    pub(crate) fn with(builder: Builder) -> Echoing {
        let orb = builder.build().unwrap();
        let policies = Policies {
            lifespan: Lifespan::Persistent,
            id_assignment: IdAssignment::User,
            ..Policies::default()
        };
        let poa = orb.root_poa().create_poa("echoes", policies).unwrap();
        let (seen, own) = (Arc::default(), Arc::new(OnceLock::new()));
        let servant =
            Echo { signatures: signatures(), seen: Arc::clone(&seen), own: Arc::clone(&own) };
        let servant = oxorb::dynamic::servant(servant);
        let object = poa.activate_servant_with_id(&"echo".into(), servant).unwrap();
        let ior = object.ior().clone();
        own.set(ior.clone()).unwrap();
        Echoing { orb, ior, seen }
    }
}

pub(crate) fn settings() -> GatewaySettings {
    GatewaySettings::new(SigningKey::random().unwrap())
}

/// Returns settings of a gateway that calls clients of this host.
pub(crate) fn calling_back() -> GatewaySettings {
    GatewaySettings { callbacks: Some("allow 127.0.0.0/8".parse().unwrap()), ..settings() }
}

/// Starts a gateway before a target, with the name `Target`.
pub(crate) fn start(outside: &str, settings: GatewaySettings, target: &str) -> Gateway {
    let gateway = Gateway::new(listening(outside), listening(TCP), settings).unwrap();
    gateway.open("Target", target).unwrap();
    gateway.listen().unwrap();
    gateway
}

/// Returns the reference of the name `Target`.
pub(crate) fn target(gateway: &Gateway) -> Ior {
    gateway.reference("Target").unwrap().reference().ior().clone()
}

pub(crate) fn resolve(client: &Orb, ior: &Ior) -> Ref {
    let object: ObjectRef = client.resolve(&ior.to_string()).unwrap();
    object.reference().clone()
}

pub(crate) fn call(object: &Ref, operation: &str, value: Dynamic) -> Result<Dynamic, Exception> {
    let signature = signature(operation);
    Ok(invoke(object, &signature, &[value], &Context::new())?.returns)
}

pub(crate) fn port(ior: &Ior) -> u16 {
    ior.iiop_profiles().next().unwrap().port
}

pub(crate) fn reference(ior: &Ior) -> Dynamic {
    let profile =
        |profile: &TaggedProfile| RawProfile { tag: profile.tag, data: profile.data.clone() };
    let profiles = ior.profiles.iter().map(profile).collect();
    Dynamic::Reference(RawReference { type_id: ior.type_id.clone(), profiles })
}

/// Returns the references in a value.
pub(crate) fn references(value: &Dynamic) -> Vec<Ior> {
    match value {
        Dynamic::Reference(raw) => {
            let profile = |profile: &RawProfile| TaggedProfile {
                tag: profile.tag,
                data: profile.data.clone(),
            };
            let profiles = raw.profiles.iter().map(profile).collect();
            vec![Ior { type_id: raw.type_id.clone(), profiles }]
        }
        Dynamic::String(text) => text.parse().into_iter().collect(),
        Dynamic::Any(any) => references(&any.dynamic().unwrap()),
        Dynamic::Sequence(items) => items.iter().flat_map(references).collect(),
        _ => value.fields().iter().flat_map(|field| references(&field.value)).collect(),
    }
}

/// Ends a gateway, and then ORBs.
pub(crate) fn end(gateway: &Gateway, orbs: &[&Orb]) {
    gateway.shutdown().unwrap();
    for orb in orbs {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn calls_callbacks_and_results_lead_through_the_gateway() {
    let _guard = watchdog(LONG);
    for interfaces in [parts(), Interfaces::default()] {
        let (server, there) = serve(listening(TCP));
        let settings = GatewaySettings { interfaces, ..calling_back() };
        let gateway = start(TCP, settings, &there.to_ior());
        let client = listening(TCP).build().unwrap();
        let here = target(&gateway);
        let part: PartRef = client.resolve(&here.to_string()).unwrap();
        use_it(&part);

        let ear: ListenerRef = client.root_poa().activate(Ear).unwrap();
        assert_eq!(part.tell(Some(&ear), "callback").unwrap(), 8);
        assert_eq!(part.tell(None, "nobody").unwrap(), -1);
        let all = [("one", Some(ear.clone())), ("none", None)]
            .map(|(name, who)| Pair { name: name.into(), who });
        let back = part.listeners(&all).unwrap();
        let first = |ear: &ListenerRef| ear.reference().ior().profiles[0].clone();
        assert_eq!(first(back[0].who.as_ref().unwrap()), first(&ear));
        assert!(back[1].who.is_none());

        let another = part.another().unwrap().unwrap();
        assert_eq!(port(another.reference().ior()), port(&here));
        assert_eq!(another.tell(Some(&ear), "ear").unwrap(), 3);
        let counted = gateway.statistics();
        assert!(counted.references >= 4 && counted.refused == 0, "{counted:?}");
        end(&gateway, &[&client, &server]);
    }
}

#[test]
fn references_are_replaced_wherever_they_are() {
    let _guard = watchdog(LONG);
    for interfaces in [echoes(), Interfaces::default()] {
        let server = Echoing::start(TCP);
        let settings = GatewaySettings { interfaces, ..calling_back() };
        let gateway = start(TCP, settings, &server.ior.to_string());
        let client = listening(TCP).build().unwrap();
        let here = target(&gateway);
        let echo = resolve(&client, &here);
        let ear: ObjectRef = client.root_poa().create_reference().unwrap();
        let ear = ear.reference().ior().clone();
        let any = |ty, value| Dynamic::Any(Any::with_type(ty, value).unwrap());
        let text = || Dynamic::String(ear.to_string());
        let field = |name: &str, value| Field { name: name.into(), value };
        let members = || vec![field("name", text()), field("who", reference(&ear))];
        let choice = |member: &str, value| {
            let ty = signature("choice").returns;
            let mut choice = Dynamic::default_for(&ty).unwrap();
            choice.select_member(&ty, member).unwrap();
            *choice.member_mut(member).unwrap() = value;
            choice
        };
        for (operation, value) in [
            ("object", reference(&ear)),
            ("text", text()),
            ("text", Dynamic::String(format!(" ior:{}\n", &ear.to_string()[4..]))),
            ("anything", any(TypeCode::OBJECT, reference(&ear))),
            ("anything", any(TypeCode::STRING, text())),
            ("anything", any(TypeCode::ANY, any(TypeCode::OBJECT, reference(&ear)))),
            ("pair", Dynamic::Struct(members())),
            ("choice", choice("who", reference(&ear))),
            ("choice", choice("name", text())),
            ("value", DynamicValue::new(signature("value").returns, members()).into()),
            ("all", Dynamic::Sequence(vec![reference(&ear), reference(&ear)])),
        ] {
            let back = call(&echo, operation, value).unwrap();
            let seen = references(&server.seen.lock().unwrap().pop().unwrap());
            assert!(!seen.is_empty(), "{operation}");
            for ior in seen {
                assert!(![port(&ear), port(&here)].contains(&port(&ior)), "{operation}");
            }
            for ior in references(&back) {
                assert_eq!(ior.profiles[0], ear.profiles[0], "{operation}");
            }
        }
        match call(&echo, "held", reference(&ear)) {
            Err(Exception::User(user)) => {
                assert_eq!(references(&user.members)[0].profiles[0], ear.profiles[0]);
            }
            other => panic!("{other:?}"),
        }
        server.seen.lock().unwrap().clear();

        // A reference of the server leads to the gateway outside, and is again the server's inside.
        let own = invoke(&echo, &signature("own"), &[], &Context::new()).unwrap().returns;
        let own = references(&own).remove(0);
        assert_eq!(port(&own), port(&here));
        let known = Dynamic::String("it is called".into());
        assert_eq!(call(&resolve(&client, &own), "text", known.clone()).unwrap(), known);
        server.seen.lock().unwrap().clear();
        call(&echo, "object", reference(&own)).unwrap();
        let seen = references(&server.seen.lock().unwrap()[0]);
        assert_eq!(seen[0].profiles[0], server.ior.profiles[0]);
        end(&gateway, &[&client, &server.orb]);
    }
}

#[test]
fn operations_of_unknown_types_are_refused_by_choice() {
    let _guard = watchdog(LONG);
    let server = Echoing::start(TCP);
    for interfaces in [echoes(), Interfaces::default()] {
        let is_known = interfaces_have_echo(&interfaces);
        let settings = GatewaySettings { interfaces, unknown: UnknownTypes::Refuse, ..settings() };
        let gateway = start(TCP, settings, &server.ior.to_string());
        assert_eq!(gateway.knows(ECHO), is_known);
        let client = Orb::builder().build().unwrap();
        let echo = resolve(&client, &target(&gateway));
        assert!(echo.is_a(ECHO).unwrap());
        match call(&echo, "text", Dynamic::String("words".into())) {
            Ok(_) => assert!(is_known),
            Err(Exception::System(refused)) => {
                assert!(!is_known);
                assert_eq!(refused.kind, SystemExceptionKind::NoPermission);
                assert_eq!(refused.minor, minor::no_permission::UNKNOWN_TYPES);
            }
            Err(other) => panic!("{other:?}"),
        }
        let outside = gateway.orb(Side::Outside).connection_statistics();
        assert_eq!(outside.count(Incident::NotPassed), u64::from(!is_known));
        end(&gateway, &[&client]);
    }
    server.orb.shutdown(true).unwrap();
}

fn interfaces_have_echo(interfaces: &Interfaces) -> bool {
    format!("{interfaces:?}").contains(ECHO)
}

#[test]
fn either_side_may_restart_and_references_stay_valid_with_the_same_key() {
    let _guard = watchdog(LONG);
    let server_at = format!("iiop://127.0.0.1:{}", free_port());
    let gateway_at = format!("iiop://127.0.0.1:{}", free_port());
    let mut server = Echoing::start(&server_at);
    let url = server.ior.to_string();
    let start = |key: &[u8]| {
        let key = SigningKey::from_octets(key).unwrap();
        start(&gateway_at, GatewaySettings::new(key), &url)
    };
    let client = Orb::builder().build().unwrap();
    let text = Dynamic::String("words".into());

    let gateway = start(&[7; 32]);
    let echo = resolve(&client, &target(&gateway));
    let own = invoke(&echo, &signature("own"), &[], &Context::new()).unwrap().returns;
    let own = resolve(&client, &references(&own)[0]);
    assert_eq!(call(&own, "text", text.clone()).unwrap(), text);

    server.orb.shutdown(true).unwrap();
    match call(&own, "text", text.clone()) {
        Err(Exception::System(gone)) => {
            let kinds = [SystemExceptionKind::Transient, SystemExceptionKind::CommFailure];
            assert!(kinds.contains(&gone.kind), "{gone}");
        }
        other => panic!("{other:?}"),
    }
    server = Echoing::start(&server_at);
    assert_eq!(call(&own, "text", text.clone()).unwrap(), text);

    gateway.shutdown().unwrap();
    let gateway = start(&[7; 32]);
    assert_eq!(call(&own, "text", text.clone()).unwrap(), text);

    gateway.shutdown().unwrap();
    let gateway = start(&[8; 32]);
    assert!(own.non_existent().unwrap(), "another key");
    let named = format!("corbaloc::{}/Target", gateway_at.trim_start_matches("iiop://"));
    let named: ObjectRef = client.resolve(&named).unwrap();
    assert!(!named.non_existent().unwrap(), "names need no key");
    end(&gateway, &[&client, &server.orb]);
}

#[test]
fn objects_that_made_room_come_back() {
    let _guard = watchdog(LONG);
    let server = Echoing::start(TCP);
    let settings = GatewaySettings { max_active: 1, ..settings() };
    let gateway = start(TCP, settings, &server.ior.to_string());
    gateway.open_as("Other", &server.ior.to_string(), "IDL:Other:1.0").unwrap();
    let client = Orb::builder().build().unwrap();
    let names = ["Target", "Other"].map(|name| gateway.reference(name).unwrap());
    let objects = names.map(|name| resolve(&client, name.reference().ior()));
    let text = Dynamic::String("words".into());
    for _ in 0..10 {
        for object in &objects {
            assert_eq!(call(object, "text", text.clone()).unwrap(), text);
        }
    }
    end(&gateway, &[&client, &server.orb]);
}

/// Servant whose requests wait.
pub(crate) struct Waiting {
    entered: Mutex<Sender<()>>,
    released: Mutex<Receiver<()>>,
}

impl Servant for Waiting {
    fn repository_id(&self) -> &str {
        "IDL:Waiting:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        self.entered.lock().unwrap().send(()).unwrap();
        self.released.lock().unwrap().recv().unwrap();
        upcall.done()
    }
}

/// Returns a [`Waiting`], the receiver that reports its request, and the sender that releases the request.
pub(crate) fn waiting() -> (Waiting, Receiver<()>, Sender<()>) {
    let ((entered, has_entered), (release, released)) = (mpsc::channel(), mpsc::channel());
    let waiting = Waiting { entered: Mutex::new(entered), released: Mutex::new(released) };
    (waiting, has_entered, release)
}

#[test]
fn running_requests_end_before_the_gateway_does() {
    let _guard = watchdog(LONG);
    let server = listening(TCP).build().unwrap();
    let (waiting, has_entered, release) = waiting();
    let there = server.root_poa().activate_servant(Arc::new(waiting)).unwrap();
    let gateway = start(TCP, settings(), &there.ior().to_string());
    let client = Orb::builder().build().unwrap();
    let object = resolve(&client, &target(&gateway));
    let calling =
        thread::spawn(move || invoke(&object, &Signature::new("wait"), &[], &Context::new()));
    has_entered.recv_timeout(LONG).unwrap();
    let ending = {
        let gateway = gateway.clone();
        thread::spawn(move || gateway.shutdown())
    };
    until("the gateway is ending", || gateway.orb(Side::Outside).is_closing());
    release.send(()).unwrap();
    assert!(calling.join().unwrap().is_ok(), "the running request is answered");
    ending.join().unwrap().unwrap();
    for orb in [&client, &server] {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn an_object_with_a_running_request_stays_callable_when_others_need_room() {
    let _guard = watchdog(LONG);
    let server = listening(TCP).build().unwrap();
    let (waiting, has_entered, release) = waiting();
    let busy = server.root_poa().activate_servant(Arc::new(waiting)).unwrap();
    let other = Echoing::start(TCP);
    let settings = GatewaySettings { max_active: 1, ..settings() };
    let gateway = start(TCP, settings, &busy.ior().to_string());
    gateway.open_as("Other", &other.ior.to_string(), ECHO).unwrap();
    let clients = [(); 3].map(|()| Orb::builder().build().unwrap());
    let wait = |client: &Orb| {
        let object = resolve(client, &target(&gateway));
        thread::spawn(move || invoke(&object, &Signature::new("wait"), &[], &Context::new()))
    };
    let first = wait(&clients[0]);
    has_entered.recv_timeout(LONG / 2).unwrap();
    let echo = gateway.reference("Other").unwrap();
    let echo = resolve(&clients[1], echo.reference().ior());
    let text = Dynamic::String("words".into());
    assert_eq!(call(&echo, "text", text.clone()).unwrap(), text);
    let second = wait(&clients[2]);
    has_entered.recv_timeout(LONG / 2).expect("the object takes a second request");
    for calling in [first, second] {
        release.send(()).unwrap();
        assert!(calling.join().unwrap().is_ok());
    }
    gateway.shutdown().unwrap();
    for orb in clients.iter().chain([&server, &other.orb]) {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn calls_of_a_silent_client_outside_end_before_those_inside() {
    let _guard = watchdog(LONG);
    let server = Echoing::start(TCP);
    let gateway = start(TCP, calling_back(), &server.ior.to_string());
    let client = listening(TCP).build().unwrap();
    let (waiting, has_entered, release) = waiting();
    let silent = client.root_poa().activate_servant(Arc::new(waiting)).unwrap();
    let echo = resolve(&client, &target(&gateway));
    call(&echo, "object", reference(silent.ior())).unwrap();
    let inside = references(&server.seen.lock().unwrap()[0]).remove(0);

    // The gateway forwards requests in this byte order with an ORB of their own.
    let order = match ByteOrder::NATIVE {
        ByteOrder::Big => ByteOrder::Little,
        ByteOrder::Little => ByteOrder::Big,
    };
    let inner = Orb::builder().byte_order(order).build().unwrap();
    let object = resolve(&inner, &inside);
    let calling =
        thread::spawn(move || invoke(&object, &Signature::new("wait"), &[], &Context::new()));
    has_entered.recv_timeout(LONG).unwrap();
    let has_ended = Arc::new(AtomicBool::new(false));
    let (counting, ended) = (gateway.clone(), Arc::clone(&has_ended));
    gateway.orb(Side::Inside).before_shutdown(move |_| {
        until("the call of the silent client has ended", || counting.statistics().failed > 0);
        ended.store(true, SeqCst);
    });
    gateway.shutdown().unwrap();
    assert!(has_ended.load(SeqCst), "the shutdown inside waited for the silent client");
    assert!(calling.join().unwrap().is_err());
    release.send(()).unwrap();
    for orb in [&client, &inner, &server.orb] {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn a_gateway_that_cannot_listen_inside_does_not_listen_outside() {
    let _guard = watchdog(LONG);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let inside = format!("iiop://{}", taken.local_addr().unwrap());
    let port = free_port();
    let outside = format!("iiop://127.0.0.1:{port}");
    let gateway = Gateway::new(listening(&outside), listening(&inside), settings()).unwrap();
    assert!(gateway.listen().is_err());
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    gateway.shutdown().unwrap();
}

#[test]
fn a_gateway_ends_with_its_last_clone() {
    let _guard = watchdog(LONG);
    let server = Echoing::start(TCP);
    let gateway = start(TCP, settings(), &server.ior.to_string());
    let orbs = [Side::Outside, Side::Inside].map(|side| gateway.orb(side).clone());
    let another = gateway.clone();
    drop(gateway);
    assert!(orbs.iter().all(|orb| !orb.is_closing()));
    drop(another);
    assert!(orbs.iter().all(|orb| orb.is_closing()));
    for orb in orbs.iter().chain([&server.orb]) {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn the_gateway_says_what_becomes_of_a_reference() {
    let _guard = watchdog(LONG);
    let server = Echoing::start(TCP);
    let gateway = start(TCP, calling_back(), &server.ior.to_string());
    let here = target(&gateway);
    assert_eq!(gateway.fate(&Ior::nil(), Side::Outside), Fate::Unchanged);
    assert_eq!(gateway.fate(&here, Side::Outside), Fate::Original(server.ior.clone()));
    assert_eq!(gateway.fate(&here, Side::Inside), Fate::Own(server.ior.clone()));
    assert_eq!(gateway.fate(&server.ior, Side::Inside), Fate::Replaced(server.ior.clone()));
    end(&gateway, &[&server.orb]);
}
