//! Type codes, and anys of these types.

use oxorb_cdr::fuzz::{decode_any, decode_everything, decode_typecode, encode_as_modelled};
use oxorb_dynamic::fuzz::{dyn_any, json};

use crate::octets::Octets;
use crate::{Case, case};

const STRUCT: u32 = 15;
const UNION: u32 = 16;
const ENUM: u32 = 17;
const SEQUENCE: u32 = 19;
const LONG: u32 = 3;

/// Name and function of an entry point.
type Entry = (&'static str, fn(&[u8]));

pub(crate) fn cases() -> Vec<Case> {
    let all: [Entry; 4] =
        [("typecode", decode_typecode), ("any", decode_any), ("json", json), ("dyn_any", dyn_any)];
    let mut cases = Vec::new();
    for (target, run) in all {
        let mut add = |what: &str, n, input| {
            let name = Box::leak(format!("{target}: {what}").into_boxed_str());
            cases.push(case(name, run, n, input));
        };
        add("types within each other in 2^n ways", 60, doubled);
        // JSON spells out unnamed types, to a limited depth.
        add("a chain of sequences", if target == "json" { 130 } else { 20 }, chain);
        add("members", 100, members);
        add("members of one long enum", 80, mentions);
        // JSON refers to it by name only, which max_text bounds.
        if target != "json" {
            add("a type of a long name mentioned again", 50, long_name);
        }
        add("cases of a union", 100, cases_of_a_union);
        add("types of one id", 50, alike);
        add("bases of a valuetype", 50, bases);
    }
    for (target, run) in &all[1..] {
        let mut add = |what: &str, n, input| {
            let name = Box::leak(format!("{target}: {what}").into_boxed_str());
            cases.push(case(name, *run, n, input));
        };
        add("null anys", 200, nulls);
        add("anys of types of their own", 30, anys);
        add("elements of a struct of long names", 400, long_members);
        add("members of a value", 100, wide);
        add("exceptions with a long id", 80, exceptions);
        add("empty values", 100, empty_values);
        add("indirections to one value", 100, shared);
    }
    cases.push(case("cdr: all zero", decode_everything, 500, |n| vec![0; n]));
    cases.push(case("cdr: as many as there are", decode_everything, 500, counted));
    cases.push(case("cdr: encapsulations", decode_everything, 200, encapsulations));
    cases.push(case("encoder: all zero", encode_as_modelled, 200, |n| vec![0; n]));
    cases.push(case("encoder: everything", encode_as_modelled, 200, |n| {
        (0..n).map(|at| (at * 7) as u8).collect()
    }));
    cases
}

/// Adds a `struct` with members written by `member`, each after its name.
fn structure(o: &mut Octets, id: &str, names: &[&str], mut member: impl FnMut(usize, &mut Octets)) {
    o.ulong(STRUCT);
    o.encapsulation(|o| {
        o.string(id);
        o.string("s");
        o.ulong(names.len() as u32);
        for (at, name) in names.iter().enumerate() {
            o.string(name);
            member(at, o);
        }
    });
}

/// Returns an empty sequence of a type, or (for the target `typecode`) a type and octets of the same content.
fn empty_sequence_of(element: impl FnOnce(&mut Octets)) -> Vec<u8> {
    let mut o = Octets::default();
    o.ulong(SEQUENCE);
    o.encapsulation(|o| {
        element(o);
        o.ulong(0);
    });
    o.ulong(0);
    o.0
}

fn elements(n: usize, element: impl FnOnce(&mut Octets), octets: &[u8]) -> Vec<u8> {
    let mut o = Octets(empty_sequence_of(element));
    o.0.truncate(o.0.len() - 4);
    o.ulong(n as u32);
    (0..n).for_each(|_| o.0.extend(octets));
    o.0
}

/// Returns a type whose members are each a struct of twice the previous one.
fn doubled(n: usize) -> Vec<u8> {
    empty_sequence_of(|o| {
        let mut before = None;
        structure(o, "IDL:All:1.0", &vec!["m"; n], |at, o| {
            let here = o.here();
            structure(o, &format!("IDL:d{at}:1.0"), &["a", "b"], |_, o| match before {
                Some(there) => o.indirection(there),
                None => o.ulong(LONG),
            });
            before = Some(here);
        });
    })
}

/// Returns a type whose members are each a sequence of the previous one, which does not nest in the octets.
fn chain(n: usize) -> Vec<u8> {
    empty_sequence_of(|o| {
        let mut before = None;
        structure(o, "IDL:All:1.0", &vec!["m"; n], |_, o| {
            let here = o.here();
            o.ulong(SEQUENCE);
            o.encapsulation(|o| {
                match before {
                    Some(there) => o.indirection(there),
                    None => o.ulong(LONG),
                }
                o.ulong(0);
            });
            before = Some(here);
        });
    })
}

fn members(n: usize) -> Vec<u8> {
    empty_sequence_of(|o| structure(o, "IDL:S:1.0", &vec!["m"; n], |_, o| o.ulong(LONG)))
}

fn mentions(n: usize) -> Vec<u8> {
    empty_sequence_of(|o| {
        let mut first = None;
        structure(o, "IDL:S:1.0", &vec!["m"; n], |_, o| match first {
            Some(there) => o.indirection(there),
            None => {
                first = Some(o.here());
                o.ulong(ENUM);
                o.encapsulation(|o| {
                    o.string("IDL:E:1.0");
                    o.string("E");
                    o.ulong(n as u32);
                    (0..n).for_each(|_| o.string("e"));
                });
            }
        });
    })
}

fn long_name(n: usize) -> Vec<u8> {
    empty_sequence_of(|o| {
        let mut first = None;
        structure(o, "IDL:S:1.0", &vec!["m"; n], |_, o| match first {
            Some(there) => o.indirection(there),
            None => {
                first = Some(o.here());
                structure(o, &"x".repeat(8 * n), &["m"], |_, o| o.ulong(LONG));
            }
        });
    })
}

fn cases_of_a_union(n: usize) -> Vec<u8> {
    empty_sequence_of(|o| {
        o.ulong(UNION);
        o.encapsulation(|o| {
            o.string("IDL:U:1.0");
            o.string("U");
            o.ulong(LONG);
            o.ulong(u32::MAX);
            o.ulong(n as u32);
            for label in (0..n as u32).rev() {
                o.ulong(label);
                o.string("m");
                o.ulong(LONG);
            }
        });
    })
}

/// Returns different types with equal ids.
fn alike(n: usize) -> Vec<u8> {
    empty_sequence_of(|o| {
        structure(o, "IDL:S:1.0", &vec!["m"; n], |at, o| {
            structure(o, "IDL:T:1.0", &vec!["m"; at % 3], |_, o| o.ulong(LONG));
        });
    })
}

/// Returns a type whose members are each a valuetype that inherits from the previous one.
fn bases(n: usize) -> Vec<u8> {
    empty_sequence_of(|o| {
        let mut before = None;
        structure(o, "IDL:All:1.0", &vec!["m"; n], |at, o| {
            let here = o.here();
            o.ulong(29);
            o.encapsulation(|o| {
                o.string(&format!("IDL:v{at}:1.0"));
                o.string("v");
                o.ushort(0);
                match before {
                    Some(there) => o.indirection(there),
                    None => o.ulong(0),
                }
                o.ulong(1);
                o.string("m");
                o.ulong(LONG);
                o.ushort(1);
            });
            before = Some(here);
        });
    })
}

fn nulls(n: usize) -> Vec<u8> {
    elements(n, |o| o.ulong(11), &[0; 4])
}

fn anys(n: usize) -> Vec<u8> {
    let mut any = members(10);
    any.resize(any.len().next_multiple_of(4), 0);
    elements(n, |o| o.ulong(11), &any)
}

fn long_members(n: usize) -> Vec<u8> {
    let name = "n".repeat(n);
    elements(4, |o| structure(o, "IDL:S:1.0", &[&name], |_, o| o.ulong(10)), &[0])
}

fn wide(n: usize) -> Vec<u8> {
    let members = vec!["m"; n];
    elements(4, |o| structure(o, "IDL:S:1.0", &members, |_, o| o.ulong(LONG)), &vec![0; 4 * n])
}

fn exceptions(n: usize) -> Vec<u8> {
    let id = "x".repeat(4 * n);
    let exception = |o: &mut Octets| {
        structure(o, &id, &["m"], |_, o| o.ulong(LONG));
    };
    let mut octets = elements(n, exception, &(id.len() as u32 + 1).to_be_bytes());
    // A struct of this form becomes an exception by its kind alone.
    let kind = octets.windows(4).position(|four| four == STRUCT.to_be_bytes());
    octets[kind.expect("written") + 3] = 22;
    octets
}

fn value_type(o: &mut Octets) {
    o.ulong(29);
    o.encapsulation(|o| {
        o.string("IDL:V:1.0");
        o.string("V");
        o.ushort(0);
        o.ulong(0);
        o.ulong(1);
        o.string("m");
        o.ulong(LONG);
        o.ushort(1);
    });
}

fn empty_values(n: usize) -> Vec<u8> {
    elements(n, value_type, &[0x7f, 0xff, 0xff, 0, 0, 0, 0, 7])
}

fn shared(n: usize) -> Vec<u8> {
    let mut o = Octets(elements(1, value_type, &[0x7f, 0xff, 0xff, 0, 0, 0, 0, 7]));
    let there = o.0.len() - 8;
    let count = there - 4;
    o.0[count..there].copy_from_slice(&(n as u32).to_be_bytes());
    (1..n).for_each(|_| o.indirection(there));
    o.0
}

fn counted(n: usize) -> Vec<u8> {
    let mut o = Octets::default();
    o.ulong(n as u32);
    o.0.extend((0..n).map(|at| (at % 2) as u8));
    o.0
}

fn encapsulations(n: usize) -> Vec<u8> {
    [15, 0, 0, 0, 0, 0, 0, 8, 0, 15, 0, 0].repeat(n)
}
