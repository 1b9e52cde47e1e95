//! Quality of service of one outlet.

use std::time::Duration;

/// Quality of service of an outlet: the limits of its queue, its order and its overflow policy.
///
/// **Memory.** Connecting reserves `events` slots, each with the size of an event handle and about 100 octets more.
/// `octets` limits the payloads that the queue keeps in memory. Events that the sink is processing, at most `batch`
/// times `concurrency`, are not included in these limits.
///
/// ```
/// use std::time::Duration;
/// use oxorb_delivery::{Order, Qos, WhenFull};
///
/// let qos = Qos {
///     events: 64,
///     order: Order::Priority,
///     when_full: WhenFull::DropLeastUrgent,
///     wait: Duration::from_millis(5),
///     ..Qos::default()
/// };
/// assert!(qos.octets > 1 << 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qos {
    /// Maximum number of waiting events, at least 1. Default 1,024.
    pub events: usize,
    /// Maximum size in octets of the waiting events. Default 16 MiB.
    pub octets: u64,
    /// Order of delivery. Default [`Order::Fifo`].
    pub order: Order,
    /// Policy that applies when the queue is full and no wait is permitted or the wait has timed out. Default
    /// [`WhenFull::DropOldest`].
    pub when_full: WhenFull,
    /// Maximum time that a supplier waits for space before `when_full` applies. Default 0: no wait. After a wait has
    /// timed out, suppliers do not wait for this consumer again until it accepts an event.
    pub wait: Duration,
    /// Maximum number of events per delivery, at least 1. Default 1.
    pub batch: usize,
    /// Maximum time for which events are collected until `batch` of them are waiting (`PacingInterval`). Default 0:
    /// every event is delivered as soon as a thread is available.
    pub pacing: Duration,
    /// Maximum number of threads that deliver to this consumer at the same time, at least 1. Default 1. Above 1, events
    /// may overtake each other.
    pub concurrency: usize,
    /// Number of consecutive failed deliveries after which the consumer is released; 0: never. Default 0.
    pub failures: u32,
    /// Index of the lane that dispatches the outlet; ignored if there are no lanes. Default 0.
    pub lane: usize,
    /// Static order among the outlets of one lane: smaller values are served first. Pass `u32::MAX`
    /// minus the subpriority of a schedule. Default 0.
    pub order_in_lane: u32,
    /// Longest execution time of a delivery, for lanes that dispatch by laxity. Default 0.
    pub execution: Duration,
}

impl Qos {
    /// Returns the name of a member that is zero but must be at least 1.
    pub(crate) fn zero(&self) -> Option<&'static str> {
        let counts =
            [("events", self.events), ("batch", self.batch), ("concurrency", self.concurrency)];
        let zero = counts.into_iter().find(|&(_, value)| value == 0);
        zero.map(|(member, _)| member)
    }
}

impl Default for Qos {
    fn default() -> Qos {
        Qos {
            events: 1024,
            octets: 16 << 20,
            order: Order::Fifo,
            when_full: WhenFull::DropOldest,
            wait: Duration::ZERO,
            batch: 1,
            pacing: Duration::ZERO,
            concurrency: 1,
            failures: 0,
            lane: 0,
            order_in_lane: 0,
            execution: Duration::ZERO,
        }
    }
}

/// Order of delivery. `AnyOrder` of CosNotification corresponds to [`Order::Fifo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// First come, first served.
    #[default]
    Fifo,
    /// Higher priorities first; events of equal priority in the order of arrival.
    Priority,
    /// Earlier deadlines first, events without a deadline last; events with equal deadlines in the order of arrival.
    Deadline,
}

/// Overflow policy of a queue.
///
/// | CosNotification `DiscardPolicy` | here |
/// |---|---|
/// | `AnyOrder`, `FifoOrder` | [`DropOldest`](Self::DropOldest) |
/// | `PriorityOrder` | [`DropLeastUrgent`](Self::DropLeastUrgent) |
/// | `DeadlineOrder` | [`DropEarliestDeadline`](Self::DropEarliestDeadline) |
/// | `LifoOrder` | [`DropNewest`](Self::DropNewest) |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum WhenFull {
    /// Drops the offered event.
    DropNewest,
    /// Drops the event that has waited longest.
    #[default]
    DropOldest,
    /// Drops the event with the lowest priority. Among several such events, drops the one with the latest deadline, and
    /// among equal deadlines the one that arrived last. The offered event is also a candidate.
    DropLeastUrgent,
    /// Drops the event with the earliest deadline, and among equal deadlines the one that has waited longest. The
    /// offered event is also a candidate.
    DropEarliestDeadline,
    /// Keeps only the latest event of each [source](crate::Attributes::source), even if the queue has space. If there
    /// are more sources than slots, drops the event that has waited longest.
    KeepLatest,
}
