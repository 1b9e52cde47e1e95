//! Targets, through which any thread delivers events to a consumer.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use oxorb::rt::Histogram;
use oxorb::{CompletionStatus, Interface, SystemException, SystemExceptionKind, minor};
use oxorb_delivery::{Outcome, Release, Sink};
use oxorb_sys::sync::Mutex;

use super::encoded::{Octets, Set};
use super::notice::Released;
use super::options::ChannelOptions;
use crate::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};

/// Object that receives the events of a consumer.
#[derive(Clone)]
pub(crate) enum Consumer {
    /// A local servant, which is called without a message.
    Local(Arc<dyn PushConsumer>),
    /// A local or remote object.
    Object(PushConsumerRef),
}

/// A consumer with the counters of its deliveries.
pub(super) struct Target {
    consumer: Consumer,
    /// The object with a time limit for calls; `None` for a local servant. Direct calls without a message have no time
    /// limit, and use the reference without one.
    timed: Option<PushConsumerRef>,
    /// Number of consecutive failures after which the consumer is released.
    most: u32,
    failures: AtomicU32,
    pub(super) delivered: AtomicU64,
    pub(super) failed: AtomicU64,
    /// Times from the arrival of an event to the end of its delivery; `None` if they are not measured.
    pub(super) latency: Option<Histogram>,
}

impl Target {
    pub(super) fn new(consumer: Consumer, options: &ChannelOptions) -> Target {
        Target {
            timed: match &consumer {
                Consumer::Object(object) => Some(timed(object, options)),
                Consumer::Local(_) => None,
            },
            consumer,
            most: options.control.failures.max(1),
            failures: AtomicU32::new(0),
            delivered: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            latency: options.latency.then(Histogram::new),
        }
    }

    pub(super) fn object(&self) -> Option<&PushConsumerRef> {
        self.timed.as_ref()
    }

    /// Reports whether the consumer receives events as messages, as far as this is known.
    pub(super) fn is_far(&self) -> bool {
        match &self.consumer {
            Consumer::Local(_) => false,
            Consumer::Object(object) => !object.reference().is_near(),
        }
    }

    /// Pushes a set to the consumer.
    ///
    /// # Errors
    /// An error if the consumer must be released.
    pub(super) fn push(
        &self,
        events: &[Event],
        received: Option<&[u8]>,
        octets: &Octets,
        arrived: Option<Instant>,
    ) -> Result<Pushed, Released> {
        let pushed = match (&self.consumer, &self.timed) {
            (Consumer::Local(consumer), _) => {
                let push = || consumer.push(events);
                panic::catch_unwind(AssertUnwindSafe(push)).map_err(|_| PANICKED)
            }
            (Consumer::Object(object), timed) => {
                octets.send(events, received, object, timed.as_ref().unwrap_or(object))
            }
        };
        match pushed {
            Ok(()) => {
                self.delivered.fetch_add(events.len() as u64, Relaxed);
                self.failures.store(0, Relaxed);
                if let (Some(latency), Some(arrived)) = (&self.latency, arrived) {
                    let took = arrived.elapsed().as_nanos();
                    latency.record(u64::try_from(took).unwrap_or(u64::MAX));
                }
                Ok(Pushed::Delivered)
            }
            // Do not count a failure: the consumer may resume reading. Pings determine whether it still exists.
            Err(why) if is_unread(&why) => Ok(Pushed::NotYet),
            Err(why) => {
                self.count_failed(events);
                self.failed(why).map(|()| Pushed::Failed(why))
            }
        }
    }

    /// Corrects the counter for events that were counted as delivered, but were not.
    pub(super) fn take_back(&self, events: &[Event]) {
        self.delivered.fetch_sub(events.len() as u64, Relaxed);
    }

    /// Counts events that did not reach the consumer.
    pub(super) fn count_failed(&self, events: &[Event]) {
        self.failed.fetch_add(events.len() as u64, Relaxed);
    }

    /// Counts a failure.
    ///
    /// # Errors
    /// The limit of consecutive failures has been reached.
    pub(super) fn failed(&self, why: SystemException) -> Result<(), Released> {
        let failures = self.failures.fetch_add(1, Relaxed) + 1;
        match why.kind {
            SystemExceptionKind::ObjectNotExist => Err(Released::Gone),
            _ if failures >= self.most => Err(Released::Failures(failures, why)),
            _ => Ok(()),
        }
    }

    /// Resets the number of consecutive failures, because the consumer has answered.
    pub(super) fn answered(&self) {
        self.failures.store(0, Relaxed);
    }

