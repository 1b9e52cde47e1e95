//! Plans, which describe dispatchers.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use oxorb_rt::dispatch::{ModuleStartError, ModuleThreads};
use oxorb_sched::Dispatching;
use oxorb_sched::queue::Missed;
use oxorb_sys::thread::ThreadRegistry;

use crate::clock::{Clock, Monotonic};
use crate::timers::{Timers, TooManyTimers};

/// Description of a dispatcher: its threads, and the limits that apply to all outlets together.
///
/// ```
/// use oxorb_delivery::{LanePlan, Plan};
/// use oxorb_sched::Dispatching;
///
/// let in_the_suppliers_thread = Plan::reactive();
/// let pool = Plan::pool(4);
/// let by_deadline = Plan::lanes([LanePlan {
///     dispatching: Dispatching::Deadline,
///     ..LanePlan::new("50 Hz")
/// }]);
/// assert_eq!((pool.lanes.len(), pool.lanes[0].threads), (1, 4));
/// # let _ = (in_the_suppliers_thread, by_deadline);
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the dispatcher, in the names of its threads.
    pub name: String,
    /// Lanes, by their indices. If there are none, events are delivered in the supplier's thread.
    pub lanes: Vec<LanePlan>,
    /// Maximum number of outlets. Default 4,096. For each outlet, each lane reserves two slots of 64 octets.
    pub outlets: usize,
    /// Maximum number of waiting events in all outlets together; 0: no common limit. Default 0.
    pub events: usize,
    /// Maximum time for which [`offer_all`](crate::Dispatcher::offer_all) waits for consumers, even if their own `wait`
    /// is longer. Default 1 s.
    pub wait: Duration,
    /// Time after which a lane gets a spare thread if events wait in it and no delivery has ended meanwhile. Default
    /// 100 ms.
    pub stuck_after: Duration,
    /// Timer service for pacing, start times and retries. If it is `None`, the dispatcher creates one with 65,536
    /// timers.
    pub timers: Option<Timers>,
    /// Clock of the times in event attributes. It must be the clock of `timers`. Default [`Monotonic`].
    pub clock: Arc<dyn Clock>,
}

/// Description of a lane: threads that dispatch some of the outlets, at one OS priority.
#[derive(Clone, Debug)]
pub struct LanePlan {
    /// Name of the threads, for tools.
    pub name: String,
    /// Number of threads, at least 1. Default 1.
    pub threads: usize,
    /// Maximum number of additional threads that are started while all others are stuck in sinks. Default 1.
    pub spares: usize,
    /// Class, priority or reservation of the threads. Default: inherited from the thread that starts them.
    pub scheduling: ModuleThreads,
    /// Order of the outlets that have events to deliver. [`Dispatching::Static`], the default: by
    /// [`Qos::order_in_lane`](crate::Qos::order_in_lane), then first come, first served. The other values: by the
    /// deadline or the laxity of the next event.
    pub dispatching: Dispatching,
    /// Policy for events that can no longer be delivered by their deadline. Default [`Missed::Run`].
    pub missed: Missed,
    /// Processors on which the threads run. If empty, the threads inherit those of the thread that starts them.
    pub cpus: Vec<usize>,
    /// Registry that lists the threads while they run.
    pub listed: Option<Arc<ThreadRegistry>>,
    /// Called by each thread before its first delivery. Default: none.
    pub at_start: Option<AtStart>,
}

/// Function that each thread of a lane calls once before its first delivery, for example to prepare its stack or
/// memory.
///
/// ```
/// use oxorb_delivery::{AtStart, LanePlan};
///
/// let at_start = AtStart::new(|| println!("{:?} delivers", std::thread::current().name()));
/// let lane = LanePlan { at_start: Some(at_start), ..LanePlan::new("urgent") };
/// # drop(lane);
/// ```
#[derive(Clone)]
pub struct AtStart(Arc<dyn Fn() + Send + Sync>);

impl AtStart {
    /// Wraps a function for a plan.
    pub fn new(f: impl Fn() + Send + Sync + 'static) -> AtStart {
        AtStart(Arc::new(f))
    }

    pub(crate) fn call(&self) {
        (self.0)();
    }
}

impl fmt::Debug for AtStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AtStart")
    }
}

impl Plan {
    /// Returns a plan without threads: events are delivered in the supplier's thread.
    pub fn reactive() -> Plan {
        Plan {
            name: "delivery".to_owned(),
            lanes: Vec::new(),
            outlets: 4096,
            events: 0,
            wait: Duration::from_secs(1),
            stuck_after: Duration::from_millis(100),
            timers: None,
            clock: Arc::new(Monotonic),
        }
    }

    /// Returns a plan with one lane of `threads` threads and the same number of spare threads.
    pub fn pool(threads: usize) -> Plan {
        Plan::lanes([LanePlan { threads, spares: threads, ..LanePlan::new("delivery") }])
    }

    /// Returns a plan with these lanes.
    pub fn lanes(lanes: impl IntoIterator<Item = LanePlan>) -> Plan {
        Plan { lanes: lanes.into_iter().collect(), ..Plan::reactive() }
    }
}

impl LanePlan {
    /// Returns a plan of a lane with one thread, one spare thread, and inherited scheduling.
    pub fn new(name: impl Into<String>) -> LanePlan {
        LanePlan {
            name: name.into(),
            threads: 1,
            spares: 1,
            scheduling: ModuleThreads::Inherit,
            dispatching: Dispatching::Static,
            missed: Missed::Run,
            cpus: Vec::new(),
            listed: None,
            at_start: None,
        }
    }
}

/// Reason why an outlet cannot be connected.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutletConnectError {
    /// The dispatcher already has the maximum number of outlets ([`Plan::outlets`]).
    #[error(
        "all {limit} outlets of the dispatcher are connected: raise Plan::outlets, or disconnect some"
    )]
    TooManyOutlets {
        /// Maximum number of outlets of the dispatcher.
        limit: usize,
    },
    /// The dispatcher has no lane with this index.
    #[error("there is no lane {lane}: the dispatcher has {lanes} lanes, counted from 0")]
    NoSuchLane {
        /// Requested index.
        lane: usize,
        /// Number of lanes.
        lanes: usize,
    },
    /// A member of [`Qos`](crate::Qos) that must be at least 1 is zero.
    #[error("Qos::{0} is 0, but must be at least 1")]
    Zero(&'static str),
    /// The timer service has no timer left for the pacing of the outlet.
    #[error(transparent)]
    Timers(TooManyTimers),
    /// The dispatcher was shut down.
    #[error("the dispatcher was shut down")]
    ShutDown,
}

impl fmt::Debug for OutletConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reason why a dispatcher cannot start.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DispatcherError {
    /// A lane cannot start.
    #[error("lane {name:?} of the dispatcher cannot be started: {error}")]
    Lane {
        /// Name of the lane.
        name: String,
        /// Reason.
        #[source]
        error: ModuleStartError,
    },
    /// The thread of the timers cannot start.
    #[error("the thread for the dispatcher's timers cannot be started: {0}")]
    Timers(#[source] std::io::Error),
}

impl fmt::Debug for DispatcherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
