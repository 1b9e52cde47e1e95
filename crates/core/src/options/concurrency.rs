//! Concurrency strategies: how requests at an ORB's own endpoints are assigned to threads.

use std::fmt;

use crate::options::positive;
use crate::threads::rt::Serving;

/// Strategy by which requests are assigned to threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    /// A thread for each connection.
    ThreadPerConnection,
    /// A fixed number of workers. Each takes the next connection that has input, and stays with it while the connection
    /// is busy.
    ///
    /// While all workers run servants, nothing else is served: new connections are accepted up to the limit, and their
    /// requests wait in the system's socket buffers, in bounded memory, until a worker is free or their callers' time
    /// limits end. Each worker then takes connections in turn.
    LeaderFollowers {
        /// Number of workers; at least 1. Calls that call back into this server while they run need one more worker for
        /// each level.
        threads: usize,
    },
    /// A single thread reads and serves all requests, one after the other; another accepts connections. While a servant
    /// runs, nothing else is served, as with one leader/followers worker. While a servant waits for the reply to a call
    /// that it made, a further thread serves the requests that arrive from its caller (nested callbacks).
    Reactive,
    /// A single thread reads, and starts a thread for each request, so that requests of one connection run
    /// concurrently. The start costs some tens of microseconds.
    ThreadPerRequest {
        /// Maximum number of requests that run at a time; a further one raises TRANSIENT, minor `NO_THREAD`.
        threads: usize,
    },
    /// A single thread reads and queues requests, and workers take them from the queue. Requests of one connection run
    /// concurrently; each costs a thread switch, a few allocations and locks.
    WorkerPool {
        /// Number of workers; at least 1.
        threads: usize,
        /// Maximum number of requests that wait; a further one raises TRANSIENT, minor `REQUESTS_BUFFERED`. Their total
        /// size is limited by `realtime.max_buffered_octets`.
        queue: usize,
    },
}

impl Concurrency {
    /// Parses the value of `-ORBConcurrency`.
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

    /// Returns the kind and number of the serving threads; `None` if each connection has its own.
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
