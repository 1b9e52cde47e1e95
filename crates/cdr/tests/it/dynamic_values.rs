//! Valuetypes without Rust types: read, written and skipped by their type codes.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use oxorb_cdr::{
    Any, ByteOrder, Decode, Decoder, DecoderLimits, Dialect, Dynamic, DynamicErrorKind,
    DynamicValue, Encode, Encoder, ErrorKind, Field, TypeCode, Typed, Value, ValueBase, ValueKey,
    ValueLink, ValueModifier, ValueRegistry, Visibility, skip,
};

use crate::support::graph::{Base, Leaf, Mid, Node, Pair};

/// Returns the types of `vectors/values/values.idl`.
fn types(name: &str) -> TypeCode {
    let public = Visibility::Public;
    let value = |name: &str, modifier, base: Option<&str>, members: &[(&str, TypeCode)]| {
        let members = members.iter().map(|(name, ty)| (*name, ty.clone(), public));
        let id = format!("IDL:values/{name}:1.0");
        TypeCode::value(&id, name, modifier, base.map(types), members)
    };
    let boxed = |name: &str, ty| TypeCode::value_box(&format!("IDL:values/{name}:1.0"), name, ty);
    match name {
        "Node" => {
            let next = TypeCode::recursive("IDL:values/Node:1.0");
            let members = [("id", TypeCode::LONG), ("next", next)];
            value("Node", ValueModifier::None, None, &members)
        }
        "Pair" => {
            let members = [("left", types("Node")), ("right", types("Node"))];
            value("Pair", ValueModifier::None, None, &members)
        }
        "Base" => value("Base", ValueModifier::None, None, &[("id", TypeCode::LONG)]),
        "Derived" => {
            let members = [("name", TypeCode::STRING)];
            value("Derived", ValueModifier::None, Some("Base"), &members)
        }
        "Mid" => {
            let members = [("note", TypeCode::STRING), ("extra", types("Node"))];
            value("Mid", ValueModifier::Truncatable, Some("Base"), &members)
        }
        "Leaf" => {
            let members = [("flag", TypeCode::OCTET), ("weight", TypeCode::DOUBLE)];
            value("Leaf", ValueModifier::Truncatable, Some("Mid"), &members)
        }
        "Secret" => value("Secret", ValueModifier::Custom, None, &[("code", TypeCode::LONG)]),
        "Name" => boxed("Name", TypeCode::STRING),
        "Numbers" => boxed("Numbers", TypeCode::sequence(TypeCode::LONG)),
        "Holder" => {
            let members = [
                ("first", types("Name")),
                ("second", types("Name")),
                ("numbers", types("Numbers")),
                ("item", types("Base")),
                ("mark", TypeCode::SHORT),
            ];
            value("Holder", ValueModifier::None, None, &members)
        }
        "Bases" => TypeCode::sequence(types("Base")),
        other => panic!("{other}"),
    }
}

fn registry(names: &[&str]) -> ValueRegistry {
    let registry = ValueRegistry::default();
    registry.register_types(names.iter().map(|name| types(name)));
    registry
}

fn vector(name: &str) -> Vec<u8> {
    read_vector("jacorb", name)
}

