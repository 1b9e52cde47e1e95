//! Generated valuetypes: graphs from JacORB, and graphs sent between ORBs.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use oxorb::cdr::{Decode, Decoder, Encode, Encoder, ErrorKind};
use oxorb::values::{Abstract, TcKind, Typed, Value, ValueBase, ValueLink, Valuetype};
use oxorb::{Interface, Orb, SystemExceptionKind, minor};
use oxorb_cdr::{ByteOrder, Dialect};
use oxorb_codegen_tests::values::echo::FailError;
use oxorb_codegen_tests::values::{
    Alarm, Base, Bases, Choice, Circle, Coloured, Derived, Describable, DescribableRef, Echo,
    EchoRef, Holder, Leaf, Mid, Mixed, Name, Node, Numbers, Pair, Point, Report, Secret, Shape,
    Spot, Square, Station, StationRef, Tree, Unknown, Untold, Wide,
};

/// Servant that returns its argument.
struct Mirror {
    root: Mutex<ValueLink<Tree>>,
    told: Mutex<mpsc::Sender<i32>>,
}

impl Echo for Mirror {
    fn echo_node(&self, it: &ValueLink<Node>) -> oxorb::Result<ValueLink<Node>> {
        Ok(it.clone())
    }

    fn echo_bases(&self, all: &[ValueLink<Base>]) -> oxorb::Result<Bases> {
        Ok(all.to_vec())
    }

    fn echo_base(&self, it: &ValueLink<Base>) -> oxorb::Result<ValueLink<Base>> {
        Ok(it.clone())
    }

    fn echo_mixed(
        &self,
        it: &Mixed,
        both: &mut ValueLink<Pair>,
    ) -> oxorb::Result<(Mixed, ValueLink<Node>)> {
        let pair = both.get().expect("a pair");
        *both = Value::new(Pair { left: pair.right.clone(), right: pair.left.clone() }).into();
        Ok((it.clone(), it.a_node.clone()))
    }

    fn echo_described(
        &self,
        it: &Abstract<DescribableRef>,
    ) -> oxorb::Result<Abstract<DescribableRef>> {
        Ok(it.clone())
    }

    fn echo_name(&self, it: &ValueLink<Name>) -> oxorb::Result<ValueLink<Name>> {
        Ok(it.clone())
    }

    fn fail(&self, what: &ValueLink<Base>) -> Result<(), FailError> {
        Err(Unknown { what: what.clone() }.into())
    }

    fn root(&self) -> oxorb::Result<ValueLink<Tree>> {
        Ok(self.root.lock().unwrap().clone())
    }

    fn set_root(&self, value: &ValueLink<Tree>) -> oxorb::Result<()> {
        *self.root.lock().unwrap() = value.clone();
        Ok(())
    }

    fn echo_any(&self, it: &ValueLink<ValueBase>) -> oxorb::Result<ValueLink<ValueBase>> {
        Ok(it.clone())
    }

    fn echo_spot(&self, it: &ValueLink<Spot>) -> oxorb::Result<ValueLink<Spot>> {
        Ok(it.clone())
    }

    fn echo_wide(&self, it: &ValueLink<Wide>) -> oxorb::Result<ValueLink<Wide>> {
        Ok(it.clone())
    }

    fn tell(&self, what: &ValueLink<Alarm>) {
        let level = what.get().expect("an alarm").level;
        self.told.lock().unwrap().send(level).unwrap();
    }
}

impl Describable for Mirror {
    fn describe(&self) -> oxorb::Result<String> {
        Ok("a mirror".into())
    }
}

