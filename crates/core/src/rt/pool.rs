//! Names of threadpools, and which of their threads serve.

/// Names a threadpool of one ORB (`RTCORBA::ThreadpoolId`). The first is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadpoolId(pub u32);

/// Thread that serves a request which comes to a lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Serving {
    /// The one that has read it: one thread is a reactor, several are leader and followers. No hand-over,
    /// no lock, no allocation.
    #[default]
    Reader,
    /// A thread of the lane's, which take requests from a bounded queue; one further thread reads.
    /// Requests of one connection run side by side. How long the queue is and in which order
    /// requests leave it says [`Threadpool::buffering`](crate::Threadpool::buffering); one that
    /// finds no place is answered TRANSIENT, minor `REQUESTS_BUFFERED`. A request costs a hand-over
    /// to another thread (a futex call on each side while the queue is empty), a few allocations
    /// and about ten short locks.
    Queue,
    /// A thread that is started for it, at most `static_threads` at a time; one further thread reads. One more
    /// is answered TRANSIENT, minor `NO_THREAD`. A request costs what a thread does, some tens of microseconds, and
    /// more when it is given a priority, a processor or touched memory.
    ThreadPerRequest,
    /// The thread of the connection, which is started at the lane's priority when the connection
    /// comes. As many as there are connections, whatever `static_threads` says.
    ThreadPerConnection,
}

impl Serving {
    /// Whether there are threads that begin while requests come.
    pub(crate) fn starts_threads(self) -> bool {
        matches!(self, Serving::ThreadPerRequest | Serving::ThreadPerConnection)
    }
}
