//! Channels of a world.

use std::collections::VecDeque;
use std::sync::Arc;

use super::sync::{Condvar, Mutex, MutexGuard};

struct Channel<T> {
    state: Mutex<MpscState<T>>,
    changed: Condvar,
}

struct MpscState<T> {
    queue: VecDeque<T>,
    senders: usize,
    received: bool,
}

impl<T> Channel<T> {
    fn state(&self) -> MutexGuard<'_, MpscState<T>> {
        self.state.lock()
    }
}

pub(crate) struct Sender<T>(Arc<Channel<T>>);

pub(crate) struct Receiver<T>(Arc<Channel<T>>);

pub(crate) fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let channel = Arc::new(Channel {
        state: Mutex::new(MpscState { queue: VecDeque::new(), senders: 1, received: true }),
        changed: Condvar::new(),
    });
    (Sender(Arc::clone(&channel)), Receiver(channel))
}

impl<T> Sender<T> {
    pub(crate) fn send(&self, value: T) -> Result<(), T> {
        let mut state = self.0.state();
        if !state.received {
            return Err(value);
        }
        state.queue.push_back(value);
        self.0.changed.notify_one();
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
        drop(state);
        drop(lost);
    }
}

impl<T> Receiver<T> {
    fn next(&self) -> Option<T> {
        let mut state = self.0.state();
        loop {
            if let Some(value) = state.queue.pop_front() {
                return Some(value);
            }
            if state.senders == 0 {
                return None;
            }
            state = self.0.changed.wait(state);
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
        self.0.next()
    }
}
