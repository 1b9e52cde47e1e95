//! Time to encode and decode an element: `cargo run --release -p oxorb-cdr --example cdr_speed`.
//!
//! Prints the best of many rounds in nanoseconds per element, with a plain copy of the same memory for scale.

use std::hint::black_box;
use std::time::Instant;

use oxorb_cdr::{
    ByteOrder, Decode, Decoder, Dialect, Encode, Encoder, Fixed, FixedReader, FixedWriter, Layout,
    Result,
};

const ELEMENTS: usize = 1024;
const ROUNDS: usize = 20_000;

/// `struct { octet kind; long distance; short lane; }`, of fixed layout.
#[derive(Clone, PartialEq, Debug)]
struct Hop {
    kind: u8,
    distance: i32,
    lane: i16,
}

impl Fixed for Hop {
    const LAYOUT: Layout = Layout::EMPTY.then::<u8>().then::<i32>().then::<i16>();

    #[inline(always)]
    fn put(&self, w: &mut FixedWriter<'_>) {
        self.kind.put(w);
        self.distance.put(w);
        self.lane.put(w);
    }

    #[inline(always)]
    fn take(r: &mut FixedReader<'_>) -> Result<Self> {
        Ok(Self { kind: Fixed::take(r)?, distance: Fixed::take(r)?, lane: Fixed::take(r)? })
    }
}

oxorb_cdr::fixed!(Hop);

/// `Hop` whose members are written one by one, as in a struct that also contains a string.
#[derive(Clone, PartialEq, Debug)]
struct Loose(Hop);

impl Encode for Loose {
    #[inline]
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.0.kind.encode(e)?;
        self.0.distance.encode(e)?;
        self.0.lane.encode(e)
    }
}

impl<'de> Decode<'de> for Loose {
    const MIN_SIZE: usize = 7;

    #[inline]
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        Ok(Self(Hop {
            kind: Decode::decode(d)?,
            distance: Decode::decode(d)?,
            lane: Decode::decode(d)?,
        }))
    }
}

/// Struct of fixed layout with a value to check in each element.
#[derive(Clone, PartialEq, Debug)]
struct Checked {
    on: bool,
    hop: Hop,
}

impl Fixed for Checked {
    const LAYOUT: Layout = Layout::EMPTY.then::<bool>().then::<Hop>();

    #[inline(always)]
    fn put(&self, w: &mut FixedWriter<'_>) {
        self.on.put(w);
        self.hop.put(w);
    }

    #[inline(always)]
    fn take(r: &mut FixedReader<'_>) -> Result<Self> {
        Ok(Self { on: Fixed::take(r)?, hop: Fixed::take(r)? })
    }
}

oxorb_cdr::fixed!(Checked);

fn main() {
    let foreign =
        if ByteOrder::NATIVE == ByteOrder::Big { ByteOrder::Little } else { ByteOrder::Big };
    println!("nanoseconds per element, {ELEMENTS} elements       encode  decode");
    measure_message();
    for (name, order) in [("native", ByteOrder::NATIVE), ("foreign", foreign)] {
        let hop = |i: usize| Hop { kind: i as u8, distance: i as i32, lane: i as i16 };
        measure(&format!("struct {{octet; long; short}}, {name}"), order, hop);
        measure(&format!("the same, member by member, {name}"), order, |i| Loose(hop(i)));
        measure(&format!("struct {{boolean; and these}}, {name}"), order, |i| Checked {
            on: i % 2 == 0,
            hop: hop(i),
        });
        measure(&format!("long, {name}"), order, |i| i as i32);
        measure(&format!("double, {name}"), order, |i| i as f64);
        measure(&format!("string of 11, {name}"), order, |i| format!("string {i:04}"));
    }
}

/// Measures a message like a small request: header, key, operation name, one argument.
fn measure_message() {
    const MESSAGES: usize = 1000;
    let mut buffer = Vec::new();
    let (mut encode, mut decode) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS / 10 {
        let start = Instant::now();
        for n in 0..MESSAGES as u32 {
            let mut encoder =
                Encoder::new(std::mem::take(&mut buffer), ByteOrder::NATIVE, Dialect::new(2));
            encoder.copy_octets(b"GIOP\x01\x02\x01\x00");
            encoder.ulong(0);
            encoder.ulong(n);
            encoder.copy_octets(&[3, 0, 0, 0]);
            encoder.ushort(0);
            encoder.length(12, None).expect("short");
            encoder.copy_octets(black_box(b"twelve octet"));
            encoder.string(black_box("ping")).expect("plain");
            encoder.ulong(0);
            encoder.align(8);
            encoder.ulonglong(black_box(7));
            encoder.patch_ulong(8, encoder.position() as u32 - 12);
            buffer = black_box(encoder.finish()).into_buffer();
        }
        encode = encode.min(start.elapsed().as_secs_f64());

        let start = Instant::now();
        for _ in 0..MESSAGES {
            let mut decoder =
                Decoder::new(black_box(&buffer[..64]), ByteOrder::NATIVE, Dialect::new(2)).at(12);
            black_box(decoder.ulong()).expect("whole");
            black_box(decoder.octets(4)).expect("whole");
            black_box(decoder.ushort()).expect("whole");
            let n = decoder.length(None, 1).expect("whole");
            black_box(decoder.octets(n)).expect("whole");
            black_box(decoder.string()).expect("whole");
            black_box(decoder.ulong()).expect("whole");
            decoder.align(8).expect("whole");
            black_box(decoder.ulonglong()).expect("whole");
            black_box(decoder.finish()).expect("nothing trails");
        }
        decode = decode.min(start.elapsed().as_secs_f64());
    }
    println!(
        "{:<44} {:>7.2} {:>7.2}",
        "one small request",
        encode * 1e9 / MESSAGES as f64,
        decode * 1e9 / MESSAGES as f64
    );
}

fn measure<T>(name: &str, order: ByteOrder, make: impl Fn(usize) -> T)
where
    T: Encode + for<'de> Decode<'de> + PartialEq + std::fmt::Debug,
{
    let items: Vec<T> = (0..ELEMENTS).map(make).collect();
    let mut buffer = Vec::new();
    let mut encode = f64::INFINITY;
    let mut decode = f64::INFINITY;
    for _ in 0..ROUNDS {
        let mut encoder = Encoder::new(std::mem::take(&mut buffer), order, Dialect::new(2));
        let start = Instant::now();
        encoder.sequence(black_box(&items), None).expect("a small sequence");
        encode = encode.min(start.elapsed().as_secs_f64());
        let message = encoder.finish();

        let mut decoder = Decoder::new(black_box(message.contiguous()), order, Dialect::new(2));
        let start = Instant::now();
        let back = black_box(decoder.sequence::<T>(None)).expect("what was just encoded");
        decode = decode.min(start.elapsed().as_secs_f64());
        assert_eq!(back.len(), items.len());
        drop(back);
        buffer = message.into_buffer();
    }
    let per_element = 1e9 / ELEMENTS as f64;
    println!("{name:<44} {:>7.2} {:>7.2}", encode * per_element, decode * per_element);
}
