//! Lowest scheduling class that a thread can have and return from.

use std::sync::OnceLock;

use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority, ThreadScheduling};

use crate::Incident;
use crate::monitoring::Watch;

/// Way of demoting threads of this process, determined when the first budget needs it.
#[derive(Debug, Default)]
pub(super) struct Lowest(OnceLock<bool>);

impl Lowest {
    /// Determines whether threads may return from SCHED_IDLE. The first call starts a thread to find out.
    pub(super) fn find(&self, watch: &Watch) {
        self.0.get_or_init(|| {
            let may = schedule::may_leave_idle();
            if !may {
                tell(watch, || {
                    "threads could not leave SCHED_IDLE again, so threads of real-time classes are demoted to \
                     SCHED_OTHER, and other threads are not demoted (CAP_SYS_NICE or ulimit -e 20 permits SCHED_IDLE)"
                        .to_owned()
                });
            }
            may
        });
    }

    /// Returns the class and priority of a thread demoted from `now`; `None` if such a thread cannot be demoted.
    pub(super) fn below(&self, now: ThreadPriority) -> Option<ThreadPriority> {
        let class = match (self.0.get(), now.class) {
            (_, SchedulingClass::Idle) => return None,
            (Some(true), _) => SchedulingClass::Idle,
            (_, SchedulingClass::Fifo | SchedulingClass::RoundRobin) => SchedulingClass::Other,
            (_, SchedulingClass::Other) => return None,
        };
        Some(ThreadPriority { class, priority: 0 })
    }

    /// Demotes another thread; returns whether it is in the lowest class now. Leaves a thread with reserved time
    /// unchanged.
    pub(super) fn demote(&self, thread: i32) -> bool {
        match schedule::of(thread) {
            Ok(ThreadScheduling::Class(now)) => match self.below(now) {
                Some(below) => schedule::set(thread, below).is_ok(),
                None => now.class == SchedulingClass::Idle,
            },
            _ => false,
        }
    }
}

/// Reports, once, that budgets are not enforced as configured.
pub(super) fn tell(watch: &Watch, detail: impl FnOnce() -> String) {
    watch.note_once(Incident::BudgetNotEnforced, || "this process".to_owned(), detail);
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use super::*;

    #[test]
    fn without_the_privilege_only_real_time_threads_are_demoted() {
        let lowest = Lowest(OnceLock::from(false));
        let of = |class, priority| lowest.below(ThreadPriority { class, priority });
        let other = ThreadPriority::default();
        assert_eq!(of(SchedulingClass::Fifo, 50), Some(other));
        assert_eq!(of(SchedulingClass::RoundRobin, 1), Some(other));
        assert_eq!(of(SchedulingClass::Other, 0), None);
        let lowest = Lowest(OnceLock::from(true));
        let idle = ThreadPriority { class: SchedulingClass::Idle, priority: 0 };
        assert_eq!(lowest.below(other), Some(idle));
        assert_eq!(lowest.below(idle), None);
    }
}
