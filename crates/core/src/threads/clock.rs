//! Time as this crate reads it: the system's, or that of a simulation.
//!
//! Every deadline, age and pause in this crate is computed from these functions. In a test build with the feature
//! `simulation` they read the clock of the simulated world (`src/sim/simulation`), which jumps to the next deadline if
//! all threads wait. In all other builds they only forward to the clocks of the system.

pub(crate) use oxorb_sys::clock::LONGEST_WAIT;

#[cfg(not(all(test, feature = "simulation")))]
mod chosen {
    use std::time::{Duration, Instant, SystemTime};

    pub(crate) use oxorb_sys::clock::{
        coarse_nanoseconds, coarse_resolution, monotonic_nanoseconds,
    };

    /// Returns the current time.
    #[inline(always)]
    pub(crate) fn now() -> Instant {
        Instant::now()
    }

    /// Returns the time that has passed since a moment.
    #[inline(always)]
    pub(crate) fn since(moment: Instant) -> Duration {
        moment.elapsed()
    }

    /// Returns the time of day.
    #[inline(always)]
    pub(crate) fn time_of_day() -> SystemTime {
        SystemTime::now()
    }
}

#[cfg(all(test, feature = "simulation"))]
mod chosen {
    pub(crate) use crate::sim::simulation::clock::*;
}

pub(crate) use chosen::*;

/// Returns the end of a wait that begins now and takes at most [`LONGEST_WAIT`].
pub(crate) fn after(wait: std::time::Duration) -> std::time::Instant {
    now() + wait.min(LONGEST_WAIT)
}
