//! Which threads serve what comes to an ORB's own port.

use std::fmt;

use crate::options::positive;
use crate::rt::Serving;

/// Which threads serve requests (CHECKLIST A5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    /// A thread for each connection (A5.6).
    ThreadPerConnection,
    /// A fixed number of workers; each takes the next connection with
    /// something to read and stays with it while it is busy (A5.4).
    ///
    /// While all of them run servants nothing else is served: new connections
    /// are accepted up to the limit, and their requests wait in the system's
    /// socket buffers, in bounded memory, until a worker is free or their
    /// callers' time limits end. Each worker then takes connections in turn.
    LeaderFollowers {
        /// How many workers; at least 1. Calls that call back into this
        /// server while they run need one more for each level.
        threads: usize,
    },
    /// One thread reads and serves all requests, one after the other (A5.6);
    /// another accepts. As leader/followers with one worker: while a servant
    /// runs nothing else is served. One that waits for a call of its own is
    /// helped by a further thread if its caller calls back meanwhile.
    Reactive,
    /// One thread reads, and starts a thread for each request (A5.6), so that
    /// requests of one connection run side by side. Starting it costs some tens
    /// of microseconds.
    ThreadPerRequest {
        /// Most that run at a time; one more request is answered TRANSIENT,
        /// minor `NO_THREAD`.
        threads: usize,
    },
    /// One thread reads and queues requests, and workers take them from there
    /// (A5.3). Requests of one connection run side by side; each costs a change
    /// of thread, a few allocations and locks.
    WorkerPool {
        /// How many workers; at least 1.
        threads: usize,
        /// Most requests that wait; one more is answered TRANSIENT, minor
        /// `REQUESTS_BUFFERED`. Their octets are limited by
        /// `realtime.max_buffered_octets`.
        queue: usize,
    },
}

impl Concurrency {
    /// As `-ORBConcurrency` has it.
    pub(crate) fn parse(text: &str) -> Result<Concurrency, String> {
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let (threads, queue) = numbers.split_once(':').unwrap_or((numbers, ""));
        Ok(match (name, threads, queue) {
            ("thread-per-connection", "", "") => Concurrency::ThreadPerConnection,
            ("reactive", "", "") => Concurrency::Reactive,
            ("leader-followers", threads, "") => Concurrency::LeaderFollowers {
                threads: positive(threads)?,
            },
            ("thread-per-request", threads, "") => Concurrency::ThreadPerRequest {
                threads: positive(threads)?,
            },
            ("worker-pool", threads, queue) => Concurrency::WorkerPool {
                threads: positive(threads)?,
                queue: positive(queue)?,
            },
            _ => {
                return Err(format!(
                    "expected {}",
                    CONCURRENCY
                        .replace('|', ", ")
                        .replace(", worker", " or worker")
                ));
            }
        })
    }

    /// Which of how many threads serve; `None`: those of connections.
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

/// As `-ORBConcurrency` has it.
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