fn read_vector(orb: &str, name: &str) -> Vec<u8> {
    let path = format!("{}/tests/vectors/values/{orb}/{name}.bin", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn decoder(octets: &[u8]) -> Decoder<'_> {
    Decoder::new(octets, ByteOrder::Big, Dialect::GIOP_1_2)
}

fn octets(write: impl FnOnce(&mut Encoder<'_>)) -> Vec<u8> {
    let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
    write(&mut e);
    e.finish().to_vec()
}

fn long(value: &Dynamic, path: &str) -> i32 {
    i32::try_from(value.at(path).unwrap_or_else(|| panic!("no {path} in {value:?}"))).unwrap()
}

/// Reads and skips values from JacORB, and writes them to the same octets where JacORB writes as
/// this side does.
fn from_jacorb(name: &str, ty: &str, same: bool) -> Dynamic {
    let (octets_read, ty) = (vector(name), types(ty));
    let registry = registry(&["Derived", "Mid", "Leaf"]);
    let mut d = decoder(&octets_read).with_values(&registry);
    let value = Dynamic::decode(&ty, &mut d).unwrap();
    let mut skipped = decoder(&octets_read).with_values(&registry);
    skip(&ty, &mut skipped).unwrap();
    assert_eq!(skipped.position(), d.position());
    let written = octets(|e| value.encode(&ty, e).unwrap());
    assert_eq!(octets_read.starts_with(&written), same, "{name}");
    let mut d = decoder(&written).with_values(&registry);
    assert_eq!(Dynamic::decode(&ty, &mut d).unwrap(), value);
    value
}

#[test]
fn what_jacorb_writes() {
    let cycle = from_jacorb("cycle", "Node", true);
    assert_eq!(long(&cycle, "id"), long(&cycle, "next.next.id"));
    assert!(matches!(cycle.at("next.next"), Some(Dynamic::Indirection(_))));

    let derived = from_jacorb("derived", "Bases", true);
    assert!(derived.at("[0].name").is_some());

    let leaf = from_jacorb("truncatable", "Bases", true);
    assert_eq!(long(&leaf, "[0].extra.next.id"), 9);

    let holder = from_jacorb("boxed", "Holder", false);
    assert_eq!(holder.at("first.value"), Some(&Dynamic::from("one")));
    assert_eq!(holder.at("mark"), Some(&Dynamic::Short(11)));
}

#[test]
fn types_that_nothing_names_are_asked_for() {
    let octets = vector("truncatable");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let registry = ValueRegistry::default();
    let log = Arc::clone(&asked);
    registry.ask_for_types(move |id| {
        log.lock().unwrap().push(id.to_owned());
        (id == "IDL:values/Leaf:1.0").then(|| types("Leaf"))
    });
    for _ in 0..2 {
        let mut d = decoder(&octets).with_values(&registry);
        let value = Dynamic::decode(&types("Bases"), &mut d).unwrap();
        assert!(value.at("[0].weight").is_some(), "not cut: {value:?}");
    }
    // The source is called once for a type that it knows, because the type is then registered.
    let leaf = |id: &&String| id.as_str() == "IDL:values/Leaf:1.0";
    assert_eq!(asked.lock().unwrap().iter().filter(leaf).count(), 1);

    // After many answers of `None`, the source is not called any more.
    let registry = ValueRegistry::default();
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    registry.ask_for_types(move |_| {
        count.fetch_add(1, Relaxed);
        None
    });
    for _ in 0..2000 {
        let mut d = decoder(&octets).with_values(&registry);
        let value = Dynamic::decode(&types("Bases"), &mut d).unwrap();
        assert!(value.at("[0].weight").is_none(), "cut");
    }
    assert_eq!(asked.load(Relaxed), 1000);
}

#[test]
fn what_the_orb_of_glassfish_writes() {
    let registry = registry(&["Derived", "Mid", "Leaf"]);
    for (name, ty, path) in [
        ("cycle", "Node", "next.next.id"),
        ("derived", "Bases", "[0].id"),
        ("truncatable", "Bases", "[0].extra.next.id"),
        ("boxed", "Holder", "item.id"),
        ("cycle-in-chunks", "Bases", "[1].extra.next.next.id"),
    ] {
        let octets = read_vector("glassfish", name);
        let mut d = decoder(&octets).with_values(&registry);
        let value = Dynamic::decode(&types(ty), &mut d).unwrap();
        assert!(value.at(path).is_some(), "{name}: {value:?}");
        let mut skipped = decoder(&octets).with_values(&registry);
        skip(&types(ty), &mut skipped).unwrap();
        assert_eq!(skipped.position(), d.position(), "{name}");
        let written = self::octets(|e| value.encode(&types(ty), e).unwrap());
        let mut d = decoder(&written).with_values(&registry);
        assert_eq!(Dynamic::decode(&types(ty), &mut d).unwrap(), value, "{name}");
    }
}

#[test]
fn what_is_not_known_is_cut_off() {
    let octets = vector("truncatable");
    let value = Dynamic::decode(&types("Bases"), &mut decoder(&octets)).unwrap();
    let Some(Dynamic::Value(first)) = value.at("[0]") else {
        panic!("{value:?}");
    };
    assert_eq!(first.ty.id(), Some("IDL:values/Base:1.0"));
    assert_eq!(first.truncated_from.as_deref(), Some("IDL:values/Leaf:1.0"));
    assert_eq!(first.fields.len(), 1);

    let octets = vector("derived");
    let error = Dynamic::decode(&types("Bases"), &mut decoder(&octets)).unwrap_err();
    assert_eq!(error.path, "[0]");
    assert!(
        matches!(error.reason, DynamicErrorKind::Cdr(error) if error.kind == ErrorKind::NoValueFactory)
    );
}

#[test]
fn what_rust_types_write_and_read() {
    let nodes =
        Value::cyclic(|me| Node { id: 1, next: Value::new(Node { id: 2, next: me }).into() });
    let pair: ValueLink<Pair> =
        Value::new(Pair { left: (&nodes).into(), right: nodes.into() }).into();
    let written = octets(|e| e.encode_copied(&pair));
    let value = Dynamic::decode(&types("Pair"), &mut decoder(&written)).unwrap();
    assert_eq!(long(&value, "right.next.next.next.id"), 2);
    assert_eq!(octets(|e| value.encode(&types("Pair"), e).unwrap()), written);

    let leaf: ValueLink<Base> = Value::new(Leaf {
        base: Mid { base: Base { id: 5 }, note: "n".into(), extra: ValueLink::null() },
        flag: 1,
        weight: 0.5,
    })
    .into();
    let written = octets(|e| e.encode_copied(&leaf));
    let registry = registry(&["Leaf"]);
    let mut d = decoder(&written).with_values(&registry);
    let value = Dynamic::decode(&TypeCode::VALUE_BASE, &mut d).unwrap();
    assert_eq!(value.at("weight"), Some(&Dynamic::Double(0.5)));
    assert_eq!(octets(|e| value.encode(&TypeCode::VALUE_BASE, e).unwrap()), written);
}

trait EncodeCopied {
    fn encode_copied<T: Encode + Clone + Send + Sync>(&mut self, value: &T);
}

impl EncodeCopied for Encoder<'_> {
    fn encode_copied<T: Encode + Clone + Send + Sync>(&mut self, value: &T) {
        let mut e = Encoder::new(Vec::new(), self.order(), self.dialect());
        value.encode(&mut e).unwrap();
        self.copy_octets(e.finish().to_vec().leak());
    }
}

#[test]
fn sharing_goes_over_all_arguments_of_a_call() {
    let node = DynamicValue::default_for(&types("Node")).unwrap();
    let again = Dynamic::Indirection(node.key.clone());
    let node = Dynamic::from(node);
    let written = octets(|e| {
        node.encode(&types("Node"), e).unwrap();
        again.encode(&types("Node"), e).unwrap();
        // A clone has the same key, so it is written as an indirection, too.
        node.encode(&types("Node"), e).unwrap();
    });
    let mut d = decoder(&written);
    let mut read = || Dynamic::decode(&types("Node"), &mut d).unwrap();
    let Dynamic::Value(first) = read() else { panic!("a value") };
    assert!(matches!(read(), Dynamic::Indirection(key) if key == first.key));
    assert!(matches!(read(), Dynamic::Indirection(key) if key == first.key));
}

#[test]
fn equal_is_what_is_shared_alike() {
    let two = |same: bool| {
        let node = DynamicValue::default_for(&types("Node")).unwrap();
        let other = match same {
            true => Dynamic::Indirection(node.key.clone()),
            false => DynamicValue::default_for(&types("Node")).unwrap().into(),
        };
        let field = |name: &str, value| Field { name: name.into(), value };
        let fields = vec![field("left", node.into()), field("right", other)];
        Dynamic::from(DynamicValue::new(types("Pair"), fields))
    };
    assert_eq!(two(true), two(true));
    assert_eq!(two(false), two(false));
    assert_ne!(two(true), two(false));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let mut pair = Dynamic::from(DynamicValue::default_for(&types("Pair")).unwrap());
    let stranger = Dynamic::Indirection(ValueKey::new());
    *pair.at_mut("right").unwrap() = stranger.clone();
    let error = pair.check(&types("Pair")).unwrap_err();
    assert_eq!(error.to_string(), "right: it refers to a value that does not precede it");
    *pair.at_mut("right").unwrap() = DynamicValue::default_for(&types("Base")).unwrap().into();
    let error = pair.check(&types("Pair")).unwrap_err();
    assert_eq!(error.to_string(), "right: expected Node, found a value of another type");

    let mut pair = Dynamic::from(DynamicValue::default_for(&types("Pair")).unwrap());
    assert!(pair.insert(&types("Pair"), "left", stranger).is_err());
    let node = DynamicValue::default_for(&types("Node")).unwrap();
    let again = Dynamic::Indirection(node.key.clone());
    pair.insert(&types("Pair"), "left", node.into()).unwrap();
    pair.insert(&types("Pair"), "right", again).unwrap();
    pair.insert(&types("Pair"), "left.id", Dynamic::Long(8)).unwrap();
    assert_eq!(long(&pair, "right.id"), 8);
    assert!(DynamicValue::default_for(&TypeCode::VALUE_BASE).is_err());
    assert!(DynamicValue::default_for(&TypeCode::LONG).is_err());
}

#[test]
fn custom_values_pass_in_an_any_but_are_not_read() {
    // The value consists of a tag (chunked, with one repository id), the id, a chunk with one long,
    // and an end tag.
    let secret = octets(|e| {
        write_type(&types("Secret"), e);
        e.ulong(0x7FFF_FF0A);
        e.string("IDL:values/Secret:1.0").unwrap();
        e.ulong(4);
        e.long(7);
        e.long(-1);
    });
    let any = Any::decode(&mut decoder(&secret)).unwrap();
    assert_eq!(octets(|e| write_any(&any, e)), secret);
    let error = any.dynamic().unwrap_err();
    assert!(
        matches!(error.reason, DynamicErrorKind::Cdr(e) if e.kind == ErrorKind::ValueUnsupported)
    );
    // JacORB writes custom values without chunks, so that their end cannot be determined.
    let unchunked = vector("custom");
    let error = skip(&types("Secret"), &mut decoder(&unchunked)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::ValueUnsupported);
}

fn write_type(ty: &TypeCode, e: &mut Encoder<'_>) {
    Dynamic::TypeCode(ty.clone()).encode(&TypeCode::TYPE_CODE, e).unwrap();
}

fn write_any(any: &Any, e: &mut Encoder<'_>) {
    Dynamic::Any(any.clone()).encode(&TypeCode::ANY, e).unwrap();
}

/// Decodes an any that shares a value and a repository id with the octets before it.
#[test]
fn an_any_keeps_what_it_shares_with_the_message() {
    let message = octets(|e| {
        e.ulong(0x7FFF_FF02);
        e.string("IDL:values/Node:1.0").unwrap();
        e.long(1);
        e.ulong(0);
        write_type(&types("Pair"), e);
        e.ulong(0x7FFF_FF02);
        e.string("IDL:values/Pair:1.0").unwrap();
        let back = |e: &mut Encoder<'_>, to: usize| {
            e.ulong(u32::MAX);
            e.long(to as i32 - e.position() as i32);
        };
        back(e, 0);
        // The second member is a new node, which shares only the repository id with the first one.
        e.ulong(0x7FFF_FF02);
        back(e, 4);
        e.long(2);
        back(e, 0);
        e.octet(9);
    });
    // The value before the any can have been read as a Rust type or by its type code.
    for typed in [true, false] {
        let mut d = decoder(&message);
        match typed {
            true => drop(ValueLink::<Node>::decode(&mut d).unwrap()),
            false => drop(Dynamic::decode(&types("Node"), &mut d).unwrap()),
        }
        let any = Any::decode(&mut d).unwrap();
        assert_eq!(d.octet(), Ok(9));
        let pair = any.dynamic().unwrap();
        assert_eq!((long(&pair, "left.id"), long(&pair, "right.id")), (1, 2));
        assert_eq!(long(&pair, "right.next.id"), 1);
        assert!(matches!(pair.at("right.next"), Some(Dynamic::Indirection(_))));
        let again = octets(|e| write_any(&any, e));
        assert_eq!(Any::decode(&mut decoder(&again)).unwrap(), any);
    }
}

