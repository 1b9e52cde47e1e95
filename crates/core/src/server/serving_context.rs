//! Serving context: what code deep inside an upcall needs of the connection whose request runs.
//!
//! A connection owns its inbox, its session and all else that a request touches; the thread that serves it has it by
//! `&mut`. What is called from within a servant has no such reference: a call to another server that has to look after
//! this connection while it waits, a value that takes memory of the client's share, the writer of the reply. For these a
//! thread-local points to the connection's shared parts, and holds what belongs to the one request that runs.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

use oxorb_giop::{Frame, Inbox, MessageType, Request, Wire};
use oxorb_transport::Link;

use super::client::Client;
use super::connection::{Connection, Lines};
use super::home::Home;
use super::host::{Host, Keeper};
use super::lane::Lane;
use super::line::OverLink;
use super::session::{Caller, Next};
use super::share::{Encoding, Values};
use super::status::Status;
use super::{Sink, admission, owed, takeover_thread};
use crate::Incident;
use crate::budget::Desk;
use crate::conn::{Turn, serve_beside};
use crate::shared::Shared;

/// Octets of a request that is kept to be answered later which are not counted.
const HEAD: usize = 512;

/// Serving context of a thread.
#[derive(Default)]
pub(super) struct ServingContext {
    pub(super) served: RefCell<Option<Served>>,
    /// Number of the request that runs.
    request: Cell<Option<u32>>,
    /// Phase of the request while another thread may take the connection over; otherwise 0.
    pub(super) running: Cell<u64>,
    /// Whether another thread has taken over.
    pub(super) handed_over: Cell<bool>,
    /// Whether that is a takeover thread of this request, which counts until the request has ended.
    pub(super) stood_aside: Cell<bool>,
    /// The request was taken off its connection.
    pub(super) detached: Cell<bool>,
    /// Requests may be for other threads.
    pub(super) assigns: Cell<bool>,
    /// The requests of this client are counted.
    pub(super) counted: Cell<bool>,
    /// Whether requests of the client are counted, or may have a budget.
    pub(super) limited: Cell<bool>,
    /// The thread is of the lane that requests beyond their budgets go to.
    pub(super) lowest: Cell<bool>,
    /// The thread serves this connection alone.
    pub(super) own: Cell<bool>,
    /// State of budgets in the thread.
    pub(super) desk: Desk,
    /// The request has taken memory of the client's share, or a turn to encode.
    took: Cell<bool>,
    /// Memory that its values take of the client's share.
    values: Cell<Option<Values>>,
    /// The turn to encode a large reply.
    pub(super) encoding: Cell<Option<Encoding>>,
    /// Takes a request out of an inbox while others wait behind it; kept for its memory.
    pub(super) single: RefCell<Option<Inbox>>,
}

/// Connection that a thread serves, and its owner.
pub(super) struct Served {
    pub(super) orb: Arc<dyn Keeper>,
    pub(super) id: u64,
    pub(super) link: Arc<dyn Link>,
    pub(super) home: Home,
    pub(super) lines: Lines,
}

crate::sync::thread_local! {
    static CONTEXT: ServingContext = ServingContext::default();
}

/// Calls `serve` with this thread's serving context, which points to `connection` meanwhile. Returns its result, and
/// whether another thread has the connection now.
pub(super) fn serving<R>(
    orb: &impl Host,
    home: &Home,
    connection: &mut Connection,
    serve: impl FnOnce(&ServingContext, &mut Connection) -> R,
) -> (R, bool) {
    serve_beside(&takeover_thread::BESIDE);
    CONTEXT.with(|context| {
        let detached = connection.is_detached();
        context.request.set(None);
        context.running.set(0);
        context.detached.set(detached);
        // Who reads on after a request that was taken off its connection is another thread as well.
        context.handed_over.set(detached);
        let options = orb.options();
        let filtered = !options.thread_filters.is_empty();
        let dispatched = orb.modules().is_some();
        let budgeted = orb.shared().budgets.is_some();
        let demotes = budgeted && !detached && home.lowest().is_some();
        context.assigns.set(filtered || dispatched || demotes || home.assigns().is_some());
        let limited = options.max_requests_per_client.is_some();
        let counted = limited && connection.lines.status.client.is_some();
        context.counted.set(counted);
        context.limited.set(counted || budgeted);
        context.lowest.set(budgeted && home.is_lowest());
        context.own.set(matches!(home, Home::Thread(_)) && !detached);
        context.served.replace(Some(Served {
            orb: orb.keeper(),
            id: connection.id,
            link: Arc::clone(&connection.link),
            home: home.clone(),
            lines: connection.lines.clone(),
        }));
        let result = serve(context, connection);
        context.served.take();
        context.desk.rise();
        (result, context.handed_over.get())
    })
}

