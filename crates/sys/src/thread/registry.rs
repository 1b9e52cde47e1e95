//! List of threads, with their purpose, configured scheduling and actual scheduling.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::thread::{Pid, gettid};

use super::cpus_of;
use super::places::{self, Places};
use crate::schedule::{self, ThreadScheduling};
use crate::sync::{Mutex, MutexGuard};

/// Work that a thread of an ORB does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ThreadPurpose {
    /// Accepts connections at one endpoint.
    Acceptor,
    /// Serves one connection, or reads one that carries requests in both directions.
    Connection,
    /// Serves the connections of the ORB that have no dedicated threads.
    Worker,
    /// Serves a lane of a threadpool.
    Lane,
    /// Takes over a connection while its thread is busy in a servant.
    Takeover,
    /// Runs the requests of one dispatching module.
    Dispatching,
    /// Reads the replies of asynchronous calls, or of calls that share a connection.
    Reader,
    /// Runs reply handlers.
    Callbacks,
    /// Sends replies to reply handlers that are objects.
    ReplyHandlers,
    /// Wakes tasks at their set times.
    Alarms,
    /// Sends buffered oneway requests.
    Oneways,
    /// Writes the database of a service.
    Storage,
    /// Polls a service for changes and failures.
    Watcher,
    /// Resolves host names.
    LookUp,
    /// Closes idle client connections.
    IdleConnections,
    /// Etherealizes servants after their objects were deactivated.
    Etherealizer,
    /// Waits for signals, or shuts the ORB down after one.
    Shutdown,
    /// Answers requests for metrics.
    Metrics,
}

// A purpose that is missing from the list has no count.
const _: () = assert!(ThreadPurpose::Metrics as usize + 1 == ThreadPurpose::ALL.len());

impl ThreadPurpose {
    /// All purposes, in the order of their declaration.
    const ALL: [ThreadPurpose; 18] = [
        ThreadPurpose::Acceptor,
        ThreadPurpose::Connection,
        ThreadPurpose::Worker,
        ThreadPurpose::Lane,
        ThreadPurpose::Takeover,
        ThreadPurpose::Dispatching,
        ThreadPurpose::Reader,
        ThreadPurpose::Callbacks,
        ThreadPurpose::ReplyHandlers,
        ThreadPurpose::Alarms,
        ThreadPurpose::Oneways,
        ThreadPurpose::Storage,
        ThreadPurpose::Watcher,
        ThreadPurpose::LookUp,
        ThreadPurpose::IdleConnections,
        ThreadPurpose::Etherealizer,
        ThreadPurpose::Shutdown,
        ThreadPurpose::Metrics,
    ];
}

/// Scheduling of a thread, and the processors on which it may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadAttributes {
    /// Class and priority, or reserved processor time.
    pub scheduling: ThreadScheduling,
    /// Processors on which the thread may run, in ascending order.
    pub cpus: Vec<usize>,
}

/// A thread of a [`ThreadRegistry`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OrbThread {
    /// The kernel's id of the thread.
    pub id: i32,
    /// The name under which tools show it.
    pub name: String,
    /// Purpose of the thread.
    pub purpose: ThreadPurpose,
    /// Configured attributes.
    pub configured: ThreadAttributes,
    /// Attributes that the kernel reports. They differ from `configured` where the process lacks a
    /// privilege, and while the thread serves a request at the request's priority.
    pub actual: ThreadAttributes,
    /// Places at which the thread waits, with their transports and the number for each name: the
    /// connections that it serves or reads, or the endpoint at which it accepts them. Threads of a
    /// lane share those of the lane.
    pub waits_at: Vec<(String, usize)>,
}

/// Registry of running threads. Each is listed from before its work starts until after it ends.
#[derive(Debug, Default)]
pub struct ThreadRegistry {
    threads: Mutex<BTreeMap<i32, Entry>>,
    /// Number of running threads of each purpose, in the order of [`ThreadPurpose::ALL`].
    counts: [AtomicUsize; ThreadPurpose::ALL.len()],
}

