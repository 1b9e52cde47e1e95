use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use oxorb_event::delivery::Counts;

/// Counts of a [`ZenohGateway`](crate::ZenohGateway). Every event of the channel is `sent`, `ended`, `failed`, dropped from or
/// waiting in the queue `sending`; every sample from zenoh is `own`, `malformed`, `oversized`, `repeated`, or taken into the queue
/// `receiving`, whose deliveries are `received`, `malformed` or `refused`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FederationStatistics {
    /// Events given to zenoh, which has no answer: whether they arrive, receivers see from the numbers.
    pub sent: u64,
    /// Sent events without a number, in whose topic no gap is seen.
    pub unnumbered: u64,
    /// Events whose `ttl` was 0 or less, which end here.
    pub ended: u64,
    /// Events that could not be encoded, or that zenoh refused.
    pub failed: u64,
    /// Events given to the channel.
    pub received: u64,
    /// Samples of this gateway itself.
    pub own: u64,
    /// Samples that are none of a gateway's, or damaged.
    pub malformed: u64,
    /// Samples beyond [`sample_octets`](crate::FederationOptions::sample_octets).
    pub oversized: u64,
    /// Samples that came before, or too late: a later one of the topic had come.
    pub repeated: u64,
    /// Gaps: events that were sent and did not come, of topics that were seen before. One that comes as the last event of its
    /// topic after all is not counted.
    pub lost: u64,
    /// Events that the channel refused.
    pub refused: u64,
    /// Requests for last events that other gateways were answered.
    pub asked: u64,
    /// Key expressions that the gateway asks zenoh for at present.
    pub subscriptions: usize,
    /// Hosts that this one is connected to at present.
    pub neighbours: usize,
    /// Queues of events that wait for zenoh.
    pub sending: Counts,
    /// Queues of samples that wait for the channel.
    pub receiving: Counts,
}

/// Counters that parts of a gateway share.
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

/// Counts one.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

impl Counters {
    /// Returns the counters; queues and connections are not among them.
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
