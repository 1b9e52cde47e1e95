//! Values octet by octet: what peers may write, what they must not write, and what OxORB writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use oxorb_cdr::{
    ByteOrder, Decode, Decoder, DecoderLimits, Dialect, Encode, Encoder, Error, ErrorKind, Factory,
    Inherits, Result, Value, ValueBase, ValueInfo, ValueLink, ValueRegistry, ValueState, Valuetype,
    fixed,
};

use crate::support::graph::{Base, Holder, Leaf, Mid, Node, Pair};

const NODE: &str = "IDL:values/Node:1.0";
const BASE: &str = "IDL:values/Base:1.0";
const MID: &str = "IDL:values/Mid:1.0";
const UNKNOWN: &str = "IDL:values/Unknown:1.0";

/// Writer of handmade octets, big-endian.
struct Raw(Encoder<'static>);

impl Raw {
    fn new() -> Self {
        Self(Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2)))
    }

    fn ulong(mut self, v: u32) -> Self {
        self.0.ulong(v);
        self
    }

    fn octet(mut self, v: u8) -> Self {
        self.0.octet(v);
        self
    }

    fn text(mut self, v: &str) -> Self {
        self.0.string(v).unwrap();
        self
    }

    fn double(mut self, v: f64) -> Self {
        self.0.double(v);
        self
    }

    fn longlong(mut self, v: i64) -> Self {
        self.0.longlong(v);
        self
    }

    /// Returns the position at which a long would be written next.
    fn here(&mut self) -> usize {
        self.0.align(4);
        self.0.position()
    }

    fn indirection(self, to: usize) -> Self {
        let mut raw = self.ulong(u32::MAX);
        let offset = i32::try_from(to).unwrap() - i32::try_from(raw.here()).unwrap();
        raw.0.long(offset);
        raw
    }

    fn offset(mut self, offset: i32) -> Self {
        self.0.ulong(u32::MAX);
        self.0.long(offset);
        self
    }

    /// Writes the end of a chunked value.
    fn end(mut self, level: i32) -> Self {
        self.0.long(-level);
        self
    }

    fn chunk(mut self, f: impl FnOnce(Self) -> Self) -> Self {
        let at = self.here();
        self.0.ulong(0);
        let mut raw = f(self);
        let size = raw.0.position() - at - 4;
        raw.0.patch_ulong(at, u32::try_from(size).unwrap());
        raw
    }

    fn done(self) -> Vec<u8> {
        self.0.finish().to_vec()
    }
}

fn decoder(octets: &[u8]) -> Decoder<'_> {
    Decoder::new(octets, ByteOrder::Big, Dialect::new(2))
}

#[track_caller]
fn read<T: for<'de> Decode<'de>>(octets: &[u8]) -> T {
    let mut decoder = decoder(octets);
    let value = T::decode(&mut decoder).unwrap();
    decoder.finish().unwrap();
    value
}

#[track_caller]
fn refused<T: for<'de> Decode<'de> + core::fmt::Debug>(octets: &[u8], kind: ErrorKind, at: usize) {
    assert_eq!(T::decode(&mut decoder(octets)).unwrap_err(), Error { kind, at });
}

fn written(value: &impl Encode) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2));
    value.encode(&mut encoder).unwrap();
    encoder.finish().to_vec()
}

/// Returns a chunked `Mid` whose state `state` writes.
fn mid(state: impl FnOnce(Raw) -> Raw) -> Vec<u8> {
    let head = Raw::new().ulong(0x7FFF_FF0A).text(MID);
    state(head).done()
}

#[test]
fn state_in_many_chunks() {
    let octets = mid(|raw| {
        raw.chunk(|raw| raw.ulong(7)).chunk(|raw| raw.text("a")).chunk(|raw| raw.ulong(0)).end(1)
    });
    let mid: Value<Mid> = read(&octets);
    assert_eq!((mid.base.id, mid.note.as_str()), (7, "a"));
    assert!(mid.extra.is_null());
}

