//! Values with behaviour: the actual type of a handle's value determines the behaviour, regardless of the handle's
//! type. `src/does/behaviour.rs` implements the behaviour.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use oxorb::servant::Context;
use oxorb::values::{Abstract, TypeCode, Value, ValueBase, ValueLink, Valuetype};
use oxorb::{Any, Interface, Orb, SystemExceptionKind, minor};
use oxorb_codegen_tests::behaviour::behaviour::{
    Badge, Bell, BellOperations, Circle, CircleFactory, Coloured, ColouredOperations, Idler, List,
    ListFactory, ListOperations, Named, NamedRef, Refused, Ring, Sealed, SealedOperations, Service,
    ServiceRef, Shape, ShapeOperations, Watcher, Worker, circle, coloured, list, service,
};
use oxorb_codegen_tests::behaviour::{Outside, OutsideOperations};
use oxorb_codegen_tests::does::behaviour::{Lists, POKED};
use oxorb_codegen_tests::values::{Tree, TreeOperations};

fn circle(radius: f64) -> Circle {
    Circle { radius, paint: "red".into() }
}

fn ring() -> Ring {
    Ring { base: circle(2.0), hole: 1.0 }
}

fn badge() -> Badge {
    Badge { base: ring(), text: "OxORB".into() }
}

fn list(numbers: &[i32]) -> ValueLink<List> {
    let Some((head, rest)) = numbers.split_first() else {
        return ValueLink::null();
    };
    let tail = list(rest);
    Value::new(List { head: *head, tail }).into()
}

#[test]
fn the_real_type_decides_whatever_the_handle_is() {
    let shapes: [Value<Shape>; 3] = [
        Value::new(circle(2.0)).upcast(),
        Value::new(ring()).upcast(),
        Value::new(badge()).upcast(),
    ];
    let areas: Vec<f64> = shapes.iter().map(|shape| shape.area().unwrap()).collect();
    // A badge implements no area: it inherits that of a ring.
    assert_eq!(areas, [12.0, 9.0, 9.0]);
    let as_circle: Value<Circle> = shapes[1].downcast().unwrap();
    assert_eq!(as_circle.area(), Ok(9.0), "overridden");
    assert_eq!(as_circle.label().unwrap(), "ring");
    assert_eq!(ShapeOperations::area(&*as_circle), Ok(12.0), "of the part");
    // A ring does not implement colours: the circle in it does.
    let badge: Value<Badge> = shapes[2].downcast().unwrap();
    assert_eq!(badge.colour().unwrap(), "red");
    assert_eq!(badge.title().unwrap(), "OxORB");
}

