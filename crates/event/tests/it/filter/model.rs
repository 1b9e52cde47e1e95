//! The filter engine compared with a model that is as simple as possible, with any nesting and events in any order.

use std::collections::HashMap;

use oxorb_event::rtec_event_comm::{Event, EventHeader};
use oxorb_event::{Filter, FilterLimits, Interest, Matched, Program, Syntax, TimeoutKind, Trigger};
use proptest::prelude::*;

/// State of each conjunction, by its path in the tree: the members that have an event, and these events.
#[derive(Default)]
struct Model(HashMap<Vec<usize>, (Vec<usize>, Vec<u64>)>);

impl Model {
    /// Returns the events that the consumer gets, by their creation times.
    fn ask(
        &mut self,
        filter: &Filter,
        header: &EventHeader,
        timer: Option<usize>,
    ) -> Option<Vec<u64>> {
        let mut timers = 0;
        let (_, pushed) = self.node(filter, &mut Vec::new(), header, timer, &mut timers);
        if pushed.is_some() {
            self.0.clear();
        }
        pushed
    }

    fn node(
        &mut self,
        filter: &Filter,
        path: &mut Vec<usize>,
        header: &EventHeader,
        timer: Option<usize>,
        timers: &mut usize,
    ) -> (bool, Option<Vec<u64>>) {
        let now = |accepted: bool| (accepted, accepted.then(|| vec![header.creation_time]));
        let same = |a: i32, b: i32| a == 0 || b == 0 || a == b;
        match filter {
            Filter::Event { event_type, source } => {
                now(same(*event_type, header.r#type) && same(*source, header.source))
            }
            Filter::Null => now(true),
            Filter::Timeout { .. } => {
                let number = *timers;
                *timers += 1;
                now(timer == Some(number))
            }
            Filter::MaskedType { type_mask, source_mask, type_value, source_value } => {
                now(header.r#type & type_mask == *type_value
                    && header.source & source_mask == *source_value)
            }
            Filter::Bitmask { type_mask, source_mask, then } => {
                let pass = header.r#type & type_mask != 0 && header.source & source_mask != 0;
                if !pass {
                    skip(then, timers);
                    return (false, None);
                }
                path.push(0);
                let answer = self.node(then, path, header, timer, timers);
                path.pop();
                answer
            }
            Filter::Negation(member) => {
                path.push(0);
                let (accepted, _) = self.node(member, path, header, timer, timers);
                path.pop();
                now(!accepted)
            }
            Filter::LogicalAnd(members) => {
                let mut all = true;
                for (at, member) in members.iter().enumerate() {
                    if !all {
                        skip(member, timers);
                        continue;
                    }
                    path.push(at);
                    all = self.node(member, path, header, timer, timers).0;
                    path.pop();
                }
                now(all)
            }
            Filter::Disjunction(members) | Filter::Conjunction(members) => {
                let mut first = None;
                for (at, member) in members.iter().enumerate() {
                    if first.is_some() {
                        skip(member, timers);
                        continue;
                    }
                    path.push(at);
                    let (accepted, pushed) = self.node(member, path, header, timer, timers);
                    path.pop();
                    first = accepted.then_some((at, pushed));
                }
                let Some((at, pushed)) = first else {
                    return (false, None);
                };
                let Some(pushed) = pushed else {
                    return (true, None);
                };
                if matches!(filter, Filter::Disjunction(_)) {
                    return (true, Some(pushed));
                }
                let (met, collected) = self.0.entry(path.clone()).or_default();
                if met.contains(&at) {
                    return (true, None);
                }
                met.push(at);
                collected.extend(pushed);
                let complete = met.len() == members.len();
                (true, complete.then(|| collected.clone()))
            }
        }
    }
}

/// Counts the timers in a part of the filter that is not evaluated.
fn skip(filter: &Filter, timers: &mut usize) {
    match filter {
        Filter::Timeout { .. } => *timers += 1,
        Filter::Disjunction(members)
        | Filter::Conjunction(members)
        | Filter::LogicalAnd(members) => {
            members.iter().for_each(|member| skip(member, timers));
        }
        Filter::Negation(then) | Filter::Bitmask { then, .. } => skip(then, timers),
        _ => {}
    }
}

fn filters() -> impl Strategy<Value = Filter> {
    let number = 0..5;
    let leaf = prop_oneof![
        5 => (number.clone(), number.clone()).prop_map(|(t, s)| Filter::event(at(t), s)),
        1 => (1..40i32, 0..4i32, 0..40i32, 0..4i32).prop_map(|(type_mask, source_mask, t, s)| {
            Filter::MaskedType { type_mask, source_mask, type_value: t & type_mask, source_value: s & source_mask }
        }),
        1 => (number.clone(), number.clone()).prop_map(|(t, s)| Filter::MaskedType {
            type_mask: -1, source_mask: -1, type_value: at(t), source_value: s,
        }),
        1 => (1..1000u64).prop_map(|period| Filter::Timeout { kind: TimeoutKind::Interval, period }),
        1 => Just(Filter::Null),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let group = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            group.clone().prop_map(Filter::Disjunction),
            group.clone().prop_map(Filter::Conjunction),
            group.prop_map(Filter::LogicalAnd),
            inner.clone().prop_map(Filter::not),
            (0..40i32, 0..4i32, inner).prop_map(|(type_mask, source_mask, then)| Filter::Bitmask {
                type_mask,
                source_mask,
                then: Box::new(then),
            }),
        ]
    })
}