impl Station for Mirror {
    fn close(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

struct Setting {
    echo: EchoRef,
    told: mpsc::Receiver<i32>,
    server: Orb,
    client: Orb,
}

impl Setting {
    fn new() -> Self {
        let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let client = Orb::builder().build().unwrap();
        let (sender, told) = mpsc::channel();
        let mirror = Mirror { root: Mutex::default(), told: Mutex::new(sender) };
        let local: EchoRef = server.root_poa().activate(mirror).unwrap();
        let echo = client.resolve(&local.to_ior()).unwrap();
        Setting { echo, told, server, client }
    }
}

fn node(id: i32, next: ValueLink<Node>) -> ValueLink<Node> {
    Value::new(Node { id, next }).into()
}

fn leaf(extra: ValueLink<Node>) -> Value<Leaf> {
    Value::new(Leaf {
        base: Mid { base: Base { id: 7 }, note: "note".into(), extra },
        flag: 9,
        weight: 2.5,
    })
}

#[test]
fn a_cycle_comes_back_as_a_cycle() {
    let setting = Setting::new();
    assert!(setting.echo.echo_node(&ValueLink::null()).unwrap().is_null());
    let ring = Value::cyclic(|first| Node { id: 1, next: node(2, node(3, first)) });
    let back = setting.echo.echo_node(&ValueLink::from(&ring)).unwrap();
    let first = back.get().unwrap();
    drop(back);
    let third = first.next.get().unwrap().next.get().unwrap();
    assert_eq!((first.id, third.id), (1, 3));
    drop(first);
    // A holder of any part holds the whole ring.
    let first = third.next.get().unwrap();
    assert_eq!(first.id, 1);
    assert_eq!(first.next.get().unwrap().next.get(), Some(third));
}

#[test]
fn derived_values_stay_derived_and_the_same_value_the_same() {
    let setting = Setting::new();
    let derived = Value::new(Derived { base: Base { id: 4 }, name: "four".into() });
    let square = Value::new(Square { base: Base { id: 5 }, side: 1.5 });
    let leaf = leaf(node(8, ValueLink::null()));
    let all: Bases = vec![
        ValueLink::from(&derived),
        square.into(),
        leaf.into(),
        derived.into(),
        ValueLink::null(),
    ];
    let back = setting.echo.echo_bases(&all).unwrap();
    let values: Vec<_> = back.iter().map(ValueLink::get).collect();
    let first = values[0].as_ref().unwrap();
    assert_eq!(first.id, 4);
    assert_eq!(first.downcast::<Derived>().unwrap().name, "four");
    let square: Value<Square> = values[1].as_ref().unwrap().downcast().unwrap();
    assert!((square.side - 1.5).abs() < f64::EPSILON);
    let leaf: Value<Leaf> = values[2].as_ref().unwrap().downcast().unwrap();
    let mid: Value<Mid> = leaf.upcast();
    assert_eq!((mid.note.as_str(), mid.base.id), ("note", 7));
    assert_eq!(mid.extra.get().unwrap().id, 8);
    assert_eq!(back[3], back[0]);
    assert!(back[4].is_null());
}

#[test]
fn values_in_structs_unions_out_and_inout() {
    let setting = Setting::new();
    let shared = node(1, ValueLink::null());
    let circle = Value::new(Circle { radius: 2.0 });
    let shape: Value<Shape> = circle.upcast();
    let mixed = Mixed {
        a_node: shared.clone(),
        any_value: ValueLink::null(),
        several: vec![Choice::ANode(shared.clone()), Choice::AShape(ValueLink::from(&shape))],
        a_shape: shape.into(),
    };
    let mut both: ValueLink<Pair> =
        Value::new(Pair { left: node(1, ValueLink::null()), right: node(2, ValueLink::null()) })
            .into();
    let (back, first) = setting.echo.echo_mixed(&mixed, &mut both).unwrap();
    assert_eq!(first, back.a_node);
    let [Choice::ANode(again), Choice::AShape(shape)] = back.several.as_slice() else {
        panic!("{back:?}");
    };
    assert_eq!((again, shape), (&back.a_node, &back.a_shape));
    let coloured: Value<Coloured> = shape.get().unwrap().downcast().unwrap();
    let circle: Value<Circle> = coloured.downcast().unwrap();
    assert!((circle.radius - 2.0).abs() < f64::EPSILON);
    assert_eq!(both.get().unwrap().left.get().unwrap().id, 2);
}

#[test]
fn boxes_of_everything() {
    let setting = Setting::new();
    let name = Value::new(Name("one".into())).into();
    let back = setting.echo.echo_name(&name).unwrap();
    assert_eq!(back.get().unwrap().0, "one");
    let spot = Value::new(Spot(Point { x: 1, y: -1 })).into();
    let back = setting.echo.echo_spot(&spot).unwrap();
    assert_eq!(back.get().unwrap().0, Point { x: 1, y: -1 });
    let wide = Value::new(Wide("Höhe".into())).into();
    let back = setting.echo.echo_wide(&wide).unwrap();
    assert_eq!(back.get().unwrap().0, "Höhe");
    let long = Value::new(Wide("too long a text".into())).into();
    assert!(setting.echo.echo_wide(&long).is_err());
}

#[test]
fn trees_attributes_exceptions_and_oneways() {
    let setting = Setting::new();
    let tree = |base: &str, children| {
        ValueLink::from(Value::new(Tree {
            base: base.into(),
            children,
            any_value: ValueLink::null(),
        }))
    };
    let twig = tree("twig", vec![]);
    let root = tree("root", vec![twig.clone(), ValueLink::null(), twig]);
    setting.echo.set_root(&root).unwrap();
    let back = setting.echo.root().unwrap().get().unwrap();
    assert_eq!((back.base.as_str(), back.children.len()), ("root", 3));
    assert_eq!(back.children[0], back.children[2]);

    let what = ValueLink::from(leaf(ValueLink::null()));
    match setting.echo.fail(&what) {
        Err(FailError::Unknown(Unknown { what })) => {
            let leaf: Value<Leaf> = what.get().unwrap().downcast().unwrap();
            assert_eq!(leaf.flag, 9);
        }
        other => panic!("{other:?}"),
    }

    let alarm = Value::new(Alarm { level: 3 });
    setting.echo.tell(&alarm.into()).unwrap();
    let told = setting.told.recv_timeout(Duration::from_secs(10));
    assert_eq!(told, Ok(3));
}

#[test]
fn an_abstract_interface_is_an_object_a_value_or_nothing() {
    let setting = Setting::new();
    let (sender, _) = mpsc::channel();
    let station: StationRef = (setting.server.root_poa())
        .activate(Mirror { root: Mutex::default(), told: Mutex::new(sender) })
        .unwrap();
    let back = setting.echo.echo_described(&DescribableRef::from(station).into()).unwrap();
    let Abstract::Object(object) = back else {
        panic!("{back:?}");
    };
    assert_eq!(object.describe().unwrap(), "a mirror");

    let report = Value::new(Report { text: "all well".into() });
    let sent: Abstract<DescribableRef> = report.into();
    let back = setting.echo.echo_described(&sent).unwrap();
    let Abstract::Value(value) = back else {
        panic!("{back:?}");
    };
    assert_eq!(value.downcast::<Report>().unwrap().text, "all well");

    let nil = setting.echo.echo_described(&Abstract::Nil).unwrap();
    assert_eq!(nil, Abstract::Nil);
}

#[test]
fn a_value_of_any_type_must_be_registered() {
    let setting = Setting::new();
    let name: ValueLink<ValueBase> = Value::new(Name("n".into())).into();
    let error = setting.echo.echo_any(&name).unwrap_err();
    assert_eq!(error.kind, SystemExceptionKind::Marshal);
    assert_eq!(error.minor, minor::marshal::NO_VALUE_FACTORY);
    for orb in [&setting.server, &setting.client] {
        orb.values().register(Name::factories());
    }
    let back = setting.echo.echo_any(&name).unwrap().get().unwrap();
    assert_eq!(back.downcast::<Name>().unwrap().0, "n");
}

fn vector(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../crates/cdr/tests/vectors/values/jacorb");
    fs::read(folder.join(format!("{name}.bin"))).unwrap()
}

/// Reads octets of JacORB; the encoded value has the same octets, unless JacORB writes it differently.
fn from_jacorb<T>(name: &str, same: bool, check: impl Fn(&T))
where
    T: Encode + for<'de> Decode<'de>,
{
    let octets = vector(name);
    let mut d = Decoder::new(&octets, ByteOrder::Big, Dialect::GIOP_1_2);
    let value = T::decode(&mut d).unwrap();
    check(&value);
    let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
    value.encode(&mut e).unwrap();
    let written = e.finish().to_vec();
    assert_eq!(octets.starts_with(&written), same, "{name}");
}

#[test]
fn what_jacorb_writes() {
    from_jacorb::<ValueLink<Node>>("cycle", true, |node| {
        let first = node.get().unwrap();
        assert_eq!(first.next.get().unwrap().next.get(), Some(first));
    });
    from_jacorb::<Bases>("derived", true, |all| {
        assert!(all[0].get().unwrap().downcast::<Derived>().is_some());
    });
    from_jacorb::<Bases>("truncatable", true, |all| {
        let leaf: Value<Leaf> = all[0].get().unwrap().downcast().unwrap();
        assert_eq!(leaf.base.extra.get().unwrap().next.get().unwrap().id, 9);
    });
    from_jacorb::<ValueLink<Holder>>("boxed", false, |holder| {
        let holder = holder.get().unwrap();
        assert_eq!(holder.first.get().unwrap().0, "one");
        assert_eq!(holder.list.get().unwrap(), holder.list.get().unwrap());
        let numbers: Value<Numbers> = holder.list.get().unwrap();
        assert_eq!((numbers.0.as_slice(), holder.mark), (&[1, 2, 3][..], 11));
    });
    from_jacorb::<ValueLink<Secret>>("custom", false, |secret| {
        assert_eq!(secret.get().unwrap().code, 99);
    });
}

#[test]
fn values_know_their_type_codes() {
    let tree = ValueLink::<Tree>::type_code();
    assert_eq!((tree.kind(), tree.id()), (TcKind::Value, Some("IDL:values/Tree:1.0")));
    assert!(tree.is_complete());
    let leaf = Leaf::type_code();
    assert!(leaf.is_complete());
    assert_eq!(Name::type_code().kind(), TcKind::ValueBox);
    assert_eq!(Alarm::type_code().kind(), TcKind::Event);
    assert_eq!(Shape::type_code().kind(), TcKind::Value);
    assert_eq!(ValueLink::<ValueBase>::type_code().kind(), TcKind::Value);
}

/// A custom value without a `CustomMarshal` compiles, and causes an error that names the missing trait.
#[test]
fn a_custom_value_nobody_marshals_is_refused() {
    let link: ValueLink<Untold> = Value::new(Untold { code: 7 }).into();
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2));
    let error = link.encode(&mut encoder).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoCustomMarshal);

    // Chunked, with one id; a chunk of one long; the end.
    let mut octets = vec![0x7F, 0xFF, 0xFF, 0x0A, 0, 0, 0, 22];
    octets.extend(b"IDL:values/Untold:1.0\0\0\0");
    octets.extend([0, 0, 0, 4, 0, 0, 0, 7, 0xFF, 0xFF, 0xFF, 0xFF]);
    let mut decoder = Decoder::new(&octets, ByteOrder::Big, Dialect::new(2));
    let error = ValueLink::<Untold>::decode(&mut decoder).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NoCustomMarshal);
}
