//! Quality of service of one outlet.

use std::time::Duration;

/// Quality of service of an outlet: the size of its queue, its order, and the policy when full.
///
/// **Memory.** `events` slots of about 100 octets plus the size of an event handle are reserved at
/// the start; `octets` bounds the payloads that the queue keeps alive. Events that the sink is
/// processing (`batch` times `concurrency` at most) are not included.
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
    /// Policy when the queue is full and a wait, if any, has ended without space. Default [`WhenFull::DropOldest`].
    pub when_full: WhenFull,
    /// Longest time that a supplier waits for space before `when_full` applies. Default 0: no wait. After a wait
    /// without success, suppliers do not wait for the same consumer again until it takes an event.
    pub wait: Duration,
    /// Maximum number of events per delivery, at least 1. Default 1.
    pub batch: usize,
    /// Time for which events are collected until `batch` of them wait (`PacingInterval`). Default 0:
    /// every event is delivered as soon as a thread is free.
    pub pacing: Duration,
    /// Maximum number of threads that deliver to this consumer at once, at least 1. Default 1. Above
    /// 1, events may overtake each other.
    pub concurrency: usize,
    /// Number of consecutive failed deliveries after which the consumer is released; 0: unlimited. Default 0.
    pub failures: u32,
    /// Index of the lane that dispatches the outlet; ignored without lanes. Default 0.
    pub lane: usize,
    /// Static order among the outlets of one lane: smaller values are served first. Pass `u32::MAX`
    /// minus the subpriority of a schedule. Default 0.
    pub order_in_lane: u32,
    /// Longest execution time of a delivery, for lanes that dispatch by laxity. Default 0.
    pub execution: Duration,
}

impl Qos {
    /// Returns the name of a member that is zero and must be at least 1.
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

/// Order of delivery. CosNotification's `AnyOrder` is [`Order::Fifo`] here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// First come, first served.
    #[default]
    Fifo,
    /// Higher priorities first, first come first served among equals.
    Priority,
    /// Earlier deadlines first, events without one last, first come first served among equals.
    Deadline,
}

/// Policy of a full queue.
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
    /// Drops the event of the lowest priority, the latest deadline and the last arrival, in this
    /// order; the offered event is a candidate.
    DropLeastUrgent,
    /// Drops the event of the earliest deadline, the one that waited longest among equals; the
    /// offered event is a candidate.
    DropEarliestDeadline,
    /// Keeps only the latest event of each [source](crate::Attributes::source), even if the queue
    /// has space; with more sources than slots, drops the event that has waited longest.
    KeepLatest,
}