/// Maps 0 to 0, and other numbers to types of applications.
fn at(number: i32) -> i32 {
    if number == 0 { 0 } else { 16 + number }
}

fn concerns(interest: &Interest, header: &EventHeader) -> bool {
    let (t, s) = (header.r#type, header.source);
    match interest {
        Interest::All => true,
        Interest::Keys(_) if t == 0 || s == 0 => true,
        Interest::Keys(keys) => [(t, s), (t, 0), (0, s)].iter().any(|key| keys.contains(key)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_engine_agrees_with_the_model(
        filter in filters(),
        events in prop::collection::vec((0..5i32, 0..5i32, prop::option::weighted(0.2, 0..4usize)), 0..60),
    ) {
        let program = Program::new(&filter);
        let (mut progress, mut model) = (program.progress(), Model::default());
        // A second engine gets only events that belong to the filter's interest. Its results must be the same.
        let mut spared = program.progress();
        for (number, (event_type, source, timer)) in events.into_iter().enumerate() {
            let mut event = Event::default();
            event.header.r#type = if timer.is_some() { 5 } else { at(event_type) };
            event.header.source = if timer.is_some() { 0 } else { source };
            event.header.creation_time = number as u64;
            let trigger = Trigger { event: &event, timer };
            let times = |matched: Matched| match matched {
                Matched::No => None,
                Matched::Event => Some(vec![number as u64]),
                Matched::Set(set) => Some(set.iter().map(|one| one.header.creation_time).collect()),
            };
            let expected = model.ask(&filter, &event.header, timer);
            prop_assert_eq!(times(program.advance(trigger, &mut progress)), expected.clone());
            if !program.remembers() {
                prop_assert_eq!(program.accepts(trigger), expected.is_some());
            }
            if timer.is_some() || concerns(program.interest(), &event.header) {
                prop_assert_eq!(times(program.advance(trigger, &mut spared)), expected);
            } else {
                prop_assert_eq!(expected, None);
            }
        }
    }

    /// A supplier's publications cover the events that it pushes. In a publication, 0 represents any type or source.
    #[test]
    fn a_supplier_reaches_whoever_its_publications_can_match(
        filter in filters(),
        events in prop::collection::vec((0..5i32, 0..5i32), 1..20),
    ) {
        let program = Program::new(&filter);
        let mut progress = program.progress();
        for (event_type, source) in events {
            let mut event = Event::default();
            (event.header.r#type, event.header.source) = (at(event_type), source);
            let trigger = Trigger { event: &event, timer: None };
            if program.advance(trigger, &mut progress) == Matched::No {
                continue;
            }
            for (any_type, any_source) in [(false, false), (true, false), (false, true), (true, true)] {
                let mut published = event.header;
                if any_type {
                    published.r#type = 0;
                }
                if any_source {
                    published.source = 0;
                }
                prop_assert!(program.can_match(&published), "{:?} of {:?}", published, event.header);
            }
        }
    }

    #[test]
    fn a_filter_is_the_same_when_written_and_read(filter in filters()) {
        let written = filter.to_dependencies(7);
        let read = Filter::parse(&written, Syntax::Prefix, &FilterLimits::default());
        prop_assert_eq!(&read, &Ok(filter));
        prop_assert!(written.iter().all(|one| one.rt_info == 7));
        // `Auto` must detect that these lists are in prefix syntax.
        let told = Filter::parse(&written, Syntax::Auto, &FilterLimits::default());
        prop_assert_eq!(told.as_ref(), read.as_ref());
    }

    #[test]
    fn any_list_is_read_or_refused(
        headers in prop::collection::vec((0..20i32, -1..4i32, 0..2u64), 0..40),
    ) {
        let list: Vec<_> = headers.into_iter().map(|(event_type, source, period)| {
            let mut one = oxorb_event::rtec_event_channel_admin::Dependency::default();
            one.event.header.r#type = event_type;
            one.event.header.source = source;
            one.event.header.creation_time = period;
            one
        }).collect();
        // A list that is valid in both syntaxes must have the same meaning in both.
        let [basic, prefix, auto] = [Syntax::Basic, Syntax::Prefix, Syntax::Auto]
            .map(|syntax| Filter::parse(&list, syntax, &FilterLimits::default()).ok());
        if let (Some(basic), Some(prefix)) = (&basic, &prefix) {
            prop_assert_eq!(basic, prefix);
        }
        prop_assert_eq!(auto, prefix.or(basic));
        for syntax in [Syntax::Basic, Syntax::Prefix, Syntax::Auto] {
            if let Ok(filter) = Filter::parse(&list, syntax, &FilterLimits::default()) {
                let written = filter.to_dependencies(0);
                let again = Filter::parse(&written, Syntax::Prefix, &FilterLimits::default());
                prop_assert_eq!(again, Ok(filter));
            }
        }
    }
}