/// Decodes an any within the chunks of a value. It contains a value, and numbers across the end of
/// a chunk.
#[test]
fn an_any_within_chunks() {
    let members =
        [("any", TypeCode::ANY, Visibility::Public), ("mark", TypeCode::LONG, Visibility::Public)];
    let base = TypeCode::value("IDL:B:1.0", "B", ValueModifier::None, None, []);
    let ty = TypeCode::value("IDL:V:1.0", "V", ValueModifier::Truncatable, base, members);
    let longs = Any::new(vec![1i32, 2, 3]);
    let node = DynamicValue::default_for(&types("Node")).unwrap();
    let node = Any::with_type(types("Node"), node.into()).unwrap();
    for any in [longs, node] {
        let mut value = DynamicValue::default_for(&ty).unwrap();
        value.fields[0].value = Dynamic::Any(any.clone());
        value.fields[1].value = Dynamic::Long(7);
        let value = Dynamic::from(value);
        let written = octets(|e| value.encode(&ty, e).unwrap());
        let read = Dynamic::decode(&ty, &mut decoder(&written)).unwrap();
        assert_eq!(read, value);
        let Some(Dynamic::Any(read)) = read.at("any") else {
            panic!("{read:?}");
        };
        assert_eq!(octets(|e| write_any(read, e)), octets(|e| write_any(&any, e)));
        assert_eq!(octets(|e| read_again(&written, &ty).encode(&ty, e).unwrap()), written);
    }
    let split = octets(|e| {
        e.ulong(0x7FFF_FF0A);
        e.string("IDL:V:1.0").unwrap();
        e.align(4);
        let start = e.position();
        e.ulong(0);
        write_type(&Vec::<i32>::type_code(), e);
        e.ulong(2);
        e.long(1);
        let size = (e.position() - start - 4) as u32;
        e.patch_ulong(start, size);
        e.ulong(8);
        e.long(2);
        e.long(7);
        e.long(-1);
    });
    let value = Dynamic::decode(&ty, &mut decoder(&split)).unwrap();
    assert_eq!(value.at("any"), Some(&Dynamic::Any(Any::new(vec![1i32, 2]))));
    assert_eq!(long(&value, "mark"), 7);
}

