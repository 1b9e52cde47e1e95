//! Shares of objects in the threads for calls, so that a server that does not answer leaves threads for other objects.

use std::collections::HashMap;
use std::sync::Arc;

use hyper::StatusCode;
use oxorb_sys::sync::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::deadline::{Deadline, NO_TIME};
use super::path::Target;
use super::problem::Problem;

/// Shares of all objects.
pub(super) struct Shares {
    /// Maximum number of jobs of one object that run.
    running: usize,
    /// Maximum number of jobs of one object that run or wait.
    admitted: usize,
    objects: Mutex<HashMap<Target, Arc<Share>>>,
}

/// Share of one object.
struct Share {
    running: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
}

/// Part of a job in the share of its object.
pub(super) struct JobShare {
    _running: OwnedSemaphorePermit,
    _admitted: OwnedSemaphorePermit,
}

impl Shares {
    /// Permits three quarters of the running jobs, and of the admitted jobs, to each object, but at least one.
    pub(super) fn new(running: usize, admitted: usize) -> Shares {
        let share = |all: usize| (all * 3 / 4).max(1);
        Shares { running: share(running), admitted: share(admitted), objects: Mutex::default() }
    }

    /// Waits until the job of an object may run.
    ///
    /// # Errors
    /// Too many jobs of the object wait; the time ends.
    pub(super) async fn take(&self, object: &Target, end: Deadline) -> Result<JobShare, Problem> {
        let unavailable = |why: &str| Problem::new(StatusCode::SERVICE_UNAVAILABLE, why);
        let share = self.of(object);
        let admitted = Arc::clone(&share.admitted).try_acquire_owned();
        let admitted = admitted
            .map_err(|_| unavailable("too many calls of this object are running or waiting"))?;
        let left = end.left().map_err(Problem::system)?;
        let running = timeout(left, Arc::clone(&share.running).acquire_owned()).await;
        let running = running.map_err(|_| Problem::system(NO_TIME))?;
        // Nothing closes the semaphore.
        let running = running.map_err(|_| unavailable("the gateway is shutting down"))?;
        Ok(JobShare { _running: running, _admitted: admitted })
    }

    fn of(&self, object: &Target) -> Arc<Share> {
        let mut objects = self.objects.lock();
        if let Some(share) = objects.get(object) {
            return Arc::clone(share);
        }
        objects.retain(|_, share| self.is_used(share));
        let share = Arc::new(Share {
            running: Arc::new(Semaphore::new(self.running)),
            admitted: Arc::new(Semaphore::new(self.admitted)),
        });
        objects.insert(object.clone(), Arc::clone(&share));
        share
    }

    /// Reports whether a job has or takes a part of a share.
    fn is_used(&self, share: &Arc<Share>) -> bool {
        Arc::strong_count(share) > 1 || share.admitted.available_permits() < self.admitted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use tokio::runtime::Builder;

    #[test]
    fn an_object_never_has_all_of_several_threads() {
        for (all, share) in [(1, 1), (2, 1), (3, 2), (4, 3), (16, 12)] {
            assert_eq!(Shares::new(all, all).running, share, "{all}");
        }
    }

    #[test]
    fn an_object_leaves_a_quarter_to_others() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let shares = Shares::new(4, 8);
        let [a, b] = ["a", "b"].map(|name| Target::Named(name.to_owned()));
        let (long, short) = (Duration::from_secs(3600), Duration::from_millis(2));
        runtime.block_on(async {
            let mut taken = Vec::new();
            for _ in 0..3 {
                taken.push(shares.take(&a, Deadline::after(long)).await.ok().unwrap());
            }
            assert!(shares.take(&a, Deadline::after(short)).await.is_err());
            let other = shares.take(&b, Deadline::after(long)).await;
            assert!(other.is_ok());
            drop(taken.pop());
            assert!(shares.take(&a, Deadline::after(long)).await.is_ok());
        });
        // Shares without jobs are forgotten.
        shares.of(&Target::Named("c".to_owned()));
        assert_eq!(shares.objects.lock().len(), 1);
    }
}