#[test]
fn null_and_indirections_between_chunks() {
    let octets = mid(|raw| raw.chunk(|raw| raw.ulong(7).text("a")).ulong(0).end(1));
    assert!(read::<Value<Mid>>(&octets).extra.is_null());

    let mut raw = Raw::new().ulong(2);
    let first = raw.here();
    let raw = raw.ulong(0x7FFF_FF02).text(NODE).ulong(1).ulong(0);
    let octets = raw
        .ulong(0x7FFF_FF0A)
        .text(MID)
        .chunk(|raw| raw.ulong(7).text("a"))
        .indirection(first)
        .end(1)
        .done();
    let registry = ValueRegistry::default();
    registry.register(Node::factories());
    registry.register(Mid::factories());
    let mut decoder = decoder(&octets).with_values(&registry);
    let values: Vec<ValueLink<ValueBase>> = Decode::decode(&mut decoder).unwrap();
    let node: Value<Node> = values[0].get().unwrap().downcast().unwrap();
    let mid: Value<Mid> = values[1].get().unwrap().downcast().unwrap();
    assert_eq!(mid.extra.get(), Some(node));
}

#[test]
fn one_end_tag_for_several_values() {
    let octets = mid(|raw| {
        raw.chunk(|raw| raw.ulong(7).text("a"))
            .ulong(0x7FFF_FF0A)
            .text(NODE)
            .chunk(|raw| raw.ulong(8))
            .ulong(0x7FFF_FF0A)
            .text(NODE)
            .chunk(|raw| raw.ulong(9).ulong(0))
            .end(1)
            .ulong(77)
    });
    let mut decoder = decoder(&octets);
    let mid: Value<Mid> = Decode::decode(&mut decoder).unwrap();
    assert_eq!(mid.extra.get().unwrap().next.get().unwrap().id, 9);
    assert_eq!(decoder.ulong(), Ok(77));
}

#[test]
fn an_unknown_type_is_truncated_to_its_base() {
    let octets = Raw::new()
        .ulong(0x7FFF_FF0E)
        .ulong(2)
        .text(UNKNOWN)
        .text(BASE)
        .chunk(|raw| raw.ulong(7).ulong(1))
        .ulong(0)
        .chunk(|raw| raw.double(1.0))
        .end(1)
        .ulong(77)
        .done();
    let mut decoder = decoder(&octets);
    let base: Value<Base> = Decode::decode(&mut decoder).unwrap();
    assert_eq!((base.id, base.info().id), (7, BASE));
    assert_eq!(decoder.ulong(), Ok(77));
}

#[test]
fn what_was_truncated_may_be_wanted_later() {
    let raw = Raw::new().ulong(0x7FFF_FF0E).ulong(2).text(UNKNOWN).text(BASE);
    let mut raw = raw.chunk(|raw| raw.ulong(7));
    let inner = raw.here();
    let mut raw = raw.ulong(0x7FFF_FF0A);
    let id = raw.here();
    let octets = raw
        .text(NODE)
        .chunk(|raw| raw.ulong(8).indirection(inner))
        .end(1)
        .indirection(inner)
        .ulong(0x7FFF_FF02)
        .indirection(id)
        .ulong(9)
        .indirection(inner)
        .done();
    let mut decoder = decoder(&octets);
    let base: Value<Base> = Decode::decode(&mut decoder).unwrap();
    assert_eq!(base.id, 7);
    let node: Value<Node> = Decode::decode(&mut decoder).unwrap();
    assert_eq!(node.id, 8);
    assert_eq!(node.next.get(), Some(node.clone()));
    let other: Value<Node> = Decode::decode(&mut decoder).unwrap();
    assert_eq!((other.id, other.next.get()), (9, Some(node)));
    decoder.finish().unwrap();
}

#[test]
fn types_that_nobody_knows() {
    let unchunked = Raw::new().ulong(0x7FFF_FF06).ulong(2).text(UNKNOWN).text(BASE).ulong(7).done();
    refused::<ValueLink<Base>>(&unchunked, ErrorKind::NoValueFactory, 0);
    let unknown = Raw::new().ulong(0x7FFF_FF02).text(UNKNOWN).ulong(7).done();
    refused::<ValueLink<Base>>(&unknown, ErrorKind::NoValueFactory, 0);
    let untold = Raw::new().ulong(0x7FFF_FF00).ulong(7).done();
    refused::<ValueLink<ValueBase>>(&untold, ErrorKind::NoValueFactory, 0);
    assert_eq!(read::<Value<Base>>(&untold).id, 7);
}

