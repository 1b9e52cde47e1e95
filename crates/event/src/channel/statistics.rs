//! Statistics of a channel.

use std::sync::atomic::Ordering::Relaxed;

use oxorb::Interface as _;
use oxorb::ior::Ior;
use oxorb::rt::{Distribution, Histogram};

use super::EventChannel;

/// Statistics of a channel since its creation. They cover the members that are currently connected.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Consumers, in the order of creation of their proxies.
    pub consumers: Vec<ConsumerStatistics>,
    /// Suppliers, in the order of creation of their proxies.
    pub suppliers: Vec<SupplierStatistics>,
    /// Number of observers.
    pub observers: usize,
}

/// Statistics of a consumer. While no event is in transit, `matched = delivered + suspended + failed + dropped`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConsumerStatistics {
    /// Number of the connection.
    pub number: u64,
    /// Reference to the consumer; `None` for a local servant.
    pub reference: Option<Ior>,
    /// Whether the consumer is a gateway of another channel.
    pub is_gateway: bool,
    /// Whether delivery is suspended.
    pub is_suspended: bool,
    /// Number of events that the filter accepted.
    pub matched: u64,
    /// Number of events that the consumer accepted. For a remote consumer: number of events that were sent.
    pub delivered: u64,
    /// Number of events dropped because the consumer was suspended.
    pub suspended: u64,
    /// Number of events dropped because the call failed.
    pub failed: u64,
    /// Number of events that the queue dropped. A set that a conjunction collected counts as one event.
    pub dropped: u64,
    /// Number of collected events that were dropped because they exceeded
    /// [`Limits::collected`](crate::Limits::collected). They are not included in `matched`.
    pub uncollected: u64,
    /// Times from the arrival of an event to the end of its delivery. For a remote consumer, the delivery ends when the
    /// event has been sent. `None` if [`ChannelOptions::latency`](crate::ChannelOptions::latency) is off.
    pub latency: Option<Distribution>,
    /// Counters of the queue: waiting events, and drops by cause. All are 0 if there is no queue.
    pub queue: oxorb_delivery::Counts,
}

/// Statistics of a supplier.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SupplierStatistics {
    /// Number of the connection.
    pub number: u64,
    /// Reference to the object that is notified when the connection ends; `None` if there is no object, or for a local
    /// servant.
    pub reference: Option<Ior>,
    /// Whether the supplier is a gateway of another channel.
    pub is_gateway: bool,
    /// Number of events that the supplier pushed.
    pub events: u64,
    /// Number of events that were refused, because a limit or the supplier's rate was exceeded.
    pub refused: u64,
    /// Number of events that exceeded the supplier's rate, whether refused or not. 0 if there is no rate.
    pub beyond_rate: u64,
    /// Number of times that a filter was applied to one of the supplier's events. It depends on the number of consumers
    /// that match, not on the number of all consumers.
    pub asked: u64,
}

impl EventChannel {
    /// Returns the statistics. Takes the same lock as connecting a peer.
    pub fn statistics(&self) -> Statistics {
        let core = self.core();
        let consumers = core.consumers().into_iter().map(|one| {
            let target = &one.target;
            ConsumerStatistics {
                number: one.number,
                reference: target.object().map(|it| it.reference().ior().clone()),
                is_gateway: one.qos().is_gateway,
                is_suspended: one.is_suspended(),
                matched: one.matched.load(Relaxed),
                delivered: target.delivered.load(Relaxed),
                suspended: one.held_back.load(Relaxed),
                failed: target.failed.load(Relaxed),
                dropped: one.dropped(),
                uncollected: one.uncollected(),
                latency: target.latency.as_ref().map(Histogram::read),
                queue: one.queue_counts(),
            }
        });
        let suppliers = core.supplier_proxies().into_iter().filter_map(|proxy| {
            let one = proxy.connected()?;
            let counts = &proxy.counts;
            Some(SupplierStatistics {
                number: one.number,
                reference: one.object().map(|it| it.reference().ior().clone()),
                is_gateway: one.qos.is_gateway,
                events: counts.events.load(Relaxed),
                refused: counts.refused.load(Relaxed),
                beyond_rate: one.meter.as_ref().map_or(0, |meter| meter.beyond()),
                asked: counts.asked.load(Relaxed),
            })
        });
        Statistics {
            consumers: consumers.collect(),
            suppliers: suppliers.collect(),
            observers: core.observers.len(),
        }
    }
}
