//! Mailboxes for later answers to callers in this process.

use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::thread::{self, Thread};

/// Path on which an answer for another caller is forwarded.
pub(crate) trait ReplyForwarder: Send {
    /// Sends the answer.
    fn deliver(self: Box<Self>, message: Vec<u8>);

    /// Reports whether the answer is no longer awaited.
    fn is_cancelled(&self) -> bool;
}

/// Outcome of a collocated request.
pub(crate) enum CollocatedReply {
    Reply(Vec<u8>),
    /// Absence of a reply, with the buffer that was provided for it.
    Nothing(Vec<u8>),
    Later(Arc<Mailbox>),
}

/// Holds one reply message, at most once.
#[derive(Default)]
pub(crate) struct Mailbox(Mutex<MailboxState>);

#[derive(Default)]
enum MailboxState {
    /// State before the answer; no task waits.
    #[default]
    Empty,
    Awaited(Waker),
    /// State before the answer, which is to be forwarded.
    Forwarding(Box<dyn ReplyForwarder>),
    Arrived(Vec<u8>),
    /// State after the answer was taken, or when no task awaits it any more.
    Closed,
}

impl Mailbox {
    /// Delivers the answer.
    pub(crate) fn deliver(&self, message: Vec<u8>) {
        let mut state = self.0.lock();
        match mem::replace(&mut *state, MailboxState::Closed) {
            MailboxState::Empty => *state = MailboxState::Arrived(message),
            MailboxState::Awaited(waker) => {
                *state = MailboxState::Arrived(message);
                drop(state);
                waker.wake();
            }
            MailboxState::Forwarding(forwarder) => {
                drop(state);
                forwarder.deliver(message);
            }
            MailboxState::Arrived(_) | MailboxState::Closed => {}
        }
    }

    /// Forwards the answer over `forwarder`, at once if it has arrived.
    pub(crate) fn send_on(&self, forwarder: Box<dyn ReplyForwarder>) {
        let mut state = self.0.lock();
        match mem::replace(&mut *state, MailboxState::Closed) {
            MailboxState::Arrived(message) => {
                drop(state);
                forwarder.deliver(message);
            }
            _ => *state = MailboxState::Forwarding(forwarder),
        }
    }

    /// Returns the answer if it has arrived; otherwise registers the task of `context`.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Vec<u8>> {
        let mut state = self.0.lock();
        match mem::replace(&mut *state, MailboxState::Closed) {
            MailboxState::Arrived(message) => Poll::Ready(message),
            _ => {
                *state = MailboxState::Awaited(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Blocks until the answer arrives; `None` if `until` passes before, which closes the mailbox.
    pub(crate) fn wait(&self, until: Option<Instant>) -> Option<Vec<u8>> {
        super::step_aside();
        let waker = Waker::from(Arc::new(MailboxWaker(thread::current())));
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

    /// Closes the mailbox: the answer is no longer awaited.
    pub(crate) fn close(&self) {
        *self.0.lock() = MailboxState::Closed;
    }

    /// Reports whether the answer is no longer awaited.
    pub(crate) fn is_closed(&self) -> bool {
        match &*self.0.lock() {
            MailboxState::Closed => true,
            MailboxState::Forwarding(forwarder) => forwarder.is_cancelled(),
            MailboxState::Empty | MailboxState::Awaited(_) | MailboxState::Arrived(_) => false,
        }
    }
}

/// Waker that unparks a waiting thread.
struct MailboxWaker(Thread);

impl Wake for MailboxWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
