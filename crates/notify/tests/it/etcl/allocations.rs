//! Evaluation allocates no memory for simple values, and none for values in an any that was received.

use oxorb_cdr::{Any, ByteOrder};
use oxorb_notify::etcl::event_type::{EventType, constraint_covers};
use oxorb_notify::etcl::{Constraint, Grammar, Subject};
use oxorb_testkit::alloc::allocations;

use crate::etcl::common::{Structured, received, sample, text};

/// Constraints that are true for the event. Each reads all parts that it names.
const CONSTRAINTS: [&str; 9] = [
    "$type_name == 'Alarm' and $domain_name == 'Telecom'",
    "$severity >= 3 and $site ~ 'Ulm, Germany' and $urgent",
    "$.header.variable_header(Priority) > 0 and exist $.filterable_data(site) and not exist $nothing",
    "$rate * 2.5 + 1 > $severity - 7 and $letter == 'x'",
    "$.remainder_of_body.text ~ 'it\\'s \\\\ fine' and $.remainder_of_body.color == 'green'",
    "8 in $.remainder_of_body.list and 'bc' in $.remainder_of_body.names",
    "$.remainder_of_body.grid[2][1] == 5 and $.remainder_of_body.choice.('blue') == 'ice'",
    "default $.remainder_of_body.other and $.remainder_of_body.other.() == 0.5",
    "$.remainder_of_body._type_id == 'Sample' and $.remainder_of_body.list._length == 3",
];

fn event(order: Option<ByteOrder>) -> Structured {
    let of = |any: Any| match order {
        Some(order) => received(&any, order),
        None => any,
    };
    Structured {
        domain: "Telecom",
        ty: "Alarm",
        name: "lost link",
        header: vec![("Priority", of(Any::new(3i16)))],
        body: vec![
            ("severity", of(Any::new(4i32))),
            ("urgent", of(Any::new(true))),
            ("site", of(text("Ulm"))),
            ("rate", of(Any::new(2.5f64))),
            ("letter", of(Any::new('x'))),
        ],
        rest: of(sample()),
    }
}

#[test]
fn evaluation_does_not_allocate() {
    for order in [None, Some(ByteOrder::Big), Some(ByteOrder::Little)] {
        let event = event(order);
        for text in CONSTRAINTS {
            let constraint = Constraint::parse(text, Grammar::Extended).unwrap();
            let (result, made) = allocations(|| constraint.evaluate(Subject::Structured(&event)));
            assert_eq!(result, Ok(true), "{text}");
            assert_eq!(made.count, 0, "{text} of an event in {order:?}");
        }
    }
}

#[test]
fn a_mismatch_does_not_allocate() {
    let event = event(Some(ByteOrder::Big));
    let constraint = Constraint::parse("$nothing == 3", Grammar::Extended).unwrap();
    let (matched, made) = allocations(|| constraint.matches(Subject::Structured(&event)));
    assert!(!matched);
    assert_eq!(made.count, 0);
}

#[test]
fn comparing_types_does_not_allocate() {
    let patterns = [EventType::new("Fin*", "*"), EventType::new("*com", "A*a*m")];
    let alarm = EventType::new("Telecom", "Alarm");
    let (covered, made) = allocations(|| constraint_covers(patterns, alarm));
    assert!(covered);
    assert_eq!(made.count, 0);
}
