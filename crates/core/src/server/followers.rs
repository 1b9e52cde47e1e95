//! Threads that take over a connection while the connection's own thread runs a request.
//!
//! They are started on demand and stay for a while, so that a client with several outstanding requests does not cost
//! the start of a thread for each.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use crate::threads::lock::Mutex;
use crate::threads::sync::Condvar;

/// Maximum number of followers over all connections of an ORB or a lane.
const MAX_FOLLOWERS: usize = 512;

/// Time that a follower waits for a connection before it ends.
const PATIENCE: Duration = Duration::from_secs(5);

/// Threads without a connection, and connections assigned to them.
pub(crate) struct Followers<C> {
    state: Mutex<FollowersState<C>>,
    came: Condvar,
}

struct FollowersState<C> {
    /// Connections for the next waiting threads.
    connections: VecDeque<C>,
    threads: usize,
    /// Number of threads that wait, or are about to.
    idle: usize,
    /// Number of followers reserved for connections.
    reserved: usize,
    ended: bool,
}

impl<C> Default for Followers<C> {
    fn default() -> Self {
        Followers {
            state: Mutex::new(FollowersState {
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
    /// Reserves a follower, which `start` starts if none is free; returns false if none can be had. The caller then
    /// [assigns](Self::give) a connection to it, or [releases](Self::release) it.
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

    /// Releases a reservation.
    pub(super) fn release(&self) {
        let mut state = self.state.lock();
        state.reserved -= 1;
        // The follower may be the one that waits for this reservation before it ends.
        let ended = state.ended;
        drop(state);
        if ended {
            self.came.notify_one();
        }
    }

    /// Assigns a connection to the reserved follower.
    pub(super) fn give(&self, connection: C) {
        let mut state = self.state.lock();
        state.reserved -= 1;
        state.connections.push_back(connection);
        drop(state);
        self.came.notify_one();
    }

    /// Registers the calling thread, whose connection was taken over, as a follower; returns false
    /// if there are enough.
    pub(super) fn join(&self) -> bool {
        let mut state = self.state.lock();
        let joins = !state.ended && state.threads < MAX_FOLLOWERS;
        if joins {
            state.threads += 1;
            state.idle += 1;
        }
        joins
    }

    /// Waits for the next connection; `None` if the follower has to end. A follower that is reserved does not end: the
    /// connection that will be assigned to it has no other thread.
    pub(super) fn next(&self) -> Option<C> {
        let mut state = self.state.lock();
        let mut patient = true;
        loop {
            if let Some(next) = state.connections.pop_front() {
                state.idle -= 1;
                return Some(next);
            }
            if (state.ended || !patient) && state.idle > state.reserved {
                state.idle -= 1;
                state.threads -= 1;
                return None;
            }
            let (again, waited) = self.came.wait_timeout(state, PATIENCE);
            state = again;
            patient = !waited.timed_out();
        }
    }

    /// Registers the follower as waiting again, after the connection that it took over was passed on
    /// or ended.
    pub(super) fn comes_back(&self) {
        self.state.lock().idle += 1;
    }

    /// Ends the followers as soon as they wait and no connection is about to be assigned to them.
    pub(crate) fn end(&self) {
        self.state.lock().ended = true;
        self.came.notify_all();
    }
}

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    /// Returns followers with one reservation, and without their threads.
    fn reserved() -> Arc<Followers<u32>> {
        let followers = Arc::<Followers<u32>>::default();
        assert!(followers.reserve(|| Ok(())));
        followers
    }

    #[test]
    fn a_connection_whose_follower_was_reserved_before_the_end_is_served() {
        let followers = reserved();
        followers.end();
        assert!(!followers.reserve(|| Ok(())), "no further thread is reserved");
        let follower = {
            let followers = Arc::clone(&followers);
            thread::spawn(move || {
                let first = followers.next();
                followers.comes_back();
                (first, followers.next())
            })
        };
        followers.give(7);
        assert_eq!(follower.join().unwrap(), (Some(7), None));
    }

    #[test]
    fn a_follower_whose_reservation_is_released_after_the_end_ends() {
        let followers = reserved();
        let follower = {
            let followers = Arc::clone(&followers);
            thread::spawn(move || followers.next())
        };
        followers.end();
        followers.release();
        assert_eq!(follower.join().unwrap(), None);
    }
}
