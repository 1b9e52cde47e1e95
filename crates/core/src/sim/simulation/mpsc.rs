//! Channels of a world.

use std::collections::VecDeque;
use std::sync::Arc;
pub(crate) use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError};
use std::time::{Duration, Instant};

use super::sync::{Condvar, Mutex, MutexGuard};
use crate::threads::clock;

struct Channel<T> {
    state: Mutex<MpscState<T>>,
    changed: Condvar,
}

struct MpscState<T> {
    queue: VecDeque<T>,
    /// Maximum length of `queue`.
    bound: usize,
    senders: usize,
    received: bool,
}

impl<T> Channel<T> {
    fn state(&self) -> MutexGuard<'_, MpscState<T>> {
        self.state.lock()
    }
}

pub(crate) struct Sender<T>(Arc<Channel<T>>);

/// Sender that waits while the queue is full.
pub(crate) type SyncSender<T> = Sender<T>;

pub(crate) struct Receiver<T>(Arc<Channel<T>>);

pub(crate) fn channel<T>() -> (Sender<T>, Receiver<T>) {
    sync_channel(usize::MAX)
}

/// Returns a channel whose queue holds `bound` values, at least one.
pub(crate) fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    assert!(bound > 0, "a channel without a queue is not simulated");
    let queue = VecDeque::new();
    let channel = Arc::new(Channel {
        state: Mutex::new(MpscState { queue, bound, senders: 1, received: true }),
        changed: Condvar::new(),
    });
    (Sender(Arc::clone(&channel)), Receiver(channel))
}

impl<T> Sender<T> {
    pub(crate) fn send(&self, value: T) -> Result<(), SendError<T>> {
        let mut state = self.0.state();
        while state.received && state.queue.len() >= state.bound {
            state = self.0.changed.wait(state);
        }
        if !state.received {
            return Err(SendError(value));
        }
        state.queue.push_back(value);
        self.0.changed.notify_all();
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.state().senders += 1;
        Sender(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.state().senders -= 1;
        self.0.changed.notify_all();
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.received = false;
        let lost = std::mem::take(&mut state.queue);
        self.0.changed.notify_all();
        drop(state);
        drop(lost);
    }
}

impl<T> Receiver<T> {
    pub(crate) fn recv(&self) -> Result<T, RecvError> {
        self.next(None).map_err(|_| RecvError)
    }

    pub(crate) fn recv_timeout(&self, limit: Duration) -> Result<T, RecvTimeoutError> {
        self.next(Some(clock::now() + limit))
    }

    fn next(&self, until: Option<Instant>) -> Result<T, RecvTimeoutError> {
        let mut state = self.0.state();
        loop {
            if let Some(value) = state.queue.pop_front() {
                self.0.changed.notify_all();
                return Ok(value);
            }
            if state.senders == 0 {
                return Err(RecvTimeoutError::Disconnected);
            }
            state = match until.map(|until| until.saturating_duration_since(clock::now())) {
                None => self.0.changed.wait(state),
                Some(Duration::ZERO) => return Err(RecvTimeoutError::Timeout),
                Some(left) => self.0.changed.wait_timeout(state, left).0,
            };
        }
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Taken<'a, T>;

    fn into_iter(self) -> Taken<'a, T> {
        Taken(self)
    }
}

pub(crate) struct Taken<'a, T>(&'a Receiver<T>);

impl<T> Iterator for Taken<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}
