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
//! A connection whose client waits for its answers, as OxORB's and omniORB's do,
//! never needs a stand-in. A call that is not made inside an upcall pays one
//! look at a thread-local for all this.

use std::cell::{Cell, RefCell, RefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use oxorb_giop::{Inbox, Request, Version};
use oxorb_sys::thread::Purpose;
use oxorb_transport::Link;

use super::connection::{Connection, Lines};
use super::dispatch::{Next, Session, dispatch};
use super::lane::Lane;
use super::line::Wire;
use super::registry::Client;
use super::turn::Turn;
use super::{Sink, per_connection};
use crate::client::Multiplexed;
use crate::{Incident, Orb};

/// Most stand-ins of a process at one time: so deep may callbacks nest, over
/// all connections, before requests wait for their time-out.
const MAX_STAND_INS: usize = 256;

/// Where a connection goes back to after a stand-in served it.
#[derive(Clone)]
pub(crate) enum Home {
    /// The stand-in becomes its thread.
    Thread,
    /// It is parked until a thread of the lane is free.
    Lane(Arc<Lane>),
}

/// What lies before a thread that serves a connection.
#[derive(Default)]
pub(super) struct Desk {
    inbox: RefCell<Option<Inbox>>,
    pub(super) session: Cell<Session>,
    /// The requests of this client are counted.
    pub(super) counted: Cell<bool>,
    /// A request is being run.
    in_upcall: Cell<bool>,
    /// Octets of memory that its values took of the client's share.
    decoded: Cell<usize>,
    served: RefCell<Option<Served>>,
    /// A stand-in has taken over.
    handed_over: Cell<bool>,
    /// Requests may be for other threads.
    pub(super) assigns: Cell<bool>,
}

/// Whose connection it is.
struct Served {
    orb: Orb,
    id: u64,
    link: Arc<dyn Link>,
    home: Home,
    lines: Lines,
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
    DESK.with(|desk| {
        desk.session.set(connection.session);
        desk.in_upcall.set(false);
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
pub(crate) fn afford(orb: &Orb, octets: usize) -> bool {
    DESK.with(|desk| desk.afford(orb, octets))
}

/// Who may write to the connection this thread serves; `None` while nobody
/// else could.
pub(super) fn turn() -> Option<Arc<Turn>> {
    DESK.with(|desk| desk.lines(|lines| lines.turn.clone()))
}

/// To which port the request came that this thread serves.
pub(crate) fn pool() -> Option<u32> {
    DESK.with(|desk| desk.lines(|lines| lines.pool))
}

/// A share of the connection that this thread serves, for the answer to its request `id`, which comes later and from
/// any thread; `None` if it is not that of `link`.
pub(super) fn keep(orb: &Orb, link: &Arc<dyn Link>, id: u32, version: Version) -> Option<Wire> {
    DESK.with(|desk| {
        let mut served = desk.served.borrow_mut();
        let served = served
            .as_mut()
            .filter(|served| Arc::ptr_eq(&served.link, link))?;
        let turn = Arc::clone(served.lines.turn.get_or_insert_default());
        turn.begin(id);
        let status = &served.lines.status;
        orb.registry().share_unanswered(served.id, status);
        let counted = status.client.clone().filter(|_| desk.counted.get());
        Some(Wire {
            orb: orb.clone(),
            connection: served.id,
            request: id,
            version,
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

/// Before a thread blocks for something other than a reply on a link of its
/// own: lets a stand-in read the connection it serves, if it serves one.
pub(crate) fn step_aside() {
    DESK.with(|desk| {
        if desk.must_look() {
            desk.hand_over();
        }
    });
}

/// Before a thread reads a reply: returns when `reply` has something to read or
/// `limit` has passed, having let a stand-in take the connection that this
/// thread serves if anything came there meanwhile. Whether it waited at all.
#[inline]
pub(crate) fn wait_beside(reply: &dyn Link, limit: Option<Duration>) -> bool {
    DESK.with(|desk| desk.must_look() && desk.wait_beside(reply, limit))
}

impl Desk {
    /// What was received.
    pub(super) fn inbox(&self) -> RefMut<'_, Inbox> {
        RefMut::map(self.inbox.borrow_mut(), |inbox| {
            inbox.as_mut().expect("a connection is being served")
        })
    }

    /// Serves the message that the inbox announces.
    #[inline(always)]
    pub(super) fn run(&self, orb: &Orb, sink: &mut Sink) -> Next {
        let inbox = self.inbox.borrow();
        let inbox = inbox.as_ref().expect("a connection is being served");
        self.in_upcall.set(true);
        let next = dispatch(orb, inbox, self, sink);
        self.in_upcall.set(false);
        if self.decoded.get() != 0 {
            self.give_back();
        }
        if self.handed_over.get() {
            self.finish(inbox);
            Next::Close
        } else {
            next
        }
    }

    /// Gives the reply that the inbox announces to the call that waits for it;
    /// false when it cannot be read.
    pub(super) fn complete(&self) -> bool {
        let calls = self.lines(|lines| lines.calls.clone());
        calls.is_some_and(|calls| calls.complete(&mut self.inbox()))
    }

    /// Something of what the threads of the connection share.
    pub(super) fn lines<T>(&self, of: impl FnOnce(&Lines) -> Option<T>) -> Option<T> {
        let served = self.served.borrow();
        served.as_ref().and_then(|served| of(&served.lines))
    }

    /// Takes memory of the client's share for values of the request that is being run.
    fn afford(&self, orb: &Orb, octets: usize) -> bool {
        let (Some(limit), true) = (orb.options().max_octets_per_client, self.in_upcall.get())
        else {
            return true;
        };
        let Some(client) = self.client() else {
            return true;
        };
        let affordable = client.afford(octets, limit);
        if affordable {
            self.decoded.set(self.decoded.get() + octets);
        } else {
            let peer = || self.link().map_or_else(String::new, |link| link.peer());
            let what = || format!("values that take {octets} octets more were refused");
            orb.note(Incident::TooManyOctets, peer, what);
        }
        affordable
    }

    #[cold]
    fn give_back(&self) {
        let octets = self.decoded.take();
        if let Some(client) = self.client() {
            client.give_back(octets);
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

    /// From now on the connection carries calls of this side, too.
    pub(super) fn use_both_ways(&self, turn: Arc<Turn>, calls: Arc<Multiplexed>) {
        if let Some(served) = self.served.borrow_mut().as_mut() {
            served.lines.turn = Some(turn);
            served.lines.calls = Some(calls);
        }
    }

    /// Takes the request that the inbox announces off the connection, which is read on here.
    /// `picked`: by a filter, so that it is in the right place.
    pub(super) fn detach(
        &self,
        orb: &Orb,
        connection: &mut Connection,
        picked: bool,
    ) -> Connection {
        let mut served = self.served.borrow_mut();
        let served = served.as_mut().expect("a connection is being served");
        let turn = Arc::clone(served.lines.turn.get_or_insert_default());
        if let Some(id) = self.request_id() {
            turn.begin(id);
        }
        orb.registry()
            .share_unanswered(served.id, &served.lines.status);
        let mut inbox = Inbox::new(&orb.options().limits);
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
        let Some(id) = self.request_id() else {
            return false;
        };
        if self.handed_over.get() {
            return self
                .lines(|lines| lines.turn.clone())
                .is_some_and(|turn| turn.is_cancelled(id));
        }
        let arrived = self
            .inbox
            .borrow()
            .as_ref()
            .is_some_and(|inbox| inbox.is_cancelled(id));
        if arrived {
            return true;
        }
        if self
            .link()
            .is_some_and(|link| link.has_input().unwrap_or(true))
        {
            self.hand_over();
        }
        false
    }

    /// Of the request that runs.
    fn request_id(&self) -> Option<u32> {
        let inbox = self.inbox.borrow();
        Request::parse(&inbox.as_ref()?.frame())
            .ok()
            .map(|request| request.id)
    }

    /// A request that went on after another thread took over has ended.
    #[cold]
    fn finish(&self, inbox: &Inbox) {
        if let (Ok(request), Some(turn)) = (
            Request::parse(&inbox.frame()),
            self.lines(|lines| lines.turn.clone()),
        ) {
            turn.finish(request.id);
        }
    }

    #[inline]
    fn must_look(&self) -> bool {
        self.in_upcall.get() && !self.handed_over.get()
    }

    #[cold]
    fn wait_beside(&self, reply: &dyn Link, limit: Option<Duration>) -> bool {
        let Some(own) = self
            .served
            .borrow()
            .as_ref()
            .map(|served| Arc::clone(&served.link))
        else {
            return false;
        };
        let unread = self.inbox.borrow().as_ref().is_some_and(Inbox::mid_message);
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

    /// Starts a stand-in. When the system gives no thread, things stay as they are.
    fn hand_over(&self) {
        let mut served = self.served.borrow_mut();
        let Some(served) = served.as_mut() else {
            return;
        };
        if STAND_INS.fetch_add(1, Ordering::Relaxed) >= MAX_STAND_INS {
            STAND_INS.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let turn = Arc::clone(served.lines.turn.get_or_insert_default());
        if let Some(id) = self.request_id() {
            turn.begin(id);
        }
        let inbox = self.inbox.borrow().as_ref().map(Inbox::rest);
        let connection = Connection::of(
            served.id,
            Arc::clone(&served.link),
            inbox.expect("a connection is being served"),
            self.session.get(),
            served.lines.clone(),
            false,
        );
        served.orb.registry().share(served.id);
        let lane = match &served.home {
            Home::Lane(lane) if lane.polls_alone() => Some(lane),
            _ => None,
        };
        if let Some(lane) = lane {
            lane.disarm(&served.link, served.id);
        }
        let (orb, home, id) = (served.orb.clone(), served.home.clone(), served.id);
        let (purpose, name) = (Purpose::Takeover, "oxorb-stand-in");
        let builder = match &home {
            Home::Thread => orb.thread_factory().builder(purpose, name, None),
            Home::Lane(lane) => lane.builder(&orb, purpose, name),
        };
        let started = builder.spawn(move || {
            per_connection::stand_in(&orb, &home, connection);
            STAND_INS.fetch_sub(1, Ordering::Relaxed);
        });
        match started {
            Ok(_) => self.handed_over.set(true),
            Err(_) => {
                STAND_INS.fetch_sub(1, Ordering::Relaxed);
                served.orb.registry().leave(id);
                if let Some(lane) = lane {
                    lane.rearm(&served.link, id);
                }
            }
        }
    }
}

static STAND_INS: AtomicUsize = AtomicUsize::new(0);
