//! Identifiers of threadpools, and the threads that serve their requests.

/// Identifier of a threadpool of one ORB (`RTCORBA::ThreadpoolId`). The first is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadpoolId(pub u32);

/// Rule that determines which thread serves a request of a lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Serving {
    /// The thread that read it. With one thread the lane is a reactor, with several it works as leader/followers. A
    /// request costs no hand-over, no lock and no allocation.
    #[default]
    Reader,
    /// A thread of the lane, which takes requests from a bounded queue; one further thread reads. Requests of one
    /// connection run concurrently. [`Threadpool::buffering`](crate::Threadpool::buffering) sets size and order of the
    /// queue; a request beyond the size raises TRANSIENT, minor `REQUESTS_BUFFERED`. A request costs a hand-over to
    /// another thread (a futex call on each side while the queue is empty), a few allocations and about ten short
    /// locks.
    Queue,
    /// A thread that is started for the request, at most `static_threads` at a time; one further thread reads. A
    /// request beyond the limit raises TRANSIENT, minor `NO_THREAD`. A request costs the start of a thread, some tens
    /// of microseconds, and more if the thread is given a priority, a processor or touched memory.
    ThreadPerRequest,
    /// The thread of the connection, which is started at the lane's priority when the connection is accepted. There are
    /// as many threads as connections, regardless of `static_threads`.
    ThreadPerConnection,
}

impl Serving {
    /// Reports whether threads are started while requests are served.
    pub(crate) fn starts_threads(self) -> bool {
        matches!(self, Serving::ThreadPerRequest | Serving::ThreadPerConnection)
    }
}
