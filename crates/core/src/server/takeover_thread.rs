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
use std::time::Duration;

use oxorb_sys::thread::ThreadPurpose;
use oxorb_transport::Link;

use super::connection::Connection;
use super::connection_owner::ConnectionOwner;
use super::per_connection;
use super::serve;
use super::serving_context::{self, ServingContext};
use super::status::Status;
use crate::Orb;
use crate::conn::{BlockingHooks, CancelWatch, NestedCall};
use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::attributed;
use crate::threads::sync::uncontrolled::atomic::{AtomicUsize, Ordering};

/// Maximum number of takeover threads in a process, and so the depth of nested callbacks over all connections before
/// further requests wait until a takeover thread has ended.
const MAX_TAKEOVER_THREADS: usize = 256;

/// Time between two attempts to start a takeover thread, for a thread that waits for a reply while its connection has
/// input.
const RETRY: Duration = Duration::from_millis(20);

/// Number of takeover threads in use.
static TAKEOVER_THREADS: AtomicUsize = AtomicUsize::new(0);

/// Actions of serving threads before they block.
pub(super) static HOOKS: BlockingHooks = BlockingHooks {
    step_aside: || {
        serving_context::with(|context| {
            drop(context.encoding.take());
            if context.must_look() {
                // If no takeover thread can be had, the watching thread lets another thread read the connection.
                let _ = context.hand_over();
            }
        });
    },
    step_aside_for_answer: || {
        serving_context::with(|context| {
            drop(context.encoding.take());
            !context.must_look() || context.awaits_answer() && context.hand_over()
        })
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
/// While the ORB shuts down, clients wait for the answers to running requests, so the result is
/// false for these. Only connections that clients offer for callbacks are still read, so the ORB
/// then does not notice other clients that leave. The result becomes true once the shutdown has
/// closed the connection, after 30 s. A servant that should end earlier also checks
/// [`Orb::is_closing`].
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

    /// Reports whether a call of this side over the served connection waits for its answer.
    fn awaits_answer(&self) -> bool {
        let served = self.served.borrow();
        served.as_ref().is_some_and(|served| served.common.status.awaits_answer())
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
        !arrived || self.hand_over() || self.retry_beside(reply, limit)
    }

    /// Tries again to start a takeover thread, until `reply` has input, `limit` has passed, or another thread reads the
    /// connection. Returns false without waiting if the system cannot report input of `reply`.
    fn retry_beside(&self, reply: &dyn Link, limit: Option<Duration>) -> bool {
        let Some(reply) = reply.poll_fd() else {
            return false;
        };
        let began = clock::now();
        loop {
            let left = limit.map_or(RETRY, |limit| limit.saturating_sub(clock::since(began)));
            let replied = oxorb_sys::poll::readable(reply, Some(left.min(RETRY))).unwrap_or(true);
            if replied || left.is_zero() || self.hand_over() {
                return true;
            }
        }
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
        if self.has_been_taken_over(status) {
            return status.turn().is_some_and(|turn| turn.is_cancelled(id));
        }
        let behind = status.behind.lock();
        if behind.as_ref().is_some_and(|inbox| inbox.is_cancelled(id)) {
            return true;
        }
        drop(behind);
        if served.link.has_input().unwrap_or(true) {
            let _ = self.hand_over();
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

    /// Starts a takeover thread, unless another thread has taken over already. Returns false if the connection has no
    /// other reader, because the limit of takeover threads is reached or the system provides no thread. Nothing has
    /// changed then; in particular, the watching thread may still take the connection over.
    fn hand_over(&self) -> bool {
        let served = self.served.borrow();
        let (Some(served), Some(orb)) = (served.as_ref(), serve::orb()) else {
            return true;
        };
        let status = &served.common.status;
        if !take_room() {
            let is_gone = self.has_been_taken_over(status);
            if is_gone {
                // This thread need not look at the connection any more.
                self.handed_over.set(true);
            }
            return is_gone;
        }
        let was_running = self.running.get() != 0;
        let request = self.request().unwrap_or_default();
        // The request counts before it no longer runs in the reading thread, so that it is always found.
        status.goes_beside(request);
        if !self.take_back(status) {
            status.goes_no_more(request);
            give_room();
            return true;
        }
        let inbox = status.behind.lock().take();
        let others_arrived = inbox.is_some();
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
                true
            }
            Err(back) => {
                give_room();
                if let Some(back) = back.filter(|_| others_arrived) {
                    *status.behind.lock() = Some(back.inbox);
                }
                status.leave();
                if let Some(lane) = lane {
                    lane.rearm(&served.link, served.id);
                }
                if was_running {
                    self.running.set(status.begins(request));
                }
                status.goes_no_more(request);
                false
            }
        }
    }

    /// Reports whether another thread has taken the connection over from the running request.
    fn has_been_taken_over(&self, status: &Status) -> bool {
        let running = self.running.get();
        self.handed_over.get() || running != 0 && !status.reads(running)
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

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use std::io::IoSlice;
    use std::sync::atomic::AtomicBool;

    use oxorb_testkit::process::alone;
    use oxorb_transport::mem::{self, MemLink};

    use super::super::assigned::PING;
    use super::super::connection::Ahead;
    use super::*;
    use crate::Options;

    const ID: u32 = 6;

    /// Takes all room for takeover threads, until the guard is dropped.
    struct NoRoom(usize);

    impl NoRoom {
        fn take() -> NoRoom {
            let mut taken = 0;
            while take_room() {
                taken += 1;
            }
            NoRoom(taken)
        }
    }

    impl Drop for NoRoom {
        fn drop(&mut self) {
            (0..self.0).for_each(|_| give_room());
        }
    }

    /// Calls `act` in a thread that runs the request [`ID`], with its serving context, the status of its connection and
    /// the client's end. Then ends the request.
    fn within_request(act: impl FnOnce(&ServingContext, &Status, &MemLink)) {
        let orb = Orb::new(Options::default());
        let (server, client) = mem::pair(4096);
        let link: Arc<dyn Link> = Arc::new(server);
        let admitted = orb.registry().admit(&link, orb.options()).ok().unwrap();
        let mut connection = Connection::new(orb.options(), admitted, link, Some(0));
        client.write(&mut [IoSlice::new(PING)]).unwrap();
        assert!(matches!(connection.read_ahead(orb.server()), Ahead::Message(Some(_))));
        connection.inbox.poll().unwrap().unwrap();
        let owner = ConnectionOwner::Thread(None);
        let ((), handed_over) = serve::serving(&orb, &owner, &mut connection, |context, served| {
            let status = Arc::clone(&served.common.status);
            context.running.set(status.begins(ID));
            context.request.set(Some(ID));
            act(context, &status, &client);
            context.request_ended();
            if !context.take_back(&status) {
                served.finished(context, ID);
            }
        });
        assert!(handed_over, "a takeover thread reads the connection in the end");
        connection.leave(orb.server());
        orb.shutdown(true).unwrap();
        assert_eq!(TAKEOVER_THREADS.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn a_connection_without_room_for_a_takeover_thread_can_still_be_taken_over() {
        if !alone(a_connection_without_room_for_a_takeover_thread_can_still_be_taken_over) {
            return;
        }
        within_request(|context, status, _| {
            let all = NoRoom::take();
            assert_eq!(all.0, MAX_TAKEOVER_THREADS);
            assert!(!context.hand_over());
            assert!(!context.handed_over.get());
            assert!(status.reads(context.running.get()), "the watching thread can take it over");
            assert_eq!(status.under_way(), 0);
            drop(all);
            assert!(context.hand_over());
            assert!(context.handed_over.get());
            assert_eq!(status.under_way(), 1);
        });
    }

    /// A shutdown that found no request would end the reading of replies.
    #[test]
    fn a_request_is_found_while_its_connection_is_handed_over() {
        if !alone(a_request_is_found_while_its_connection_is_handed_over) {
            return;
        }
        for _ in 0..100 {
            within_request(|context, status, _| {
                let (looks, over) = (AtomicBool::new(false), AtomicBool::new(false));
                std::thread::scope(|scope| {
                    let looking = scope.spawn(|| {
                        let mut always = true;
                        while !over.load(Ordering::SeqCst) {
                            always &= status.has_requests();
                            looks.store(true, Ordering::SeqCst);
                        }
                        always
                    });
                    while !looks.load(Ordering::SeqCst) {
                        std::thread::yield_now();
                    }
                    assert!(context.hand_over());
                    over.store(true, Ordering::SeqCst);
                    assert!(looking.join().unwrap());
                });
            });
        }
    }

    #[test]
    fn a_taken_over_connection_needs_no_takeover_thread() {
        if !alone(a_taken_over_connection_needs_no_takeover_thread) {
            return;
        }
        within_request(|context, status, _| {
            let all = NoRoom::take();
            status.share();
            assert!(status.take_over(context.running.get()));
            assert!(context.hand_over(), "another thread reads it");
            assert!(!context.stood_aside.get());
            drop(all);
            // This test is the other thread.
            assert!(!status.leave());
        });
    }

    #[test]
    fn a_thread_that_waits_for_a_reply_tries_again_until_there_is_room() {
        if !alone(a_thread_that_waits_for_a_reply_tries_again_until_there_is_room) {
            return;
        }
        let (reply, _silent) = mem::pair(64);
        within_request(|context, status, client| {
            let all = NoRoom::take();
            client.write(&mut [IoSlice::new(b"G")]).unwrap();
            assert!(context.wait_beside(&reply, Some(3 * RETRY)));
            assert!(!context.handed_over.get() && status.reads(context.running.get()));
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    crate::threads::sync::thread::sleep(2 * RETRY);
                    drop(all);
                });
                assert!(context.wait_beside(&reply, None));
            });
            assert!(context.handed_over.get());
        });
    }
}
