//! Gaps in the numbers of `oxorb event pub --number`: events lost on the way.

use std::collections::HashMap;

use oxorb_event::rtec_event_comm::Event;
use serde_json::json;

use oxorb_terminal::output::{BAD, Done, Format, print_line};

/// Maximum number of pairs of type and source to track.
const FOLLOWED: usize = 65_536;

/// Next numbers of each type and source, and the number of missing events.
#[derive(Default)]
pub(super) struct Gaps {
    next: HashMap<(i32, i32), u64>,
    lost: u64,
}

/// Numbers out of sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// Events missing between two that arrived.
    Lost {
        /// First missing number.
        first: u64,
        /// Number of events.
        events: u64,
    },
    /// Publisher restarted, or event late or duplicate.
    Back {
        /// Expected number.
        due: u64,
        /// Number that arrived.
        came: u64,
    },
}

impl Gaps {
    /// Records an event; ignores events without a number.
    pub(super) fn take(&mut self, event: &Event) -> Option<Gap> {
        let number = event.data.any_value.get::<u64>().ok().flatten()?;
        let key = (event.header.r#type, event.header.source);
        if self.next.len() >= FOLLOWED && !self.next.contains_key(&key) {
            return None;
        }
        let due = self.next.insert(key, number.wrapping_add(1))?;
        match number {
            came if came == due => None,
            came if came < due => Some(Gap::Back { due, came }),
            came => {
                let events = came - due;
                self.lost += events;
                Some(Gap::Lost { first: due, events })
            }
        }
    }

    /// Returns the number of missing events.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}

/// Reports numbers out of sequence.
pub(super) fn told_gap(format: Format, event: &Event, gap: Gap) -> Done {
    let (kind, source) = (event.header.r#type, event.header.source);
    match (format, gap) {
        (Format::Json, Gap::Lost { first, events }) => print_line(&json!({
            "event": "gap", "of_type": kind, "of_source": source, "first": first, "events": events,
        })),
        (Format::Json, Gap::Back { due, came }) => print_line(&json!({
            "event": "back", "of_type": kind, "of_source": source, "due": due, "came": came,
        })),
        (Format::Text, Gap::Lost { first, events }) => {
            oxorb_terminal::note!(
                "{BAD}gap{BAD:#} in {kind}/{source}: {events} events from number {first} on did not arrive"
            );
            Ok(())
        }
        (Format::Text, Gap::Back { due, came }) => {
            oxorb_terminal::note!(
                "{BAD}back{BAD:#} in {kind}/{source}: number {came} arrived where {due} was expected: the publisher \
                 restarted, or the event arrived late or twice"
            );
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use oxorb::Any;

    use super::super::channel::event_of;
    use super::*;

    fn numbered(source: i32, number: u64) -> Event {
        let mut event = event_of(17, source);
        event.data.any_value = Any::new(number);
        event
    }

    #[test]
    fn gaps_are_counted_for_each_source_and_a_new_beginning_is_none() {
        let mut gaps = Gaps::default();
        let mut take = |source, number| gaps.take(&numbered(source, number));
        assert_eq!([take(1, 5), take(2, 0), take(1, 6), take(2, 1)], [None; 4]);
        let lost = |first, events| Some(Gap::Lost { first, events });
        assert_eq!((take(1, 10), take(2, 3)), (lost(7, 3), lost(2, 1)));
        assert_eq!(take(1, 0), Some(Gap::Back { due: 11, came: 0 }));
        assert_eq!(take(1, 1), None);
        assert_eq!(gaps.take(&event_of(17, 1)), None);
        assert_eq!(gaps.lost(), 4);
    }
}
