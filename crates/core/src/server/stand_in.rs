//! Who reads a connection while its thread waits inside an upcall.
//!
//! The thread that reads a connection also runs its requests. When a servant
//! calls out and the answer depends on a further request over the very
//! connection that its client multiplexes (JacORB, TAO and other Java ORBs send
//! all calls of a process over one), nobody would read that request: each side
//! would wait for the other. So a thread that waits for a reply inside an upcall
//! keeps an eye on its connection, too. As soon as something arrives there, a
//! stand-in thread takes the connection over; the first thread answers its
//! request and is done with the connection.
//!
//! A stand-in for a thread of a lane gives the connection back to the lane once no request runs beside and no call is
//! outstanding: until then all threads of the lane may wait for what comes over it.
//!
//! A connection whose client waits for its answers, as OxORB's and omniORB's do,
//! never needs a stand-in. A call that is not made inside an upcall pays one
//! look at a thread-local for all this.

use std::cell::{Cell, RefCell, RefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use oxorb_giop::{Frame, Inbox, Request, Wire};
use oxorb_sys::thread::Purpose;
use oxorb_transport::Link;

use super::connection::{Connection, Lines};
use super::dispatch::{Next, Session, dispatch};
use super::home::Home;
use super::lane::Lane;
use super::line::OverLink;
use super::registry::Client;
use super::share::{Encoding, Values};
use super::{Sink, admission, owed, per_connection};
use crate::Options;
use crate::conn::{Beside, Calls, Ended, Turn, serve_beside};
use crate::lock::Mutex;
use crate::shared::Shared;
use crate::sync::attributed;
use crate::{Incident, Orb};

/// Most requests of a process at one time for which a stand-in reads: so deep may callbacks nest, over all connections,
/// before requests wait for their time-out.
const MAX_STAND_INS: usize = 256;

/// Octets of a request that is kept to be answered later which are not counted.
const HEAD: usize = 512;

/// What lies before a thread that serves a connection.
#[derive(Default)]
pub(super) struct Desk {
    pub(super) inbox: RefCell<Option<Inbox>>,
    /// Takes a request out of the inbox while others wait behind it; kept for its memory.
    pub(super) single: RefCell<Option<Inbox>>,
    session: Cell<Session>,
    /// The requests of this client are counted.
    pub(super) counted: Cell<bool>,
    /// A request is being run.
    pub(super) in_upcall: Cell<bool>,
    /// It has taken memory of the client's share, or a turn to encode.
    took: Cell<bool>,
    /// Memory that its values take of the client's share.
    values: Cell<Option<Values>>,
    /// The turn to encode a large reply.
    encoding: Cell<Option<Encoding>>,
    /// While another thread may take the connection over: the phase that says so. Otherwise 0.
    pub(super) running: Cell<u64>,
    pub(super) served: RefCell<Option<Served>>,
    /// Another thread has taken over.
    pub(super) handed_over: Cell<bool>,
    /// That is a stand-in, which counts until the request has ended.
    stood_aside: Cell<bool>,
    /// The request was taken off its connection.
    pub(super) detached: Cell<bool>,
    /// Requests may be for other threads.
    pub(super) assigns: Cell<bool>,
}

/// Whose connection it is.
pub(super) struct Served {
    pub(super) orb: Orb,
    pub(super) id: u64,
    pub(super) link: Arc<dyn Link>,
    pub(super) home: Home,
    pub(super) lines: Lines,
}

crate::sync::thread_local! {
    static DESK: Desk = Desk::default();
}

/// Calls `serve` with this thread's desk, `connection` on it. Gives back what
/// `serve` gave and whether a stand-in has the connection now.
pub(super) fn at_desk<R>(
    orb: &Orb,
    home: &Home,
    connection: &mut Connection,
    serve: impl FnOnce(&Desk, &mut Connection) -> R,
) -> (R, bool) {
    serve_beside(&BESIDE);
    DESK.with(|desk| {
        desk.session.set(connection.session);
        desk.in_upcall.set(false);
        desk.running.set(0);
        desk.detached.set(connection.is_detached());
        // Who reads on after a request that was taken off its connection is another thread as well.
        desk.handed_over.set(connection.is_detached());
        let filtered = !orb.options().thread_filters.is_empty();
        let dispatched = orb.modules().is_some();
        desk.assigns
            .set(filtered || dispatched || home.assigns().is_some());
        let limited = orb.options().max_requests_per_client.is_some();
        desk.counted
            .set(limited && connection.lines.status.client.is_some());
        desk.inbox.replace(Some(
            connection.inbox.take().expect("put back after each turn"),
        ));
        desk.served.replace(Some(Served {
            orb: orb.clone(),
            id: connection.id,
            link: Arc::clone(&connection.link),
            home: home.clone(),
            lines: connection.lines.clone(),
        }));
        let result = serve(desk, connection);
        connection.session = desk.session.get();
        connection.inbox = desk.inbox.take();
        if let Some(served) = desk.served.take() {
            connection.lines = served.lines;
        }
        (result, desk.handed_over.get())
    })
}

/// Takes memory for values that this thread reads: of the share of the client whose request it runs, if it runs one.
pub(crate) fn afford(shared: &Shared, octets: usize) -> bool {
    DESK.with(|desk| desk.afford(shared, octets))
}

/// Takes over what the values of the request that this thread runs have taken, and `octets` more. `Err`: those do not
/// fit.
pub(crate) fn values_of_request(shared: &Shared, octets: usize) -> Result<Option<Values>, ()> {
    DESK.with(|desk| match octets <= HEAD || desk.afford(shared, octets) {
        true => Ok(desk.values.take()),
        false => Err(()),
    })
}

/// Before a thread enlarges the buffer of a large message, to so many octets.
pub(crate) fn encodes(octets: usize) {
    let _ = DESK.try_with(|desk| desk.encodes(octets));
}

/// The reply of the request that this thread runs is whole, and its turn ends.
pub(super) fn encoded() -> Option<Encoding> {
    DESK.with(|desk| desk.encoding.take())
}

/// Takes note of the size of the reply to the request that this thread runs.
pub(super) fn remember_reply(client: &Client, octets: usize) {
    DESK.with(|desk| {
        let inbox = desk.inbox.borrow();
        let inbox = inbox.as_ref().filter(|_| desk.in_upcall.get());
        if let Some(Ok(request)) = inbox.map(|inbox| Request::parse(&inbox.frame())).as_ref() {
            owed::remember(client, admission::hash(request), octets);
        }
    });
}

/// Who may write to the connection this thread serves; `None` while nobody
/// else could.
#[inline]
pub(super) fn turn() -> Option<Arc<Turn>> {
    DESK.with(|desk| {
        let served = desk.served.borrow();
        let status = &*served.as_ref()?.lines.status;
        // From here on nobody takes the connection over, so that nobody else begins to write.
        desk.take_back(status);
        status.turn().cloned()
    })
}

/// To which port the request came that this thread serves.
pub(crate) fn pool() -> Option<u32> {
    DESK.with(|desk| desk.lines(|lines| lines.pool))
}

/// A share of the connection that this thread serves, for the answer to its request `id`, which comes later and from
/// any thread; `None` if it is not that of `link`.
pub(super) fn keep(orb: &Orb, link: &Arc<dyn Link>, id: u32, wire: Wire) -> Option<OverLink> {
    DESK.with(|desk| {
        let mut served = desk.served.borrow_mut();
        let served = served
            .as_mut()
            .filter(|served| Arc::ptr_eq(&served.link, link))?;
        let status = &served.lines.status;
        let turn = Arc::clone(status.turns());
        turn.begin(id);
        status.share_unanswered();
        let counted = status.client.clone().filter(|_| desk.counted.get());
        Some(OverLink {
            orb: orb.clone(),
            connection: served.id,
            request: id,
            wire,
            link: Arc::clone(link),
            lines: served.lines.clone(),
            turn,
            counted,
        })
    })
}

/// Whether the client of the request that this thread serves waits no more for
/// the answer: it cancelled the request, or is gone.
///
/// For servants that work long and would rather stop. Costs a system call; as
/// soon as something has come over the connection meanwhile, another thread
/// goes on reading it, so a cancellation may be seen only when asked once more.
/// False in a thread that serves no request that came over a connection.
///
/// ```
/// assert!(!oxorb_core::request_is_cancelled());
/// ```
pub fn request_is_cancelled() -> bool {
    DESK.with(Desk::is_cancelled)
}

/// What threads with a desk do before they block.
static BESIDE: Beside = Beside {
    step_aside: || {
        DESK.with(|desk| {
            drop(desk.encoding.take());
            if desk.must_look() {
                desk.hand_over();
            }
        });
    },
    wait: |reply, limit| DESK.with(|desk| desk.must_look() && desk.wait_beside(reply, limit)),
};

impl Desk {
    /// What was received.
    pub(super) fn inbox(&self) -> RefMut<'_, Inbox> {
        RefMut::map(self.inbox.borrow_mut(), |inbox| {
            inbox.as_mut().expect("a connection is being served")
        })
    }

    /// Runs the request that the inbox announces.
    #[inline(always)]
    pub(super) fn upcall(
        &self,
        orb: &Orb,
        announced: &Inbox,
        frame: &Frame<'_>,
        sink: &mut Sink,
    ) -> Next {
        self.in_upcall.set(true);
        let next = dispatch(orb, announced, frame, self, sink);
        self.in_upcall.set(false);
        if self.took.get() {
            self.give_back();
        }
        next
    }

    /// Gives the reply that the inbox announces to the call that waits for it.
    ///
    /// # Errors
    /// [`Ended::Malformed`] when it cannot be read.
    pub(super) fn complete(&self) -> Result<(), Ended> {
        let calls = self.lines(|lines| lines.status.calls().cloned());
        calls.map_or(Ok(()), |calls| calls.complete(&mut self.inbox()))
    }

    /// Something of what the threads of the connection share.
    pub(super) fn lines<T>(&self, of: impl FnOnce(&Lines) -> Option<T>) -> Option<T> {
        let served = self.served.borrow();
        served.as_ref().and_then(|served| of(&served.lines))
    }

    /// Takes memory of the client's share for values of the request that is being run.
    fn afford(&self, shared: &Shared, octets: usize) -> bool {
        if shared.options.max_octets_per_client.is_none() || !self.in_upcall.get() {
            return true;
        }
        let Some(client) = self.client() else {
            return true;
        };
        let taken = self.values.take();
        let mut values = taken.unwrap_or_else(|| Values::of(client));
        let affordable = values.grow(octets, &shared.options);
        self.values.set(Some(values));
        self.took.set(true);
        if !affordable {
            let peer = || self.link().map_or_else(String::new, |link| link.peer());
            let what = || format!("values that take {octets} octets more were refused");
            shared.note(Incident::TooManyOctets, peer, what);
        }
        affordable
    }

    /// Gives back what the request has taken that ended.
    #[cold]
    fn give_back(&self) {
        self.took.set(false);
        drop(self.encoding.take());
        drop(self.values.take());
    }

    /// Before a buffer has so many octets: waits for its turn if it is that of a reply, or of a call within the request.
    fn encodes(&self, octets: usize) {
        if let Some(mut encoding) = self.encoding.take() {
            encoding.counts(octets);
            return self.encoding.set(Some(encoding));
        }
        let own_thread = || {
            let served = self.served.borrow();
            served
                .as_ref()
                .is_some_and(|served| matches!(served.home, Home::Thread(_)))
        };
        if self.in_upcall.get()
            && own_thread()
            && let Some(client) = self.client()
        {
            let mut encoding = Encoding::begin(client);
            encoding.counts(octets);
            self.encoding.set(Some(encoding));
            self.took.set(true);
        }
    }

    /// The account of the client that is served.
    pub(super) fn client(&self) -> Option<Arc<Client>> {
        self.lines(|lines| lines.status.client.clone())
    }

    /// The link that is served.
    pub(super) fn link(&self) -> Option<Arc<dyn Link>> {
        let served = self.served.borrow();
        served.as_ref().map(|served| Arc::clone(&served.link))
    }

    /// The lane that the connection goes back to when it is silent, and its number there.
    pub(super) fn lane(&self) -> Option<(Weak<Lane>, u64)> {
        let served = self.served.borrow();
        let served = served.as_ref()?;
        match &served.home {
            Home::Lane(lane) => Some((Arc::downgrade(lane), served.id)),
            Home::Thread(_) => None,
        }
    }

    /// From now on the connection carries calls of this side, too.
    pub(super) fn use_both_ways(&self, calls: Arc<dyn Calls>) {
        self.lines(|lines| {
            lines.status.use_both_ways(calls);
            Some(())
        });
    }

    /// Whether the client has cancelled a request that waited for its thread.
    #[inline]
    pub(super) fn was_cancelled(&self, id: u32) -> bool {
        self.detached.get()
            && self
                .lines(|lines| lines.status.turn().cloned())
                .is_some_and(|turn| turn.was_cancelled(id))
    }

    /// Returns the session of the connection's client.
    pub(super) fn session(&self) -> Session {
        self.session.get()
    }

    /// Replaces the session of the connection's client for every thread that reads it.
    pub(super) fn set_session(&self, session: Session) {
        self.session.set(session);
        if let Some(served) = self.served.borrow().as_ref() {
            *served.lines.status.session.lock().expect(UNPOISONED) = session;
        }
    }

    /// Takes the request that the inbox announces off the connection, which is read on here.
    /// `picked`: by a filter, so that it is in the right place.
    pub(super) fn detach(
        &self,
        options: &Options,
        connection: &mut Connection,
        picked: bool,
    ) -> Connection {
        let served = self.served.borrow();
        let served = served.as_ref().expect("a connection is being served");
        let status = &served.lines.status;
        if let Some(id) = self.request_id() {
            status.turns().begin(id);
        }
        status.share_unanswered();
        let mut inbox = Inbox::new(&options.limits);
        self.inbox().split_to(&mut inbox);
        connection.detached(
            inbox,
            self.session.get(),
            Lines {
                pool: served.lines.pool.filter(|_| !picked),
                ..served.lines.clone()
            },
        )
    }

    fn is_cancelled(&self) -> bool {
        if !self.in_upcall.get() {
            return false;
        }
        let Some((id, status)) = self
            .request_id()
            .zip(self.lines(|lines| Some(Arc::clone(&lines.status))))
        else {
            return false;
        };
        let running = self.running.get();
        let taken = running != 0 && !status.reads(running);
        if self.handed_over.get() || taken {
            return status.turn().is_some_and(|turn| turn.is_cancelled(id));
        }
        let behind = status.behind.lock().expect(UNPOISONED);
        if behind.as_ref().is_some_and(|inbox| inbox.is_cancelled(id)) {
            return true;
        }
        drop(behind);
        if self
            .link()
            .is_some_and(|link| link.has_input().unwrap_or(true))
        {
            self.hand_over();
        }
        false
    }

    /// Of the request that runs.
    pub(super) fn request_id(&self) -> Option<u32> {
        let inbox = self.inbox.borrow();
        Request::parse(&inbox.as_ref()?.frame())
            .ok()
            .map(|request| request.id)
    }

    #[inline]
    fn must_look(&self) -> bool {
        self.in_upcall.get() && !self.handed_over.get()
    }

    #[cold]
    fn wait_beside(&self, reply: &dyn Link, limit: Option<Duration>) -> bool {
        drop(self.encoding.take());
        let Some(own) = self
            .served
            .borrow()
            .as_ref()
            .map(|served| Arc::clone(&served.link))
        else {
            return false;
        };
        let unread = self.has_behind();
        let arrived = match (own.poll_fd(), reply.poll_fd()) {
            (Some(own), Some(reply)) if !unread => {
                oxorb_sys::poll::first_readable(own, reply, limit).is_ok_and(|ready| ready.0)
            }
            _ => true,
        };
        if arrived {
            self.hand_over();
        }
        true
    }

    /// The request has ended. Who reads the connection since is its thread like any other.
    pub(super) fn needs_no_stand_in(&self) {
        if self.stood_aside.take() {
            give_room();
        }
    }

    /// Whether something had arrived behind the request that runs.
    fn has_behind(&self) -> bool {
        let behind = |lines: &Lines| Some(lines.status.behind.lock().expect(UNPOISONED).is_some());
        self.lines(behind).unwrap_or(false)
    }

    /// Starts a stand-in, unless another thread has taken over already. When the system gives no thread, things stay as
    /// they are.
    fn hand_over(&self) {
        let served = self.served.borrow();
        let Some(served) = served.as_ref() else {
            return;
        };
        let status = &served.lines.status;
        if !self.take_back(status) {
            return;
        }
        if !take_room() {
            return;
        }
        let request = self.request_id().unwrap_or_default();
        status.goes_beside(request);
        let inbox = status.behind.lock().expect(UNPOISONED).take();
        let connection = Connection::of(
            served.id,
            Arc::clone(&served.link),
            inbox.unwrap_or_else(|| status.inbox(&served.orb.options().limits)),
            self.session.get(),
            served.lines.clone(),
            false,
        );
        status.share();
        let lane = match &served.home {
            Home::Lane(lane) if lane.polls_alone() => Some(lane),
            _ => None,
        };
        if let Some(lane) = lane {
            lane.disarm(&served.link, served.id);
        }
        let (orb, home) = (served.orb.clone(), served.home.clone());
        let (purpose, name) = (Purpose::Takeover, "oxorb-stand-in");
        let builder = match &home {
            Home::Thread(None) => orb.thread_factory().builder(purpose, name, None),
            Home::Thread(Some(lane)) | Home::Lane(lane) => {
                lane.builder(orb.shared(), purpose, name)
            }
        };
        match start(builder, &orb, home, connection, || {}) {
            Ok(()) => {
                self.handed_over.set(true);
                self.stood_aside.set(true);
            }
            Err(back) => {
                give_room();
                if let Some(mut back) = back {
                    *status.behind.lock().expect(UNPOISONED) = back.inbox.take();
                }
                status.goes_no_more(request);
                status.leave();
                if let Some(lane) = lane {
                    lane.rearm(&served.link, served.id);
                }
            }
        }
    }
}

