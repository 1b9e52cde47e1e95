//! Threads of an ORB, their priorities, locks and time. All threads are started here, with a declared class and
//! priority.

pub(crate) mod clock;
mod confinement;
pub mod lock;
mod main_thread;
pub(crate) mod rt;
pub(crate) mod sync;
pub(crate) mod within;

pub(crate) use confinement::{Confines, at_end, lane_of_this_thread};
pub use main_thread::Busy;
pub(crate) use main_thread::{MainThread, TakesJobs, ThreadJob};

use std::io;
use std::sync::Arc;

use oxorb_rt::Priority;
use oxorb_sys::schedule::Schedule;
use oxorb_sys::thread::{Purpose, Registry, allowed_cpus};

use self::lock::Mutex;
use self::rt::Scheduling;
use self::sync::attributed::{Builder, Thread};

/// Starts and lists the threads of one ORB.
///
/// Class, priority and processors are set explicitly, so that nothing depends on the starting thread.
pub(crate) struct Threads {
    registry: Arc<Registry>,
    scheduling: Arc<Scheduling>,
    /// Processors of the thread that created the ORB.
    cpus: Vec<usize>,
}

impl Threads {
    pub(crate) fn new(scheduling: &Arc<Scheduling>) -> Arc<Threads> {
        Arc::new(Threads {
            registry: Arc::default(),
            scheduling: Arc::clone(scheduling),
            cpus: allowed_cpus().unwrap_or_default(),
        })
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Reports whether threads have native real-time priorities.
    pub(crate) fn are_real_time(&self) -> bool {
        self.scheduling.is_real_time()
    }

    pub(crate) fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Returns a builder of a thread with the native priority of `priority`; `None` for the lowest of the ORB's class.
    pub(crate) fn builder(
        &self,
        purpose: Purpose,
        name: impl Into<String>,
        priority: Option<Priority>,
    ) -> Builder {
        self.builder_at(purpose, name, self.scheduling.declared(priority))
    }

    /// Returns a builder of a thread with an explicit class and priority.
    pub(crate) fn builder_at(
        &self,
        purpose: Purpose,
        name: impl Into<String>,
        schedule: Schedule,
    ) -> Builder {
        Builder::new(name).cpus(&self.cpus).schedule(schedule).listed(&self.registry, purpose)
    }

    /// Starts a thread with the CORBA priority `priority` and its native one; `None` for no CORBA priority and the
    /// lowest native one of the ORB's class.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        purpose: Purpose,
        name: impl Into<String>,
        priority: Option<Priority>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Thread<T>> {
        let number = self.scheduling.number();
        self.builder(purpose, name, priority).spawn(move || {
            if let Some(priority) = priority {
                rt::declare(number, priority);
            }
            work()
        })
    }
}

/// Set of `T`, one for each priority of calls, so that calls of different priorities do not wait for each other.
pub(crate) struct ByPriority<T> {
    make: Box<dyn Fn(Option<Priority>) -> T + Send + Sync>,
    state: Mutex<PrioritiesState<T>>,
}

struct PrioritiesState<T> {
    made: Vec<(Option<Priority>, Arc<T>)>,
    closed: bool,
}

/// Threads that accept work until the ORB ends.
pub(crate) trait Ends {
    /// Stops accepting work.
    fn close(&self);
}

/// Maximum number of priorities with a `T` of their own; calls of further priorities share the nearest one.
const MOST: usize = 32;

impl<T: Ends> ByPriority<T> {
    pub(crate) fn new(make: impl Fn(Option<Priority>) -> T + Send + Sync + 'static) -> Self {
        ByPriority {
            make: Box::new(make),
            state: Mutex::new(PrioritiesState { made: Vec::new(), closed: false }),
        }
    }

    /// Returns the `T` of a priority.
    pub(crate) fn of(&self, priority: Option<Priority>) -> Arc<T> {
        let mut state = self.state.lock();
        let closed = state.closed;
        let made = &mut state.made;
        if let Some((_, found)) = made.iter().find(|(of, _)| *of == priority) {
            return Arc::clone(found);
        }
        if made.len() < MOST {
            let new = Arc::new((self.make)(priority));
            if closed {
                new.close();
            }
            made.push((priority, Arc::clone(&new)));
            return new;
        }
        let number = |priority: Option<Priority>| priority.map_or(-1, Priority::get);
        let far = |of: Option<Priority>| number(of).abs_diff(number(priority));
        let nearest = made.iter().min_by_key(|(of, _)| far(*of));
        Arc::clone(&nearest.expect("there are as many as may be").1)
    }

    /// Closes those of all priorities, because the ORB ends.
    pub(crate) fn close(&self) {
        let made: Vec<_> = {
            let mut state = self.state.lock();
            state.closed = true;
            state.made.iter().map(|(_, each)| Arc::clone(each)).collect()
        };
        made.iter().for_each(|each| each.close());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Ends for Option<Priority> {
        fn close(&self) {}
    }

    #[test]
    fn each_priority_has_one_and_those_beyond_the_limit_share_the_nearest() {
        let levels = ByPriority::new(|priority| priority);
        let at = |number: i16| levels.of(Some(Priority::new(number).unwrap()));
        assert_eq!(*levels.of(None), None);
        for number in 1..MOST as i16 {
            assert_eq!(at(number * 10).unwrap().get(), number * 10);
        }
        assert_eq!(at(53).unwrap().get(), 50);
        assert_eq!(at(32_767).unwrap().get(), 310);
        assert!(Arc::ptr_eq(&at(50), &at(53)));
    }
}
