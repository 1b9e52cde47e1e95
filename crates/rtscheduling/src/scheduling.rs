//! Scheduler with the distributable threads that it schedules in this process.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use oxorb::interceptor::SchedulingInterceptor;
use oxorb::{Orb, Ref};

use crate::interceptor::Interceptor;
use crate::slots::{Registry, Slot};
use crate::spawn::Spawns;
use crate::sync::Mutex;
use crate::thread::Cancels;
use crate::{Current, DistributableThread, Id, Scheduler};

/// Distributable threads of a process under one [`Scheduler`]. Cheap to clone.
///
/// Each ORB that carries the threads needs the [`interceptor`](Self::interceptor); several ORBs may
/// share one.
///
/// ```
/// use oxorb_rtscheduling::{Enforcement, Kokyu, MufParameter, Muf, RtScheduling};
/// use std::time::Duration;
///
/// let scheduling = RtScheduling::new(Kokyu::<Muf>::new(Enforcement::default()));
/// let orb = oxorb::Orb::builder().scheduling_interceptor(scheduling.interceptor()).build()?;
///
/// let current = scheduling.current(&orb);
/// let deadline = MufParameter::within(3, Duration::from_millis(20), Duration::from_millis(2));
/// let segment = current.begin_scheduling_segment("track", deadline, None)?;
/// // Calls from here on carry the thread's id, criticality and deadline.
/// segment.end()?;
/// # orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RtScheduling<S: Scheduler> {
    pub(crate) inner: Arc<Inner<S>>,
}

/// Limits of distributable threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of [spawned](Current::spawn) threads at a time; 64 by default.
    pub spawned: usize,
    /// Longest wait for each process to which a cancelled thread has moved; one second by default.
    pub cancel: Duration,
    /// Longest wait for spawned threads, after they were cancelled, when their ORB ends; five
    /// seconds by default.
    pub end: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { spawned: 64, cancel: Duration::from_secs(1), end: Duration::from_secs(5) }
    }
}

pub(crate) struct Inner<S> {
    pub(crate) scheduler: S,
    /// Unique number of the scheduling in the process.
    pub(crate) number: u64,
    pub(crate) registry: Arc<Registry<Ref>>,
    pub(crate) limits: Limits,
    pub(crate) spawned: AtomicUsize,
    pub(crate) spawns: Mutex<Spawns>,
}

impl<S: Scheduler> RtScheduling<S> {
    /// Returns a scheduling with default [`Limits`].
    pub fn new(scheduler: S) -> RtScheduling<S> {
        RtScheduling::with_limits(scheduler, Limits::default())
    }

    /// Returns a scheduling with these limits.
    pub fn with_limits(scheduler: S, limits: Limits) -> RtScheduling<S> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        RtScheduling {
            inner: Arc::new(Inner {
                scheduler,
                number: NUMBERS.fetch_add(1, Ordering::Relaxed),
                registry: Arc::default(),
                limits,
                spawned: AtomicUsize::new(0),
                spawns: Mutex::new(Spawns::default()),
            }),
        }
    }

    /// Returns the interceptor that makes an ORB carry the threads, for
    /// [`Builder::scheduling_interceptor`](oxorb::Builder::scheduling_interceptor).
    pub fn interceptor(&self) -> Arc<dyn SchedulingInterceptor> {
        Arc::new(Interceptor(Arc::clone(&self.inner)))
    }

    /// Returns the calling thread's view of the scheduling (`RTScheduler_Current`); `orb` sets the
    /// priorities of threads.
    pub fn current(&self, orb: &Orb) -> Current<S> {
        Current::new(self.clone(), orb.clone())
    }

    /// Returns the scheduler.
    pub fn scheduler(&self) -> &S {
        &self.inner.scheduler
    }

    /// Finds a distributable thread that is in this process or has left it with a call; `None` if
    /// there is none. Takes the lock of each thread that is or was a distributable one.
    pub fn lookup(&self, id: &Id) -> Option<DistributableThread> {
        let _known = self.inner.registry.find(id)?;
        Some(self.thread(*id, None))
    }

    /// Returns a handle of a thread; `slot` is that of the native thread in which it was spawned.
    pub(crate) fn thread(&self, id: Id, slot: Option<Arc<Slot<Ref>>>) -> DistributableThread {
        let inner = &self.inner;
        let scheduler = Arc::clone(inner) as Arc<dyn Cancels>;
        let registry = Arc::clone(&inner.registry);
        DistributableThread::new(id, registry, scheduler, inner.limits.cancel, slot)
    }
}

impl<S: Scheduler> Clone for RtScheduling<S> {
    fn clone(&self) -> Self {
        RtScheduling { inner: Arc::clone(&self.inner) }
    }
}

impl<S: Scheduler> fmt::Debug for RtScheduling<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let discipline = self.inner.scheduler.scheduling_discipline_name();
        f.debug_struct("RtScheduling")
            .field("discipline", &discipline)
            .field("limits", &self.inner.limits)
            .finish_non_exhaustive()
    }
}
