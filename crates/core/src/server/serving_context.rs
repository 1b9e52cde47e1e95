//! Serving context: state of a connection for code inside an upcall.
//!
//! A connection owns its inbox, its session and everything else that a request uses; the thread that serves it has it
//! by `&mut`. Code called by a servant has no such reference: a call to another server that has to watch this
//! connection while it waits, a value that takes memory of the client's share, the writer of the reply. For these a
//! thread-local variable points to the connection's shared parts, and holds the state of the request that runs.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

use oxorb_giop::{Frame, Inbox, MessageType, Request, Wire};
use oxorb_transport::Link;

use super::client::Client;
use super::connection::{Connection, ConnectionShared};
use super::connection_owner::ConnectionOwner;
use super::deferred_reply::OverLink;
use super::host::{Host, Keeper};
use super::lane::Lane;
use super::session::{Caller, SessionStep};
use super::share::{Encoding, Values};
use super::status::Status;
use super::{Sink, admission, reply_memory, takeover_thread};
use crate::Incident;
use crate::conn::{Turn, serve_beside};
use crate::scheduler::budget::Desk;
use crate::shared::Shared;

/// Size in octets up to which a request kept for a later answer is not counted.
const HEAD: usize = 512;

/// Serving context of a thread.
#[derive(Default)]
pub(super) struct ServingContext {
    pub(super) served: RefCell<Option<ServedConnection>>,
    /// Id of the request that runs.
    request: Cell<Option<u32>>,
    /// Phase of the request while another thread may take the connection over; 0 otherwise.
    pub(super) running: Cell<u64>,
    /// Whether another thread has taken the connection over.
    pub(super) handed_over: Cell<bool>,
    /// Whether the thread has started a takeover thread for the request, which counts until the request ends.
    pub(super) stood_aside: Cell<bool>,
    /// Whether the request was taken off its connection.
    pub(super) detached: Cell<bool>,
    /// Whether requests may be assigned to other threads.
    pub(super) assigns: Cell<bool>,
    /// Whether the client's running requests are counted.
    pub(super) counted: Cell<bool>,
    /// Whether the client's running requests are counted or may have budgets.
    pub(super) limited: Cell<bool>,
    /// Whether the thread belongs to the lane for requests beyond their budgets.
    pub(super) lowest: Cell<bool>,
    /// Whether the thread serves only this connection.
    pub(super) own: Cell<bool>,
    /// Number of threads that share the budgets of their lane with the thread, itself included.
    pub(super) threads: Cell<usize>,
    /// State of budgets in the thread.
    pub(super) desk: Desk,
    /// Whether the request has taken memory of the client's share, or a turn to encode.
    took: Cell<bool>,
    /// Memory of the client's share that the request's values take.
    values: Cell<Option<Values>>,
    /// Turn to encode a large reply.
    pub(super) encoding: Cell<Option<Encoding>>,
    /// Inbox for a single request while others are buffered behind it; kept so that its allocation is reused.
    pub(super) single: RefCell<Option<Inbox>>,
}

/// Connection that a thread serves, and its owner.
pub(super) struct ServedConnection {
    pub(super) orb: Arc<dyn Keeper>,
    pub(super) id: u64,
    pub(super) link: Arc<dyn Link>,
    pub(super) owner: ConnectionOwner,
    pub(super) common: ConnectionShared,
}

crate::threads::sync::thread_local! {
    static CONTEXT: ServingContext = ServingContext::default();
}

