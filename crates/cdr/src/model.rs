//! Reference model of the encoder: octet by octet into a growing vector. Both must write the same
//! octets.

use crate::prelude::*;
use crate::{
    ByteOrder, Dialect, Encode, Encoder, ErrorKind, Fixed, FixedReader, FixedWriter, Layout,
    LongDouble, Result,
};

/// Interprets octets as instructions, and compares the encoder's output with the model's.
///
/// The first octets select the byte order, the gathering threshold, and the initial size of the
/// buffer. The buffer is filled with stale octets, which must not appear in the output.
pub fn encode_as_modelled(data: &[u8]) {
    let mut script = Script(data);
    let order = match script.next() & 1 {
        0 => ByteOrder::Big,
        _ => ByteOrder::Little,
    };
    let gather_above = usize::from(script.next());
    let mut buffer = Vec::with_capacity(script.upto(400));
    buffer.resize(script.upto(400), STALE);
    // The second message reuses the buffer of the first, whose octets must not appear in it.
    for _ in 0..2 {
        buffer = message(script.clone(), buffer, order, gather_above);
    }
}

const STALE: u8 = 0xEE;

fn message(mut script: Script<'_>, mut buffer: Vec<u8>, order: ByteOrder, above: usize) -> Vec<u8> {
    buffer.fill(STALE);
    let mut encoder = Encoder::new(buffer, order, Dialect::GIOP_1_2).gather_above(above);
    let mut model =
        Model { octets: Vec::new(), origin: 0, order, own: 0..usize::MAX, gather_above: above };
    while !script.0.is_empty() {
        step(&mut script, &mut encoder, &mut model, 0);
        assert_eq!(encoder.position(), model.octets.len());
    }
    let encoded = encoder.finish();
    assert_eq!(encoded.len(), model.octets.len());
    assert_eq!(encoded.to_vec(), model.octets);
    encoded.into_buffer()
}

/// Remaining instructions.
#[derive(Clone)]
struct Script<'s>(&'s [u8]);

impl Script<'_> {
    /// Returns the next octet; zeros without end at the end.
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn upto(&mut self, most: usize) -> usize {
        usize::from(u16::from_le_bytes([self.next(), self.next()])) % (most + 1)
    }

    fn number(&mut self) -> u128 {
        u128::from(self.next()).wrapping_mul(0x0101_4023_8745_9311_7533_9801_fedc_ba99)
    }
}

/// Octets written so far.
struct Model {
    octets: Vec<u8>,
    /// Alignment origin.
    origin: usize,
    order: ByteOrder,
    /// Range of octets that can be truncated (from the start) and overwritten (up to the end),
    /// which gathering limits.
    own: core::ops::Range<usize>,
    gather_above: usize,
}

impl Model {
    fn align(&mut self, to: usize) {
        while !(self.octets.len() - self.origin).is_multiple_of(to) {
            self.octets.push(0);
        }
    }

    fn number(&mut self, v: u128, size: usize) {
        self.align(size.min(8));
        let octets = self.wire(v, size);
        self.octets.extend_from_slice(&octets);
    }

    fn wire(&self, v: u128, size: usize) -> Vec<u8> {
        let mut octets = v.to_le_bytes()[..size].to_vec();
        if self.order == ByteOrder::Big {
            octets.reverse();
        }
        octets
    }

    /// Appends octets that the encoder may have gathered.
    fn block(&mut self, octets: &[u8]) {
        let start = self.octets.len();
        self.octets.extend_from_slice(octets);
        // The model need not know whether the encoder gathered these octets. It only must not
        // truncate or overwrite them later, which the encoder forbids for gathered octets.
        if self.origin == 0 && octets.len() > self.gather_above {
            self.own = self.octets.len()..self.own.end.min(start);
        }
    }

    fn hop(&mut self, hop: &Hop) {
        self.number(hop.kind.into(), 1);
        self.number(hop.weight.to_bits().into(), 8);
        self.number(hop.lane.cast_unsigned().into(), 2);
        self.number(u128::from(hop.way[0].cast_unsigned()), 4);
        self.number(u128::from(hop.way[1].cast_unsigned()), 4);
        self.number(hop.open.into(), 1);
    }
}

/// Struct of fixed layout, with padding in several places, and longer than any number.
#[derive(Clone)]
struct Hop {
    kind: u8,
    weight: f64,
    lane: i16,
    way: [i32; 2],
    open: bool,
}

impl Fixed for Hop {
    const LAYOUT: Layout =
        Layout::EMPTY.then::<u8>().then::<f64>().then::<i16>().then::<[i32; 2]>().then::<bool>();

    #[inline(always)]
    fn put(&self, w: &mut FixedWriter<'_>) {
        self.kind.put(w);
        self.weight.put(w);
        self.lane.put(w);
        self.way.put(w);
        self.open.put(w);
    }

    fn take(r: &mut FixedReader<'_>) -> Result<Self> {
        Ok(Self {
            kind: Fixed::take(r)?,
            weight: Fixed::take(r)?,
            lane: Fixed::take(r)?,
            way: Fixed::take(r)?,
            open: Fixed::take(r)?,
        })
    }
}

crate::fixed!(Hop);

const HOPS: [Hop; 4] = [const {
    Hop { kind: 0x91, weight: -0.1, lane: 0x7182, way: [-0x1234_5678, 0x1f2e_3d4c], open: true }
}; 4];
const OCTETS: [u8; 300] = [0x55; 300];
const BOOLEANS: [bool; 20] = [true; 20];
const SHORTS: [i16; 40] = [-0x0123; 40];
const LONGS: [i32; 40] = [0x0123_4567; 40];
const LONGLONGS: [i64; 40] = [-0x0123_4567_89ab_cdef; 40];
const DOUBLES: [f64; 40] = [0.1; 40];

