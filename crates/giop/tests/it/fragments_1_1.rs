//! GIOP 1.1 fragments restart alignment: messages of omniORB are read correctly, wherever the
//! boundaries are (P2).

use oxorb_cdr::{
    Any, ByteOrder, Decode, Decoder, Dialect, Dynamic, ErrorKind, Fixed, FixedReader, FixedWriter,
    Layout, Result, TypeCode,
};
use oxorb_giop::{Frame, Header, Inbox, MessageLimits, MessageType, Request, Violation};
use oxorb_object::Version;
use proptest::prelude::*;

use crate::common::{ORDERS, receive};

macro_rules! fixed_struct {
    ($name:ident { $($member:ident: $type:ty),* }) => {
        #[derive(Clone, PartialEq, Debug)]
        struct $name {
            $($member: $type),*
        }

        impl Fixed for $name {
            const LAYOUT: Layout = Layout::EMPTY$(.then::<$type>())*;

            fn put(&self, w: &mut FixedWriter<'_>) {
                $(self.$member.put(w);)*
            }

            fn take(r: &mut FixedReader<'_>) -> Result<Self> {
                Ok(Self { $($member: Fixed::take(r)?),* })
            }
        }

        oxorb_cdr::fixed!($name);
    };
}

fixed_struct!(P { tag: u8, x: f64, y: i16, h: i32, v: bool });
fixed_struct!(A { o: u8, d: [f64; 3], s: i16 });

/// Returns the only message of a captured stream.
fn message(stream: &[u8]) -> Vec<u8> {
    let mut messages =
        receive(&mut Inbox::new(&MessageLimits::default()), stream, &[1000]).unwrap();
    assert_eq!(messages.len(), 1, "pieces of one message");
    messages.swap_remove(0)
}

/// Reads all arguments of a captured request.
fn arguments<T>(
    stream: &[u8],
    operation: &str,
    read: impl FnOnce(&mut Decoder<'_>) -> Result<T>,
) -> T {
    let message = message(stream);
    let frame = Frame::parse(&message).unwrap();
    let request = Request::parse(&frame).unwrap();
    assert_eq!(request.operation, operation);
    let mut d = frame.decoder(Dialect::new(1)).at(request.body);
    let value = read(&mut d).unwrap();
    d.finish().unwrap();
    value
}

fn pattern(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 7 + 1) as u8).collect()
}

#[test]
fn structs_across_the_boundary() {
    let stream = include_bytes!("../vectors/fragments/structs.bin");
    let (lead, read) = arguments(stream, "send_ps", |d| Ok((d.octet()?, d.sequence::<P>(None)?)));
    let expected: Vec<_> = (0..800)
        .map(|i| P {
            tag: i as u8,
            x: f64::from(i) + 0.5,
            y: -i as i16,
            h: i * 1000,
            v: i & 1 == 1,
        })
        .collect();
    assert_eq!((lead, read), (9, expected));
}

#[test]
fn arrays_in_structs_across_the_boundary() {
    let stream = include_bytes!("../vectors/fragments/arrays.bin");
    let (_, read) = arguments(stream, "send_as", |d| Ok((d.octet()?, d.sequence::<A>(None)?)));
    let expected: Vec<_> = (0..400)
        .map(|i| A { o: i as u8, d: [0.0, 0.25, 0.5].map(|part| f64::from(i) + part), s: i as i16 })
        .collect();
    assert_eq!(read, expected);
}

#[test]
fn blocks_of_numbers_go_on_without_padding() {
    let all: [(&[u8], usize, i32); 2] = [
        (include_bytes!("../vectors/fragments/doubles.bin"), 5, 1030),
        (include_bytes!("../vectors/fragments/boundary.bin"), 8131, 4),
    ];
    for (stream, lead, n) in all {
        let read = arguments(stream, "send_ds", |d| {
            let lead: Vec<u8> = d.sequence(None)?;
            Ok((lead, d.sequence::<f64>(None)?, d.octet()?, d.double()?))
        });
        let expected: Vec<_> = (0..n).map(|i| f64::from(i) + 0.25).collect();
        assert_eq!(read, (pattern(lead), expected.clone(), 77, -1.5));
        // The same stream is decoded without stubs, and then the sequence is skipped, as inside an `any`.
        let doubles = TypeCode::sequence(TypeCode::DOUBLE);
        let read = arguments(stream, "send_ds", |d| {
            d.sequence::<u8>(None)?;
            let value = Dynamic::decode(&doubles, d).unwrap();
            Ok((value, d.octet()?, d.double()?))
        });
        let expected = expected.into_iter().map(Dynamic::Double).collect();
        assert_eq!(read, (Dynamic::Sequence(expected), 77, -1.5));
        let tail = arguments(stream, "send_ds", |d| {
            d.sequence::<u8>(None)?;
            oxorb_cdr::skip(&doubles, d)?;
            Ok((d.octet()?, d.double()?))
        });
        assert_eq!(tail, (77, -1.5));
    }
}