fn read_again(octets: &[u8], ty: &TypeCode) -> Dynamic {
    Dynamic::decode(ty, &mut decoder(octets)).unwrap()
}

/// Returns a list of `length` nodes.
fn list(length: usize) -> Vec<u8> {
    octets(|e| {
        let mut id = 0;
        for _ in 0..length {
            if id == 0 {
                e.ulong(0x7FFF_FF02);
                e.align(4);
                id = e.position();
                e.string("IDL:values/Node:1.0").unwrap();
            } else {
                e.ulong(0x7FFF_FF02);
                e.ulong(u32::MAX);
                e.long(id as i32 - e.position() as i32);
            }
            e.long(5);
        }
        e.ulong(0);
    })
}

#[test]
fn depth_is_bounded() {
    let ty = types("Node");
    let octets = list(240);
    assert!(Dynamic::decode(&ty, &mut decoder(&octets)).is_ok());
    assert!(skip(&ty, &mut decoder(&octets)).is_ok());
    let octets = list(100_000);
    let too_deep = |kind| matches!(kind, ErrorKind::TooDeep { .. });
    let error = Dynamic::decode(&ty, &mut decoder(&octets)).unwrap_err();
    assert!(matches!(error.reason, DynamicErrorKind::Cdr(error) if too_deep(error.kind)));
    assert!(too_deep(skip(&ty, &mut decoder(&octets)).unwrap_err().kind));
    let limits = DecoderLimits { max_value_depth: 10, ..DecoderLimits::default() };
    let octets = list(11);
    let mut d = decoder(&octets).with_limits(limits);
    let error = Dynamic::decode(&ty, &mut d).unwrap_err();
    assert!(
        matches!(error.reason, DynamicErrorKind::Cdr(error) if error.kind == ErrorKind::TooDeep { limit: 10 })
    );
}