#[test]
fn types_that_do_not_fit() {
    let octets = Raw::new().ulong(0x7FFF_FF02).text(NODE).ulong(1).ulong(0).indirection(0).done();
    let registry = ValueRegistry::default();
    registry.register(Node::factories());
    let error =
        ValueLink::<Base>::decode(&mut decoder(&octets).with_values(&registry)).unwrap_err();
    assert_eq!(error, ErrorKind::ValueMismatch.at(0));
    let mut decoder = decoder(&octets);
    ValueLink::<Node>::decode(&mut decoder).unwrap();
    let error = ValueLink::<Base>::decode(&mut decoder).unwrap_err();
    assert_eq!(error.kind, ErrorKind::ValueMismatch);
}

#[test]
fn codebases_and_id_lists_are_shared() {
    let mut raw = Raw::new().ulong(3).ulong(0x7FFF_FF0F);
    let url = raw.here();
    let mut raw = raw.text("http://code.example/");
    let list = raw.here();
    let octets = raw
        .ulong(2)
        .text(UNKNOWN)
        .text(BASE)
        .chunk(|raw| raw.ulong(1))
        .end(1)
        .ulong(0x7FFF_FF0F)
        .indirection(url)
        .indirection(list)
        .chunk(|raw| raw.ulong(2))
        .end(1)
        .ulong(0x7FFF_FF01)
        .indirection(url)
        .ulong(3)
        .done();
    let all: Vec<ValueLink<Base>> = read(&octets);
    let ids: Vec<_> = all.iter().map(|link| link.get().unwrap().id).collect();
    assert_eq!(ids, [1, 2, 3]);
}

#[test]
fn indirections_to_the_padding_before_what_they_mean() {
    // A Java ORB computes the offset from its position before alignment, so it may refer to the
    // padding (P5).
    for early in 0..=3 {
        let mut raw = Raw::new().ulong(3).ulong(0x7FFF_FF03).text("code");
        let id = raw.here();
        let octets = raw
            .text(BASE)
            .ulong(1)
            .ulong(0x7FFF_FF02)
            .indirection(id - early)
            .ulong(2)
            .indirection(4)
            .done();
        let all: Vec<ValueLink<Base>> = read(&octets);
        let ids: Vec<_> = all.iter().map(|link| link.get().unwrap().id).collect();
        assert_eq!(ids, [1, 2, 1], "{early}");
    }
    // Four octets earlier is the preceding text, not padding.
    let raw = Raw::new().ulong(2).ulong(0x7FFF_FF03).text("code").text(BASE);
    let octets = raw.ulong(1).ulong(0x7FFF_FF02).indirection(20 - 4).ulong(2).done();
    let error = Vec::<ValueLink<Base>>::decode(&mut decoder(&octets)).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::BadIndirection(_)));
}

#[test]
fn indirections_that_lead_nowhere() {
    let node = |offset| Raw::new().ulong(0x7FFF_FF02).text(NODE).ulong(1).offset(offset).done();
    // The offset is at octet 36, so -36 refers to the tag, -32 to the repository id, and -8 to the
    // number. The others refer to nothing, forward, or before the start.
    assert!(ValueLink::<Node>::decode(&mut decoder(&node(-36))).is_ok());
    for offset in [-32, -8, -4, -1, -35, -37, -40, 0, 4, i32::MIN, i32::MAX] {
        refused::<ValueLink<Node>>(&node(offset), ErrorKind::BadIndirection(offset), 36);
    }
    let id = Raw::new().ulong(0x7FFF_FF02).offset(-8).done();
    refused::<ValueLink<Node>>(&id, ErrorKind::BadIndirection(-8), 8);
    let list = Raw::new().ulong(0x7FFF_FF06).offset(-8).done();
    refused::<ValueLink<Node>>(&list, ErrorKind::BadIndirection(-8), 8);
}

#[test]
fn tags_that_are_none() {
    for tag in [1, 5, 0x7FFF_FEFF, 0x8000_0000, 0xFFFF_FFFE, 0x7FFF_FF04, 0x7FFF_FF12, 0x7FFF_FFFF]
    {
        let octets = Raw::new().ulong(tag).text(NODE).ulong(0).ulong(0).done();
        refused::<ValueLink<Node>>(&octets, ErrorKind::BadValueTag(tag), 0);
    }
    let inside = mid(|raw| raw.chunk(|raw| raw.ulong(7).text("a").ulong(0x7FFF_FF0A).text(NODE)));
    let error = ValueLink::<Mid>::decode(&mut decoder(&inside)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadValueTag(0x7FFF_FF0A));
}

