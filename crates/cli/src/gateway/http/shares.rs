//! Shares in the threads for calls: those of objects, so that a server that does not answer leaves threads for other
//! objects, and those of clients, so that a client leaves threads for others.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use hyper::StatusCode;
use oxorb_sys::sync::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::deadline::{Deadline, NO_TIME};
use super::path::Target;
use super::problem::Problem;

/// Shares of all objects and clients.
pub(super) struct Shares {
    /// Shares of a client in calls of one object, so that a server that does not answer leaves threads for the other
    /// calls of its clients.
    calls: Divided<(IpAddr, Target)>,
    clients: Divided<IpAddr>,
    objects: Divided<Target>,
}

/// Shares of all objects, or of all clients.
struct Divided<K> {
    /// Maximum number of jobs of one share that run.
    running: usize,
    /// Maximum number of jobs of one share that run or wait.
    admitted: usize,
    known: Mutex<HashMap<K, Arc<Share>>>,
}

/// Share of one object or client.
struct Share {
    running: Arc<Semaphore>,
    admitted: Arc<Semaphore>,
}

/// Part of an admitted job in a share.
struct Waiting {
    running: Arc<Semaphore>,
    admitted: OwnedSemaphorePermit,
}

/// Part of a job in a share.
struct Part {
    _running: OwnedSemaphorePermit,
    _admitted: OwnedSemaphorePermit,
}

/// Parts of a job in the shares of its client and its object.
pub(super) struct JobShare {
    _parts: [Part; 3],
}

impl Shares {
    /// Permits three quarters of the running jobs, and of the admitted jobs, to each object and to each client, but at
    /// least one; and three quarters of those of a client to each object.
    pub(super) fn new(running: usize, admitted: usize) -> Shares {
        let clients = Divided::new(running, admitted);
        Shares {
            calls: Divided::new(clients.running, clients.admitted),
            clients,
            objects: Divided::new(running, admitted),
        }
    }

    /// Waits until the job of a client may run, which calls an object. `client` is the address that stands for it.
    ///
    /// # Errors
    /// Too many jobs of the client or object wait; the time ends.
    pub(super) async fn take(
        &self,
        (client, object): (IpAddr, &Target),
        end: Deadline,
    ) -> Result<JobShare, Problem> {
        let full = |of: &str| {
            let why = format!("too many calls of this {of} are running or waiting");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, why)
        };
        let call = self.calls.admit(&(client, object.clone())).ok_or_else(|| full("object"))?;
        let client = self.clients.admit(&client).ok_or_else(|| full("client"))?;
        let object = self.objects.admit(object).ok_or_else(|| full("object"))?;
        // Jobs that wait for the last part must not occupy what other clients wait for.
        let call = call.run(end).await?;
        let client = client.run(end).await?;
        let object = object.run(end).await?;
        Ok(JobShare { _parts: [call, client, object] })
    }
}

impl Waiting {
    /// Waits until the job may run.
    ///
    /// # Errors
    /// The time ends.
    async fn run(self, end: Deadline) -> Result<Part, Problem> {
        let left = end.left().map_err(Problem::system)?;
        let running = timeout(left, self.running.acquire_owned()).await;
        let running = running.map_err(|_| Problem::system(NO_TIME))?;
        // Nothing closes the semaphore.
        let running = running.map_err(|_| {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the gateway is shutting down")
        })?;
        Ok(Part { _running: running, _admitted: self.admitted })
    }
}

impl<K: Clone + Eq + Hash> Divided<K> {
    /// Permits three quarters of the running jobs, and of the admitted jobs, to each share, but at least one.
    fn new(running: usize, admitted: usize) -> Divided<K> {
        let share = |all: usize| (all * 3 / 4).max(1);
        Divided { running: share(running), admitted: share(admitted), known: Mutex::default() }
    }

    /// Admits a job, unless too many run or wait.
    fn admit(&self, key: &K) -> Option<Waiting> {
        let share = self.of(key);
        let admitted = Arc::clone(&share.admitted).try_acquire_owned().ok()?;
        Some(Waiting { running: Arc::clone(&share.running), admitted })
    }

    fn of(&self, key: &K) -> Arc<Share> {
        let mut known = self.known.lock();
        if let Some(share) = known.get(key) {
            return Arc::clone(share);
        }
        known.retain(|_, share| self.is_used(share));
        let share = Arc::new(Share {
            running: Arc::new(Semaphore::new(self.running)),
            admitted: Arc::new(Semaphore::new(self.admitted)),
        });
        known.insert(key.clone(), Arc::clone(&share));
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
            assert_eq!(Shares::new(all, all).objects.running, share, "{all}");
        }
    }

    #[test]
    fn an_object_leaves_a_quarter_to_others() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let shares = Shares::new(4, 8);
        let [a, b] = ["a", "b"].map(|name| Target::Named(name.to_owned()));
        let [ada, bob, eve] = [1, 2, 3].map(|last| IpAddr::from([10, 0, 0, last]));
        let (long, short) = (Duration::from_secs(3600), Duration::from_millis(2));
        runtime.block_on(async {
            let mut taken = Vec::new();
            for client in [ada, ada, bob] {
                taken.push(shares.take((client, &a), Deadline::after(long)).await.ok().unwrap());
            }
            assert!(shares.take((eve, &a), Deadline::after(short)).await.is_err());
            let other = shares.take((eve, &b), Deadline::after(long)).await;
            assert!(other.is_ok());
            drop(taken.pop());
            assert!(shares.take((eve, &a), Deadline::after(long)).await.is_ok());
        });
        // Shares without jobs are forgotten.
        shares.objects.of(&Target::Named("c".to_owned()));
        assert_eq!(shares.objects.known.lock().len(), 1);
    }

    #[test]
    fn a_client_leaves_a_quarter_to_others_and_to_its_other_calls() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let shares = Shares::new(4, 8);
        let [a, b, c] = ["a", "b", "c"].map(|name| Target::Named(name.to_owned()));
        let [ada, bob] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let (long, short) = (Duration::from_secs(3600), Duration::from_millis(2));
        runtime.block_on(async {
            let mut taken = Vec::new();
            for _ in 0..2 {
                taken.push(shares.take((ada, &a), Deadline::after(long)).await.ok().unwrap());
            }
            assert!(shares.take((ada, &a), Deadline::after(short)).await.is_err());
            taken.push(shares.take((ada, &b), Deadline::after(long)).await.ok().unwrap());
            assert!(shares.take((ada, &c), Deadline::after(short)).await.is_err());
            assert!(shares.take((bob, &c), Deadline::after(long)).await.is_ok());
        });
    }
}
