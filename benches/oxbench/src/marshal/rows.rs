//! Values that are written and read, which are the same for every ORB. This file is included once for each kind of
//! generated code, in `super::idl`.

use oxorb::ior::Ior;
use oxorb::{Any, Interface, Orb, Ref};

use super::idl::marshal::{
    Choice, Entry, Node, Order, Quality, Reading, Sample, TargetRef, choice,
};
use crate::Result;
use crate::marshal::side::{Of, Row, Singles};

/// Returns the row of this name.
pub(crate) fn find(name: &str, orb: &Orb, reference: &str) -> Result<Option<Box<dyn Row>>> {
    let row: Box<dyn Row> = match name {
        "octets-64k" => Of::row(numbers(65536, |i| i as u8)),
        "octet" => Singles::row(|i| i as u8),
        "short" => Singles::row(|i| i as i16),
        "long" => Singles::row(|i| i as i32),
        "long-long" => Singles::row(|i| i as i64),
        "float" => Singles::row(|i| i as f32),
        "double" => Singles::row(|i| i as f64),
        "shorts-1024" => Of::row(numbers(1024, |i| i as i16)),
        "longs-1024" => Of::row(numbers(1024, |i| i as i32)),
        "doubles-1024" => Of::row(numbers(1024, |i| i as f64)),
        "string-16" => Of::row("a".repeat(16)),
        "string-1024" => Of::row("a".repeat(1024)),
        "struct-fixed" => Of::row(reading()),
        "struct-strings" => Of::row(entry(1)),
        "samples-1" => Of::row(samples(1)),
        "samples-64" => Of::row(samples(64)),
        "samples-1024" => Of::row(samples(1024)),
        "entries-1" => Of::row(entries(1)),
        "entries-64" => Of::row(entries(64)),
        "entries-1024" => Of::row(entries(1024)),
        "union" => Of::row(choice(2)),
        "unions-64" => Of::row(choices(64)),
        "nested-16x64" => Of::row(vec![numbers(64, |i| i as i32); 16]),
        "tree-40" => Of::row(node(3)),
        "order" => Of::row(order()),
        "any-long" => Of::row(Any::new(5i32)),
        "any-struct" => Of::row(Any::new(reading())),
        "any-samples-64" => {
            let ty = super::idl::marshal::samples::type_code();
            Of::row(Any::new_as(ty, samples(64)).expect("samples are Samples"))
        }
        "reference" => {
            let ior: Ior = reference.parse()?;
            Of::row(Some(TargetRef::from_ref(Ref::new(orb, ior))))
        }
        _ => return Ok(None),
    };
    Ok(Some(row))
}

/// Returns numbers below 128, of any type.
fn numbers<T>(n: u32, number: impl Fn(u32) -> T) -> Vec<T> {
    (0..n).map(|i| number(i & 0x7f)).collect()
}

fn sample(i: u32) -> Sample {
    Sample { tag: i as u8, number: i as i32, level: i as i16 }
}

fn samples(n: u32) -> Vec<Sample> {
    (0..n).map(sample).collect()
}

fn reading() -> Reading {
    Reading {
        valid: true,
        state: Quality::Doubtful,
        value: 20.5,
        at: 1_234_567_890_123,
        source: sample(7),
        scale: 0.5,
    }
}

fn entry(i: u32) -> Entry {
    Entry {
        name: format!("entry number {i}"),
        id: i as i32,
        text: "what is to be said about it, in one line".to_owned(),
        weight: i.into(),
    }
}

fn entries(n: u32) -> Vec<Entry> {
    (0..n).map(entry).collect()
}

fn choice(i: u32) -> Choice {
    match i % 4 {
        0 => Choice::Number(i as i32),
        1 => Choice::Text("a text".to_owned()),
        2 => Choice::Last(reading()),
        _ => {
            let label = choice::OtherLabel::new(9).expect("no case names 9");
            Choice::Other(label, i as u8)
        }
    }
}

fn choices(n: u32) -> Vec<Choice> {
    (0..n).map(choice).collect()
}

fn order() -> Order {
    Order {
        id: 77,
        customer: "somebody".to_owned(),
        state: Quality::Good,
        tags: ["one", "two", "three"].map(String::from).to_vec(),
        lines: entries(8),
        options: choices(8),
        trail: samples(16),
        total: 99.5,
        paid: false,
    }
}

fn node(depth: i32) -> Node {
    let children = if depth > 0 { 3 } else { 0 };
    Node {
        name: "node".to_owned(),
        value: depth,
        children: (0..children).map(|_| node(depth - 1)).collect(),
    }
}
