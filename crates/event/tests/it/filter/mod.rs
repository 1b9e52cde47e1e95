//! Results of filters, parsing of lists of dependencies, and comparison of the program with a simple model.

mod model;
mod syntax;

use oxorb_event::rtec_event_comm::Event;
use oxorb_event::{Filter, Interest, Matched, Program, TimeoutKind, Trigger, event_type};

fn event(event_type: i32, source: i32) -> Event {
    let mut event = Event::default();
    event.header.r#type = event_type;
    event.header.source = source;
    event
}

/// Applies a filter to a sequence of events. Returns the creation times of the events that are delivered together.
fn run(filter: &Filter, events: &[(i32, i32)]) -> Vec<Vec<u64>> {
    let program = Program::new(filter);
    let mut progress = program.progress();
    let mut pushed = Vec::new();
    for (at, &(event_type, source)) in events.iter().enumerate() {
        let mut event = event(event_type, source);
        event.header.creation_time = at as u64;
        let trigger = Trigger { event: &event, timer: None };
        match program.advance(trigger, &mut progress) {
            Matched::No => {}
            Matched::Event => pushed.push(vec![at as u64]),
            Matched::Set(set) => {
                pushed.push(set.iter().map(|event| event.header.creation_time).collect());
            }
        }
    }
    pushed
}

/// Returns the indices of the events that a stateless filter accepts.
fn passed(filter: &Filter, events: &[(i32, i32)]) -> Vec<usize> {
    run(filter, events).iter().map(|one| one[0] as usize).collect()
}

#[test]
fn types_and_sources_match_and_zero_is_any_on_either_side() {
    let events = [(17, 3), (17, 4), (18, 3), (0, 3), (0, 4), (17, 0), (18, 0), (0, 0)];
    assert_eq!(passed(&Filter::event(17, 3), &events), [0, 3, 5, 7]);
    assert_eq!(passed(&Filter::event_type(17), &events), [0, 1, 3, 4, 5, 7]);
    assert_eq!(passed(&Filter::source(3), &events), [0, 2, 3, 5, 6, 7]);
    assert_eq!(passed(&Filter::ALL, &events), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(passed(&Filter::Null, &events), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(passed(&Filter::NONE, &events).is_empty());
}

/// The null designator passes every event, like TAO's null filter, on its own and in place of any other filter.
#[test]
fn the_null_designator_passes_every_event() {
    let events = [(17, 3), (17, 4), (18, 3), (0, 0), (1, 0)];
    let null = || Filter::Null;
    assert_eq!(passed(&Filter::any_of([Filter::event_type(20), null()]), &events), [0, 1, 2, 3, 4]);
    let but_one = Filter::all_of([null(), Filter::not(Filter::event(17, 3))]);
    assert_eq!(passed(&but_one, &events), [1, 2, 4]);
    assert!(passed(&Filter::not(null()), &events).is_empty());
    let masks = |then| Filter::Bitmask { type_mask: 1, source_mask: 1, then: Box::new(then) };
    assert_eq!(passed(&masks(null()), &events), [0]);
    // In a conjunction an event counts for the first member that it matches.
    let then_any = Filter::each_of([Filter::event(17, 3), null()]);
    assert_eq!(run(&then_any, &[(17, 3), (18, 3)]), [vec![0, 1]]);
    assert_eq!(run(&then_any, &[(18, 3), (18, 4), (17, 3)]), [vec![0, 2]]);
    let program = Program::new(&null());
    assert_eq!(*program.interest(), Interest::All);
    let published = |event_type, source| event(event_type, source).header;
    assert!(program.can_match(&published(17, 3)) && program.can_match(&published(0, 0)));
    // The negation of the null designator matches no event, so no publication can match it.
    assert!(!Program::new(&Filter::not(null())).can_match(&published(17, 3)));
}

#[test]
fn masks_look_at_bits_and_at_values() {
    let events = [(0b0001, 0b0100), (0b0010, 0b0100), (0b0011, 0b1000), (0b0100, 0b0100)];
    let bits =
        Filter::Bitmask { type_mask: 0b0011, source_mask: 0b0100, then: Box::new(Filter::ALL) };
    assert_eq!(passed(&bits, &events), [0, 1]);
    let values = Filter::MaskedType {
        type_mask: 0b0011,
        source_mask: 0,
        type_value: 0b0011,
        source_value: 0,
    };
    assert_eq!(passed(&values, &events), [2]);
}

#[test]
fn groups_and_negations_nest() {
    let [a, b] = [Filter::event_type(17), Filter::source(3)];
    let events = [(17, 3), (17, 4), (18, 3), (18, 4)];
    assert_eq!(passed(&Filter::any_of([a.clone(), b.clone()]), &events), [0, 1, 2]);
    assert_eq!(passed(&Filter::all_of([a.clone(), b.clone()]), &events), [0]);
    let neither = Filter::not(Filter::any_of([a.clone(), b.clone()]));
    assert_eq!(passed(&neither, &events), [3]);
    let only_type = Filter::all_of([a, Filter::not(b)]);
    assert_eq!(passed(&only_type, &events), [1]);
}

#[test]
fn a_conjunction_collects_one_event_for_each_member() {
    let [a, b] = [Filter::event_type(17), Filter::event_type(18)];
    let both = Filter::each_of([a.clone(), b.clone()]);
    // The set is in the order of arrival. A second event for a member that already has one is dropped.
    assert_eq!(run(&both, &[(18, 1), (18, 2), (17, 1)]), [vec![0, 2]]);
    // A conjunction restarts when it is complete.
    assert_eq!(run(&both, &[(17, 1), (18, 1), (17, 1), (18, 1)]), [vec![0, 1], vec![2, 3]]);
    // An event counts for the first member that it matches, so a conjunction of two equal filters is never complete.
    let twice = Filter::each_of([a.clone(), a.clone()]);
    assert!(run(&twice, &[(17, 1); 5]).is_empty());
    // Each push to the consumer restarts all of its conjunctions.
    let or = Filter::any_of([both.clone(), Filter::event_type(19)]);
    assert_eq!(run(&or, &[(17, 1), (19, 1), (18, 1), (17, 1)]), [vec![1], vec![2, 3]]);
    // A nested conjunction adds its events to the outer one all at once, when it is complete.
    let nested = Filter::each_of([both, Filter::event_type(20)]);
    assert_eq!(run(&nested, &[(17, 1), (20, 1), (18, 1)]), [vec![1, 0, 2]]);
}

#[test]
fn timers_stand_alone_and_in_groups() {
    let timeout = Filter::Timeout { kind: TimeoutKind::Interval, period: 10 };
    let filter = Filter::each_of([Filter::event_type(17), timeout]);
    let program = Program::new(&filter);
    assert_eq!(program.timers(), [(TimeoutKind::Interval, 10)]);
    let mut progress = program.progress();
    let mut ask = |event: &Event, timer| {
        let trigger = Trigger { event, timer };
        program.advance(trigger, &mut progress)
    };
    // An event of a supplier that has the type of a timer's event must not be accepted as one.
    let imitation = event(event_type::INTERVAL_TIMEOUT, 0);
    assert_eq!(ask(&event(17, 1), None), Matched::No);
    assert_eq!(ask(&event(18, 1), None), Matched::No);
    let Matched::Set(set) = ask(&imitation, Some(0)) else {
        panic!("a set");
    };
    assert_eq!(set.len(), 2);
}
