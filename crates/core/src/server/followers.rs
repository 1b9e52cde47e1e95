//! Threads that wait to take over a connection while its own thread runs a request.
//!
//! They are started when they are needed and stay for a while, so that a client which keeps several requests under way
//! costs no start of a thread for each.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use crate::lock::Mutex;
use crate::sync::Condvar;

/// Most of them, over all connections of an ORB or a lane.
const MAX_FOLLOWERS: usize = 512;

/// Time that a follower waits in vain before it ends.
const PATIENCE: Duration = Duration::from_secs(5);

/// Threads without a connection, and connections that are about to have one.
pub(crate) struct Followers<C> {
    state: Mutex<State<C>>,
    came: Condvar,
}

struct State<C> {
    /// Connections for the next threads that wait.
    connections: VecDeque<C>,
    threads: usize,
    /// Threads that wait, or are about to.
    idle: usize,
    /// Number of followers that are promised to connections.
    reserved: usize,
    ended: bool,
}

impl<C> Default for Followers<C> {
    fn default() -> Self {
        Followers {
            state: Mutex::new(State {
                connections: VecDeque::new(),
                threads: 0,
                idle: 0,
                reserved: 0,
                ended: false,
            }),
            came: Condvar::new(),
        }
    }
}

impl<C> Followers<C> {
    /// Promises one, which `start` starts if there is none; false when there can be none. Whoever gets the promise
    /// [gives](Self::give) it a connection, or [releases](Self::release) it.
    pub(super) fn reserve(&self, start: impl FnOnce() -> io::Result<()>) -> bool {
        let mut state = self.state.lock();
        if state.ended {
            return false;
        }
        if state.idle > state.connections.len() + state.reserved {
            state.reserved += 1;
            return true;
        }
        if state.threads >= MAX_FOLLOWERS {
            return false;
        }
        state.threads += 1;
        state.idle += 1;
        state.reserved += 1;
        drop(state);
        let started = start().is_ok();
        if !started {
            let mut state = self.state.lock();
            state.threads -= 1;
            state.idle -= 1;
            state.reserved -= 1;
        }
        started
    }

    /// The promise is not needed.
    pub(super) fn release(&self) {
        self.state.lock().reserved -= 1;
    }

    /// Gives a connection to the thread that was promised.
    pub(super) fn give(&self, connection: C) {
        let mut state = self.state.lock();
        state.reserved -= 1;
        state.connections.push_back(connection);
        drop(state);
        self.came.notify_one();
    }

    /// A thread whose connection was taken over is to be one of them; false: there are enough.
    pub(super) fn join(&self) -> bool {
        let mut state = self.state.lock();
        let joins = !state.ended && state.threads < MAX_FOLLOWERS;
        if joins {
            state.threads += 1;
            state.idle += 1;
        }
        joins
    }

    /// The next connection for a thread that has joined or was started; `None`: it ends.
    pub(super) fn next(&self) -> Option<C> {
        let mut state = self.state.lock();
        let mut patient = true;
        loop {
            if let Some(next) = state.connections.pop_front() {
                state.idle -= 1;
                return Some(next);
            }
            if state.ended || !patient && state.idle > state.reserved {
                state.idle -= 1;
                state.threads -= 1;
                return None;
            }
            let (again, waited) = self.came.wait_timeout(state, PATIENCE);
            state = again;
            patient = !waited.timed_out();
        }
    }

    /// The connection that it took has gone on, or ended: it waits again.
    pub(super) fn comes_back(&self) {
        self.state.lock().idle += 1;
    }

    /// Ends the threads as soon as they wait.
    pub(crate) fn end(&self) {
        self.state.lock().ended = true;
        self.came.notify_all();
    }
}