#[test]
fn chunks_that_are_wrong() {
    // In this order: a chunk with half a long, an empty chunk, an end before that of the state, a
    // chunk that ends within a string, more state than the type has (twice), an end tag of a wrong
    // level, and a chunk longer than the message.
    let split = mid(|raw| raw.chunk(|raw| raw.octet(0).octet(0)).end(1));
    refused::<ValueLink<Mid>>(&split, ErrorKind::BadChunk, 32);
    let empty = mid(|raw| raw.ulong(0).ulong(7));
    refused::<ValueLink<Mid>>(&empty, ErrorKind::BadChunk, 28);
    let early = mid(|raw| raw.chunk(|raw| raw.ulong(7)).end(1));
    refused::<ValueLink<Mid>>(&early, ErrorKind::BadChunk, 36);
    let text =
        mid(|raw| raw.chunk(|raw| raw.ulong(7).ulong(5).octet(b'a')).chunk(|raw| raw.text("b")));
    refused::<ValueLink<Mid>>(&text, ErrorKind::BadChunk, 40);
    let whole = |raw: Raw| raw.ulong(7).text("a").ulong(0);
    let more = mid(|raw| raw.chunk(|raw| whole(raw).octet(1)).end(1));
    refused::<ValueLink<Mid>>(&more, ErrorKind::TrailingOctets(1), 48);
    let again = mid(|raw| raw.chunk(whole).chunk(|raw| raw.ulong(1)).end(1));
    let error = ValueLink::<Mid>::decode(&mut decoder(&again)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TrailingOctets(4));
    let deep = mid(|raw| raw.chunk(whole).end(2));
    refused::<ValueLink<Mid>>(&deep, ErrorKind::BadChunk, 48);
    let long = mid(|raw| raw.ulong(1000).ulong(7));
    let truncated = ErrorKind::Truncated { needed: 1000, left: 4 };
    refused::<ValueLink<Mid>>(&long, truncated, 32);
}

#[test]
fn too_many_repository_ids() {
    for count in [0, 65, 0x7FFF_FFFF] {
        let octets = Raw::new().ulong(0x7FFF_FF0E).ulong(count).done();
        let error = ValueLink::<Node>::decode(&mut decoder(&octets)).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::BoundExceeded { bound: 64, .. }));
    }
}

/// Returns a list of `nodes` nodes.
fn list(nodes: i32) -> ValueLink<Node> {
    (0..nodes).fold(ValueLink::null(), |next, id| Value::new(Node { id, next }).into())
}

#[test]
fn lists_as_long_as_the_limit() {
    let limit = DecoderLimits::default().max_value_depth;
    let octets = written(&list(limit.into()));
    let list_again: ValueLink<Node> = read(&octets);
    assert_eq!(list_again.get().unwrap().id, i32::from(limit) - 1);

    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2));
    let longer = list(i32::from(limit) + 1);
    let error = longer.encode(&mut encoder).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooDeep { limit });

    let strict = DecoderLimits { max_value_depth: 3, ..DecoderLimits::default() };
    let octets = written(&list(4));
    let error = ValueLink::<Node>::decode(&mut decoder(&octets).with_limits(strict)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooDeep { limit: 3 });
}

#[test]
fn no_cut_and_no_wrong_octet_does_harm() {
    let leaf: ValueLink<Base> = Value::new(Leaf {
        base: Mid { base: Base { id: 7 }, note: "note".into(), extra: list(3) },
        flag: 9,
        weight: 2.5,
    })
    .into();
    let octets = written(&vec![leaf.clone(), leaf, ValueLink::null()]);
    for cut in 0..octets.len() {
        let error = Vec::<ValueLink<Base>>::decode(&mut decoder(&octets[..cut])).unwrap_err();
        assert!(error.at <= cut, "{error}");
    }
    let mut survived = 0;
    for at in 0..octets.len() {
        for wrong in [0, 1, 0x7F, 0x80, 0xFE, 0xFF] {
            let mut octets = octets.clone();
            octets[at] = wrong;
            survived += usize::from(Vec::<ValueLink<Base>>::decode(&mut decoder(&octets)).is_ok());
        }
    }
    assert!(survived > 0, "the right octet is among the wrong ones");
}

