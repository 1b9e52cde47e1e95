//! Takeover threads: readers of connections whose threads wait inside an upcall.
//!
//! The thread that reads a connection also runs its requests. If a servant makes a call whose answer depends on a
//! further request over the same connection, because the client multiplexes it (JacORB, TAO and other Java ORBs send
//! all calls of a process over one connection), no thread would read that request, and each side would wait for the
//! other. Therefore a thread that waits for a reply inside an upcall also watches its connection. As soon as input
//! arrives there, a takeover thread reads the connection from then on; the first thread answers its request and leaves
//! the connection.
//!
//! A takeover thread of a lane returns the connection to the lane once no request runs concurrently and no call is
//! outstanding: until then all threads of the lane may wait for input of the connection.
//!
//! A connection whose client waits for each answer, as OxORB's and omniORB's do, never needs a takeover thread. A call
//! outside of an upcall costs one access to a thread-local variable.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use oxorb_sys::thread::ThreadPurpose;
use oxorb_transport::Link;

use super::connection::Connection;
use super::connection_owner::ConnectionOwner;
use super::per_connection;
use super::serve;
use super::serving_context::{self, ServingContext};
use crate::Orb;
use crate::conn::{BlockingHooks, CancelWatch, NestedCall};
use crate::threads::lock::Mutex;
use crate::threads::sync::attributed;

/// Maximum number of takeover threads in a process, and so the depth of nested callbacks over all connections before
/// further requests wait for their time-out.
const MAX_TAKEOVER_THREADS: usize = 256;

/// Number of takeover threads in use.
static TAKEOVER_THREADS: AtomicUsize = AtomicUsize::new(0);

/// Actions of serving threads before they block.
pub(super) static HOOKS: BlockingHooks = BlockingHooks {
    step_aside: || {
        serving_context::with(|context| {
            drop(context.encoding.take());
            if context.must_look() {
                context.hand_over();
            }
        });
    },
    wait: |reply, limit| {
        serving_context::with(|context| context.must_look() && context.wait_beside(reply, limit))
    },
    watch: |call| serving_context::with(|context| context.watch(call)),
};

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
    serving_context::with(ServingContext::is_cancelled)
}

impl ServingContext {
    #[inline]
    fn must_look(&self) -> bool {
        self.request().is_some() && !self.handed_over.get()
    }

    #[cold]
    fn wait_beside(&self, reply: &dyn Link, limit: Option<Duration>) -> bool {
        drop(self.encoding.take());
        let own = {
            let served = self.served.borrow();
            let Some(served) = served.as_ref() else {
                return false;
            };
            let behind = served.common.status.behind.lock();
            // If messages had already arrived after the running request, there is no need to wait for input.
            behind.is_none().then(|| Arc::clone(&served.link))
        };
        let arrived = match (own.as_ref().and_then(|own| own.poll_fd()), reply.poll_fd()) {
            _ if own.as_ref().is_some_and(|own| own.pending()) => true,
            _ if reply.pending() => false,
            (Some(own), Some(reply)) => {
                oxorb_sys::poll::first_readable(own, reply, limit).is_ok_and(|ready| ready.0)
            }
            _ => true,
        };
        if arrived {
            self.hand_over();
        }
        true
    }

    /// Reports whether the client no longer waits for the answer to the running request.
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

    /// Registers a call to be cancelled with the request that runs.
    #[cold]
    fn watch(&self, call: Arc<dyn NestedCall>) -> Option<CancelWatch> {
        let id = self.request()?;
        let turn = {
            let served = self.served.borrow();
            Arc::clone(served.as_ref()?.common.status.turns())
        };
        Some(turn.watch(id, call))
    }

    /// Stops counting the takeover thread of a request that has ended: the new reader is the connection's regular
    /// thread.
    pub(super) fn needs_no_takeover_thread(&self) {
        if self.stood_aside.take() {
            give_room();
        }
    }

    /// Starts a takeover thread, unless another thread has taken over already. If the system provides no thread,
    /// nothing changes.
    fn hand_over(&self) {
        let served = self.served.borrow();
        let (Some(served), Some(orb)) = (served.as_ref(), serve::orb()) else {
            return;
        };
        let status = &served.common.status;
        if !self.take_back(status) {
            return;
        }
        if !take_room() {
            return;
        }
        let request = self.request().unwrap_or_default();
        status.goes_beside(request);
        let inbox = status.behind.lock().take();
        let session = *status.session.lock();
        let connection = Connection::of(
            served.id,
            Arc::clone(&served.link),
            inbox.unwrap_or_else(|| status.inbox(&orb.options().limits)),
            session,
            served.common.clone(),
            false,
        );
        status.share();
        let lane = match &served.owner {
            ConnectionOwner::Lane(lane) if lane.polls_alone() => Some(lane),
            _ => None,
        };
        if let Some(lane) = lane {
            lane.disarm(&served.link, served.id);
        }
        let owner = served.owner.clone();
        let (purpose, name) = (ThreadPurpose::Takeover, "oxorb-stand-in");
        let builder = match &owner {
            ConnectionOwner::Thread(None) => orb.shared().threads.builder(purpose, name, None),
            ConnectionOwner::Thread(Some(lane)) | ConnectionOwner::Lane(lane) => {
                lane.builder(orb.shared(), purpose, name)
            }
        };
        match start(builder, &orb, owner, connection, || {}) {
            Ok(()) => {
                self.handed_over.set(true);
                self.stood_aside.set(true);
            }
            Err(back) => {
                give_room();
                if let Some(back) = back {
                    *status.behind.lock() = Some(back.inbox);
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

/// Starts a thread that serves `connection` and then calls `last`. Returns the connection if the system provides no
/// thread.
pub(super) fn start(
    builder: attributed::Builder,
    orb: &Orb,
    owner: ConnectionOwner,
    connection: Connection,
    last: fn(),
) -> Result<(), Option<Box<Connection>>> {
    // The connection is kept here until the thread exists, so that it can be returned if no thread can be started.
    let handed = Arc::new(Mutex::new(Some(connection)));
    let (taken, orb) = (Arc::clone(&handed), orb.clone());
    let started = builder.spawn(move || {
        let connection = taken.lock().take();
        if let Some(connection) = connection {
            per_connection::take_over(&orb, &owner, connection);
        }
        last();
    });
    let back = |_| handed.lock().take().map(Box::new);
    started.map(drop).map_err(back)
}

/// Counts one more takeover thread; returns false if their number is at its limit.
pub(super) fn take_room() -> bool {
    let room = TAKEOVER_THREADS.fetch_add(1, Ordering::Relaxed) < MAX_TAKEOVER_THREADS;
    if !room {
        give_room();
    }
    room
}

/// Counts one takeover thread less.
pub(super) fn give_room() {
    TAKEOVER_THREADS.fetch_sub(1, Ordering::Relaxed);
}
