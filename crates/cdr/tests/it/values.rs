//! Valuetypes: graphs as JacORB writes them, graphs as OxORB writes them (JacORB read those), both byte orders.
//!
//! `vectors/values/README.md` documents the origin of the octets.

use std::fs;
use std::path::PathBuf;

use oxorb_cdr::{
    ByteOrder, Decode, Decoder, Dialect, Encode, Encoder, Factory, Inherits, Result, Value,
    ValueInfo, ValueLink, ValueState, Valuetype,
};

use crate::support::graph::{Base, Derived, Holder, Leaf, Mid, Name, Node, Numbers, Pair, Secret};

type Write = fn(&mut Encoder<'static>) -> Result<()>;
type Read = fn(&mut Decoder<'_>) -> Result<()>;

const CASES: &[(&str, Write, Read)] = &[
    ("null", write_null, read_null),
    ("shared", write_shared, read_shared),
    ("cycle", write_cycle, read_cycle),
    ("derived", write_derived, read_derived),
    ("truncatable", write_truncatable, read_truncatable),
    ("boxed", write_boxed, read_boxed),
    ("custom", write_custom, read_custom),
    ("cycle-in-chunks", write_cycle_in_chunks, read_cycle_in_chunks),
    ("unknown", write_unknown, read_unknown),
];

/// Writes a value, leaked, since encoders borrow values until the end.
fn lend<T: Encode + 'static>(e: &mut Encoder<'static>, value: T) -> Result<()> {
    Box::leak(Box::new(value)).encode(e)
}

fn node(id: i32, next: ValueLink<Node>) -> ValueLink<Node> {
    Value::new(Node { id, next }).into()
}

fn cycle() -> Value<Node> {
    Value::cyclic(|first| Node { id: 1, next: node(2, first) })
}

fn leaf(extra: ValueLink<Node>) -> ValueLink<Base> {
    Value::new(Leaf {
        base: Mid { base: Base { id: 7 }, note: "note".into(), extra },
        flag: 9,
        weight: 2.5,
    })
    .into()
}

/// Returns the target of a link as the expected type.
fn as_leaf(link: &ValueLink<Base>) -> Value<Leaf> {
    link.get().unwrap().downcast().expect("a leaf")
}

fn write_null(e: &mut Encoder<'static>) -> Result<()> {
    lend(e, ValueLink::<Node>::null())?;
    e.octet(5);
    Ok(())
}

fn read_null(d: &mut Decoder<'_>) -> Result<()> {
    assert!(ValueLink::<Node>::decode(d)?.is_null());
    assert_eq!(d.octet()?, 5);
    Ok(())
}

fn write_shared(e: &mut Encoder<'static>) -> Result<()> {
    e.octet(1);
    let left = node(3, ValueLink::null());
    let right = left.clone();
    let pair = Value::new(Pair { left, right });
    lend(e, [pair.clone(), pair])
}

fn read_shared(d: &mut Decoder<'_>) -> Result<()> {
    d.octet()?;
    let pair = Value::<Pair>::decode(d)?;
    assert_eq!(pair.left.get().unwrap().id, 3);
    assert_eq!(pair.left, pair.right);
    assert_eq!(Value::<Pair>::decode(d)?, pair);
    Ok(())
}

fn write_cycle(e: &mut Encoder<'static>) -> Result<()> {
    lend(e, cycle())
}

fn read_cycle(d: &mut Decoder<'_>) -> Result<()> {
    let first = Value::<Node>::decode(d)?;
    let second = first.next.get().unwrap();
    assert_eq!((first.id, second.id), (1, 2));
    assert_eq!(second.next.get(), Some(first));
    Ok(())
}

fn write_derived(e: &mut Encoder<'static>) -> Result<()> {
    let derived = Value::new(Derived { base: Base { id: 4 }, name: "four".into() });
    let base = Value::new(Base { id: 5 });
    let all: Vec<ValueLink<Base>> =
        vec![ValueLink::from(&derived), base.into(), derived.into(), ValueLink::null()];
    lend(e, all)
}

fn read_derived(d: &mut Decoder<'_>) -> Result<()> {
    let all = d.sequence::<ValueLink<Base>>(None)?;
    let first = all[0].get().unwrap();
    assert_eq!(first.id, 4);
    assert_eq!(first.downcast::<Derived>().unwrap().name, "four");
    assert!(first.downcast::<Leaf>().is_none());
    assert_eq!(all[1].get().unwrap().id, 5);
    assert_eq!(all[2], all[0]);
    assert!(all[3].is_null());
    Ok(())
}

fn write_truncatable(e: &mut Encoder<'static>) -> Result<()> {
    let extra = node(8, node(9, ValueLink::null()));
    lend(e, vec![leaf(extra), leaf(ValueLink::null())])?;
    e.long(77);
    Ok(())
}

fn read_truncatable(d: &mut Decoder<'_>) -> Result<()> {
    let all = d.sequence::<ValueLink<Base>>(None)?;
    let leaf = as_leaf(&all[0]);
    assert_eq!((leaf.base.base.id, leaf.base.note.as_str()), (7, "note"));
    assert_eq!((leaf.flag, leaf.weight), (9, 2.5));
    let extra = leaf.base.extra.get().unwrap();
    assert_eq!((extra.id, extra.next.get().unwrap().id), (8, 9));
    assert!(extra.next.get().unwrap().next.is_null());
    assert_eq!(as_leaf(&all[1]).weight, 2.5);
    assert!(as_leaf(&all[1]).base.extra.is_null());
    assert_eq!(d.long()?, 77);
    Ok(())
}

fn write_boxed(e: &mut Encoder<'static>) -> Result<()> {
    let first = ValueLink::from(Value::new(Name("one".into())));
    lend(
        e,
        Value::new(Holder {
            second: first.clone(),
            first,
            numbers: Value::new(Numbers(vec![1, 2, 3])).into(),
            item: leaf(ValueLink::null()),
            mark: 11,
        }),
    )
}

fn read_boxed(d: &mut Decoder<'_>) -> Result<()> {
    let holder = Value::<Holder>::decode(d)?;
    assert_eq!(holder.first.get().unwrap().0, "one");
    assert_eq!(holder.first, holder.second);
    assert_eq!(holder.numbers.get().unwrap().0, [1, 2, 3]);
    assert_eq!(as_leaf(&holder.item).weight, 2.5);
    assert_eq!(holder.mark, 11);
    Ok(())
}

fn write_custom(e: &mut Encoder<'static>) -> Result<()> {
    lend(e, Value::new(Secret { code: 99 }))?;
    e.long(6);
    Ok(())
}

fn read_custom(d: &mut Decoder<'_>) -> Result<()> {
    assert_eq!(Value::<Secret>::decode(d)?.code, 99);
    assert_eq!(d.long()?, 6);
    Ok(())
}

fn write_cycle_in_chunks(e: &mut Encoder<'static>) -> Result<()> {
    let first = cycle();
    let leaf = leaf(ValueLink::from(&first));
    lend(e, vec![leaf.clone(), leaf])?;
    lend(e, first)
}

fn read_cycle_in_chunks(d: &mut Decoder<'_>) -> Result<()> {
    let all = d.sequence::<ValueLink<Base>>(None)?;
    assert_eq!(all[0], all[1]);
    let leaf = as_leaf(&all[0]);
    let first = leaf.base.extra.get().unwrap();
    assert_eq!(first.next.get().unwrap().next.get().unwrap(), first);
    assert_eq!(leaf.weight, 2.5);
    assert_eq!(Value::<Node>::decode(d)?, first);
    Ok(())
}

/// `valuetype Newer : truncatable Base { public string more; public double most; };`, which JacORB does not know.
#[derive(Clone, Debug)]
struct Newer {
    base: Base,
    more: String,
    most: f64,
}

impl Valuetype for Newer {
    const INFO: &'static ValueInfo = &ValueInfo {
        bases: &[Base::INFO],
        truncatable: true,
        ..ValueInfo::new("IDL:values/Newer:1.0")
    };

    fn factories() -> &'static [Factory] {
        static ALL: &[Factory] = &[Factory::of::<Newer>()];
        ALL
    }
}

