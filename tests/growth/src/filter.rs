//! Constraints of filters, and events for their evaluation.

use oxorb_notify::etcl::fuzz::filter;

use crate::{Case, case};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("filter: terms of a constraint", filter, 200, |n| with_list(&" or 1==2".repeat(n), 3)),
        case("filter: sums of a constraint", filter, 200, |n| with_list(&"+1".repeat(n), 3)),
        case("filter: blanks between words", filter, 2_000, |n| with_list(&" ".repeat(n), 3)),
        case("filter: octets of a string", filter, 2_000, |n| {
            with_list(&format!(" or '{}' == 'x'", "\\'".repeat(n)), 3)
        }),
        case("filter: steps of a component", filter, 200, |n| {
            with_list(&format!(" or $.{}b == 1", "a.".repeat(n)), 3)
        }),
        case("filter: elements of a sequence", filter, 1_000, |n| with_list("", n)),
        case("filter: a part that is nearly there, again and again", filter, 1_000, |n| {
            strings(&"a".repeat(n), &format!("{}b", "a".repeat(n / 2)))
        }),
    ]
}

/// Returns a constraint that visits each element of a sequence of longs, with a continuation.
fn with_list(more: &str, elements: usize) -> Vec<u8> {
    let mut input = format!("7 in $. or 2 == 1{more}\0").into_bytes();
    let start = input.len();
    let put = |input: &mut Vec<u8>, number: u32| input.extend_from_slice(&number.to_be_bytes());
    put(&mut input, 19); // a sequence
    put(&mut input, 12);
    put(&mut input, 0); // of longs, unbounded
    put(&mut input, 3);
    put(&mut input, 0);
    put(&mut input, elements as u32);
    debug_assert_eq!((input.len() - start) % 4, 0);
    for _ in 0..elements {
        put(&mut input, 1);
    }
    input
}

/// Returns a constraint that searches for a substring.
fn strings(whole: &str, part: &str) -> Vec<u8> {
    let mut input = format!("'{part}' ~ $.\0").into_bytes();
    for number in [18, 0, whole.len() as u32 + 1] {
        input.extend_from_slice(&number.to_be_bytes());
    }
    input.extend_from_slice(whole.as_bytes());
    input.push(0);
    input
}
