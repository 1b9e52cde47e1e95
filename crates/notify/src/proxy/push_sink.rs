//! Sinks of the dispatcher, which push events to consumers.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use oxorb::minor;
use oxorb_delivery::{Outcome, Release, Sink};

use super::peer::{Failure, Peer};
use crate::service::Service;
use crate::store::Item;

/// A proxy that pushes events to its consumer.
pub(super) trait Pushes: Send + Sync {
    /// Returns the consumer; `None` when the proxy has ended.
    fn consumer(&self) -> Option<(Peer, Arc<Service>)>;

    /// Reports whether the consumer remains connected even if it fails.
    fn is_persistent(&self) -> bool;

    /// Returns the ids of the channel and of the proxy, for the log.
    fn ids(&self) -> (i32, i32);

    /// Ends the proxy without calling the consumer.
    fn lose(&self);
}

pub(super) struct PushSink<P> {
    proxy: Weak<P>,
    /// Number of consecutive calls that did not reach the consumer.
    unreachable: AtomicU32,
    /// Number of events that the consumer did not accept.
    refused: AtomicU64,
}

impl<P: Pushes> PushSink<P> {
    pub(super) fn new(proxy: &Weak<P>) -> PushSink<P> {
        PushSink {
            proxy: Weak::clone(proxy),
            unreachable: AtomicU32::new(0),
            refused: AtomicU64::new(0),
        }
    }

    fn failed(&self, proxy: &P, service: &Service, failure: Failure, events: &[Item]) -> Outcome {
        let settings = &service.settings;
        // A persistent consumer stays connected, because it may return under the same reference. It is sent persistent
        // events until it accepts them.
        if proxy.is_persistent() {
            let kept = events.iter().any(|item| item.slip.is_some());
            if !failure.is_gone() && !failure.is_unreachable() {
                self.report(proxy, service, failure, events.len(), kept);
            }
            return match kept || failure.is_gone() || failure.is_unreachable() {
                true => Outcome::Retry(settings.retry),
                false => Outcome::Failed,
            };
        }
        if failure.is_gone() {
            return Outcome::Gone;
        }
        if !failure.is_unreachable() {
            self.report(proxy, service, failure, events.len(), false);
            return Outcome::Failed;
        }
        let times = self.unreachable.fetch_add(1, Ordering::Relaxed) + 1;
        if settings.failures > 0 && times >= settings.failures {
            return Outcome::Gone;
        }
        match failure {
            Failure::System(exception) if exception.is_safe_to_retry() => {
                Outcome::Retry(settings.retry)
            }
            _ => {
                self.report(proxy, service, failure, events.len(), false);
                Outcome::Failed
            }
        }
    }

    /// Logs that events were not accepted: for the first one, and each time their number has doubled.
    fn report(&self, proxy: &P, service: &Service, failure: Failure, events: usize, kept: bool) {
        let Failure::System(exception) = failure else {
            return;
        };
        let before = self.refused.fetch_add(events as u64, Ordering::Relaxed);
        let refused = before + events as u64;
        if before > 0 && before.ilog2() == refused.ilog2() {
            return;
        }
        let (channel, proxy) = proxy.ids();
        let fate = match kept {
            true => "tried again until the consumer accepts it",
            false => "dropped, and counted as failed",
        };
        let known = minor::find(exception.kind, exception.minor);
        let remedy = known.map(|minor| format!("; {}", minor.remedy)).unwrap_or_default();
        service.log(&format!(
            "channel {channel}, proxy {proxy}: an event was not delivered to its consumer and is {fate} ({refused} so \
             far): {exception}{remedy}"
        ));
    }
}

impl<P: Pushes> Sink<Item> for PushSink<P> {
    fn deliver(&self, events: &[Item]) -> Outcome {
        let Some(proxy) = self.proxy.upgrade() else {
            return Outcome::Gone;
        };
        let Some((peer, service)) = proxy.consumer() else {
            return Outcome::Gone;
        };
        match peer.push(events) {
            Ok(()) => {
                self.unreachable.store(0, Ordering::Relaxed);
                let slips = events.iter().filter_map(|item| item.slip.as_ref());
                slips.for_each(|slip| slip.settle());
                Outcome::Delivered
            }
            Err(failure) => self.failed(&*proxy, &service, failure, events),
        }
    }

    fn released(&self, _: Release) {
        if let Some(proxy) = self.proxy.upgrade() {
            proxy.lose();
        }
    }
}