#[test]
fn an_encapsulation_is_a_world_of_its_own() {
    let node = list(1);
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2));
    node.encode(&mut encoder).unwrap();
    encoder.encapsulation(|inside| node.encode(inside)).unwrap();
    node.encode(&mut encoder).unwrap();
    let octets = encoder.finish().to_vec();
    let mut decoder = decoder(&octets);
    let first: ValueLink<Node> = Decode::decode(&mut decoder).unwrap();
    let mut inside = decoder.encapsulation().unwrap();
    let other: ValueLink<Node> = Decode::decode(&mut inside).unwrap();
    inside.finish().unwrap();
    let again: ValueLink<Node> = Decode::decode(&mut decoder).unwrap();
    decoder.finish().unwrap();
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn what_is_taken_back_was_not_written() {
    let node = list(1);
    let mut encoder = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::new(2));
    encoder.ulong(5);
    node.encode(&mut encoder).unwrap();
    encoder.truncate(4);
    node.encode(&mut encoder).unwrap();
    let octets = encoder.finish().to_vec();
    let mut decoder = decoder(&octets).at(4);
    assert_eq!(Value::<Node>::decode(&mut decoder).unwrap().id, 0);
}

#[test]
fn a_ring_is_written_from_any_place() {
    let ring =
        Value::cyclic(|first| Node { id: 1, next: Value::new(Node { id: 2, next: first }).into() });
    let second = ring.next.get().unwrap();
    let again: Value<Node> = read(&written(&second));
    assert_eq!(again.id, 2);
    let first = again.next.get().unwrap();
    assert_eq!((first.id, first.next.get()), (1, Some(again)));
}

#[test]
fn a_link_back_to_nothing_is_null() {
    let mut early = None;
    let ring = Value::cyclic(|first| {
        early = first.get();
        Node { id: 1, next: Value::new(Node { id: 2, next: first }).into() }
    });
    assert_eq!(early, None);
    let second = ring.next.get().unwrap();
    drop(ring);
    assert_eq!(second.next.get(), None);
    assert!(read::<Value<Node>>(&written(&second)).next.is_null());
}

/// `valuetype Counted { public Counted next; };`, with the number of live states.
#[derive(Clone, Debug)]
struct Counted {
    next: ValueLink<Counted>,
    _alive: Alive,
}

#[derive(Debug)]
struct Alive;

static ALIVE: AtomicUsize = AtomicUsize::new(0);

impl Alive {
    fn new() -> Self {
        ALIVE.fetch_add(1, Relaxed);
        Self
    }
}

impl Clone for Alive {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Relaxed);
    }
}

impl Valuetype for Counted {
    const INFO: &'static ValueInfo = &ValueInfo::new(NODE);

    fn factories() -> &'static [Factory] {
        static ALL: &[Factory] = &[Factory::of::<Counted>()];
        ALL
    }
}

impl Inherits<ValueBase> for Counted {}

impl ValueState for Counted {
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.next.encode(e)
    }

    fn decode_state(d: &mut Decoder<'_>) -> Result<Self> {
        let alive = Alive::new();
        Ok(Self { next: Decode::decode(d)?, _alive: alive })
    }
}

#[test]
fn rings_are_freed_and_kept_as_a_whole() {
    let first = 4;
    let octets = Raw::new()
        .ulong(1)
        .ulong(0x7FFF_FF02)
        .text(NODE)
        .ulong(0x7FFF_FF02)
        .text(NODE)
        .indirection(first)
        .done();
    let all: Vec<ValueLink<Counted>> = read(&octets);
    assert_eq!(ALIVE.load(Relaxed), 2);
    let second = all[0].get().unwrap().next.get().unwrap();
    let copy = second.next.clone();
    drop(all);
    assert_eq!(ALIVE.load(Relaxed), 2, "a part keeps the ring");
    assert_eq!(second.next.get().unwrap().next.get(), Some(second.clone()));
    drop(second);
    assert_eq!(ALIVE.load(Relaxed), 2, "so does a copy of a link in it");
    drop(copy);
    assert_eq!(ALIVE.load(Relaxed), 0);

    // The cycle of an earlier value stays alive as long as a later value refers to it.
    let raw = Raw::new().ulong(0x7FFF_FF02).text(NODE).indirection(0);
    let both = raw.ulong(0x7FFF_FF02).text(NODE).indirection(0).done();
    let mut decoder = decoder(&both);
    let ring: ValueLink<Counted> = Decode::decode(&mut decoder).unwrap();
    let later: Value<Counted> = Decode::decode(&mut decoder).unwrap();
    drop((ring, decoder));
    assert_eq!(ALIVE.load(Relaxed), 2);
    let first = later.next.get().unwrap();
    assert_eq!(first.next.get(), Some(first.clone()));
    drop((first, later));
    assert_eq!(ALIVE.load(Relaxed), 0);

    // An error within a cycle must not leak values.
    for cut in 0..octets.len() {
        assert!(Vec::<ValueLink<Counted>>::decode(&mut self::decoder(&octets[..cut])).is_err());
        assert_eq!(ALIVE.load(Relaxed), 0);
    }
}

