//! Interfaces that clients of a gateway state in the references of their objects.

use std::sync::{Arc, Mutex};

use oxorb::bridge::Interfaces;
use oxorb::dynamic::{
    Dynamic, DynamicServant, Exception, Invocation, Results, Signature, TypeCode, invoke,
};
use oxorb::gateway::{Gateway, GatewaySettings, UnknownTypes};
use oxorb::ior::Ior;
use oxorb::servant::Context;
use oxorb::{Any, Interface as _, ObjectRef, Orb, Ref, SystemException, minor};
use oxorb_testkit::watchdog;

use crate::bridge::{LONG, TCP, listening};
use crate::gateway::{calling_back, end, port, reference, references, resolve, start, target};

const TAKER: &str = "IDL:Taker:1.0";
const BASE: &str = "IDL:Base:1.0";
/// Interface that inherits [`BASE`].
const DERIVED: &str = "IDL:Derived:1.0";
/// Interface with an operation that [`ABSENT`] has with other types.
const COUNTER: &str = "IDL:Counter:1.0";
/// Interface that the IDL of the gateway does not declare.
const ABSENT: &str = "IDL:Absent:1.0";

fn interface(id: &str) -> TypeCode {
    TypeCode::interface(id, "Interface")
}

/// Returns an operation with a result of this type.
fn returning(operation: &str, ty: TypeCode) -> Signature {
    Signature::new(operation).returning(ty)
}

/// Returns the operations of [`Taker`].
fn takes() -> Vec<Signature> {
    let take = |(operation, ty): (&str, TypeCode)| Signature::new(operation).with_in("who", ty);
    let all = [
        ("take_base", interface(BASE)),
        ("take_absent", interface(ABSENT)),
        ("take_object", TypeCode::OBJECT),
        ("take_any", TypeCode::ANY),
    ];
    all.map(take).into()
}

fn known() -> Interfaces {
    let count = || returning("count", TypeCode::LONG);
    let mut interfaces = Interfaces::default();
    interfaces.add(TAKER, takes());
    interfaces.add(BASE, [count()]);
    interfaces.add(DERIVED, [count(), returning("more", TypeCode::LONG)]);
    interfaces.add(COUNTER, [returning("get", TypeCode::LONG)]);
    interfaces
}

/// Servant inside that keeps the values that it receives.
struct Taker {
    signatures: Vec<Signature>,
    taken: Arc<Mutex<Vec<Dynamic>>>,
}

impl DynamicServant for Taker {
    fn repository_id(&self) -> &str {
        TAKER
    }

    fn signature(&self, operation: &str) -> Option<&Signature> {
        self.signatures.iter().find(|one| one.operation == operation)
    }

    fn invoke(&self, mut invocation: Invocation<'_>) -> Result<Results, Exception> {
        self.taken.lock().unwrap().append(&mut invocation.args);
        Ok(Results::default())
    }
}

/// Servant of a client, which claims to support all interfaces. Its operation `get` returns a reference, as that of
/// [`ABSENT`] does.
struct Claimant {
    signatures: Vec<Signature>,
    hidden: Ior,
}

impl DynamicServant for Claimant {
    fn repository_id(&self) -> &str {
        ABSENT
    }

    fn is_a(&self, _: &str) -> bool {
        true
    }

    fn signature(&self, operation: &str) -> Option<&Signature> {
        self.signatures.iter().find(|one| one.operation == operation)
    }

    fn invoke(&self, invocation: Invocation<'_>) -> Result<Results, Exception> {
        Ok(Results::returning(match invocation.operation() {
            "get" => reference(&self.hidden),
            _ => Dynamic::Long(7),
        }))
    }
}

/// Server inside, gateway, and client outside with an object.
struct Scene {
    server: Orb,
    gateway: Gateway,
    client: Orb,
    taken: Arc<Mutex<Vec<Dynamic>>>,
    /// Server's object, for the client.
    taker: Ref,
    object: Ior,
}

impl Scene {
    fn new(unknown: UnknownTypes) -> Scene {
        let server = listening(TCP).build().unwrap();
        let taken: Arc<Mutex<Vec<Dynamic>>> = Arc::default();
        let servant = Taker { signatures: takes(), taken: Arc::clone(&taken) };
        let servant = oxorb::dynamic::servant(servant);
        let there = server.root_poa().activate_servant(servant).unwrap();
        let settings = GatewaySettings { interfaces: known(), unknown, ..calling_back() };
        let gateway = start(TCP, settings, &there.ior().to_string());
        let client = listening(TCP).build().unwrap();
        let hidden: ObjectRef = client.root_poa().create_reference().unwrap();
        let servant = Claimant {
            signatures: vec![
                returning("get", TypeCode::OBJECT),
                returning("count", TypeCode::LONG),
                returning("more", TypeCode::LONG),
            ],
            hidden: hidden.reference().ior().clone(),
        };
        let servant = oxorb::dynamic::servant(servant);
        let object = client.root_poa().activate_servant(servant).unwrap().ior().clone();
        let taker = resolve(&client, &target(&gateway));
        Scene { server, gateway, client, taken, taker, object }
    }

