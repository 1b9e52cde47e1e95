//! Suppliers, with their publications and routes.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use oxorb_delivery::{Meter, Rate};
use oxorb_sys::sync::Mutex;

use super::consumer::Connected;
use super::options::ChannelOptions;
use super::refusal::PushError;
use super::sets::held_octets;
use super::target::timed;
use crate::rtec_event_channel_admin::SupplierQos;
use crate::rtec_event_comm::{Event, PushSupplier, PushSupplierRef};

/// The object that is notified when a supplier's connection ends.
#[derive(Clone)]
pub(crate) enum Supplier {
    /// A local supplier without a servant.
    Anonymous,
    /// A remote supplier that connected with a nil reference, as TAO permits.
    Nil,
    /// A local servant.
    Local(Arc<dyn PushSupplier>),
    /// A local or remote object.
    Object(PushSupplierRef),
}

/// A connected supplier.
pub(super) struct Supplying {
    pub(super) number: u64,
    supplier: Supplier,
    pub(super) qos: SupplierQos,
    /// Meter of the supplier's rate; `None` if the rate is not checked.
    pub(super) meter: Option<Arc<Meter>>,
    /// Number of events at the last check that found new events, and the time of this check. Used for suppliers that
    /// cannot be pinged.
    heard: Mutex<(u64, Instant)>,
    /// Number of the consumer that does not receive the supplier's events; 0 if there is none.
    kept_from: AtomicU64,
    over: AtomicBool,
}

/// Counters of a supplier's events.
#[derive(Default)]
pub(super) struct SupplierCounts {
    pub(super) events: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) asked: AtomicU64,
}

impl Supplying {
    pub(super) fn new(
        number: u64,
        supplier: Supplier,
        qos: SupplierQos,
        options: &ChannelOptions,
    ) -> Supplying {
        Supplying {
            number,
            supplier: match supplier {
                Supplier::Object(object) => Supplier::Object(timed(&object, options)),
                other => other,
            },
            qos,
            meter: None,
            heard: Mutex::new((0, Instant::now())),
            kept_from: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    pub(super) fn limited(self, rate: Option<Rate>) -> Supplying {
        let meter = rate.map(|rate| Arc::new(Meter::new(rate)));
        Supplying { meter, ..self }
    }

    /// Excludes a consumer from the supplier's events. Replaces the consumer that was excluded before.
    pub(super) fn keep_from(&self, consumer: u64) {
        self.kept_from.store(consumer, Relaxed);
    }

    pub(super) fn object(&self) -> Option<&PushSupplierRef> {
        match &self.supplier {
            Supplier::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Returns the time for which a remote supplier that connected with nil has pushed no event, as far as checks have
    /// shown; `None` for other suppliers. `events` is the total number of events that the supplier has pushed.
    pub(super) fn silence(&self, events: u64, now: Instant) -> Option<Duration> {
        if !matches!(self.supplier, Supplier::Nil) {
            return None;
        }
        let mut heard = self.heard.lock();
        if heard.0 != events {
            *heard = (events, now);
        }
        Some(now.saturating_duration_since(heard.1))
    }

    /// Ends the connection. Returns `false` if it had already ended.
    pub(super) fn end(&self) -> bool {
        !self.over.swap(true, Relaxed)
    }

    /// Reports whether a consumer's filter may match one of the supplier's publications.
    pub(super) fn concerns(&self, consumer: &Connected, options: &ChannelOptions) -> bool {
        let mut publications = self.qos.publications.iter();
        self.kept_from.load(Relaxed) != consumer.number
            && (!options.supplier_filtering
                || publications.any(|one| consumer.program().can_match(&one.event.header)))
    }

    /// Notifies the supplier that it was disconnected. The result is ignored.
    pub(super) fn call_back(&self) {
        let _ = panic::catch_unwind(AssertUnwindSafe(|| match &self.supplier {
            Supplier::Anonymous | Supplier::Nil => Ok(()),
            Supplier::Local(supplier) => supplier.disconnect_push_supplier(),
            Supplier::Object(object) => object.disconnect_push_supplier(),
        }));
    }
}

impl SupplierCounts {
    /// Counts a set of events.
    ///
    /// # Errors
    /// The set exceeds a limit.
    pub(super) fn take(&self, events: &[Event], options: &ChannelOptions) -> Result<(), PushError> {
        let (number, limits) = (events.len() as u64, &options.limits);
        self.events.fetch_add(number, Relaxed);
        let octets = events.iter().map(held_octets);
        let taken = match () {
            () if events.len() > limits.events => Err(PushError::Events(limits.events)),
            () if octets.sum::<usize>() > limits.octets => Err(PushError::Octets(limits.octets)),
            () => Ok(()),
        };
        if taken.is_err() {
            self.refused.fetch_add(number, Relaxed);
        }
        taken
    }
}

/// Maximum depth of nested pushes in one thread. A consumer makes a nested push while it handles the previous one.
/// Chains of channels are shorter than this, whereas circles have no end.
const MOST_WITHIN: u32 = 16;

thread_local! {
    /// Number of nested pushes that are in progress in this thread.
    static WITHIN: Cell<u32> = const { Cell::new(0) };
}

/// Guard that counts a push as in progress.
pub(super) struct Within(());

impl Drop for Within {
    fn drop(&mut self) {
        let _ = WITHIN.try_with(|within| within.set(within.get() - 1));
    }
}

impl SupplierCounts {
    /// Begins a push, which may be nested in others of this thread.
    ///
    /// # Errors
    /// The nesting is too deep.
    pub(super) fn within(&self, events: &[Event]) -> Result<Within, PushError> {
        let before = WITHIN.with(Cell::get);
        if before >= MOST_WITHIN {
            self.refused.fetch_add(events.len() as u64, Relaxed);
            return Err(PushError::Circle(before));
        }
        WITHIN.with(|within| within.set(before + 1));
        Ok(Within(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_counts_from_the_last_look_that_found_an_event() {
        let options = ChannelOptions::default();
        let qos = SupplierQos::default();
        let supplier = Supplying::new(1, Supplier::Nil, qos.clone(), &options);
        let second = Duration::from_secs(1);
        let start = Instant::now();
        assert!(supplier.silence(0, start + 2 * second).unwrap() >= second);
        assert_eq!(supplier.silence(5, start + 3 * second), Some(Duration::ZERO));
        assert_eq!(supplier.silence(5, start + 6 * second), Some(3 * second));
        assert_eq!(supplier.silence(6, start + 7 * second), Some(Duration::ZERO));
        // A local supplier needs no check, because dropping it ends its connection.
        let own = Supplying::new(2, Supplier::Anonymous, qos, &options);
        assert_eq!(own.silence(0, start + second), None);
    }
}
