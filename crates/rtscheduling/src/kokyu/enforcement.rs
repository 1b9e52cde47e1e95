//! Enforcement of the order of threads.

use std::time::Duration;

use oxorb::rt::Priority;

/// Enforcement of the order of a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// Native thread priorities (`DSRT_OS_BASED`): the kernel preempts. Requires an ORB that
    /// schedules threads in real time (option `SchedulingClass`), and the privilege for that;
    /// otherwise priorities only travel with requests, which the ORB logs once. Threads share no
    /// state.
    Priorities(Band),
    /// Mutual exclusion (`DSRT_CV_BASED`): at most [`Exclusive::processors`] threads run, and the
    /// others wait. A thread yields only at the points of its scheduler; it needs no privilege. All
    /// threads share one lock.
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
    /// Number of threads that run at a time; 0 counts as 1, the default.
    pub processors: usize,
    /// Maximum number of waiting threads, 256 by default; a further one raises TRANSIENT.
    pub waiting: usize,
    /// Longest wait, 30 seconds by default; after it the thread raises TRANSIENT.
    pub longest: Duration,
}

impl Default for Enforcement {
    /// Returns native priorities over the whole range.
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

    /// Returns the priority of step `step` of `last`, from low to high.
    pub(crate) fn at(self, step: i32, last: i32) -> Priority {
        let (low, high) = (i32::from(self.low.get()), i32::from(self.high.get()));
        let priority = low + (high - low) * step / last.max(1);
        let priority = i16::try_from(priority).ok().and_then(|it| Priority::new(it).ok());
        priority.unwrap_or(self.low)
    }
}

impl Default for Band {
    /// Returns the band of all priorities.
    fn default() -> Self {
        Band::new(Priority::MIN, Priority::MAX)
    }
}

impl Default for Exclusive {
    fn default() -> Self {
        Exclusive { processors: 1, waiting: 256, longest: Duration::from_secs(30) }
    }
}