#[test]
fn a_piece_may_end_at_an_odd_octet() {
    let stream = include_bytes!("../vectors/fragments/octets.bin");
    let read =
        arguments(stream, "send_os", |d| Ok((d.sequence::<u8>(None)?, d.octet()?, d.double()?)));
    assert_eq!(read, (pattern(20_001), 77, -1.5));
}

#[test]
fn text_across_the_boundary() {
    let stream = include_bytes!("../vectors/fragments/strings.bin");
    let (read, last) =
        arguments(stream, "send_ss", |d| Ok((d.sequence::<String>(None)?, d.double()?)));
    let expected: Vec<_> = (0..900).map(|i| format!("text {i}{}", "x".repeat(i % 11))).collect();
    assert_eq!((read, last), (expected, -1.5));
}

#[test]
fn anys_and_blocks_in_structs() {
    let stream = include_bytes!("../vectors/fragments/mixed.bin");
    arguments(stream, "send_vs", |d| {
        let n = d.length(None, 1)?;
        assert_eq!(n, 60);
        for i in 0..n {
            assert_eq!(d.string()?, "n".repeat(i % 13));
            assert_eq!(d.double()?, i as f64 + 0.5);
            let numbers: Vec<f64> = d.sequence(None)?;
            let expected: Vec<_> = (0..i % 5).map(|j| j as f64 + 0.125).collect();
            assert_eq!(numbers, expected);
            let any = Any::decode(d)?;
            match i % 2 {
                0 => assert_eq!(any.dynamic().unwrap(), Dynamic::Double(i as f64 + 0.75)),
                _ => assert!(format!("{any:?}").contains("tag"), "{any:?}"),
            }
            let products: [i64; 3] = Decode::decode(d)?;
            assert_eq!(products, [0, i as i64, 2 * i as i64]);
        }
        Ok(())
    });
}

/// Kinds of items in a GIOP 1.1 stream for which the boundaries of fragments have different effects.
#[derive(Clone, Debug)]
enum Item {
    Octet(u8),
    Short(i16),
    Long(i32),
    Double(f64),
    Text(String),
    Octets(Vec<u8>),
    Doubles(Vec<f64>),
    Longs(Vec<i32>),
    Struct(P),
    Structs(Vec<P>),
    Arrays(Vec<A>),
    Encapsulated(i64),
}

fn item() -> impl Strategy<Value = Item> {
    let p = (any::<u8>(), -9i16..9, any::<i32>(), any::<bool>()).prop_map(|(tag, y, h, v)| P {
        tag,
        x: f64::from(h) / 2.0,
        y,
        h,
        v,
    });
    let a = (any::<u8>(), -9i16..9).prop_map(|(o, s)| A { o, d: [1.5, f64::from(s), -2.0], s });
    let doubles = prop::collection::vec(-9.5f64..9.5, 0..40);
    prop_oneof![
        any::<u8>().prop_map(Item::Octet),
        any::<i16>().prop_map(Item::Short),
        any::<i32>().prop_map(Item::Long),
        (-9.5f64..9.5).prop_map(Item::Double),
        "[a-z]{0,40}".prop_map(Item::Text),
        prop::collection::vec(any::<u8>(), 0..90).prop_map(Item::Octets),
        doubles.prop_map(Item::Doubles),
        prop::collection::vec(any::<i32>(), 0..40).prop_map(Item::Longs),
        p.clone().prop_map(Item::Struct),
        prop::collection::vec(p, 0..20).prop_map(Item::Structs),
        prop::collection::vec(a, 0..20).prop_map(Item::Arrays),
        any::<i64>().prop_map(Item::Encapsulated),
    ]
}

/// Writer that follows omniORB's rules, which the vectors above show: a number is never split, and
/// is aligned relative to the header of its piece; a block is aligned at its start, and is split
/// wherever the buffer ends.
struct Writer {
    order: ByteOrder,
    /// Maximum length of a piece in octets, a multiple of 8.
    largest: usize,
    pieces: Vec<Vec<u8>>,
}

impl Writer {
    fn piece(&mut self) -> &mut Vec<u8> {
        self.pieces.last_mut().unwrap()
    }

    fn align(&mut self, to: usize) {
        let piece = self.piece();
        piece.resize(piece.len().next_multiple_of(to), 0xee);
    }

    fn next(&mut self) {
        self.pieces.push(vec![0; Header::LEN]);
    }

    fn number(&mut self, octets: &[u8]) {
        self.align(octets.len());
        if self.piece().len() + octets.len() > self.largest {
            self.next();
            self.align(octets.len());
        }
        self.piece().extend_from_slice(octets);
    }

