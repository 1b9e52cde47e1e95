//! Mailboxes in which later answers are left for callers in this process.

use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use crate::clock;
use crate::lock::Mutex;
use crate::sync::thread::{self, Thread};

/// Way over which an answer goes on that somebody else was to take.
pub(crate) trait Onward: Send {
    /// Sends the answer.
    fn deliver(self: Box<Self>, message: Vec<u8>);

    /// Returns whether nobody waits for the answer any more.
    fn is_cancelled(&self) -> bool;
}

/// Outcome of a request of this very process.
pub(crate) enum Kept {
    Reply(Vec<u8>),
    /// Absence of a reply; the buffer for it.
    Nothing(Vec<u8>),
    Later(Arc<Mailbox>),
}

/// Holds one reply message, at most once.
#[derive(Default)]
pub(crate) struct Mailbox(Mutex<State>);

#[derive(Default)]
enum State {
    /// State before the answer; a task may wait for it.
    #[default]
    Empty,
    Awaited(Waker),
    /// State in which the answer is to be passed on from here.
    Onward(Box<dyn Onward>),
    Arrived(Vec<u8>),
    /// Taken, or of no use to anybody any more.
    Closed,
}

impl Mailbox {
    /// The answer is there.
    pub(crate) fn deliver(&self, message: Vec<u8>) {
        let mut state = self.0.lock();
        match mem::replace(&mut *state, State::Closed) {
            State::Empty => *state = State::Arrived(message),
            State::Awaited(waker) => {
                *state = State::Arrived(message);
                drop(state);
                waker.wake();
            }
            State::Onward(line) => {
                drop(state);
                line.deliver(message);
            }
            State::Arrived(_) | State::Closed => {}
        }
    }

    /// Passes the answer on over `line`, at once if it is there.
    pub(crate) fn send_on(&self, line: Box<dyn Onward>) {
        let mut state = self.0.lock();
        match mem::replace(&mut *state, State::Closed) {
            State::Arrived(message) => {
                drop(state);
                line.deliver(message);
            }
            _ => *state = State::Onward(line),
        }
    }

    /// The answer, if it is there; otherwise the task of `context` is woken when it is.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Vec<u8>> {
        let mut state = self.0.lock();
        match mem::replace(&mut *state, State::Closed) {
            State::Arrived(message) => Poll::Ready(message),
            _ => {
                *state = State::Awaited(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Blocks until the answer is there; `None` when `until` came first, and nobody waits any more.
    pub(crate) fn wait(&self, until: Option<Instant>) -> Option<Vec<u8>> {
        super::step_aside();
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(message) = self.poll(&mut context) {
                return Some(message);
            }
            match until {
                None => thread::park(),
                Some(until) => match until.checked_duration_since(clock::now()) {
                    Some(left) => thread::park_timeout(left),
                    None => {
                        self.close();
                        return None;
                    }
                },
            }
        }
    }

    /// Closes the mailbox: the answer is not waited for any more.
    pub(crate) fn close(&self) {
        *self.0.lock() = State::Closed;
    }

    /// Whether nobody waits any more.
    pub(crate) fn is_closed(&self) -> bool {
        match &*self.0.lock() {
            State::Closed => true,
            State::Onward(line) => line.is_cancelled(),
            State::Empty | State::Awaited(_) | State::Arrived(_) => false,
        }
    }
}

/// Wakes a thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
