//! Has connections read whose threads are in long requests.
//!
//! A thread that runs a request does not see what comes over its connection meanwhile, and looking before each request
//! would cost each a system call. So one thread of the ORB looks now and then which connections are still in the request
//! that they were in before, and whether something waits there: such a connection is taken over, and known from then on
//! for one that carries several requests at a time (`side_by_side.rs`). While nothing comes to any connection, it sleeps.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use oxorb_giop::Inbox;
use oxorb_sys::thread::Purpose;

use super::connection::{Connection, Lines};
use super::home::Home;
use super::per_connection::leave;
use super::registry::LongRunning;
use super::stand_in::UNPOISONED;
use crate::Orb;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::thread::{self, Thread};

/// How often it looks while connections are busy and none is known for several requests at a time.
const SELDOM: Duration = Duration::from_millis(100);

/// How often it looks while a request runs that may be a long one.
const OFTEN: Duration = Duration::from_millis(5);

/// The thread that looks, once there is one.
#[derive(Default)]
pub(crate) struct Takeover {
    thread: OnceLock<Thread>,
    begun: AtomicBool,
    sleeps: AtomicBool,
}

impl Takeover {
    /// Starts the thread, unless it is there, or requests of one connection are served one after another. Without it
    /// connections are handed on only where requests lie behind each other.
    pub(super) fn start(&self, orb: &Orb) {
        // A model looks when it wants.
        if cfg!(all(test, feature = "model"))
            || orb.options().max_requests_per_connection <= 1
            || self.begun.load(Ordering::Relaxed)
            || self.begun.swap(true, Ordering::Relaxed)
        {
            return;
        }
        let orb = orb.clone();
        let threads = Arc::clone(orb.thread_factory());
        let started = threads.spawn(Purpose::Takeover, "oxorb-takeover", None, move || {
            watch(&orb)
        });
        if started.is_err() {
            self.begun.store(false, Ordering::Relaxed);
        }
    }

    /// Something came over a connection after a silence.
    pub(super) fn wakes(&self) {
        if self.sleeps.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// It looks at once, and so sees when the ORB ends.
    pub(crate) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    fn sleep(&self, orb: &Orb) {
        self.sleeps.store(true, Ordering::SeqCst);
        if !orb.is_closing() && !orb.registry().long_running().busy {
            thread::park();
        }
        self.sleeps.store(false, Ordering::SeqCst);
    }
}

fn watch(orb: &Orb) {
    let takeover = orb.takeover();
    let _ = takeover.thread.set(thread::current());
    while !orb.is_closing() {
        match look(orb) {
            Some(pause) => thread::park_timeout(pause),
            None => takeover.sleep(orb),
        }
    }
}

/// Looks once; how long to wait before the next time, `None`: until something comes over a connection.
pub(crate) fn look(orb: &Orb) -> Option<Duration> {
    let found = orb.registry().long_running();
    let often = found.running || found.shared || !found.long.is_empty();
    for one in found.long {
        let LongRunning {
            id,
            link,
            status,
            request,
        } = one;
        let waits = status.behind.lock().expect(UNPOISONED).is_some();
        let most = orb.options().max_requests_per_connection;
        if status.under_way() + 1 >= most || !waits && !link.has_input().unwrap_or(true) {
            continue;
        }
        let Some((home, pool)) = status
            .origin()
            .and_then(|origin| Some((origin.home.upgrade()?, origin.pool)))
        else {
            continue;
        };
        let buffering = match &home {
            Home::Lane(lane) if lane.buffers() => Some(lane),
            _ => None,
        };
        let reserved = home.reserve_thread(orb);
        if !reserved && buffering.is_none() {
            continue;
        }
        status.share();
        let taken = status.take_over(request);
        let inbox = match taken {
            true => status.behind.lock().expect(UNPOISONED).take(),
            false => None,
        };
        let inbox = inbox.unwrap_or_else(|| Inbox::new(&orb.options().limits));
        let session = *status.session.lock().expect(UNPOISONED);
        let lines = Lines { status, pool };
        let connection = Connection::of(id, link, inbox, session, lines, false);
        match (taken, buffering) {
            (true, Some(lane)) if !reserved => lane.buffer_taken(orb, connection),
            (true, _) => home.hand_on(orb, connection),
            (false, _) => {
                if reserved {
                    home.release_thread(orb);
                }
                leave(orb, connection);
            }
        }
    }
    match (found.busy, often) {
        (_, true) => Some(OFTEN),
        (true, false) => Some(SELDOM),
        (false, false) => None,
    }
}
