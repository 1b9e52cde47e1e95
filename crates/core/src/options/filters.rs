//! Filters of the application that pick the thread of each request.

use std::fmt;
use std::sync::Arc;

use oxorb_giop::{Frame, Request};
use oxorb_object::{Qos, contexts};
use oxorb_rt::Priority;
use oxorb_transport::{Link, PeerId};

use crate::threads::rt::ThreadpoolId;

/// Filter that inspects requests and picks the threads that serve them.
///
/// Filters are called in the order they were [added](crate::Options::thread_filters), by the thread that has read the
/// request; the first pick decides. A request that no filter picks is served as `-ORBConcurrency`, or the threadpool at
/// whose port it arrived, specifies. A filter should be quick and must not block: its thread reads nothing else
/// meanwhile. A filter that panics costs the connection of the request.
///
/// A closure can serve as a filter. The threadpool that it picks must have a queue ([`Serving::Queue`](crate::Serving),
/// or request buffering) or start a thread for each request. If the pool has neither, or does not exist, the request
/// raises TRANSIENT, minor `NO_THREAD`; if its queue is full, TRANSIENT, minor `REQUESTS_BUFFERED`.
///
/// **Real-time cost.** None without filters. With filters each request is parsed twice, and a picked request costs as
/// much as with [`Serving::Queue`](crate::Serving).
///
/// ```
/// use oxorb_core::{ArrivingRequest, Options, Orb, PoolThread, Serving, Threadpool};
/// use std::sync::{Arc, OnceLock};
///
/// let alarms = Arc::new(OnceLock::new());
/// let mut options = Options::default();
/// options.listen_on("iiop://127.0.0.1:0")?;
/// let pool = Arc::clone(&alarms);
/// options.thread_filters.add(move |request: &ArrivingRequest<'_>| {
///     let urgent = request.operation() == "alarm";
///     urgent.then(|| pool.get().copied().map(PoolThread::of))?
/// });
/// let orb = Orb::new(options);
/// let plan = Threadpool::new(1).serving(Serving::Queue);
/// alarms.set(orb.create_threadpool(plan)?).expect("set once");
/// # orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ThreadFilter: Send + Sync {
    /// Returns the thread that serves this request, or `None` to let the next filter decide.
    fn pick(&self, request: &ArrivingRequest<'_>) -> Option<PoolThread>;
}

impl<F: Fn(&ArrivingRequest<'_>) -> Option<PoolThread> + Send + Sync> ThreadFilter for F {
    fn pick(&self, request: &ArrivingRequest<'_>) -> Option<PoolThread> {
        self(request)
    }
}

/// Threads that a filter picks: those of a lane of a threadpool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolThread {
    /// Threadpool of the threads.
    pub pool: ThreadpoolId,
    /// Index of the lane, from 0 in the order given at creation; 0 where the pool has none.
    pub lane: usize,
}

impl PoolThread {
    /// Returns the threads of a threadpool without lanes.
    pub fn of(pool: ThreadpoolId) -> PoolThread {
        PoolThread { pool, lane: 0 }
    }

    /// Returns the threads of a lane.
    pub fn of_lane(pool: ThreadpoolId, lane: usize) -> PoolThread {
        PoolThread { pool, lane }
    }
}

/// Filters of an ORB, in the order of their calls.
#[derive(Clone, Default)]
pub struct ThreadFilters(Vec<Arc<dyn ThreadFilter>>);

impl ThreadFilters {
    /// Adds a filter, to be called last.
    pub fn add(&mut self, filter: impl ThreadFilter + 'static) {
        self.0.push(Arc::new(filter));
    }

    /// Reports whether there are no filters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn pick(&self, request: &ArrivingRequest<'_>) -> Option<PoolThread> {
        self.0.iter().find_map(|filter| filter.pick(request))
    }
}

impl fmt::Debug for ThreadFilters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} filters", self.0.len())
    }
}

/// Request that was read and is not served yet.
pub struct ArrivingRequest<'a> {
    frame: Frame<'a>,
    request: &'a Request<'a>,
    pub(crate) key: &'a [u8],
    link: Option<Arc<dyn Link>>,
}

impl<'a> ArrivingRequest<'a> {
    pub(crate) fn new(
        frame: Frame<'a>,
        request: &'a Request<'a>,
        key: &'a [u8],
        link: Option<Arc<dyn Link>>,
    ) -> ArrivingRequest<'a> {
        ArrivingRequest { frame, request, key, link }
    }

    /// Returns the name of the operation, as in IDL. The operations of attribute `x` are `_get_x` and `_set_x`.
    pub fn operation(&self) -> &'a str {
        self.request.operation
    }

    /// Returns the object key, as the object adapter created it.
    pub fn object_key(&self) -> &'a [u8] {
        self.key
    }

    /// Returns the priority of the caller, if the request carries a valid one.
    pub fn priority(&self) -> Option<Priority> {
        if let Some(priority) = self.frame.terms().and_then(|terms| terms.priority) {
            return Priority::new(priority).ok();
        }
        let context = contexts::Priority::find(&self.request.contexts)?;
        Priority::new(contexts::Priority::parse(context.data).ok()?.0).ok()
    }

    /// Returns the quality of service that the caller declares.
    pub fn qos(&self) -> Option<Qos> {
        Qos::of(&self.request.contexts)
    }

    /// Returns the caller's name, as the caller states it (`requesting_principal` of GIOP 1.0 and 1.1, which is not
    /// authenticated); empty with GIOP 1.2, which has no such field.
    pub fn principal(&self) -> &'a [u8] {
        Request::principal(&self.frame).unwrap_or_default()
    }

    /// Returns the identity of the sender, as far as the transport knows it; [`PeerId::Process`] for a call without a
    /// connection.
    pub fn peer(&self) -> PeerId {
        let link = self.link.as_ref();
        link.map_or(PeerId::Process, |link| link.identity())
    }

    /// Returns the size of the complete message, in octets.
    pub fn octets(&self) -> usize {
        self.frame.header.total()
    }
}

impl fmt::Debug for ArrivingRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrivingRequest")
            .field("operation", &self.operation())
            .field("octets", &self.octets())
            .finish_non_exhaustive()
    }
}