#[test]
fn what_changes_a_value_changes_it_for_this_handle_alone() {
    let mut mine: Value<Coloured> = Value::new(badge()).upcast();
    let before = mine.clone();
    mine.set_colour("blue").unwrap();
    assert_eq!(mine.colour().unwrap(), "blue");
    assert_eq!(before.colour().unwrap(), "red");
    assert_ne!(mine, before, "another value now");
    // The value has no other holder, so it is changed in place, and remains the same value of the same type.
    let place = std::ptr::from_ref::<Badge>(&*mine.downcast::<Badge>().unwrap());
    mine.set_colour("green").unwrap();
    mine.fade(1.0).unwrap();
    let badge = mine.downcast::<Badge>().unwrap();
    assert_eq!(std::ptr::from_ref::<Badge>(&*badge), place);
    assert_eq!(badge.base.base, Circle { radius: 1.0, paint: "green".into() });
    drop(badge);
    match mine.set_colour("") {
        Err(coloured::SetColourError::Refused(Refused { why })) => assert_eq!(why, "no colour"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_state_is_changed_in_place_or_copied() {
    let mut ring = Value::cyclic(|first| List {
        head: 1,
        tail: Value::new(List { head: 2, tail: first }).into(),
    });
    let old = ring.clone();
    ring.make_mut().head = 7;
    assert_eq!((ring.head, old.head), (7, 1));
    // Linked values are not copied, and lead back to the old value.
    let second = ring.tail.get().unwrap();
    assert_eq!(second.tail.get(), Some(old));
    let mut base: Value<Circle> = Value::new(self::ring()).upcast();
    base.make_mut().radius = 9.0;
    assert_eq!(base.downcast::<Ring>().unwrap().base.radius, 9.0);
}

#[test]
fn factories_are_functions() {
    assert_eq!(Circle::unit().unwrap().radius, 1.0);
    assert_eq!(Circle::of_radius(2.0, "red").unwrap().paint, "red");
    match Circle::of_radius(-1.0, "red") {
        Err(circle::OfRadiusError::Refused(refused)) => {
            assert_eq!(refused.why, "less than nothing")
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(Lists::of(&[list(&[4])], None).unwrap().head, 4);
}

fn orbs() -> (Orb, Orb) {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    (server, Orb::builder().build().unwrap())
}

#[test]
fn a_value_is_a_servant_of_what_it_supports() {
    let (server, client) = orbs();
    let worker = Value::new(Worker { name: "Ada".into(), grade: 3 });
    let base: Value<ValueBase> = worker.upcast();
    let worker = base.downcast::<Worker>().unwrap();
    let served: ServiceRef = server.root_poa().activate(worker.clone()).unwrap();
    let remote: ServiceRef = client.resolve(&served.to_ior()).unwrap();
    let mut text = String::from("so");
    let (sum, raw) = remote.add(4, &mut text).unwrap();
    assert_eq!((sum, &*raw, &*text), (7, b"Ada".as_slice(), "so!"));
    match remote.add(-1, &mut text) {
        Err(service::AddError::Refused(refused)) => assert_eq!(refused.why, "so!"),
        other => panic!("{other:?}"),
    }
    assert_eq!(remote.title().unwrap(), "Ada");
    assert_eq!(remote.level().unwrap(), 3);
    assert_eq!(remote.doubled(&[1, 2]).unwrap(), [2, 4]);
    remote.poke(2).unwrap();
    remote.set_level(1).unwrap();
    // A local call sends nothing.
    worker.poke(3);
    assert_eq!(worker.doubled(&[3]).unwrap().as_ref(), [6]);
    assert_eq!(POKED.load(Relaxed), 5);
    // As an abstract interface, it is sent as a copy.
    match Abstract::<NamedRef>::from(worker) {
        Abstract::Value(named) => assert_eq!(named.title().unwrap(), "Ada"),
        other => panic!("{other:?}"),
    }
}

struct Notes(Mutex<Vec<i32>>);

impl Watcher for Notes {
    fn seen(&self, what: i32) -> oxorb::Result<()> {
        self.0.lock().unwrap().push(what);
        Ok(())
    }
}

#[test]
fn recursive_types_in_every_direction() {
    let numbers = list(&[1, 2, 3]).get().unwrap();
    assert_eq!(numbers.size().unwrap(), 3);
    assert_eq!(numbers.find(3, list::Order::Up).unwrap().index, 2);
    match numbers.find(9, list::Order::Down) {
        Err(list::FindError::Missing(missing)) => assert_eq!(missing.what, 9),
        other => panic!("{other:?}"),
    }
    let (mut all, mut any) = (Vec::new(), Any::new(0_i32));
    let (tail, _) = numbers.rest(&list(&[5]), &mut all, &mut any).unwrap();
    assert_eq!(tail, numbers.tail);
    assert_eq!((all.len(), any.get::<i32>()), (1, Ok(Some(1))));
    assert!(numbers.rest(&ValueLink::null(), &mut all, &mut any).is_err());
    let notes: Arc<dyn Watcher> = Arc::new(Notes(Mutex::default()));
    let handle: Arc<dyn std::any::Any + Send + Sync> = Arc::new(());
    let nobody = Abstract::Nil;
    numbers.watch(Some(&notes), &handle, None, None, &nobody).unwrap();
    assert_eq!(*numbers.crop(&[1, 2, 3], 2).unwrap(), [1, 2]);
    assert_eq!(numbers.told(&Context::new()).unwrap(), "nobody");
    numbers.forget(1).unwrap();
    numbers.keep().unwrap();
    let (mut shorter, mut octets) = (numbers.clone(), vec![1, 2]);
    shorter.drop_first(1, &mut octets).unwrap();
    assert_eq!((shorter.head, numbers.head, octets.len()), (2, 1, 1));
    // If a handle has a method of the same name, the trait's one is called by path.
    assert_eq!(ListOperations::info(&numbers).unwrap(), numbers.tail);
    ListOperations::upcast(&numbers, &ValueLink::null(), &TypeCode::LONG).unwrap();
    shorter.set_info(&ValueLink::null()).unwrap();
    assert!(matches!(ListOperations::info(&shorter), Err(list::InfoError::Missing(_))));
    assert_eq!(shorter.info().id, List::INFO.id);
    let sealed = Value::new(Sealed { inside: b"key".to_vec() });
    assert!(sealed.opens("key").unwrap());
    assert_eq!(Value::new(Outside { value: 4 }).twice(), Ok(8));
}

#[test]
fn what_nobody_wrote_is_no_implement() {
    let tree =
        Value::new(Tree { base: String::new(), children: vec![], any_value: ValueLink::null() });
    let exception = tree.levels().unwrap_err();
    assert_eq!(exception.kind, SystemExceptionKind::NoImplement);
    assert_eq!(exception.minor, minor::no_implement::NO_VALUE_IMPLEMENTATION);
    let bell = Value::new(Bell { volume: 1 });
    assert_eq!(bell.ring().unwrap_err(), exception);
    // The same calls over the wire.
    let (server, client) = orbs();
    let idler: Value<Idler> = Value::new(Idler { hours: 8 });
    let served: NamedRef = server.root_poa().activate(idler).unwrap();
    let remote: NamedRef = client.resolve(&served.to_ior()).unwrap();
    assert_eq!(remote.title().unwrap_err().kind, exception.kind);
}