/// Maximum depth of nested encapsulations.
const DEPTH: usize = 4;

/// Executes one instruction on the encoder and on the model.
fn step<'a>(script: &mut Script<'_>, e: &mut Encoder<'a>, model: &mut Model, depth: usize) {
    match script.next() % 20 {
        0 => {
            let v = script.number();
            e.octet(v as u8);
            model.number(v, 1);
        }
        1 => {
            let v = script.number();
            e.short(v as i16);
            model.number(v, 2);
        }
        2 => {
            let v = script.number();
            e.ulong(v as u32);
            model.number(v, 4);
        }
        3 => {
            let v = script.number();
            e.longlong(v as i64);
            model.number(v, 8);
        }
        4 => {
            let v = script.number();
            e.float(f32::from_bits(v as u32));
            model.number(v, 4);
        }
        5 => {
            let v = script.number();
            e.long_double(LongDouble::from_bits(v));
            model.number(v, 16);
        }
        6 => {
            let n = script.upto(OCTETS.len());
            e.octets(const { &OCTETS }.split_at(n).0);
            model.block(&OCTETS[..n]);
        }
        7 => {
            let n = script.upto(OCTETS.len());
            e.copy_octets(&OCTETS[..n]);
            model.octets.extend_from_slice(&OCTETS[..n]);
        }
        8 => {
            let to = 1 << script.upto(3);
            e.align(to);
            model.align(to);
        }
        9 => {
            e.fixed(&HOPS[0]);
            model.hop(&HOPS[0]);
        }
        10 => {
            let n = script.upto(HOPS.len());
            e.fixed_slice(&HOPS[..n]);
            HOPS[..n].iter().for_each(|hop| model.hop(hop));
        }
        11 => {
            let text = "a".repeat(script.upto(40));
            e.string(&text).expect("plain");
            model.number(text.len() as u128 + 1, 4);
            model.octets.extend_from_slice(text.as_bytes());
            model.octets.push(0);
        }
        12 => {
            let items = const { &BOOLEANS }.split_at(script.upto(BOOLEANS.len())).0;
            e.booleans(items);
            model.block(&[1; BOOLEANS.len()][..items.len()]);
        }
        13 => {
            let items = const { &SHORTS }.split_at(script.upto(SHORTS.len())).0;
            e.shorts(items);
            numbers(model, items.len(), u128::from(SHORTS[0].cast_unsigned()), 2);
        }
        14 => {
            let items = const { &LONGS }.split_at(script.upto(LONGS.len())).0;
            i32::encode_slice(items, e).expect("numbers are always carried");
            numbers(model, items.len(), u128::from(LONGS[0].cast_unsigned()), 4);
        }
        15 => {
            let n = script.upto(LONGLONGS.len());
            e.longlongs(const { &LONGLONGS }.split_at(n).0);
            numbers(model, n, u128::from(LONGLONGS[0].cast_unsigned()), 8);
            e.doubles(const { &DOUBLES }.split_at(n).0);
            numbers(model, n, u128::from(DOUBLES[0].to_bits()), 8);
        }
        16 => e.reserve(script.upto(600)),
        17 => encapsulation(script, e, model, depth),
        18 => {
            let back = script.upto(model.octets.len() - model.own.start.min(model.octets.len()));
            let to = (model.octets.len() - back).max(model.origin + usize::from(depth > 0));
            e.truncate(to);
            model.octets.truncate(to);
        }
        _ => {
            let end = model.own.end.min(model.octets.len());
            if let Some(last) = end.checked_sub(4) {
                let at = script.upto(last);
                e.patch_ulong(at, 0x0a0b_0c0d);
                let octets = model.wire(0x0a0b_0c0d, 4);
                model.octets[at..at + 4].copy_from_slice(&octets);
            }
        }
    }
}

fn numbers(model: &mut Model, n: usize, v: u128, size: usize) {
    if n > 0 {
        model.align(size);
        let octets = model.wire(v, size).repeat(n);
        // The encoder never gathers numbers in foreign byte order. Treating them as gathered is
        // harmless: the test then merely truncates and overwrites less.
        model.block(&octets);
    }
}

fn encapsulation(script: &mut Script<'_>, e: &mut Encoder<'_>, model: &mut Model, depth: usize) {
    let (steps, fails) = (script.upto(5), script.next().is_multiple_of(4));
    if depth == DEPTH {
        return;
    }
    let before = model.octets.len();
    model.number(0, 4);
    let start = model.octets.len();
    let (origin, own) = (model.origin, model.own.clone());
    model.origin = start;
    model.own.start = start + 1;
    model.octets.push(model.order.flag().into());
    let written = e.encapsulation(|e| {
        for _ in 0..steps {
            step(script, e, model, depth + 1);
            assert_eq!(e.position(), model.octets.len());
        }
        match fails {
            true => Err(e.error(ErrorKind::BadString)),
            false => Ok(()),
        }
    });
    assert_eq!(written.is_err(), fails);
    model.origin = origin;
    model.own = own;
    if fails {
        model.octets.truncate(before);
    } else {
        let length = model.wire((model.octets.len() - start) as u128, 4);
        model.octets[start - 4..start].copy_from_slice(&length);
    }
}
