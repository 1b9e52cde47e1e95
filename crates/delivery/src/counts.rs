//! Counters of an outlet, with dropped events counted by cause.

use std::ops::AddAssign;

/// Reason why an event was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Cause {
    /// The event was offered to a full queue ([`WhenFull::DropNewest`](crate::WhenFull::DropNewest)).
    Newest,
    /// The event had waited longest in a full queue ([`WhenFull::DropOldest`](crate::WhenFull::DropOldest)).
    Oldest,
    /// The event was the least urgent one in a full queue
    /// ([`WhenFull::DropLeastUrgent`](crate::WhenFull::DropLeastUrgent)).
    LeastUrgent,
    /// The event had the earliest deadline in a full queue
    /// ([`WhenFull::DropEarliestDeadline`](crate::WhenFull::DropEarliestDeadline)).
    EarliestDeadline,
    /// A later event of the same source replaced the event ([`WhenFull::KeepLatest`](crate::WhenFull::KeepLatest)).
    Superseded,
    /// The event was larger than the limit of the queue ([`Qos::octets`](crate::Qos::octets)).
    TooLarge,
    /// The event expired before it was delivered ([`Attributes::expiry`](crate::Attributes::expiry)).
    Expired,
    /// The event was late in a lane that drops late requests ([`Missed::Drop`](oxorb_sched::queue::Missed::Drop)).
    Late,
    /// The sink refused the event ([`Outcome::Failed`](crate::Outcome::Failed)) or panicked.
    Failed,
    /// The consumer no longer existed, or was released after failures.
    Gone,
    /// The service detached the outlet.
    Detached,
    /// The dispatcher was shut down before the event was delivered.
    Shutdown,
}

impl Cause {
    /// All causes, in the order of [`Counts::dropped`].
    pub const ALL: [Cause; 12] = [
        Cause::Newest,
        Cause::Oldest,
        Cause::LeastUrgent,
        Cause::EarliestDeadline,
        Cause::Superseded,
        Cause::TooLarge,
        Cause::Expired,
        Cause::Late,
        Cause::Failed,
        Cause::Gone,
        Cause::Detached,
        Cause::Shutdown,
    ];

    /// Returns the name of the cause, for logs and tools.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Newest => "newest",
            Cause::Oldest => "oldest",
            Cause::LeastUrgent => "least-urgent",
            Cause::EarliestDeadline => "earliest-deadline",
            Cause::Superseded => "superseded",
            Cause::TooLarge => "too-large",
            Cause::Expired => "expired",
            Cause::Late => "late",
            Cause::Failed => "failed",
            Cause::Gone => "gone",
            Cause::Detached => "detached",
            Cause::Shutdown => "shutdown",
        }
    }
}

/// Counters of an outlet at one point in time. `offered = delivered + dropped + waiting` always holds.
///
/// ```
/// use oxorb_delivery::{Cause, Counts};
///
/// let mut total = Counts::default();
/// total += Counts::default();
/// assert!(total.is_balanced() && total.dropped(Cause::Oldest) == 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Number of events offered to the outlet.
    pub offered: u64,
    /// Number of events that the sink accepted, or that were pulled.
    pub delivered: u64,
    /// Number of events that have not been delivered or dropped yet, including those that the sink is processing.
    pub waiting: u64,
    /// Size in octets of the events in the queue.
    pub octets: u64,
    /// Maximum number of events that have waited in the queue at the same time.
    pub most: u64,
    /// Number of times that a supplier waited for space in the queue.
    pub waits: u64,
    pub(crate) dropped: [u64; Cause::ALL.len()],
}

impl Counts {
    /// Returns the number of events dropped for one cause.
    pub fn dropped(&self, cause: Cause) -> u64 {
        self.dropped[cause as usize]
    }

    /// Returns the number of events dropped for any cause.
    pub fn dropped_in_all(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Returns the causes that dropped an event, with their counters.
    pub fn drops(&self) -> impl Iterator<Item = (Cause, u64)> + '_ {
        let all = Cause::ALL.into_iter().map(|cause| (cause, self.dropped(cause)));
        all.filter(|&(_, count)| count > 0)
    }

    /// Reports whether every offered event was delivered, was dropped, or still waits.
    pub fn is_balanced(&self) -> bool {
        self.offered == self.delivered + self.dropped_in_all() + self.waiting
    }
}

impl AddAssign for Counts {
    /// Adds the counters of another outlet, except that `most` becomes the larger of the two values.
    fn add_assign(&mut self, other: Counts) {
        self.offered += other.offered;
        self.delivered += other.delivered;
        self.waiting += other.waiting;
        self.octets += other.octets;
        self.most = self.most.max(other.most);
        self.waits += other.waits;
        for (mine, more) in self.dropped.iter_mut().zip(other.dropped) {
            *mine += more;
        }
    }
}
