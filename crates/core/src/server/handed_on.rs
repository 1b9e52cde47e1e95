//! Queue of a lane's connections whose reading thread runs a request, and of jobs for the lane's
//! threads.

use std::collections::VecDeque;

use crate::threads::ThreadJob;
use crate::threads::lock::Mutex;
use crate::threads::sync::{
    MutexGuard,
    atomic::{AtomicUsize, Ordering},
};

/// Queue for the next free thread of a lane, oldest first.
pub(super) struct HandedOn<C> {
    waiting: Mutex<WaitingConnections<C>>,
    /// Length of the queue, for threads that do not take the lock.
    count: AtomicUsize,
}

struct WaitingConnections<C> {
    all: VecDeque<C>,
    /// Whether the lane's threads have ended.
    closed: bool,
}

/// Work for a lane's next free thread.
pub(super) enum Handed<C> {
    /// Connection to continue reading.
    Connection(C),
    /// A job.
    Job(ThreadJob),
}

/// Reason why work was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotQueued {
    /// The queue is full.
    Full,
    /// The lane has ended, or has no threads for such work.
    Closed,
}

impl<C> Default for HandedOn<C> {
    fn default() -> Self {
        HandedOn {
            waiting: Mutex::new(WaitingConnections { all: VecDeque::new(), closed: false }),
            count: AtomicUsize::new(0),
        }
    }
}

impl<C> HandedOn<C> {
    pub(super) fn push(&self, one: C) {
        let mut waiting = self.lock();
        waiting.all.push_back(one);
        self.count.store(waiting.all.len(), Ordering::SeqCst);
    }

    /// Queues work if fewer than `most` entries are queued and the queue is not
    /// [closed](Self::close).
    pub(super) fn offer(&self, one: C, most: usize) -> Result<(), (NotQueued, C)> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err((NotQueued::Closed, one));
        }
        if waiting.all.len() >= most {
            return Err((NotQueued::Full, one));
        }
        waiting.all.push_back(one);
        self.count.store(waiting.all.len(), Ordering::SeqCst);
        Ok(())
    }

    pub(super) fn pop(&self) -> Option<C> {
        if self.is_empty() {
            return None;
        }
        let mut waiting = self.lock();
        let first = waiting.all.pop_front();
        self.count.store(waiting.all.len(), Ordering::SeqCst);
        first
    }

    /// Refuses further [offers](Self::offer), and returns the queued entries that `ends` accepts.
    pub(super) fn close(&self, ends: impl Fn(&C) -> bool) -> Vec<C> {
        let mut waiting = self.lock();
        waiting.closed = true;
        let (ended, left) =
            std::mem::take(&mut waiting.all).into_iter().partition::<VecDeque<_>, _>(ends);
        waiting.all = left;
        self.count.store(waiting.all.len(), Ordering::SeqCst);
        ended.into()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    fn lock(&self) -> MutexGuard<'_, WaitingConnections<C>> {
        self.waiting.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_or_closed_queue_refuses_offers_alone() {
        let queue = HandedOn::default();
        queue.push(1);
        assert_eq!(queue.offer(2, 2), Ok(()));
        assert_eq!(queue.offer(3, 2), Err((NotQueued::Full, 3)));
        queue.push(4);
        assert_eq!(queue.close(|one| one % 2 == 0), [2, 4]);
        assert_eq!(queue.offer(5, 9), Err((NotQueued::Closed, 5)));
        queue.push(6);
        assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some(1), Some(6), None));
        assert!(queue.is_empty());
    }
}
