//! Resources that raise whoever uses them (`RTScheduling::ResourceManager`).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use oxorb::{RtMutex, RtMutexGuard};

use crate::{Current, Scheduler, SchedulingSegment, SegmentError};

/// Mutex whose holder is scheduled by the parameter of the resource (`ResourceManager`). Its waiters lend their native priority
/// to the holder besides.
///
/// ```
/// use oxorb::Priority;
/// use oxorb_rtscheduling::{Enforcement, Fp, FpParameter, Kokyu, RtScheduling};
///
/// let scheduling = RtScheduling::new(Kokyu::<Fp>::new(Enforcement::default()));
/// let orb = oxorb::Orb::builder().scheduling_interceptor(scheduling.interceptor()).build()?;
/// let current = scheduling.current(&orb);
/// let at = |priority| Priority::new(priority).map(|priority| FpParameter { priority });
///
/// let tracks = current.create_resource_manager("tracks", at(900)?);
/// let segment = current.begin_scheduling_segment("work", at(100)?, None)?;
/// {
///     let _held = tracks.lock()?;
///     assert_eq!(orb.thread_priority(), Some(Priority::new(900)?));
/// }
/// assert_eq!(orb.thread_priority(), Some(Priority::new(100)?));
/// segment.end()?;
/// # orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ResourceManager<S: Scheduler> {
    name: String,
    parameter: S::Parameter,
    mutex: Arc<RtMutex>,
    current: Current<S>,
}

/// Resource that the calling thread holds, until this goes.
#[must_use = "the resource is free once it is gone"]
pub struct HeldResource<'r, S: Scheduler> {
    // Freed first, so that this is still done by the resource's parameter.
    _held: RtMutexGuard<'r>,
    _segment: Option<SchedulingSegment<S>>,
}

impl<S: Scheduler> Current<S> {
    /// Returns the resource of this name in the ORB, with a scheduling parameter for those who hold it
    /// (`create_resource_manager`). All of one name are the same mutex, which is that of
    /// `Orb::create_named_mutex`.
    pub fn create_resource_manager(
        &self,
        name: &str,
        parameter: S::Parameter,
    ) -> ResourceManager<S> {
        let (mutex, _) = self.orb.create_named_mutex(name);
        ResourceManager { name: name.to_owned(), parameter, mutex, current: self.clone() }
    }
}

impl<S: Scheduler> ResourceManager<S> {
    /// Waits until the resource is free. A distributable thread is scheduled by the resource's parameter from before it waits
    /// until it is done: as in a nested segment of the resource's name, with the implicit parameter it has. Other threads only
    /// take the mutex.
    ///
    /// # Errors
    /// Those of [`Current::begin_scheduling_segment`], and of [`RtMutex::lock`].
    pub fn lock(&self) -> Result<HeldResource<'_, S>, SegmentError> {
        let segment = self.begin()?;
        Ok(HeldResource { _held: self.mutex.lock()?, _segment: segment })
    }

    /// Waits at most so long; zero: not at all. `None`: the resource was not free in time. Otherwise as [`lock`](Self::lock).
    ///
    /// # Errors
    /// As there.
    pub fn try_lock(&self, limit: Duration) -> Result<Option<HeldResource<'_, S>>, SegmentError> {
        let segment = self.begin()?;
        let held = self.mutex.try_lock(limit)?;
        Ok(held.map(|held| HeldResource { _held: held, _segment: segment }))
    }

    fn begin(&self) -> Result<Option<SchedulingSegment<S>>, SegmentError> {
        if self.current.id().is_none() {
            return Ok(None);
        }
        let implicit = self.current.implicit_scheduling_parameter();
        let segment =
            self.current.begin_scheduling_segment(&self.name, self.parameter, implicit)?;
        Ok(Some(segment))
    }
}

impl<S: Scheduler> fmt::Debug for ResourceManager<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceManager")
            .field("name", &self.name)
            .field("parameter", &self.parameter)
            .finish_non_exhaustive()
    }
}

impl<S: Scheduler> fmt::Debug for HeldResource<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldResource").finish_non_exhaustive()
    }
}