    fn block(&mut self, align: usize, mut octets: &[u8]) {
        if octets.is_empty() {
            return;
        }
        self.align(align);
        loop {
            let room = self.largest - self.piece().len();
            let (now, rest) = octets.split_at(room.min(octets.len()));
            self.piece().extend_from_slice(now);
            octets = rest;
            if octets.is_empty() {
                return;
            }
            self.next();
        }
    }

    /// Returns the octets of a number, given in big-endian order.
    fn ordered<const N: usize>(&self, mut octets: [u8; N]) -> [u8; N] {
        if self.order == ByteOrder::Little {
            octets.reverse();
        }
        octets
    }

    fn long(&mut self, v: i32) {
        let octets = self.ordered(v.to_be_bytes());
        self.number(&octets);
    }

    fn doubles(&mut self, v: &[f64]) {
        let octets: Vec<_> = v.iter().map(|v| self.ordered(v.to_be_bytes())).collect();
        self.block(8, &octets.concat());
    }

    fn p(&mut self, p: &P) {
        self.number(&[p.tag]);
        self.number(&self.ordered(p.x.to_be_bytes()));
        self.number(&self.ordered(p.y.to_be_bytes()));
        self.long(p.h);
        self.number(&[p.v.into()]);
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Octet(v) => self.number(&[*v]),
            Item::Short(v) => self.number(&self.ordered(v.to_be_bytes())),
            Item::Long(v) => self.long(*v),
            Item::Double(v) => self.number(&self.ordered(v.to_be_bytes())),
            Item::Text(v) => {
                self.long(v.len() as i32 + 1);
                self.block(1, &[v.as_bytes(), &[0]].concat());
            }
            Item::Octets(v) => {
                self.long(v.len() as i32);
                self.block(1, v);
            }
            Item::Doubles(v) => {
                self.long(v.len() as i32);
                self.doubles(v);
            }
            Item::Longs(v) => {
                self.long(v.len() as i32);
                let octets: Vec<_> = v.iter().map(|v| self.ordered(v.to_be_bytes())).collect();
                self.block(4, &octets.concat());
            }
            Item::Struct(v) => self.p(v),
            Item::Structs(v) => {
                self.long(v.len() as i32);
                v.iter().for_each(|p| self.p(p));
            }
            Item::Arrays(v) => {
                self.long(v.len() as i32);
                for a in v {
                    self.number(&[a.o]);
                    self.doubles(&a.d);
                    self.number(&self.ordered(a.s.to_be_bytes()));
                }
            }
            Item::Encapsulated(v) => {
                self.long(16);
                self.block(1, &[&[0; 8][..], &v.to_be_bytes()].concat());
            }
        }
    }

    /// Returns the pieces with their headers.
    fn stream(mut self) -> Vec<u8> {
        let last = self.pieces.len() - 1;
        for (index, piece) in self.pieces.iter_mut().enumerate() {
            let header = Header {
                version: Version::V1_1,
                order: self.order,
                more_fragments: index < last,
                kind: match index {
                    0 => MessageType::REPLY,
                    _ => MessageType::FRAGMENT,
                },
                len: Header::LEN as u8,
                size: (piece.len() - Header::LEN) as u32,
            };
            piece[..Header::LEN].copy_from_slice(&header.to_bytes());
        }
        self.pieces.concat()
    }
}

/// Returns a reply that carries the items.
fn reply(order: ByteOrder, largest: usize, items: &[Item]) -> Vec<u8> {
    let mut writer = Writer { order, largest, pieces: vec![vec![0; Header::LEN]] };
    writer.long(0); // contexts
    writer.long(1);
    writer.long(0);
    items.iter().for_each(|item| writer.item(item));
    writer.stream()
}

