//! Valuetypes of the fuzz target `value`: `Node` is `N`, and `Longer`, which inherits from it, is `L`.

use oxorb_cdr::fuzz::decode_values;

use crate::octets::Octets;
use crate::{Case, case};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("value: values", decode_values, 50, values),
        case("value: indirections to one value", decode_values, 50, indirections),
        case("value: one list of ids for all", decode_values, 50, lists),
        case("value: one long id for all", decode_values, 200, long_ids),
        case("value: chunks", decode_values, 50, chunks),
        case("value: truncated values", decode_values, 50, truncated),
        case("value: references into what was truncated", decode_values, 30, skipped),
    ]
}

const ONE_ID: u32 = 0x7fff_ff02;
const LIST: u32 = 0x7fff_ff06;
const CHUNKED: u32 = 8;

/// Adds a state: a mark, no successor, and no others.
fn state(o: &mut Octets) {
    o.0.push(7);
    o.ulong(0);
    o.ulong(0);
}

fn sequence(n: usize, mut value: impl FnMut(usize, &mut Octets)) -> Vec<u8> {
    let mut o = Octets::default();
    o.ulong(n as u32);
    (0..n).for_each(|at| value(at, &mut o));
    o.0
}

fn values(n: usize) -> Vec<u8> {
    sequence(n, |_, o| {
        o.ulong(ONE_ID);
        o.string("N");
        state(o);
    })
}

fn indirections(n: usize) -> Vec<u8> {
    let mut first = 0;
    sequence(n, |at, o| match at {
        0 => {
            first = o.here();
            o.ulong(ONE_ID);
            o.string("N");
            state(o);
        }
        _ => o.indirection(first),
    })
}

/// Returns values that share one list of ids, of which only the last is known.
fn lists(n: usize) -> Vec<u8> {
    let mut list = None;
    sequence(n, |_, o| {
        o.ulong(LIST | CHUNKED);
        match list {
            Some(there) => o.indirection(there),
            None => {
                list = Some(o.here());
                o.ulong(10);
                (0..9).for_each(|at| o.string(&format!("U{at}")));
                o.string("N");
            }
        }
        chunk(o);
    })
}

fn long_ids(n: usize) -> Vec<u8> {
    let mut list = None;
    sequence(n, |_, o| {
        o.ulong(LIST | CHUNKED);
        match list {
            Some(there) => o.indirection(there),
            None => {
                list = Some(o.here());
                o.ulong(2);
                o.string(&"u".repeat(20 * n));
                o.string("N");
            }
        }
        chunk(o);
    })
}

/// Adds the state in a chunk, and the end of the value.
fn chunk(o: &mut Octets) {
    o.ulong(12);
    state(o);
    o.ulong(-1i32 as u32);
}

fn chunks(n: usize) -> Vec<u8> {
    sequence(n, |_, o| {
        o.ulong(ONE_ID | CHUNKED);
        o.string("N");
        o.ulong(4);
        o.0.extend([7, 0, 0, 0]);
        o.ulong(4);
        o.ulong(0);
        o.ulong(4);
        o.ulong(0);
        o.ulong(-1i32 as u32);
    })
}

/// Returns a value with more chunks after the known state.
fn truncated(n: usize) -> Vec<u8> {
    sequence(1, |_, o| {
        o.ulong(LIST | CHUNKED);
        o.ulong(2);
        o.string("U");
        o.string("N");
        o.ulong(12);
        state(o);
        for _ in 0..n {
            o.ulong(4);
            o.ulong(5);
        }
        o.ulong(-1i32 as u32);
    })
}

/// Returns values nested in a truncated value, then indirections, last first.
fn skipped(n: usize) -> Vec<u8> {
    let mut places = Vec::new();
    let mut o = Octets::default();
    o.ulong(n as u32 + 1);
    o.ulong(LIST | CHUNKED);
    o.ulong(2);
    o.string("U");
    o.string("N");
    o.ulong(12);
    state(&mut o);
    for _ in 0..n {
        places.push(o.here());
        o.ulong(ONE_ID | CHUNKED);
        o.string("N");
        chunk_within(&mut o);
    }
    o.ulong(-1i32 as u32);
    places.iter().rev().for_each(|&there| o.indirection(there));
    o.0
}

fn chunk_within(o: &mut Octets) {
    o.ulong(12);
    state(o);
    o.ulong(-2i32 as u32);
}