/// Calls `look` with the serving context of this thread.
pub(super) fn with<R>(look: impl FnOnce(&ServingContext) -> R) -> R {
    CONTEXT.with(look)
}

/// Takes memory for values that this thread reads: of the share of the client whose request it runs, if it runs one.
pub(crate) fn afford(shared: &Shared, octets: usize) -> bool {
    with(|context| context.afford(shared, octets))
}

/// Takes over what the values of the request that this thread runs have taken, and `octets` more. `Err`: those do not
/// fit.
pub(crate) fn values_of_request(shared: &Shared, octets: usize) -> Result<Option<Values>, ()> {
    with(|context| match octets <= HEAD || context.afford(shared, octets) {
        true => Ok(context.values.take()),
        false => Err(()),
    })
}

/// Called before a thread enlarges the buffer of a large message, to so many octets.
pub(crate) fn encodes(octets: usize) {
    let _ = CONTEXT.try_with(|context| context.encodes(octets));
}

/// Ends the turn to encode: the reply of the request that this thread runs is whole.
pub(super) fn encoded() -> Option<Encoding> {
    with(|context| context.encoding.take())
}

/// Remembers the size of the reply to the request that this thread runs.
pub(super) fn remember_reply(client: &Client, request: &Request<'_>, octets: usize) {
    if with(|context| context.request.get()) == Some(request.id) {
        owed::remember(client, admission::hash(request), octets);
    }
}

/// Returns the write lock of the connection that this thread serves; `None` while nobody else could write to it.
#[inline]
pub(super) fn turn() -> Option<Arc<Turn>> {
    with(|context| {
        let served = context.served.borrow();
        let status = &*served.as_ref()?.lines.status;
        // From here on nobody takes the connection over, so that nobody else begins to write.
        context.take_back(status);
        status.turn().cloned()
    })
}

/// Returns the threadpool to whose port the request came that this thread serves.
pub(crate) fn pool() -> Option<u32> {
    with(|context| context.served.borrow().as_ref()?.lines.pool)
}

