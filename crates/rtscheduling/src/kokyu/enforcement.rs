//! Enforcement of an order of threads.

use std::time::Duration;

use oxorb::Priority;

/// Enforcement of the order of a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// Priorities of native threads (`DSRT_OS_BASED`), by which the kernel preempts. Needs an ORB
    /// that schedules threads in real time (option `SchedulingClass`), and the privilege for that;
    /// without, priorities only travel, as the ORB logs once. Threads share nothing.
    Priorities(Band),
    /// Mutual exclusion (`DSRT_CV_BASED`): as many threads run as there are processors, and the
    /// others wait. A thread gives way at the points of its scheduler alone; it needs no privilege.
    /// All threads share one lock.
    Exclusive(Exclusive),
}

/// Range of CORBA priorities for the threads of a discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Band {
    low: Priority,
    high: Priority,
}

/// Bounds of [`Enforcement::Exclusive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exclusive {
    /// Threads that run at a time; 1 unless it is set, as 0 counts.
    pub processors: usize,
    /// Most threads that wait, 256 unless it is set: further ones get TRANSIENT.
    pub waiting: usize,
    /// Longest wait, 30 seconds unless it is set: then a thread gets TRANSIENT.
    pub longest: Duration,
}

impl Default for Enforcement {
    /// Priorities of the whole range.
    fn default() -> Self {
        Enforcement::Priorities(Band::default())
    }
}

impl Band {
    /// Returns the band from one priority to another, in either order.
    pub fn new(one: Priority, other: Priority) -> Band {
        Band { low: one.min(other), high: one.max(other) }
    }

    /// Returns the least urgent priority.
    pub fn low(self) -> Priority {
        self.low
    }

    /// Returns the most urgent priority.
    pub fn high(self) -> Priority {
        self.high
    }

    /// Returns the priority of a step out of so many, from low to high.
    pub(crate) fn at(self, step: i32, last: i32) -> Priority {
        let (low, high) = (i32::from(self.low.get()), i32::from(self.high.get()));
        let priority = low + (high - low) * step / last.max(1);
        let priority = i16::try_from(priority).ok().and_then(|it| Priority::new(it).ok());
        priority.unwrap_or(self.low)
    }
}

impl Default for Band {
    /// All priorities.
    fn default() -> Self {
        Band::new(Priority::MIN, Priority::MAX)
    }
}

impl Default for Exclusive {
    fn default() -> Self {
        Exclusive { processors: 1, waiting: 256, longest: Duration::from_secs(30) }
    }
}
