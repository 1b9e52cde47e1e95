use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use oxorb_event::delivery::Counts;

/// Statistics of a [`ZenohGateway`](crate::ZenohGateway).
///
/// Every event of the channel is counted as `sent`, `ended` or `failed`, or as dropped or waiting in the queue
/// `sending`. Every sample from zenoh is counted as `own`, `malformed`, `oversized` or `repeated`, or is put into the
/// queue `receiving`. Each delivery from this queue is counted as `received`, `malformed` or `refused`. If overlapping
/// key expressions deliver a sample twice, the second copy is not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FederationStatistics {
    /// Number of events passed to zenoh. zenoh does not acknowledge events; receivers detect losses by the numbers.
    pub sent: u64,
    /// Number of events sent without a number, so that receivers cannot detect gaps in their topics.
    pub unnumbered: u64,
    /// Number of events whose `ttl` was 0 or less, which were not sent.
    pub ended: u64,
    /// Number of events that could not be encoded, or that zenoh refused.
    pub failed: u64,
    /// Number of events pushed to the channel.
    pub received: u64,
    /// Number of samples that this gateway sent itself.
    pub own: u64,
    /// Number of samples that are damaged or were not sent by a gateway.
    pub malformed: u64,
    /// Number of samples larger than [`sample_octets`](crate::FederationOptions::sample_octets).
    pub oversized: u64,
    /// Number of samples that are duplicates or that arrived after a later sample of their topic.
    pub repeated: u64,
    /// Number of lost events: those missing between two received events of the same topic. The number is not reduced if
    /// a missing event arrives later in the reply to a query.
    pub lost: u64,
    /// Number of events that the channel refused.
    pub refused: u64,
    /// Number of other gateways' queries for last events that were answered.
    pub asked: u64,
    /// Number of key expressions to which the gateway is subscribed.
    pub subscriptions: usize,
    /// Number of hosts to which this host is connected.
    pub neighbours: usize,
    /// Queues of events that wait for zenoh.
    pub sending: Counts,
    /// Queues of samples that wait for the channel.
    pub receiving: Counts,
}

/// Counters shared by the parts of a gateway.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) sent: AtomicU64,
    pub(crate) unnumbered: AtomicU64,
    pub(crate) ended: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) received: AtomicU64,
    pub(crate) own: AtomicU64,
    pub(crate) malformed: AtomicU64,
    pub(crate) oversized: AtomicU64,
    pub(crate) repeated: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) asked: AtomicU64,
}

/// Increments a counter.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

impl Counters {
    /// Returns the counters, without those of queues and connections.
    pub(crate) fn read(&self) -> FederationStatistics {
        FederationStatistics {
            sent: self.sent.load(Relaxed),
            unnumbered: self.unnumbered.load(Relaxed),
            ended: self.ended.load(Relaxed),
            failed: self.failed.load(Relaxed),
            received: self.received.load(Relaxed),
            own: self.own.load(Relaxed),
            malformed: self.malformed.load(Relaxed),
            oversized: self.oversized.load(Relaxed),
            repeated: self.repeated.load(Relaxed),
            lost: self.lost.load(Relaxed),
            refused: self.refused.load(Relaxed),
            asked: self.asked.load(Relaxed),
            ..FederationStatistics::default()
        }
    }
}
