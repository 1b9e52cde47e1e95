//! Recent events of a channel, for clients that connect again and name the last event that they have received.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::body::Bytes;

use super::event_filter::Received;

/// Events that are kept, in order, within two limits.
pub(super) struct History {
    /// Maximum number of events.
    most_events: usize,
    /// Maximum number of octets of the messages and values.
    most_octets: usize,
    /// Time at which the numbers began, in nanoseconds since 1970. It distinguishes them from those of earlier
    /// connections to the channel, and of earlier processes.
    epoch: u64,
    /// Number of the next event.
    next: u64,
    kept: VecDeque<Arc<Kept>>,
    octets: usize,
}

/// Event in the history.
pub(super) struct Kept {
    pub(super) event: Received,
    /// Message to clients.
    pub(super) message: Bytes,
    octets: usize,
}

/// Id of an event, which clients receive and send back as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EventId {
    epoch: u64,
    number: u64,
}

impl History {
    /// Creates an empty history.
    pub(super) fn new(most_events: usize, most_octets: usize) -> History {
        let (kept, octets) = (VecDeque::new(), 0);
        History { most_events, most_octets, epoch: now(), next: 1, kept, octets }
    }

    /// Drops all events, and begins with other ids, because events were lost in between.
    pub(super) fn restart(&mut self) {
        // The clock may have been set back.
        self.epoch = now().max(self.epoch + 1);
        (self.next, self.octets) = (1, 0);
        self.kept = VecDeque::new();
    }

    /// Reports whether events are kept at all.
    pub(super) fn keeps(&self) -> bool {
        self.most_events > 0
    }

    /// Adds an event, whose message `write` returns for its id. Drops the oldest events beyond the limits.
    pub(super) fn add(
        &mut self,
        event: Received,
        write: impl FnOnce(EventId) -> Bytes,
    ) -> Arc<Kept> {
        let message = write(EventId { epoch: self.epoch, number: self.next });
        self.next += 1;
        let value = event.value().received_octets().unwrap_or(message.len());
        let octets = message.len() + value + size_of::<Kept>();
        let kept = Arc::new(Kept { event, message, octets });
        self.kept.push_back(Arc::clone(&kept));
        self.octets += octets;
        while self.kept.len() > self.most_events || self.octets > self.most_octets {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            self.octets -= oldest.octets;
        }
        kept
    }

    /// Returns the id of the last event, or the one before the first event.
    pub(super) fn last(&self) -> EventId {
        EventId { epoch: self.epoch, number: self.next - 1 }
    }

    /// Returns the events after an id; `None` if one of them is no longer kept.
    pub(super) fn after(&self, id: EventId) -> Option<impl Iterator<Item = &Arc<Kept>>> {
        if id.epoch != self.epoch || id.number >= self.next {
            return None;
        }
        let missed = usize::try_from(self.next - 1 - id.number).ok()?;
        Some(self.kept.range(self.kept.len().checked_sub(missed)?..))
    }
}

impl EventId {
    /// Parses the text of an id.
    pub(super) fn parse(text: &str) -> Option<EventId> {
        let (epoch, number) = text.split_once('-')?;
        Some(EventId { epoch: u64::from_str_radix(epoch, 16).ok()?, number: number.parse().ok()? })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{}", self.epoch, self.number)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use oxorb::Any;

    use super::*;

    fn add(history: &mut History, text: &str) -> EventId {
        let mut given = None;
        let event = Received::Untyped(Any::new(7_i32));
        history.add(event, |id| {
            given = Some(id);
            text.to_owned().into()
        });
        let id = given.expect("the message was written");
        assert_eq!(EventId::parse(&id.to_string()), Some(id));
        id
    }

    fn after(history: &History, id: EventId) -> Option<Vec<String>> {
        let text = |kept: &Arc<Kept>| String::from_utf8(kept.message.to_vec()).unwrap();
        Some(history.after(id)?.map(text).collect())
    }

    #[test]
    fn events_after_an_id_are_returned_as_long_as_all_are_kept() {
        let mut history = History::new(2, usize::MAX);
        assert_eq!(after(&history, history.last()), Some(vec![]));
        let ids = ["a", "b", "c"].map(|text| add(&mut history, text));
        assert_eq!(history.last(), ids[2]);
        assert_eq!(after(&history, ids[2]), Some(vec![]));
        assert_eq!(after(&history, ids[1]), Some(vec!["c".to_owned()]));
        assert_eq!(after(&history, ids[0]), Some(vec!["b".to_owned(), "c".to_owned()]));
        add(&mut history, "d");
        assert_eq!(after(&history, ids[0]), None, "b is gone");
        let future = EventId { number: 9, ..ids[0] };
        assert_eq!(after(&history, future), None);
        history.restart();
        assert_eq!(after(&history, ids[2]), None, "of the previous connection");
    }

    #[test]
    fn octets_are_limited_and_no_event_need_be_kept() {
        let one = "x".repeat(1000);
        let mut history = History::new(100, 3 * (2000 + size_of::<Kept>()));
        let ids: Vec<EventId> = (0..5).map(|_| add(&mut history, &one)).collect();
        assert_eq!(after(&history, ids[1]).map(|events| events.len()), Some(3));
        assert_eq!(after(&history, ids[0]), None);
        let last = add(&mut history, &"x".repeat(100_000));
        assert_eq!((history.kept.len(), history.octets), (0, 0), "it is too large");
        assert_eq!((after(&history, last), after(&history, ids[4])), (Some(vec![]), None));
        let mut none = History::new(0, 1000);
        let id = add(&mut none, "a");
        assert!(!none.keeps());
        assert_eq!(after(&none, id), Some(vec![]));
        add(&mut none, "b");
        assert_eq!(after(&none, id), None);
    }

    #[test]
    fn no_other_text_is_an_id() {
        for text in ["", "-", "1", "g-1", "1-", "1-x", "1-18446744073709551616"] {
            assert_eq!(EventId::parse(text), None, "{text}");
        }
    }
}
