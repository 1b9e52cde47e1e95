//! Numbers of received events by topic and sender.

use std::collections::HashMap;

use oxorb_event::Key;

use crate::wire::Sender;

/// Last number received from each sender in each topic. If there are too many topics, those in which nothing was
/// received for the longest time are forgotten.
pub(crate) struct Seen {
    young: HashMap<(Sender, Key), u64>,
    old: HashMap<(Sender, Key), u64>,
    /// Maximum number of entries in each of the two maps.
    most: usize,
}

/// Relation of an event's number to the last number of its topic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// The event is the first one received in its topic, or has no number.
    First,
    /// The event is later than the last one; this many events between them are missing.
    After(u64),
    /// The event, or a later one, was received before.
    Repeated,
}

impl Seen {
    pub(crate) fn new(topics: usize) -> Seen {
        Seen { young: HashMap::new(), old: HashMap::new(), most: topics.div_ceil(2).max(1) }
    }

    /// Returns the relation of a number to the last one of the topic, and records it.
    pub(crate) fn take(&mut self, sender: Sender, topic: Key, number: u64) -> Place {
        if number == 0 {
            return Place::First;
        }
        let key = (sender, topic);
        if let Some(last) = self.young.get_mut(&key) {
            return advance(last, number);
        }
        let (last, place) = match self.old.remove(&key) {
            Some(mut last) => {
                let place = advance(&mut last, number);
                (last, place)
            }
            None => (number, Place::First),
        };
        if self.young.len() >= self.most {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, last);
        place
    }
}

fn advance(last: &mut u64, number: u64) -> Place {
    if number <= *last {
        return Place::Repeated;
    }
    let missed = number - *last - 1;
    *last = number;
    Place::After(missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_repeats_are_told_by_topic_and_sender() {
        let mut seen = Seen::new(100);
        let (a, b) = ([1; 16], [2; 16]);
        let topic = (17, 1);
        assert_eq!(seen.take(a, topic, 5), Place::First);
        assert_eq!(seen.take(a, topic, 6), Place::After(0));
        assert_eq!(seen.take(a, topic, 9), Place::After(2));
        assert_eq!(seen.take(a, topic, 9), Place::Repeated);
        assert_eq!(seen.take(a, topic, 7), Place::Repeated);
        assert_eq!(seen.take(b, topic, 1), Place::First);
        assert_eq!(seen.take(a, (17, 2), 1), Place::First);
        assert_eq!(seen.take(a, topic, 0), Place::First);
        assert_eq!(seen.take(a, topic, 10), Place::After(0));
    }

    #[test]
    fn the_table_stays_small_and_keeps_what_is_busy() {
        let mut seen = Seen::new(8);
        let busy = ([1; 16], (17, 1));
        for stranger in 0..10_000_u64 {
            let mut sender = [0; 16];
            sender[..8].copy_from_slice(&stranger.to_le_bytes());
            seen.take(sender, (17, 1), 1);
            assert_ne!(seen.take(busy.0, busy.1, stranger + 1), Place::Repeated);
            if stranger > 0 {
                assert_eq!(seen.take(busy.0, busy.1, stranger + 1), Place::Repeated);
            }
            assert!(seen.young.len() + seen.old.len() <= 8);
        }
    }
}