/// Returns a share of the connection that this thread serves, for the answer to its request `id`, which comes later and
/// from any thread; `None` if it is not that of `link`.
pub(super) fn keep(link: &Arc<dyn Link>, id: u32, wire: Wire) -> Option<OverLink> {
    with(|context| {
        let served = context.served.borrow();
        let served = served.as_ref().filter(|served| Arc::ptr_eq(&served.link, link))?;
        let status = &served.lines.status;
        let turn = Arc::clone(status.turns());
        turn.begin(id);
        status.share_unanswered();
        let counted = status.client.clone().filter(|_| context.counted.get());
        Some(OverLink {
            orb: Arc::clone(&served.orb),
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

/// Calls `look` with the connection of the request that this thread serves, if it serves one.
pub(super) fn connection<R>(look: impl FnOnce(&dyn Link, Weak<Status>) -> R) -> Option<R> {
    with(|context| {
        context.request()?;
        let served = context.served.borrow();
        let served = served.as_ref()?;
        Some(look(&*served.link, Arc::downgrade(&served.lines.status)))
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
    with(ServingContext::is_cancelled)
}

impl Connection {
    /// Serves the message that the inbox announces.
    #[inline(always)]
    pub(super) fn run(&mut self, orb: &impl Host, context: &ServingContext) -> Next {
        let (caller, inbox, sink) = self.parts(context);
        let (frame, status) = (inbox.frame(), &caller.lines.status);
        if inbox.mid_message()
            || status.is_shared()
            || !is_upcall(frame.header.kind)
            || context.detached.get()
        {
            return self.run_among_others(orb, context);
        }
        let id = frame.request_id();
        context.running.set(status.begins(id));
        let next = context.upcall(orb, inbox, &frame, id, caller, sink);
        match context.take_back(&self.lines.status) {
            true => next,
            false => finished(&self.lines.status, context, id),
        }
    }
}

impl ServingContext {
    /// Runs the request that `frame` is, with the number `id`, which `inbox` announces.
    #[inline(always)]
    pub(super) fn upcall(
        &self,
        orb: &impl Host,
        inbox: &Inbox,
        frame: &Frame<'_>,
        id: u32,
        caller: Caller<'_>,
        sink: &mut Sink,
    ) -> Next {
        self.request.set(Some(id));
        let next = orb.dispatch(inbox, frame, caller, sink);
        self.request.set(None);
        if self.took.get() {
            self.give_back();
        }
        next
    }

    /// Keeps others from taking the connection over from now on. Returns whether this thread still
    /// has it.
    #[inline]
    pub(super) fn take_back(&self, status: &Status) -> bool {
        match self.running.replace(0) {
            0 => !self.handed_over.get(),
            word if status.ends(word) => true,
            _ => {
                self.handed_over.set(true);
                false
            }
        }
    }

    /// Takes memory of the client's share for values of the request that is being run.
    fn afford(&self, shared: &Shared, octets: usize) -> bool {
        if shared.options.max_octets_per_client.is_none() || self.request().is_none() {
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
            let served = self.served.borrow();
            let peer = || served.as_ref().map_or_else(String::new, |it| it.link.peer());
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

    /// Waits for its turn before a buffer has so many octets, if it is that of a reply, or of a
    /// call within the request.
    fn encodes(&self, octets: usize) {
        if let Some(mut encoding) = self.encoding.take() {
            encoding.counts(octets);
            return self.encoding.set(Some(encoding));
        }
        let own_thread = || {
            let served = self.served.borrow();
            served.as_ref().is_some_and(|served| matches!(served.home, Home::Thread(_)))
        };
        if self.request().is_some()
            && own_thread()
            && let Some(client) = self.client()
        {
            let mut encoding = Encoding::begin(client);
            encoding.counts(octets);
            self.encoding.set(Some(encoding));
            self.took.set(true);
        }
    }

    fn is_cancelled(&self) -> bool {
        let Some(id) = self.request() else {
            return false;
        };
        let served = self.served.borrow();
        let Some(served) = served.as_ref() else {
            return false;
        };
        let status = &served.lines.status;
        let running = self.running.get();
        let taken = running != 0 && !status.reads(running);
        if self.handed_over.get() || taken {
            return status.turn().is_some_and(|turn| turn.is_cancelled(id));
        }
        let behind = status.behind.lock();
        if behind.as_ref().is_some_and(|inbox| inbox.is_cancelled(id)) {
            return true;
        }
        drop(behind);
        if served.link.has_input().unwrap_or(true) {
            self.hand_over();
        }
        false
    }

    /// Returns the number of the request that runs.
    #[inline]
    pub(super) fn request(&self) -> Option<u32> {
        self.request.get()
    }

    /// Returns the account of the client that is served.
    pub(super) fn client(&self) -> Option<Arc<Client>> {
        self.served.borrow().as_ref()?.lines.status.client.clone()
    }

    /// Returns the lane that the connection goes back to when it is silent, and its number there.
    pub(super) fn lane(&self) -> Option<(Weak<Lane>, u64)> {
        let served = self.served.borrow();
        let served = served.as_ref()?;
        match &served.home {
            Home::Lane(lane) => Some((Arc::downgrade(lane), served.id)),
            Home::Thread(_) => None,
        }
    }
}

/// Ends a request that ran while another thread took the connection over.
#[cold]
pub(super) fn finished(status: &Status, context: &ServingContext, request: u32) -> Next {
    status.goes_no_more(request);
    context.needs_no_takeover_thread();
    Next::Close
}

/// Whether it makes an upcall.
#[inline]
pub(super) fn is_upcall(kind: MessageType) -> bool {
    kind == MessageType::REQUEST || kind == MessageType::LOCATE_REQUEST
}