/// `struct Step { octet kind; double length; };` and a value of a few.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    kind: u8,
    length: f64,
}

impl oxorb_cdr::Fixed for Step {
    const LAYOUT: oxorb_cdr::Layout = oxorb_cdr::Layout::EMPTY.then::<u8>().then::<f64>();

    fn put(&self, w: &mut oxorb_cdr::FixedWriter<'_>) {
        self.kind.put(w);
        self.length.put(w);
    }

    fn take(r: &mut oxorb_cdr::FixedReader<'_>) -> Result<Self> {
        Ok(Self { kind: oxorb_cdr::Fixed::take(r)?, length: oxorb_cdr::Fixed::take(r)? })
    }
}

fixed!(Step);

#[derive(Clone, Debug)]
struct Route {
    steps: Vec<Step>,
    marks: Vec<i64>,
}

impl Valuetype for Route {
    const INFO: &'static ValueInfo =
        &ValueInfo { truncatable: true, bases: &[Base::INFO], ..ValueInfo::new("IDL:Route:1.0") };

    fn factories() -> &'static [Factory] {
        static ALL: &[Factory] = &[Factory::of::<Route>()];
        ALL
    }
}

impl ValueState for Route {
    fn encode_state<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.steps.encode(e)?;
        self.marks.encode(e)
    }

    fn decode_state(d: &mut Decoder<'_>) -> Result<Self> {
        Ok(Self { steps: Decode::decode(d)?, marks: Decode::decode(d)? })
    }
}

fn route(chunks: impl FnOnce(Raw) -> Raw) -> Vec<u8> {
    chunks(Raw::new().ulong(0x7FFF_FF0A).text("IDL:Route:1.0")).done()
}

#[test]
fn sequences_over_several_chunks() {
    let octets = route(|raw| {
        raw.chunk(|raw| raw.ulong(2))
            .chunk(|raw| raw.octet(1).double(0.5))
            .chunk(|raw| raw.octet(2).double(1.5))
            .chunk(|raw| raw.ulong(2))
            .chunk(|raw| raw.longlong(3).longlong(4))
            .end(1)
    });
    let route_read: Value<Route> = read(&octets);
    let last = Step { kind: 2, length: 1.5 };
    assert_eq!(route_read.steps[1], last);
    assert_eq!(route_read.marks, [3, 4]);

    let value = Value::new(Route { steps: vec![last; 3], marks: vec![1, 2, 3] });
    let again: Value<Route> = read(&written(&value));
    assert_eq!((&again.steps, &again.marks), (&value.steps, &value.marks));
}

#[test]
fn a_chunk_does_not_end_within_a_block() {
    let marks = route(|raw| {
        raw.chunk(|raw| raw.ulong(0).ulong(2))
            .chunk(|raw| raw.longlong(3))
            .chunk(|raw| raw.longlong(4))
    });
    let error = Value::<Route>::decode(&mut decoder(&marks)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadChunk);
    // The decoder reads members of fixed layout as one block, so a chunk must not end between them
    // either, although another writer might split them.
    let step = route(|raw| raw.chunk(|raw| raw.ulong(1).octet(1)).chunk(|raw| raw.double(0.5)));
    let error = Value::<Route>::decode(&mut decoder(&step)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadChunk);
}

#[test]
fn one_value_in_many_threads() {
    let pair = Value::new(Pair { left: list(2), right: ValueLink::null() });
    let pair = Arc::new(pair);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(pair.left.get().unwrap().id, 1));
        }
    });
    let text = format!("{pair:?} {:?}", ValueLink::<Holder>::null());
    assert!(text.contains(NODE) && text.ends_with("null"), "{text}");
}
