//! Resources whose holders are scheduled by the resource's parameter
//! (`RTScheduling::ResourceManager`).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use oxorb::rt::{RtMutex, RtMutexGuard};

use crate::{Current, Scheduler, SchedulingSegment, SegmentError};

/// Mutex whose holder is scheduled by the parameter of the resource (`ResourceManager`). In
/// addition, the holder inherits the native priority of its waiters.
///
/// ```
/// use oxorb::rt::Priority;
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

/// Resource held by the calling thread, until dropped.
#[must_use = "the resource is free once it is gone"]
pub struct HeldResource<'r, S: Scheduler> {
    // This field is dropped first, so that the thread releases the mutex under the resource's
    // parameter.
    _held: RtMutexGuard<'r>,
    _segment: Option<SchedulingSegment<S>>,
}

impl<S: Scheduler> Current<S> {
    /// Returns the resource with this name in the ORB, with a scheduling parameter for its holders
    /// (`create_resource_manager`). All resources of one name share one mutex, that of
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
    /// Waits until the resource is free. A distributable thread is scheduled by the resource's
    /// parameter while it waits and while it holds the resource, as in a nested segment of the
    /// resource's name, with its current implicit parameter. Other threads only lock the mutex.
    ///
    /// # Errors
    /// Those of [`Current::begin_scheduling_segment`], and of [`RtMutex::lock`].
    pub fn lock(&self) -> Result<HeldResource<'_, S>, SegmentError> {
        let segment = self.begin()?;
        Ok(HeldResource { _held: self.mutex.lock()?, _segment: segment })
    }

    /// Locks the resource as [`lock`](Self::lock) does, but waits for at most `limit`, and not at
    /// all if `limit` is zero. Returns `None` if the resource was not free in time.
    ///
    /// # Errors
    /// As for [`lock`](Self::lock).
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
