//! Choice of the threads that serve what comes to an ORB's own port.

use std::fmt;

use crate::options::positive;
use crate::rt::Serving;

/// Choice of the threads that serve requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    /// A thread for each connection.
    ThreadPerConnection,
    /// A fixed number of workers; each takes the next connection with
    /// something to read and stays with it while it is busy.
    ///
    /// While all of them run servants nothing else is served: new connections
    /// are accepted up to the limit, and their requests wait in the system's
    /// socket buffers, in bounded memory, until a worker is free or their
    /// callers' time limits end. Each worker then takes connections in turn.
    LeaderFollowers {
        /// Number of workers; at least 1. Calls that call back into this server while they run need
        /// one more for each level.
        threads: usize,
    },
    /// A single thread reads and serves all requests, one after the other; another accepts. Like
    /// leader/followers with one worker: while a servant runs nothing else is served. One that
    /// waits for a call of its own is helped by a further thread if its caller calls back
    /// meanwhile.
    Reactive,
    /// A single thread reads, and starts a thread for each request, so that requests of one
    /// connection run side by side. Starting it costs some tens of microseconds.
    ThreadPerRequest {
        /// Most that run at a time; one more request is answered TRANSIENT,
        /// minor `NO_THREAD`.
        threads: usize,
    },
    /// A single thread reads and queues requests, and workers take them from there. Requests of one
    /// connection run side by side; each costs a change of thread, a few allocations and locks.
    WorkerPool {
        /// Number of workers; at least 1.
        threads: usize,
        /// Most requests that wait; one more is answered TRANSIENT, minor
        /// `REQUESTS_BUFFERED`. Their octets are limited by
        /// `realtime.max_buffered_octets`.
        queue: usize,
    },
}

impl Concurrency {
    /// Reads the form of `-ORBConcurrency`.
    pub(crate) fn parse(text: &str) -> Result<Concurrency, String> {
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let (threads, queue) = numbers.split_once(':').unwrap_or((numbers, ""));
        Ok(match (name, threads, queue) {
            ("thread-per-connection", "", "") => Concurrency::ThreadPerConnection,
            ("reactive", "", "") => Concurrency::Reactive,
            ("leader-followers", threads, "") => {
                Concurrency::LeaderFollowers { threads: positive(threads)? }
            }
            ("thread-per-request", threads, "") => {
                Concurrency::ThreadPerRequest { threads: positive(threads)? }
            }
            ("worker-pool", threads, queue) => {
                Concurrency::WorkerPool { threads: positive(threads)?, queue: positive(queue)? }
            }
            _ => {
                return Err(format!(
                    "expected {}",
                    CONCURRENCY.replace('|', ", ").replace(", worker", " or worker")
                ));
            }
        })
    }

    /// Returns which of how many threads serve; `None`: those of connections.
    pub(crate) fn serving(self) -> Option<(Serving, usize)> {
        match self {
            Concurrency::ThreadPerConnection => None,
            Concurrency::Reactive => Some((Serving::Reader, 1)),
            Concurrency::LeaderFollowers { threads } => Some((Serving::Reader, threads)),
            Concurrency::ThreadPerRequest { threads } => Some((Serving::ThreadPerRequest, threads)),
            Concurrency::WorkerPool { threads, .. } => Some((Serving::Queue, threads)),
        }
    }
}

/// Writes the form of `-ORBConcurrency`.
impl fmt::Display for Concurrency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Concurrency::ThreadPerConnection => f.write_str("thread-per-connection"),
            Concurrency::Reactive => f.write_str("reactive"),
            Concurrency::LeaderFollowers { threads } => write!(f, "leader-followers:{threads}"),
            Concurrency::ThreadPerRequest { threads } => write!(f, "thread-per-request:{threads}"),
            Concurrency::WorkerPool { threads, queue } => {
                write!(f, "worker-pool:{threads}:{queue}")
            }
        }
    }
}

pub(crate) const CONCURRENCY: &str =
    "thread-per-connection|reactive|leader-followers:N|thread-per-request:N|worker-pool:N:QUEUE";