impl Inherits<Base> for Newer {}

impl ValueState for Newer {
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.base.encode_state(e)?;
        self.more.encode(e)?;
        self.most.encode(e)
    }

    fn decode_state(d: &mut Decoder<'_>) -> Result<Self> {
        Ok(Self { base: Base::decode_state(d)?, more: Decode::decode(d)?, most: d.double()? })
    }
}

fn write_unknown(e: &mut Encoder<'static>) -> Result<()> {
    let newer = Value::new(Newer { base: Base { id: 21 }, more: "more".into(), most: 0.5 });
    lend(e, ValueLink::<Base>::from(newer))
}

fn read_unknown(d: &mut Decoder<'_>) -> Result<()> {
    assert_eq!(Value::<Base>::decode(d)?.id, 21);
    Ok(())
}

fn vectors() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/values")
}

fn decoder(octets: &[u8], order: ByteOrder) -> Decoder<'_> {
    Decoder::new(octets, order, Dialect::new(2))
}

fn encoder(order: ByteOrder) -> Encoder<'static> {
    Encoder::new(Vec::new(), order, Dialect::new(2))
}

fn written(write: impl FnOnce(&mut Encoder<'static>) -> Result<()>, order: ByteOrder) -> Vec<u8> {
    let mut encoder = encoder(order);
    write(&mut encoder).unwrap();
    encoder.finish().to_vec()
}

#[test]
fn what_java_orbs_write() {
    for orb in ["jacorb", "glassfish"] {
        for (name, _, read) in CASES.iter().filter(|(name, ..)| *name != "unknown") {
            let octets = fs::read(vectors().join(format!("{orb}/{name}.bin"))).unwrap();
            let mut decoder = decoder(&octets, ByteOrder::Big);
            read(&mut decoder).unwrap_or_else(|error| panic!("{orb} {name}: {error}"));
            decoder.finish().unwrap();
        }
    }
}

/// `Base` as known to a program built before the types that inherit from it.
#[derive(Clone, Debug)]
struct OldBase {
    id: i32,
}

impl Valuetype for OldBase {
    const INFO: &'static ValueInfo = Base::INFO;

    fn factories() -> &'static [Factory] {
        static ALL: &[Factory] = &[Factory::of::<OldBase>()];
        ALL
    }
}