/// Each value contains two anys with the previous value, so that naive reading would yield 2^n
/// values.
#[test]
fn what_anys_repeat_is_bounded() {
    let members =
        [("a", TypeCode::ANY, Visibility::Public), ("b", TypeCode::ANY, Visibility::Public)];
    let ty = TypeCode::value("V", "V", ValueModifier::None, None, members);
    let message = octets(|e| {
        let mut before = None;
        for _ in 0..60 {
            e.align(4);
            let here = e.position();
            e.ulong(0x7FFF_FF02);
            e.string("V").unwrap();
            for _ in 0..2 {
                match before {
                    None => write_type(&TypeCode::NULL, e),
                    Some(to) => {
                        write_type(&ty, e);
                        e.ulong(u32::MAX);
                        e.long(to as i32 - e.position() as i32);
                    }
                }
            }
            before = Some(here);
        }
    });
    let mut d = decoder(&message);
    let error = loop {
        match Dynamic::decode(&ty, &mut d) {
            Ok(_) => assert!(d.remaining() > 0, "more than anybody should keep"),
            Err(error) => break error,
        }
    };
    let DynamicErrorKind::Cdr(error) = error.reason else { panic!("{error}") };
    assert!(matches!(error.kind, ErrorKind::TooMuchShared | ErrorKind::TooDeep { .. }), "{error}");
}

