//! Statistics of a channel.

use std::sync::atomic::Ordering::Relaxed;

use oxorb::{Distribution, Histogram, Interface as _, Ior};

use super::EventChannel;

/// Statistics of a channel since it was made, of the members that are connected now.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Consumers, in the order in which they connected.
    pub consumers: Vec<ConsumerStatistics>,
    /// Suppliers, in the order in which they connected.
    pub suppliers: Vec<SupplierStatistics>,
    /// Number of observers.
    pub observers: usize,
}

/// Statistics of a consumer: `matched = delivered + suspended + failed + dropped` while nothing is
/// on its way.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConsumerStatistics {
    /// Number of the connection.
    pub number: u64,
    /// Reference to the consumer; `None`: a servant of this process.
    pub reference: Option<Ior>,
    /// Whether it is another channel's.
    pub is_gateway: bool,
    /// Whether events are held back.
    pub is_suspended: bool,
    /// Events that its filter let pass.
    pub matched: u64,
    /// Events that it, or its connection, took.
    pub delivered: u64,
    /// Events dropped because it was suspended.
    pub suspended: u64,
    /// Events dropped because the call failed.
    pub failed: u64,
    /// Events dropped by the queue; a set that a conjunction collected counts once.
    pub dropped: u64,
    /// Events that conjunctions dropped before they were complete, beyond
    /// [`Limits::collected`](crate::Limits::collected). Not among those that matched.
    pub uncollected: u64,
    /// Times from the arrival of an event to the end of its delivery: for a consumer elsewhere, until it is sent. `None`
    /// unless [`ChannelOptions::latency`](crate::ChannelOptions::latency) is on.
    pub latency: Option<Distribution>,
    /// Counts of the queue: fill, and drops by cause. All 0 without a queue.
    pub queue: oxorb_delivery::Counts,
}

/// Statistics of a supplier.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SupplierStatistics {
    /// Number of the connection.
    pub number: u64,
    /// Reference to the object that is told of the end; `None`: no object, or a servant of this
    /// process.
    pub reference: Option<Ior>,
    /// Whether it is another channel's.
    pub is_gateway: bool,
    /// Events pushed.
    pub events: u64,
    /// Events of sets that were beyond a limit, and events refused because of the supplier's rate.
    pub refused: u64,
    /// Events that came beyond the supplier's rate, whatever became of them. 0 if it has none.
    pub beyond_rate: u64,
    /// Filters that were asked about its events: grows with the consumers that match, not with all.
    pub asked: u64,
}

impl EventChannel {
    /// Returns what the channel has counted. Takes the lock that connecting takes.
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
