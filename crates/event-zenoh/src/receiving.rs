//! Path of samples from zenoh to the channel.
//!
//! ```text
//! zenoh's thread: header, number --> queue of the priority --thread of the gateway: decode--> channel
//! ```

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use oxorb::values::ByteOrder;
use oxorb_event::delivery::{Attributes, Counts, Dispatcher, Outcome, Outlet, Sink};
use oxorb_event::{Key, SupplierConnection};
use zenoh::sample::{Sample, SampleKind};

use crate::interest::Wanted;
use crate::sending::queues;
use crate::statistics::{Counters, count};
use crate::topics::{Place, Seen};
use crate::wire::{self, Sender};
use crate::{FederationError, FederationOptions, priorities};

/// Receiver of samples. zenoh calls it in its own threads.
pub(crate) struct Receiving {
    sender: Sender,
    prefix: String,
    most_octets: usize,
    wanted: RwLock<Arc<Wanted>>,
    seen: Mutex<Seen>,
    outlets: Vec<Outlet<Arc<Message>>>,
    dispatcher: Dispatcher<Arc<Message>>,
    counters: Arc<Counters>,
}

/// A sample whose header has been read.
pub(crate) struct Message {
    octets: Vec<u8>,
    order: ByteOrder,
    topic: Key,
}

/// Sink of the queues: pushes events to the channel.
struct Pushing {
    supplier: SupplierConnection,
    counters: Arc<Counters>,
}

impl Receiving {
    pub(crate) fn start(
        supplier: SupplierConnection,
        sender: Sender,
        options: &FederationOptions,
        counters: &Arc<Counters>,
    ) -> Result<Receiving, FederationError> {
        let sink = Arc::new(Pushing { supplier, counters: Arc::clone(counters) });
        let (dispatcher, outlets) = queues("event-from-zenoh", 0, sink, &options.receiving)?;
        Ok(Receiving {
            sender,
            prefix: format!("{}/", options.prefix),
            most_octets: options.sample_octets,
            wanted: RwLock::default(),
            seen: Mutex::new(Seen::new(options.topics)),
            outlets,
            dispatcher,
            counters: Arc::clone(counters),
        })
    }

    pub(crate) fn set_wanted(&self, wanted: Wanted) {
        *self.wanted.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(wanted);
    }

    pub(crate) fn counts(&self) -> Counts {
        self.dispatcher.counts()
    }

    /// Refuses further samples, and waits for at most one second until the event that is being pushed is delivered.
    pub(crate) fn stop(&self) {
        for outlet in &self.outlets {
            outlet.detach();
        }
        self.dispatcher.shut_down(std::time::Duration::from_secs(1));
    }

    /// Accepts a sample for an expression, or a reply that contains a last event. Copies the sample once, and takes one
    /// lock to queue it.
    pub(crate) fn take(&self, asked: Key, sample: &Sample) {
        let length = sample.payload().len();
        if length > self.most_octets {
            count(&self.counters.oversized);
            return;
        }
        let name = sample.key_expr().as_str().strip_prefix(&self.prefix);
        let topic = name.map(wire::read_topic);
        let (Some(Ok(topic)), SampleKind::Put) = (topic, sample.kind()) else {
            count(&self.counters.malformed);
            return;
        };
        let wanted = Arc::clone(&self.wanted.read().unwrap_or_else(PoisonError::into_inner));
        if !wanted.takes(asked, topic) {
            return;
        }
        let octets = sample.payload().to_bytes();
        let Ok(header) = wire::read_header(&octets) else {
            count(&self.counters.malformed);
            return;
        };
        if header.sender == self.sender {
            count(&self.counters.own);
            return;
        }
        // Hold the lock until the sample is queued. Otherwise a subscription and a query, which zenoh may handle in two
        // threads, could queue two samples of a topic in the wrong order.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.take(header.sender, topic, header.number) {
            Place::Repeated => return count(&self.counters.repeated),
            Place::First => {}
            Place::After(missed) => drop(self.counters.lost.fetch_add(missed, Relaxed)),
        }
        let message = Message { octets: octets.into_owned(), order: header.order, topic };
        let about = Attributes {
            octets: u32::try_from(length + size_of::<Message>()).unwrap_or(u32::MAX),
            source: u64::from(topic.0.cast_unsigned()) << 32 | u64::from(topic.1.cast_unsigned()),
            ..Attributes::default()
        };
        // Ignore the result: the queue counts dropped samples.
        let _ = self.outlets[priorities::place(header.priority)].offer(&Arc::new(message), &about);
    }
}

impl Sink<Arc<Message>> for Pushing {
    fn deliver(&self, messages: &[Arc<Message>]) -> Outcome {
        for message in messages {
            match wire::read_event(&message.octets, message.order, message.topic) {
                Err(_) => count(&self.counters.malformed),
                Ok(event) => match self.supplier.push(&[event]) {
                    Ok(()) => count(&self.counters.received),
                    Err(_) => count(&self.counters.refused),
                },
            }
        }
        Outcome::Delivered
    }
}