#[derive(Debug)]
struct Entry {
    name: String,
    purpose: ThreadPurpose,
    configured: ThreadAttributes,
    places: Arc<Places>,
}

/// Entry of the calling thread in a registry.
pub(super) struct Entered {
    registry: Arc<ThreadRegistry>,
    id: i32,
    purpose: ThreadPurpose,
}

impl ThreadRegistry {
    /// Returns the running threads, sorted by purpose and name. Two system calls for each;
    /// allocates.
    ///
    /// ```
    /// use std::sync::{Arc, mpsc};
    /// use oxorb_sys::thread::{Builder, ThreadPurpose, ThreadRegistry};
    ///
    /// let registry = Arc::new(ThreadRegistry::default());
    /// let (end, ended) = mpsc::channel::<()>();
    /// let worker = Builder::new("reader")
    ///     .listed(&registry, ThreadPurpose::Reader)
    ///     .spawn(move || ended.recv())?;
    /// assert_eq!(registry.threads()[0].name, "reader");
    /// assert_eq!(registry.counts()[&ThreadPurpose::Reader], 1);
    /// drop(end);
    /// let _ = worker.join();
    /// assert!(registry.threads().is_empty());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn threads(&self) -> Vec<OrbThread> {
        let listed = |(&id, entry): (&i32, &Entry)| {
            let actual = ThreadAttributes {
                scheduling: schedule::of(id).ok()?,
                cpus: cpus_of(Some(Pid::from_raw(id)?)).ok()?,
            };
            Some(OrbThread {
                id,
                name: entry.name.clone(),
                purpose: entry.purpose,
                configured: entry.configured.clone(),
                actual,
                waits_at: entry.places.list(),
            })
        };
        let mut threads: Vec<OrbThread> = self.lock().iter().filter_map(listed).collect();
        threads.sort_by(|a, b| (a.purpose, &a.name, a.id).cmp(&(b.purpose, &b.name, b.id)));
        threads
    }

    /// Returns the number of running threads of each purpose. Allocates; no lock, no system call.
    pub fn counts(&self) -> BTreeMap<ThreadPurpose, usize> {
        let all = ThreadPurpose::ALL.into_iter().zip(&self.counts);
        let counts = all.map(|(purpose, count)| (purpose, count.load(Ordering::Relaxed)));
        counts.filter(|(_, count)| *count != 0).collect()
    }

    /// Lists the calling thread until the result is dropped.
    pub(super) fn enter(
        self: &Arc<Self>,
        name: &str,
        purpose: ThreadPurpose,
        mut configured: ThreadAttributes,
        places: &Arc<Places>,
    ) -> Entered {
        let id = gettid().as_raw_nonzero().get();
        if configured.cpus.is_empty() {
            configured.cpus = cpus_of(None).unwrap_or_default();
        }
        let entry =
            Entry { name: name.to_owned(), purpose, configured, places: Arc::clone(places) };
        self.lock().insert(id, entry);
        self.counts[purpose as usize].fetch_add(1, Ordering::Relaxed);
        Entered { registry: Arc::clone(self), id, purpose }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<i32, Entry>> {
        self.threads.lock()
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.registry.lock().remove(&self.id);
        self.registry.counts[self.purpose as usize].fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Display for OrbThread {
    /// Writes one line: name, purpose, scheduling and processors; the configured attributes where
    /// they differ; the places at which the thread waits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OrbThread { name, purpose, configured, actual, waits_at, .. } = self;
        write!(f, "{name}: {purpose:?}, {} on {:?}", actual.scheduling, actual.cpus)?;
        if actual.scheduling != configured.scheduling {
            write!(f, ", configured {}", configured.scheduling)?;
        }
        if actual.cpus != configured.cpus {
            write!(f, ", configured on {:?}", configured.cpus)?;
        }
        if !waits_at.is_empty() {
            f.write_str(", at ")?;
        }
        places::write(waits_at, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_purpose_has_its_place_in_the_list_of_all() {
        for (place, purpose) in ThreadPurpose::ALL.into_iter().enumerate() {
            assert_eq!(purpose as usize, place, "{purpose:?}");
        }
    }
}
