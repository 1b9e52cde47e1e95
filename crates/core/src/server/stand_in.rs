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

use oxorb_giop::Inbox;
use oxorb_transport::Link;

use super::connection::Connection;
use super::dispatch::{Next, Session, dispatch};
use super::leader_followers::Workers;
use super::{Sink, per_connection};
use crate::Orb;
use crate::lock::Mutex;

/// Most stand-ins of a process at one time: so deep may callbacks nest, over
/// all connections, before requests wait for their time-out.
const MAX_STAND_INS: usize = 256;

/// Where a connection goes back to after a stand-in served it.
#[derive(Clone)]
pub(crate) enum Home {
    /// The stand-in becomes its thread.
    Thread,
    /// It is parked until a worker is free.
    Workers(Arc<Workers>),
}

/// What lies before a thread that serves a connection.
#[derive(Default)]
pub(super) struct Desk {
    inbox: RefCell<Option<Inbox>>,
    session: Cell<Session>,
    /// A request is being run.
    in_upcall: Cell<bool>,
    served: RefCell<Option<Served>>,
    /// A stand-in has taken over.
    handed_over: Cell<bool>,
}

/// Whose connection it is.
struct Served {
    orb: Orb,
    id: u64,
    link: Arc<dyn Link>,
    home: Home,
    /// Once there is a stand-in: who may write.
    turn: Option<Arc<Mutex<()>>>,
}

thread_local! {
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
        desk.handed_over.set(false);
        desk.inbox.replace(Some(
            connection.inbox.take().expect("put back after each turn"),
        ));
        desk.served.replace(Some(Served {
            orb: orb.clone(),
            id: connection.id,
            link: Arc::clone(&connection.link),
            home: home.clone(),
            turn: connection.turn.clone(),
        }));
        let result = serve(desk, connection);
        connection.session = desk.session.get();
        connection.inbox = desk.inbox.take();
        connection.turn = desk.served.take().and_then(|served| served.turn);
        (result, desk.handed_over.get())
    })
}

/// Who may write to the connection this thread serves; `None` while nobody
/// else could.
pub(super) fn turn() -> Option<Arc<Mutex<()>>> {
    DESK.with(|desk| {
        desk.served
            .borrow()
            .as_ref()
            .and_then(|served| served.turn.clone())
    })
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
    pub(super) fn run(&self, orb: &Orb, sink: &mut Sink) -> Next {
        let inbox = self.inbox.borrow();
        let inbox = inbox.as_ref().expect("a connection is being served");
        self.in_upcall.set(true);
        let next = dispatch(orb, inbox.frame(), &self.session, sink);
        self.in_upcall.set(false);
        if self.handed_over.get() {
            Next::Close
        } else {
            next
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
        let turn = Arc::clone(served.turn.get_or_insert_default());
        let inbox = self.inbox.borrow().as_ref().map(Inbox::rest);
        let connection = Connection::of(
            served.id,
            Arc::clone(&served.link),
            inbox.expect("a connection is being served"),
            self.session.get(),
            Some(turn),
        );
        served.orb.registry().share(served.id);
        let (orb, home, id) = (served.orb.clone(), served.home.clone(), served.id);
        let started = std::thread::Builder::new()
            .name("oxorb-stand-in".to_owned())
            .spawn(move || {
                per_connection::stand_in(&orb, &home, connection);
                STAND_INS.fetch_sub(1, Ordering::Relaxed);
            });
        match started {
            Ok(_) => self.handed_over.set(true),
            Err(_) => {
                STAND_INS.fetch_sub(1, Ordering::Relaxed);
                served.orb.registry().leave(id);
            }
        }
    }
}

static STAND_INS: AtomicUsize = AtomicUsize::new(0);
