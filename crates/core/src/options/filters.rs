//! Filters of the application that pick the thread of each request: what they see, and what they say.

use std::fmt;
use std::sync::Arc;

use oxorb_giop::{Frame, Request};
use oxorb_object::{Qos, contexts};
use oxorb_rt::Priority;
use oxorb_transport::{Link, PeerId};

use crate::rt::ThreadpoolId;

/// Looks at requests and picks the threads that serve them.
///
/// Filters are asked in the order they were [added](crate::Options::thread_filters), by the thread that has read the
/// request; the first that picks decides. A request that none picks is served as `-ORBConcurrency`, or the threadpool
/// whose port it came to, says. So a filter should be quick and must not block: nothing else is read meanwhile.
///
/// A closure is a filter. The threadpool that is picked has a queue ([`Serving::Queue`](crate::Serving), or request
/// buffering) or a thread for each request; a request for any other, or for one that does not exist, is answered
/// TRANSIENT, minor `NO_THREAD`. One with a full queue: TRANSIENT, minor `REQUESTS_BUFFERED`.
///
/// **Real-time cost.** None without filters. With them each request is parsed once more, and one that is picked costs
/// what [`Serving::Queue`](crate::Serving) does.
///
/// ```
/// use oxorb_core::{Arriving, Options, Orb, PoolThread, Serving, Threadpool};
/// use std::sync::{Arc, OnceLock};
///
/// let alarms = Arc::new(OnceLock::new());
/// let mut options = Options::default();
/// options.listen_on("iiop://127.0.0.1:0")?;
/// let pool = Arc::clone(&alarms);
/// options.thread_filters.add(move |request: &Arriving<'_>| {
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
    /// Returns the thread that serves this request; `None`: as the next filter says.
    fn pick(&self, request: &Arriving<'_>) -> Option<PoolThread>;
}

impl<F: Fn(&Arriving<'_>) -> Option<PoolThread> + Send + Sync> ThreadFilter for F {
    fn pick(&self, request: &Arriving<'_>) -> Option<PoolThread> {
        self(request)
    }
}

/// Threads that a filter picks: those of a lane of a threadpool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolThread {
    /// The threadpool.
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

/// The filters of an ORB, in the order they are asked.
#[derive(Clone, Default)]
pub struct ThreadFilters(Vec<Arc<dyn ThreadFilter>>);

impl ThreadFilters {
    /// Adds one, to be asked last.
    pub fn add(&mut self, filter: impl ThreadFilter + 'static) {
        self.0.push(Arc::new(filter));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn pick(&self, request: &Arriving<'_>) -> Option<PoolThread> {
        self.0.iter().find_map(|filter| filter.pick(request))
    }
}

impl fmt::Debug for ThreadFilters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} filters", self.0.len())
    }
}

/// A request that was read and is not served yet.
pub struct Arriving<'a> {
    frame: Frame<'a>,
    request: &'a Request<'a>,
    pub(crate) key: &'a [u8],
    link: Option<Arc<dyn Link>>,
}

impl<'a> Arriving<'a> {
    pub(crate) fn new(
        frame: Frame<'a>,
        request: &'a Request<'a>,
        key: &'a [u8],
        link: Option<Arc<dyn Link>>,
    ) -> Arriving<'a> {
        Arriving { frame, request, key, link }
    }

    /// The operation, as in IDL; `_get_x` and `_set_x` for attributes.
    pub fn operation(&self) -> &'a str {
        self.request.operation
    }

    /// The object, as its server named it.
    pub fn object_key(&self) -> &'a [u8] {
        self.key
    }

    /// The priority that the caller runs at, if the request says so and it is one.
    pub fn priority(&self) -> Option<Priority> {
        if let Some(priority) = self.frame.terms().and_then(|terms| terms.priority) {
            return Priority::new(priority).ok();
        }
        let context = contexts::Priority::find(&self.request.contexts)?;
        Priority::new(contexts::Priority::parse(context.data).ok()?.0).ok()
    }

    /// Returns the worth of the request, as the caller says.
    pub fn qos(&self) -> Option<Qos> {
        Qos::of(&self.request.contexts)
    }

    /// Returns the caller's name, as the caller says (`requesting_principal` of GIOP 1.0 and 1.1,
    /// which nobody vouches for); empty with GIOP 1.2, which has no such thing.
    pub fn principal(&self) -> &'a [u8] {
        Request::principal(&self.frame).unwrap_or_default()
    }

    /// Returns who sent the request, as far as the transport knows; [`PeerId::Process`] for a call
    /// without a connection.
    pub fn peer(&self) -> PeerId {
        let link = self.link.as_ref();
        link.map_or(PeerId::Process, |link| link.identity())
    }

    /// Octets of the whole message.
    pub fn octets(&self) -> usize {
        self.frame.header.total()
    }
}

impl fmt::Debug for Arriving<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arriving")
            .field("operation", &self.operation())
            .field("octets", &self.octets())
            .finish_non_exhaustive()
    }
}
