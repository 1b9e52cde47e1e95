//! Statistics of a channel.

use std::sync::atomic::Ordering::Relaxed;

use oxorb::Interface as _;
use oxorb::ior::Ior;
use oxorb::rt::{Distribution, Histogram};

use super::EventChannel;

/// Statistics of a channel since its creation, for the members that are connected now.
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

/// Statistics of a consumer: `matched = delivered + suspended + failed + dropped` while no event is in transit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConsumerStatistics {
    /// Number of the connection.
    pub number: u64,
    /// Reference to the consumer; `None`: a local servant.
    pub reference: Option<Ior>,
    /// Whether the consumer is a gateway of another channel.
    pub is_gateway: bool,
    /// Whether delivery is suspended.
    pub is_suspended: bool,
    /// Number of events that the filter accepted.
    pub matched: u64,
    /// Number of events that the consumer, or its connection, accepted.
    pub delivered: u64,
    /// Number of events dropped because the consumer was suspended.
    pub suspended: u64,
    /// Number of events dropped because the call failed.
    pub failed: u64,
    /// Number of events dropped by the queue; a set that a conjunction collected counts once.
    pub dropped: u64,
    /// Number of events dropped from incomplete conjunctions, beyond [`Limits::collected`](crate::Limits::collected).
    /// Not included in `matched`.
    pub uncollected: u64,
    /// Times from the arrival of an event to the end of its delivery: for a remote consumer, until it is sent. `None`
    /// unless [`ChannelOptions::latency`](crate::ChannelOptions::latency) is on.
    pub latency: Option<Distribution>,
    /// Counters of the queue: fill, and drops by cause. All 0 without a queue.
    pub queue: oxorb_delivery::Counts,
}

/// Statistics of a supplier.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SupplierStatistics {
    /// Number of the connection.
    pub number: u64,
    /// Reference to the object that is notified of the end; `None`: no object, or a local servant.
    pub reference: Option<Ior>,
    /// Whether the supplier is a gateway of another channel.
    pub is_gateway: bool,
    /// Number of events pushed.
    pub events: u64,
    /// Number of events of sets beyond a limit, and events refused because of the supplier's rate.
    pub refused: u64,
    /// Number of events beyond the supplier's rate, whether refused or not. 0 without a rate.
    pub beyond_rate: u64,
    /// Number of filters applied to the supplier's events: grows with the number of consumers that match, not with that
    /// of all consumers.
    pub asked: u64,
}

impl EventChannel {
    /// Returns the statistics. Takes the lock that connecting takes.
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
