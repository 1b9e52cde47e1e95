//! A list of threads: what they are for, how they were to be scheduled, and how they are.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use rustix::thread::{Pid, gettid};

use super::cpus_of;
use super::places::{self, Places};
use crate::schedule::{self, Scheduling};
use crate::sync::{Mutex, MutexGuard};

/// Work that a thread of an ORB does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Purpose {
    /// Accepts connections at one endpoint.
    Acceptor,
    /// Serves one connection, or reads one that carries requests both ways.
    Connection,
    /// Serves the connections of the ORB where these have no threads of their own.
    Worker,
    /// Serves a lane of a threadpool.
    Lane,
    /// Takes over a connection whose thread waits in a servant.
    Takeover,
    /// Runs the requests of one dispatching module.
    Dispatching,
    /// Reads the answers of asynchronous calls, or of calls that share a connection.
    Reader,
    /// Runs reply handlers.
    Callbacks,
    /// Sends answers to reply handlers that are objects.
    ReplyHandlers,
    /// Wakes tasks when their time has come.
    Alarms,
    /// Sends buffered oneway requests.
    Oneways,
    /// Writes the database of a service.
    Storage,
    /// Looks for changes of what a service serves, or for failures.
    Watcher,
    /// Looks up the address of a host by its name.
    LookUp,
    /// Closes client connections that idle.
    IdleConnections,
    /// Cleans up servants after their objects were deactivated.
    Etherealizer,
    /// Waits for signals, or ends the ORB after one.
    Shutdown,
}

/// Schedule of a thread, and the processors on which it may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Class and priority, or reserved processor time.
    pub scheduling: Scheduling,
    /// The processors it may run on, in ascending order.
    pub cpus: Vec<usize>,
}

/// A thread of a [`Registry`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The kernel's number of the thread.
    pub id: i32,
    /// The name under which tools show it.
    pub name: String,
    /// Purpose of the thread.
    pub purpose: Purpose,
    /// The attributes that were declared for it.
    pub configured: Attributes,
    /// The attributes that the kernel reports: others than `configured` where the process lacks a privilege, and while the
    /// thread serves a request at that one's priority.
    pub actual: Attributes,
    /// Places at which it waits, with their transports, and how many there are of each name: the connections that it serves or
    /// reads, or the endpoint at which it accepts them. Threads of a lane have those of the lane.
    pub waits_at: Vec<(String, usize)>,
}

/// Threads that run. Each is listed from before its first line of work until after its last.
#[derive(Debug, Default)]
pub struct Registry(Mutex<BTreeMap<i32, Entry>>);

#[derive(Debug)]
struct Entry {
    name: String,
    purpose: Purpose,
    configured: Attributes,
    places: Arc<Places>,
}

/// The calling thread's place in a registry.
pub(super) struct Entered {
    registry: Arc<Registry>,
    id: i32,
}

impl Registry {
    /// Returns the threads that run, by purpose and name. Two system calls for each; allocates.
    ///
    /// ```
    /// use std::sync::{Arc, mpsc};
    /// use oxorb_sys::thread::{Builder, Purpose, Registry};
    ///
    /// let registry = Arc::new(Registry::default());
    /// let (end, ended) = mpsc::channel::<()>();
    /// let worker = Builder::new("reader")
    ///     .listed(&registry, Purpose::Reader)
    ///     .spawn(move || ended.recv())?;
    /// assert_eq!(registry.threads()[0].name, "reader");
    /// drop(end);
    /// let _ = worker.join();
    /// assert!(registry.threads().is_empty());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn threads(&self) -> Vec<Listed> {
        let listed = |(&id, entry): (&i32, &Entry)| {
            let actual = Attributes {
                scheduling: schedule::of(id).ok()?,
                cpus: cpus_of(Some(Pid::from_raw(id)?)).ok()?,
            };
            Some(Listed {
                id,
                name: entry.name.clone(),
                purpose: entry.purpose,
                configured: entry.configured.clone(),
                actual,
                waits_at: entry.places.list(),
            })
        };
        let mut threads: Vec<Listed> = self.lock().iter().filter_map(listed).collect();
        threads.sort_by(|a, b| (a.purpose, &a.name, a.id).cmp(&(b.purpose, &b.name, b.id)));
        threads
    }

    /// Lists the calling thread until the result is dropped.
    pub(super) fn enter(
        self: &Arc<Self>,
        name: &str,
        purpose: Purpose,
        mut configured: Attributes,
        places: &Arc<Places>,
    ) -> Entered {
        let id = gettid().as_raw_nonzero().get();
        if configured.cpus.is_empty() {
            configured.cpus = cpus_of(None).unwrap_or_default();
        }
        let entry =
            Entry { name: name.to_owned(), purpose, configured, places: Arc::clone(places) };
        self.lock().insert(id, entry);
        Entered { registry: Arc::clone(self), id }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<i32, Entry>> {
        self.0.lock()
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.registry.lock().remove(&self.id);
    }
}

impl fmt::Display for Listed {
    /// Writes one line: name, purpose, scheduling and processors; what was configured where the kernel reports something else;
    /// the places at which it waits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Listed { name, purpose, configured, actual, waits_at, .. } = self;
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