    /// Notifies a local servant that it is disconnected.
    pub(super) fn call_back_local(&self) {
        if let Consumer::Local(_) = &self.consumer {
            self.call_back();
        }
    }

    /// Notifies the consumer that it was disconnected. The result is ignored.
    pub(super) fn call_back(&self) {
        let call = || match (&self.consumer, &self.timed) {
            (_, Some(object)) | (Consumer::Object(object), None) => {
                object.disconnect_push_consumer()
            }
            (Consumer::Local(consumer), None) => consumer.disconnect_push_consumer(),
        };
        let _ = panic::catch_unwind(AssertUnwindSafe(call));
    }
}

/// Result of a push.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pushed {
    Delivered,
    /// The push failed, and the events are counted as failed.
    Failed(SystemException),
    /// The consumer must first read earlier messages. Nothing is counted.
    NotYet,
}

/// Duration of the first pause when a consumer must read earlier messages first. Each further pause is twice as long.
const PAUSE: Duration = Duration::from_millis(20);

/// Maximum duration of a pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Sink that delivers events from a queue to a target.
pub(super) struct Queued {
    target: Arc<Target>,
    /// Function that releases the consumer.
    release: Box<dyn Fn(Released) + Send + Sync>,
    /// Number of consecutive pauses.
    pauses: AtomicU32,
    /// Exception of the last failed delivery.
    last: Mutex<SystemException>,
}

impl Queued {
    pub(super) fn new(
        target: Arc<Target>,
        release: impl Fn(Released) + Send + Sync + 'static,
    ) -> Queued {
        Queued {
            target,
            release: Box::new(release),
            pauses: AtomicU32::new(0),
            last: Mutex::new(PANICKED),
        }
    }

    /// Returns the outcome for a set that was not delivered; `None` if the set was delivered.
    fn after(&self, pushed: Pushed) -> Option<Outcome> {
        if pushed == Pushed::NotYet {
            let before = self.pauses.fetch_add(1, Relaxed).min(16);
            return Some(Outcome::Later((PAUSE * (1 << before)).min(LONGEST_PAUSE)));
        }
        self.pauses.store(0, Relaxed);
        let Pushed::Failed(why) = pushed else {
            return None;
        };
        *self.last.lock() = why;
        Some(Outcome::Failed)
    }
}

impl Sink<Arc<Set>> for Queued {
    fn deliver(&self, sets: &[Arc<Set>]) -> Outcome {
        for set in sets {
            let push = || {
                let Set { events, octets, arrived, .. } = &**set;
                self.target.push(events, None, octets, *arrived)
            };
            let pushed = set.qos.within(push);
            match pushed.map(|pushed| self.after(pushed)) {
                Ok(None) => {}
                Ok(Some(outcome)) => return outcome,
                Err(why) => {
                    (self.release)(why);
                    return Outcome::Gone;
                }
            }
        }
        Outcome::Delivered
    }

    fn released(&self, why: Release) {
        (self.release)(match why {
            Release::Failures(count) => {
                let last = self.last.lock();
                Released::Failures(count, *last)
            }
            _ => Released::Gone,
        });
    }
}

/// Returns a reference whose calls have the channel's time limit.
pub(super) fn timed<I: Interface>(object: &I, options: &ChannelOptions) -> I {
    I::from_ref(object.reference().with_timeout(options.call_timeout))
}

/// Reports whether a push was refused because it would overtake messages that the consumer has not read.
fn is_unread(why: &SystemException) -> bool {
    why.kind == SystemExceptionKind::Transient && why.minor == minor::transient::EARLIER_UNREAD
}

/// Exception that represents a panic of a local consumer.
const PANICKED: SystemException =
    SystemException::unknown(minor::unknown::SERVANT_PANICKED, CompletionStatus::Maybe);

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    impl PushConsumer for Nobody {
        fn push(&self, _: &[Event]) {}

        fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn pauses_of_a_consumer_that_has_to_read_first_double_up_to_a_second() {
        let consumer = Consumer::Local(Arc::new(Nobody));
        let target = Target::new(consumer, &ChannelOptions::default());
        let queued = Queued::new(Arc::new(target), |_| {});
        let later = |milliseconds| Some(Outcome::Later(Duration::from_millis(milliseconds)));
        for milliseconds in [20, 40, 80, 160, 320, 640, 1000, 1000] {
            assert_eq!(queued.after(Pushed::NotYet), later(milliseconds));
        }
        assert_eq!(queued.after(Pushed::Delivered), None);
        assert_eq!(queued.after(Pushed::NotYet), later(20));
    }
}
