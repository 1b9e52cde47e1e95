//! Filters of the consumers.

use std::fmt::{self, Display};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use oxorb::SystemException;
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{ChannelOptions, EventChannel, Filter, asks_for, publishes};
use serde::Serialize;

use super::event;
use oxorb_terminal::output::{FAINT, Failed, because};

/// Types and sources of the events, each pair pushed ten times.
const TYPES: std::ops::RangeInclusive<i32> = 17..=20;
const SOURCES: std::ops::RangeInclusive<i32> = 1..=5;
const TIMES: u64 = 10;

/// Filters, their meaning, and the number of events that they let pass.
const FILTERS: [(&str, &str, u64); 5] = [
    ("type==17", "one type", 50),
    ("type==17 && !(source==3)", "all sources except one", 40),
    ("type==18 || source==5", "either", 80),
    ("type&1==1", "types selected by a bit mask", 100),
    ("each(type==17, type==18)", "one event of each, pushed together", 100),
];

/// Result of the act.
#[derive(Serialize)]
pub(super) struct Seen {
    pushed: u64,
    filters: Vec<SeenFilter>,
}

#[derive(Serialize)]
struct SeenFilter {
    filter: &'static str,
    meaning: &'static str,
    passed: u64,
}

struct Counter(AtomicU64);

impl PushConsumer for Counter {
    fn push(&self, events: &[Event]) {
        self.0.fetch_add(events.len() as u64, Relaxed);
    }

    fn disconnect_push_consumer(&self) -> Result<(), SystemException> {
        Ok(())
    }
}

/// Plays the act.
pub(super) fn play() -> Result<Seen, Failed> {
    // Events are delivered in the supplier's thread: each push ends when all consumers have its events.
    let channel = EventChannel::new(ChannelOptions::default());
    let mut consumers = Vec::new();
    for (text, _, _) in FILTERS {
        let filter: Filter = text.parse()?;
        let counter = Arc::new(Counter(AtomicU64::new(0)));
        let connection = channel.connect_consumer(counter.clone(), &asks_for(&filter))?;
        consumers.push((counter, connection));
    }
    let supplier = channel.connect_supplier(None, &publishes([(0, 0)]))?;
    let mut pushed = 0;
    for number in 0..TIMES {
        for source in SOURCES {
            for kind in TYPES {
                supplier.push(&[event(kind, source, number)])?;
                pushed += 1;
            }
        }
    }
    let mut filters = Vec::new();
    for ((filter, meaning, expected), (counter, _)) in FILTERS.into_iter().zip(&consumers) {
        let passed = counter.0.load(Relaxed);
        if passed != expected {
            return Err(because(format!(
                "{filter} let {passed} events pass instead of {expected}"
            )));
        }
        filters.push(SeenFilter { filter, meaning, passed });
    }
    Ok(Seen { pushed, filters })
}

impl Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for one in &self.filters {
            let SeenFilter { filter, meaning, passed } = one;
            writeln!(
                f,
                "{filter:<26} {passed:>4} of {} events   {FAINT}{meaning}{FAINT:#}",
                self.pushed
            )?;
        }
        Ok(())
    }
}