/// Calls `serve` with this thread's serving context, which points to `connection` meanwhile. Returns the result, and
/// whether another thread has the connection now.
pub(super) fn serving<R>(
    orb: &impl Host,
    owner: &ConnectionOwner,
    connection: &mut Connection,
    serve: impl FnOnce(&ServingContext, &mut Connection) -> R,
) -> (R, bool) {
    serve_beside(&takeover_thread::HOOKS);
    CONTEXT.with(|context| {
        let detached = connection.is_detached();
        context.request.set(None);
        context.running.set(0);
        context.detached.set(detached);
        // If the request was taken off its connection, another thread already reads the connection.
        context.handed_over.set(detached);
        let options = orb.options();
        let filtered = !options.thread_filters.is_empty();
        let shared = options.realtime.lanes_on_one_port && !detached;
        let dispatched = orb.modules().is_some();
        let budgeted = orb.shared().budgets.is_some();
        let demotes = budgeted && !detached && owner.lowest().is_some();
        let assigned = owner.assigns().is_some();
        context.assigns.set(filtered || shared || dispatched || demotes || assigned);
        let limited = options.max_requests_per_client.is_some();
        let counted = limited && connection.common.status.client.is_some();
        context.counted.set(counted);
        context.limited.set(counted || budgeted);
        context.lowest.set(budgeted && owner.is_lowest());
        context.own.set(matches!(owner, ConnectionOwner::Thread(_)) && !detached);
        context.threads.set(owner.threads());
        context.served.replace(Some(ServedConnection {
            orb: orb.keeper(),
            id: connection.id,
            link: Arc::clone(&connection.link),
            owner: owner.clone(),
            common: connection.common.clone(),
        }));
        let result = serve(context, connection);
        context.served.take();
        context.desk.rise();
        (result, context.handed_over.get())
    })
}

/// Calls `look` with this thread's serving context.
pub(super) fn with<R>(look: impl FnOnce(&ServingContext) -> R) -> R {
    CONTEXT.with(look)
}

/// Takes memory for values that this thread decodes, from the share of the client whose request it runs, if any.
pub(crate) fn afford(shared: &Shared, octets: usize) -> bool {
    with(|context| context.afford(shared, octets))
}

/// Returns the memory taken for the values of this thread's request, and `octets` more. `Err` if those exceed the
/// share.
pub(crate) fn values_of_request(shared: &Shared, octets: usize) -> Result<Option<Values>, ()> {
    with(|context| match octets <= HEAD || context.afford(shared, octets) {
        true => Ok(context.values.take()),
        false => Err(()),
    })
}

/// Called before a thread enlarges the buffer of a large message to `octets`.
pub(crate) fn encodes(octets: usize) {
    let _ = CONTEXT.try_with(|context| context.encodes(octets));
}

/// Ends the turn to encode: the reply of this thread's request is complete.
pub(super) fn encoded() -> Option<Encoding> {
    with(|context| context.encoding.take())
}

/// Records the size of the reply to this thread's request.
pub(super) fn remember_reply(client: &Client, request: &Request<'_>, octets: usize) {
    if with(|context| context.request.get()) == Some(request.id) {
        reply_memory::remember(client, admission::hash(request), octets);
    }
}

/// Returns the write lock of the connection that this thread serves; `None` while no other thread can write to it.
#[inline]
pub(super) fn turn() -> Option<Arc<Turn>> {
    with(|context| {
        let served = context.served.borrow();
        let status = &*served.as_ref()?.common.status;
        // After this no other thread can take the connection over, so none can begin to write.
        context.take_back(status);
        status.turn().cloned()
    })
}

/// Returns the threadpool whose port received the request that this thread serves.
pub(crate) fn pool() -> Option<u32> {
    with(|context| context.served.borrow().as_ref()?.common.pool)
}

/// Returns a share of the connection that this thread serves, for a later answer to its request `id` from any thread;
/// `None` if `link` is another connection.
pub(super) fn keep(link: &Arc<dyn Link>, id: u32, wire: Wire) -> Option<OverLink> {
    with(|context| {
        let served = context.served.borrow();
        let served = served.as_ref().filter(|served| Arc::ptr_eq(&served.link, link))?;
        let status = &served.common.status;
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
            common: served.common.clone(),
            turn,
            counted,
        })
    })
}