/// Starts a thread that serves `connection`, and then ends with `last`. When the system gives none, gives it back.
pub(super) fn start(
    builder: attributed::Builder,
    orb: &Orb,
    home: Home,
    connection: Connection,
    last: impl FnOnce() + Send + 'static,
) -> Result<(), Option<Box<Connection>>> {
    // Kept here until it is known that there is a thread.
    let handed = Arc::new(Mutex::new(Some(connection)));
    let (taken, orb) = (Arc::clone(&handed), orb.clone());
    let started = builder.spawn(move || {
        let connection = taken.lock().expect(UNPOISONED).take();
        if let Some(connection) = connection {
            per_connection::stand_in(&orb, &home, connection);
        }
        last();
    });
    let back = |_| handed.lock().expect(UNPOISONED).take().map(Box::new);
    started.map(drop).map_err(back)
}

/// Counts one more stand-in; false: there are as many as may be.
pub(super) fn take_room() -> bool {
    let room = STAND_INS.fetch_add(1, Ordering::Relaxed) < MAX_STAND_INS;
    if !room {
        give_room();
    }
    room
}

/// Counts one stand-in less.
pub(super) fn give_room() {
    STAND_INS.fetch_sub(1, Ordering::Relaxed);
}

/// Stand-ins that are needed at the moment.
static STAND_INS: AtomicUsize = AtomicUsize::new(0);

pub(super) const UNPOISONED: &str = "no panic while the lock is held";