impl ValueState for OldBase {
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.id.encode(e)
    }

    fn decode_state(d: &mut Decoder<'_>) -> Result<Self> {
        d.long().map(|id| Self { id })
    }
}

#[test]
fn what_jacorb_writes_is_truncated_to_what_is_known() {
    let octets = fs::read(vectors().join("jacorb/truncatable.bin")).unwrap();
    let mut decoder = decoder(&octets, ByteOrder::Big);
    let all = decoder.sequence::<ValueLink<OldBase>>(None).unwrap();
    assert_eq!(decoder.long(), Ok(77));
    decoder.finish().unwrap();
    let ids: Vec<_> = all.iter().map(|link| link.get().unwrap().id).collect();
    assert_eq!(ids, [7, 7]);

    // The second element is an indirection to the first one. The last node is in the part that truncation skips.
    let octets = fs::read(vectors().join("jacorb/cycle-in-chunks.bin")).unwrap();
    let mut decoder = self::decoder(&octets, ByteOrder::Big);
    let all = decoder.sequence::<ValueLink<OldBase>>(None).unwrap();
    assert_eq!(all[0], all[1]);
    let first = Value::<Node>::decode(&mut decoder).unwrap();
    assert_eq!(first.next.get().unwrap().next.get(), Some(first));
    decoder.finish().unwrap();
}

#[test]
fn what_jacorb_read() {
    for (name, write, read) in CASES {
        for (order, ending) in [(ByteOrder::Big, "big"), (ByteOrder::Little, "little")] {
            let octets = written(write, order);
            let file = vectors().join(format!("oxorb/{name}.{ending}.bin"));
            if std::env::var_os("BLESS").is_some() {
                fs::write(&file, &octets).unwrap();
            }
            assert_eq!(octets, fs::read(file).unwrap(), "{name}, {ending}");
            let mut decoder = decoder(&octets, order);
            read(&mut decoder).unwrap_or_else(|error| panic!("{name}, {ending}: {error}"));
            decoder.finish().unwrap();
        }
    }
}