    /// Passes the client's object to the server, in a reference that states an interface.
    ///
    /// # Errors
    /// Those of the call.
    fn try_pass(&self, operation: &str, stated: &str, ty: TypeCode) -> Result<Ref, Exception> {
        let stated = Ior { type_id: stated.to_owned(), ..self.object.clone() };
        let value = match operation {
            "take_any" => Dynamic::Any(Any::with_type(ty, reference(&stated)).unwrap()),
            _ => reference(&stated),
        };
        let signature = takes().into_iter().find(|one| one.operation == operation).unwrap();
        invoke(&self.taker, &signature, &[value], &Context::new())?;
        let taken = self.taken.lock().unwrap().pop().unwrap();
        Ok(resolve(&self.server, &references(&taken)[0]))
    }

    /// Passes the client's object; returns the reference that the server receives.
    fn pass(&self, operation: &str, stated: &str) -> Ref {
        self.try_pass(operation, stated, interface(ABSENT)).unwrap()
    }

    fn end(&self) {
        end(&self.gateway, &[&self.client, &self.server]);
    }
}

/// Calls an operation without arguments, as a server does.
fn call(object: &Ref, operation: &str, ty: TypeCode) -> Result<Dynamic, Exception> {
    let done = invoke(object, &returning(operation, ty), &[], &Context::new())?;
    Ok(done.returns)
}

#[track_caller]
fn system<T: std::fmt::Debug>(result: Result<T, Exception>) -> SystemException {
    match result {
        Err(Exception::System(exception)) => exception,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_declared_interface_determines_the_types_of_a_clients_object() {
    let _guard = watchdog(LONG);
    for unknown in [UnknownTypes::Refuse, UnknownTypes::Search] {
        let scene = Scene::new(unknown);
        // The server calls `get` of the interface that the parameter, or the type code in the any, declares.
        for operation in ["take_absent", "take_any"] {
            let object = scene.pass(operation, COUNTER);
            assert_eq!(object.ior().type_id, ABSENT, "{operation}");
            let got = call(&object, "get", TypeCode::OBJECT);
            match unknown {
                UnknownTypes::Refuse => {
                    assert_eq!(system(got).minor, minor::no_permission::UNKNOWN_TYPES);
                }
                UnknownTypes::Search => {
                    let got = references(&got.unwrap()).remove(0);
                    assert_eq!(port(&got), port(object.ior()), "{operation}");
                }
            }
        }
        scene.end();
    }
}

#[test]
fn objects_of_derived_interfaces_are_called_by_the_types_of_the_base() {
    let _guard = watchdog(LONG);
    let scene = Scene::new(UnknownTypes::Refuse);
    for (stated, wanted) in
        [(BASE, BASE), (DERIVED, DERIVED), ("IDL:Unknown:1.0", BASE), (COUNTER, BASE)]
    {
        let object = scene.pass("take_base", stated);
        assert_eq!(object.ior().type_id, wanted, "{stated}");
        assert_eq!(call(&object, "count", TypeCode::LONG).unwrap(), Dynamic::Long(7), "{stated}");
        let more = call(&object, "more", TypeCode::LONG);
        match wanted {
            DERIVED => assert_eq!(more.unwrap(), Dynamic::Long(7)),
            _ => assert_eq!(system(more).minor, minor::no_permission::UNKNOWN_TYPES, "{stated}"),
        }
    }
    scene.end();
}

#[test]
fn a_clients_object_is_narrowed_to_known_interfaces_only_if_unknown_types_are_refused() {
    let _guard = watchdog(LONG);
    for (unknown, is_absent) in [(UnknownTypes::Refuse, false), (UnknownTypes::Search, true)] {
        let scene = Scene::new(unknown);
        let object = scene.pass("take_object", COUNTER);
        assert_eq!(object.ior().type_id, COUNTER);
        assert_eq!(object.is_a(ABSENT), Ok(is_absent));
        assert_eq!(object.is_a(BASE), Ok(true));
        scene.end();
    }
}

#[test]
fn the_id_of_a_type_code_does_not_make_a_reference_too_long() {
    let _guard = watchdog(LONG);
    let scene = Scene::new(UnknownTypes::Refuse);
    let long = interface(&format!("IDL:{}:1.0", "a".repeat(20_000)));
    let refused = system(scene.try_pass("take_any", COUNTER, long));
    assert_eq!(refused.minor, minor::no_permission::REFERENCE_REFUSED);
    assert!(scene.taken.lock().unwrap().is_empty());
    scene.end();
}
