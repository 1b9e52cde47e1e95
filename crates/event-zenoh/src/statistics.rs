use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use oxorb_event::delivery::Counts;

/// Statistics of a [`ZenohGateway`](crate::ZenohGateway). Every event of the channel is `sent`, `ended`, `failed`,
/// dropped from or waiting in the queue `sending`. Every sample from zenoh is `own`, `malformed`, `oversized`,
/// `repeated`, or put into the queue `receiving`, whose deliveries are `received`, `malformed` or `refused`; a second
/// copy for an overlapping key expression is not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FederationStatistics {
    /// Number of events passed to zenoh, which does not acknowledge them: receivers detect losses by the numbers.
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
    /// Number of samples that are not from a gateway, or damaged.
    pub malformed: u64,
    /// Number of samples beyond [`sample_octets`](crate::FederationOptions::sample_octets).
    pub oversized: u64,
    /// Number of samples that are duplicates, or arrived after a later one of their topic.
    pub repeated: u64,
    /// Lost events: events that were sent on topics seen before, and did not arrive. Not reduced if such an event
    /// arrives later as the last event of its topic.
    pub lost: u64,
    /// Number of events that the channel refused.
    pub refused: u64,
    /// Number of queries for last events by other gateways that were answered.
    pub asked: u64,
    /// Number of key expressions to which the gateway subscribes at present.
    pub subscriptions: usize,
    /// Number of hosts to which this one is connected at present.
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
