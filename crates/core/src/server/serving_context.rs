//! Serving context: state of a connection for code inside an upcall.
//!
//! A connection owns its inbox, its session and everything else that a request uses; the thread that serves it has it
//! by `&mut`. Code called by a servant has no such reference: a call to another server that has to watch this
//! connection while it waits, a value that takes memory of the client's share, the writer of the reply. For these a
//! thread-local variable points to the connection's shared parts, and holds the state of the request that runs.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};

use oxorb_giop::{Inbox, Request, Wire};
use oxorb_transport::Link;

use super::client::Client;
use super::connection::ConnectionShared;
use super::connection_owner::ConnectionOwner;
use super::deferred_reply::OverLink;
use super::lane::Lane;
use super::reply_memory;
use super::share::{Encoding, Values};
use super::side::ServerSide;
use super::status::Status;
use crate::Incident;
use crate::conn::Turn;
use crate::scheduler::budget::Desk;
use crate::shared::Shared;

/// Size in octets up to which a request kept for a later answer is not counted.
const HEAD: usize = 512;

/// Serving context of a thread.
#[derive(Default)]
pub(super) struct ServingContext {
    pub(super) served: RefCell<Option<ServedConnection>>,
    /// Id of the request that runs.
    pub(super) request: Cell<Option<u32>>,
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
    pub(super) id: u64,
    pub(super) link: Arc<dyn Link>,
    pub(super) owner: ConnectionOwner,
    pub(super) common: ConnectionShared,
}

crate::threads::sync::thread_local! {
    static CONTEXT: ServingContext = ServingContext::default();
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
        reply_memory::remember(client, reply_memory::operation(request), octets);
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
pub(super) fn keep(
    side: &Arc<ServerSide>,
    link: &Arc<dyn Link>,
    id: u32,
    wire: Wire,
) -> Option<OverLink> {
    with(|context| {
        let served = context.served.borrow();
        let served = served.as_ref().filter(|served| Arc::ptr_eq(&served.link, link))?;
        let status = &served.common.status;
        let turn = Arc::clone(status.turns());
        turn.begin(id);
        status.share_unanswered();
        let counted = status.client.clone().filter(|_| context.counted.get());
        Some(OverLink {
            side: Arc::clone(side),
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

impl ServingContext {
    /// Records the end of the running request.
    #[inline(always)]
    pub(super) fn request_ended(&self) {
        self.request.set(None);
        if self.took.get() {
            self.give_back();
        }
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