/// An any that contains the value around it would be infinite.
#[test]
fn an_any_that_leads_to_the_value_it_is_in_is_refused() {
    let members = [("a", TypeCode::ANY, Visibility::Public)];
    let ty = TypeCode::value("V", "V", ValueModifier::None, None, members);
    let message = octets(|e| {
        e.ulong(0x7FFF_FF02);
        e.string("V").unwrap();
        write_type(&ty, e);
        e.ulong(u32::MAX);
        e.long(-(e.position() as i32));
    });
    let error = Dynamic::decode(&ty, &mut decoder(&message)).unwrap_err();
    assert!(matches!(
        error.reason,
        DynamicErrorKind::Cdr(error) if matches!(error.kind, ErrorKind::TooDeep { .. } | ErrorKind::TooMuchShared)
    ));
}

#[test]
fn values_in_anys_of_both_kinds() {
    let node: ValueLink<Node> = Value::new(Node { id: 3, next: ValueLink::null() }).into();
    let base: ValueLink<ValueBase> = node.get().unwrap().into();
    let written = octets(|e| e.encode_copied(&base));
    let registry = registry(&["Node"]);
    let mut d = decoder(&written).with_values(&registry);
    let value = Dynamic::decode(&TypeCode::VALUE_BASE, &mut d).unwrap();
    let any = Any::with_type(types("Node"), value).unwrap();
    let sent = octets(|e| write_any(&any, e));
    assert_eq!(Any::decode(&mut decoder(&sent)).unwrap(), any);
}
/// Runs the entry points of the fuzz targets `any` and `value` on their seeds, and on every change
/// of one octet of each.
#[test]
fn fuzz_entry_points_take_their_seeds() {
    for (folder, run) in [
        ("any", oxorb_cdr::fuzz::decode_any as fn(&[u8])),
        ("value", oxorb_cdr::fuzz::decode_values),
        ("typecode", oxorb_cdr::fuzz::decode_typecode),
    ] {
        let folder = format!("{}/../../fuzz/seeds/{folder}", env!("CARGO_MANIFEST_DIR"));
        for seed in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder}: {error}")) {
            let mut seed = std::fs::read(seed.unwrap().path()).unwrap();
            run(&seed);
            for at in 0..seed.len() {
                for flip in [1, 0x80, 0xFF] {
                    seed[at] ^= flip;
                    run(&seed);
                    seed[at] ^= flip;
                }
            }
        }
    }
}
