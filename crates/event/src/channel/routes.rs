//! Routes of a supplier's events to the consumers whose filters they may match, by type and source.

use std::sync::Arc;
use std::thread;

use oxorb_delivery::{Clock as _, Meter, Monotonic, Verdict};

use super::consumer::Connected;
use super::index::Index;
use crate::filter::Interest;
use crate::rtec_event_comm::EventHeader;

/// The consumers of one supplier, as of the last change of consumers. To find the consumers of an event, one look-up is
/// needed, and up to two more if filters have a wildcard as type or source. In addition, there is one step for each
/// consumer whose filter may match. Other consumers cost nothing.
#[derive(Default)]
pub(super) struct Routes {
    consumers: Vec<Arc<Connected>>,
    /// Indices into `consumers`. In a key, type and source may be 0.
    by_key: Index,
    /// Whether there is a key with a wildcard as source, and whether there is one with a wildcard as type.
    wild: [bool; 2],
    /// Consumers whose filters must be applied to every event.
    always: Vec<usize>,
    /// Meter of the supplier, if its rate is checked.
    meter: Option<Arc<Meter>>,
}

impl Routes {
    pub(super) fn new(consumers: Vec<Arc<Connected>>, meter: Option<Arc<Meter>>) -> Routes {
        let mut routes = Routes { meter, ..Routes::default() };
        let mut pairs = Vec::new();
        for (place, consumer) in consumers.iter().enumerate() {
            match consumer.program().interest() {
                Interest::All => routes.always.push(place),
                Interest::Keys(keys) => {
                    for key in keys {
                        routes.wild[0] |= key.1 == 0;
                        routes.wild[1] |= key.0 == 0;
                        pairs.push((*key, place));
                    }
                }
            }
        }
        routes.by_key = Index::new(pairs);
        routes.consumers = consumers;
        routes
    }

    /// Reports whether one more event is within the supplier's rate. Waits first if the rate requires a delay.
    pub(super) fn admits(&self) -> bool {
        let Some(meter) = &self.meter else {
            return true;
        };
        match meter.admit(Monotonic.now()) {
            Verdict::Pass => true,
            Verdict::Refuse => false,
            Verdict::Wait(time) => {
                thread::sleep(time);
                true
            }
        }
    }

    /// Reports whether there are several consumers.
    pub(super) fn several(&self) -> bool {
        self.consumers.len() > 1
    }

    /// Returns the consumer with a number. This is a linear search.
    pub(super) fn consumer(&self, number: u64) -> Option<&Arc<Connected>> {
        self.consumers.iter().find(|consumer| consumer.number == number)
    }

    /// Calls `ask` for each consumer whose filter an event may match, in the order of creation of the consumers'
    /// proxies.
    pub(super) fn each(&self, header: &EventHeader, mut ask: impl FnMut(&Arc<Connected>)) {
        let (event_type, source) = (header.r#type, header.source);
        if event_type == 0 || source == 0 {
            return self.consumers.iter().for_each(ask);
        }
        let listed = |key| self.by_key.get(key);
        let wild = |at: usize, key| if self.wild[at] { listed(key) } else { &[] };
        let mut lists = [
            listed((event_type, source)),
            wild(0, (event_type, 0)),
            wild(1, (0, source)),
            &self.always[..],
        ];
        if let [only, [], [], []] = lists {
            return only.iter().for_each(|place| ask(&self.consumers[*place]));
        }
        // Merge the sorted lists, so that a consumer that is in several lists is called only once.
        while let Some(next) = lists.iter().filter_map(|list| list.first()).min().copied() {
            for list in &mut lists {
                if list.first() == Some(&next) {
                    *list = &list[1..];
                }
            }
            ask(&self.consumers[next]);
        }
    }
}
