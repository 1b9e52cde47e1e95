//! Interest of a filter: the events to which it must be applied, because it may accept them or may collect them in a
//! set.

use std::collections::BTreeSet;

use super::Filter;

/// A type and a source; 0 is a wildcard.
pub type Key = (i32, i32);

/// The events to which a filter must be applied. Events whose type or source is 0 always belong to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interest {
    /// All events.
    All,
    /// Events that match one of these keys.
    Keys(BTreeSet<Key>),
}

impl Interest {
    /// Returns the interest of a filter.
    pub fn of(filter: &Filter) -> Interest {
        match filter {
            Filter::Event { event_type: 0, source: 0 } | Filter::Null => Interest::All,
            Filter::Event { event_type, source } => {
                Interest::Keys(BTreeSet::from([(*event_type, *source)]))
            }
            Filter::Disjunction(members) | Filter::Conjunction(members) => union(members),
            // A member with state must see an event even if its siblings reject the event, because its state may
            // change.
            Filter::LogicalAnd(members) if members.iter().any(remembers) => union(members),
            Filter::LogicalAnd(members) => {
                let all = members.iter().map(Interest::of);
                all.min_by_key(Interest::width).unwrap_or(Interest::All)
            }
            Filter::Negation(_) => Interest::All,
            Filter::Bitmask { then, .. } => Interest::of(then),
            Filter::MaskedType { type_mask, source_mask, type_value, source_value } => {
                match ((*type_mask, *type_value), (*source_mask, *source_value)) {
                    ((-1, event_type), (-1, source)) => Interest::exactly(event_type, source),
                    ((-1, event_type), _) => Interest::exactly(event_type, 0),
                    (_, (-1, source)) => Interest::exactly(0, source),
                    _ => Interest::All,
                }
            }
            Filter::Timeout { .. } => Interest::Keys(BTreeSet::new()),
        }
    }

    /// Returns the interest of a masked type in these values. A value of 0 is not a wildcard here, and events with a 0
    /// are passed to every filter in any case.
    fn exactly(event_type: i32, source: i32) -> Interest {
        match (event_type, source) {
            (0, 0) => Interest::All,
            key => Interest::Keys(BTreeSet::from([key])),
        }
    }

    fn width(&self) -> usize {
        match self {
            Interest::All => usize::MAX,
            Interest::Keys(keys) => keys.len(),
        }
    }
}

fn union(members: &[Filter]) -> Interest {
    let mut all = BTreeSet::new();
    for member in members {
        match Interest::of(member) {
            Interest::All => return Interest::All,
            Interest::Keys(keys) => all.extend(keys),
        }
    }
    Interest::Keys(all)
}

/// Reports whether the result of a filter depends on earlier events.
pub(super) fn remembers(filter: &Filter) -> bool {
    match filter {
        Filter::Conjunction(_) => true,
        Filter::Disjunction(members) | Filter::LogicalAnd(members) => members.iter().any(remembers),
        Filter::Negation(then) | Filter::Bitmask { then, .. } => remembers(then),
        _ => false,
    }
}