fn check(d: &mut Decoder<'_>, item: &Item) -> Result<()> {
    match item {
        Item::Octet(v) => assert_eq!(d.octet()?, *v),
        Item::Short(v) => assert_eq!(d.short()?, *v),
        Item::Long(v) => assert_eq!(d.long()?, *v),
        Item::Double(v) => assert_eq!(d.double()?, *v),
        Item::Text(v) => assert_eq!(d.string()?, *v),
        Item::Octets(v) => assert_eq!(d.sequence::<u8>(None)?, *v),
        Item::Doubles(v) => assert_eq!(d.sequence::<f64>(None)?, *v),
        Item::Longs(v) => assert_eq!(d.sequence::<i32>(None)?, *v),
        Item::Struct(v) => assert_eq!(d.fixed::<P>()?, *v),
        Item::Structs(v) => assert_eq!(d.sequence::<P>(None)?, *v),
        Item::Arrays(v) => assert_eq!(d.sequence::<A>(None)?, *v),
        Item::Encapsulated(v) => assert_eq!(d.encapsulation()?.longlong()?, *v),
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_items_survive_any_boundaries(
        order in prop::sample::select(&ORDERS[..]),
        largest in 3usize..40,
        items in prop::collection::vec(item(), 0..40),
        reads in prop::collection::vec(1usize..200, 1..4),
    ) {
        let stream = reply(order, largest * 8, &items);
        let mut messages = receive(&mut Inbox::new(&MessageLimits::default()), &stream, &reads).unwrap();
        prop_assert_eq!(messages.len(), 1);
        let message = messages.swap_remove(0);
        let frame = Frame::parse(&message).unwrap();
        let body = oxorb_giop::Reply::parse(&frame).unwrap().body;
        let mut d = frame.decoder(Dialect::new(1)).at(body);
        for (index, item) in items.iter().enumerate() {
            if let Err(error) = check(&mut d, item) {
                prop_assert!(false, "item {index} {item:?}: {error}");
            }
        }
        prop_assert_eq!(d.finish(), Ok(()));
    }

    #[test]
    fn what_is_cut_off_is_an_error_and_nothing_else(
        order in prop::sample::select(&ORDERS[..]),
        largest in 3usize..12,
        items in prop::collection::vec(item(), 1..12),
        keep in any::<prop::sample::Index>(),
    ) {
        // The last pieces of the message are removed, and the piece before them is marked as the last.
        let stream = reply(order, largest * 8, &items);
        let mut ends = vec![];
        let mut at = 0;
        while at < stream.len() {
            ends.push((at, at + Header::parse(stream[at..][..12].try_into().unwrap()).unwrap().total()));
            at = ends[ends.len() - 1].1;
        }
        let (start, end) = ends[keep.index(ends.len())];
        let mut stream = stream[..end].to_vec();
        stream[start + 6] &= 1;
        let mut messages = receive(&mut Inbox::new(&MessageLimits::default()), &stream, &[99]).unwrap();
        let message = messages.swap_remove(0);
        let frame = Frame::parse(&message).unwrap();
        let mut d = frame.decoder(Dialect::new(1)).at(Header::LEN);
        let read = (0..3).try_for_each(|_| d.long().map(drop));
        let failed = read.and_then(|()| items.iter().try_for_each(|item| check(&mut d, item)));
        if end < ends[ends.len() - 1].1 {
            prop_assert!(failed.is_err());
        }
    }
}

#[test]
fn tiny_pieces_count_against_the_limits_with_what_is_kept_of_them() {
    let limits = MessageLimits {
        max_message: 10_000,
        max_partial_octets: 10_000,
        ..MessageLimits::default()
    };
    let header = |kind, size| Header {
        version: Version::V1_1,
        order: ByteOrder::Big,
        more_fragments: true,
        kind,
        len: Header::LEN as u8,
        size,
    };
    let mut stream = header(MessageType::REPLY, 12).to_bytes().to_vec();
    stream.extend_from_slice(&[0; 12]);
    for _ in 0..5000 {
        stream.extend_from_slice(&header(MessageType::FRAGMENT, 1).to_bytes());
        stream.push(7);
    }
    let mut inbox = Inbox::new(&limits);
    let refused = receive(&mut inbox, &stream, &[100]).unwrap_err();
    assert!(matches!(refused, Violation::Limit { .. }), "{refused}");
    assert!(inbox.memory() < 64 << 10, "{}", inbox.memory());
}

#[test]
fn values_in_chunks_are_refused() {
    let mut writer =
        Writer { order: ByteOrder::Big, largest: 32, pieces: vec![vec![0; Header::LEN]] };
    (0..20).for_each(|_| writer.long(0x7fff_ff08));
    let message = message(&writer.stream());
    let frame = Frame::parse(&message).unwrap();
    let mut d = frame.decoder(Dialect::new(1));
    let refused = oxorb_cdr::ValueLink::<oxorb_cdr::StringValue>::decode(&mut d).map(drop);
    assert_eq!(refused.unwrap_err().kind, ErrorKind::BadChunk);
}

#[test]
fn service_contexts_across_the_boundary_are_found() {
    let mut writer =
        Writer { order: ByteOrder::Little, largest: 32, pieces: vec![vec![0; Header::LEN]] };
    writer.long(2);
    for id in [4, 10] {
        writer.long(id);
        writer.long(21);
        writer.block(1, &[id as u8; 21]);
    }
    writer.long(1);
    writer.long(0);
    let message = message(&writer.stream());
    let reply = oxorb_giop::Reply::parse(&Frame::parse(&message).unwrap()).unwrap();
    let found = [4, 10].map(|id| reply.contexts.find(id).map(|context| context.data));
    assert_eq!(found, [Some(&[4; 21][..]), Some(&[10; 21][..])]);
}