/// Calls `look` with the connection of the request that this thread serves, if any.
pub(super) fn connection<R>(look: impl FnOnce(&dyn Link, Weak<Status>) -> R) -> Option<R> {
    with(|context| {
        context.request()?;
        let served = context.served.borrow();
        let served = served.as_ref()?;
        Some(look(&*served.link, Arc::downgrade(&served.common.status)))
    })
}

/// Reports whether the client of the request that this thread serves no longer waits for the
/// answer: it has cancelled the request, or closed the connection.
///
/// For servants with long operations that can be abandoned. Costs a system call. Once input has
/// arrived over the connection, another thread reads the connection, so a cancellation may be
/// reported only by the next call. False in a thread that serves no request received over a
/// connection.
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
    pub(super) fn run(&mut self, orb: &impl Host, context: &ServingContext) -> SessionStep {
        let (caller, inbox, sink) = self.parts(context);
        let (frame, status) = (inbox.frame(), &caller.common.status);
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
        match context.take_back(&self.common.status) {
            true => next,
            false => finished(&self.common.status, context, id),
        }
    }
}

impl ServingContext {
    /// Runs the request in `frame`, with the id `id`, which `inbox` announces.
    #[inline(always)]
    pub(super) fn upcall(
        &self,
        orb: &impl Host,
        inbox: &Inbox,
        frame: &Frame<'_>,
        id: u32,
        caller: Caller<'_>,
        sink: &mut Sink,
    ) -> SessionStep {
        self.request.set(Some(id));
        let next = orb.dispatch(inbox, frame, caller, sink);
        self.request.set(None);
        if self.took.get() {
            self.give_back();
        }
        next
    }

    /// Prevents other threads from taking the connection over. Returns whether this thread still
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

    /// Takes memory of the client's share for values of the running request.
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
            let what = || format!("values that need {octets} more octets were refused");
            shared.note(Incident::TooManyOctets, peer, what);
        }
        affordable
    }

    /// Releases the memory and the turn of the request that ended.
    #[cold]
    fn give_back(&self) {
        self.took.set(false);
        drop(self.encoding.take());
        drop(self.values.take());
    }

    /// Waits for the turn to encode before a buffer grows to `octets`, if the buffer is that of a
    /// reply or of a nested call.
    fn encodes(&self, octets: usize) {
        if let Some(mut encoding) = self.encoding.take() {
            encoding.counts(octets);
            return self.encoding.set(Some(encoding));
        }
        let own_thread = || {
            let served = self.served.borrow();
            served.as_ref().is_some_and(|served| matches!(served.owner, ConnectionOwner::Thread(_)))
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
        let status = &served.common.status;
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

    /// Returns the id of the running request.
    #[inline]
    pub(super) fn request(&self) -> Option<u32> {
        self.request.get()
    }

    /// Returns the client of the served connection.
    pub(super) fn client(&self) -> Option<Arc<Client>> {
        self.served.borrow().as_ref()?.common.status.client.clone()
    }

    /// Returns the lane that the connection returns to when it is silent, and its number there.
    pub(super) fn lane(&self) -> Option<(Weak<Lane>, u64)> {
        let served = self.served.borrow();
        let served = served.as_ref()?;
        match &served.owner {
            ConnectionOwner::Lane(lane) => Some((Arc::downgrade(lane), served.id)),
            ConnectionOwner::Thread(_) => None,
        }
    }
}

/// Ends a request during which another thread took the connection over.
#[cold]
pub(super) fn finished(status: &Status, context: &ServingContext, request: u32) -> SessionStep {
    status.goes_no_more(request);
    context.needs_no_takeover_thread();
    SessionStep::Close
}

/// Reports whether a message of this type makes an upcall.
#[inline]
pub(super) fn is_upcall(kind: MessageType) -> bool {
    kind == MessageType::REQUEST || kind == MessageType::LOCATE_REQUEST
}
