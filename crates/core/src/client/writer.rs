//! Writer of a connection that many calls share, and the messages that other threads leave with it.
//!
//! One thread writes at a time. A caller that comes meanwhile with a small request leaves it with the writer and waits
//! for its answer at once: all messages that were left are sent by one write. Therefore no thread sleeps only to write,
//! and the server reads several requests at once.
//!
//! A writer sends left messages a few times at most; after that, callers wait for their own turn. The turn passes from
//! free to taken and back without a lock unless another thread has come meanwhile.

use std::mem;
use std::time::Instant;

use oxorb_giop::Told;

use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::atomic::{AtomicU8, Ordering};
use crate::threads::sync::{Condvar, MutexGuard};

/// Longest request, in octets, that is left with a writer, because it is copied.
const LEFT: usize = 4096;

/// Maximum number of octets that are left with a writer at a time.
const ALL_LEFT: usize = 64 << 10;

/// Maximum number of rounds in which a writer sends messages left to it before later callers have to wait.
const ROUNDS: u32 = 3;

/// State in which no thread writes.
const FREE: u8 = 0;
/// State in which a thread writes.
const TAKEN: u8 = 1;
/// State in which a thread writes, and others have left requests or wait.
const WANTED: u8 = 2;

/// Turn to write to one connection.
#[derive(Default)]
pub(super) struct Writers {
    turn: AtomicU8,
    shared: Mutex<WriterShared>,
    /// Signals that the turn is free, or that a waiting thread is to check.
    changed: Condvar,
}

/// State shared by the threads that write.
#[derive(Default)]
pub(super) struct WriterShared {
    pub(super) told: Told,
    left: Left,
    /// Buffers of the last batch, which are reused.
    spare: Left,
    /// Number of threads that wait for their turn.
    waiting: usize,
    /// Whether the writer has sent as much for others as it may.
    full: bool,
}

/// Complete messages that were left with the writer.
#[derive(Default)]
pub(super) struct Left {
    pub(super) octets: Vec<u8>,
    /// Ids of the requests that others left.
    pub(super) ids: Vec<u32>,
}

impl Writers {
    pub(super) fn shared(&self) -> MutexGuard<'_, WriterShared> {
        self.shared.lock()
    }

    /// Blocks until it is this thread's turn, which ends with [`leave`](Self::leave), and returns whether it had to
    /// wait; returns `None` if `until` comes first.
    pub(super) fn take<'w>(
        &'w self,
        mut shared: MutexGuard<'w, WriterShared>,
        until: Option<Instant>,
    ) -> Option<(MutexGuard<'w, WriterShared>, bool)> {
        let mut waited = false;
        while !self.try_take(&shared) {
            if self.turn.swap(WANTED, Ordering::SeqCst) == FREE {
                // The turn has just become free, and no thread will signal that, so this thread tries to take it again.
                self.turn.store(FREE, Ordering::SeqCst);
                continue;
            }
            waited = true;
            shared.waiting += 1;
            shared = match until {
                None => self.changed.wait(shared),
                Some(until) => {
                    let left = until.saturating_duration_since(clock::now());
                    if left.is_zero() {
                        shared.waiting -= 1;
                        return None;
                    }
                    self.changed.wait_timeout(shared, left).0
                }
            };
            shared.waiting -= 1;
        }
        Some((shared, waited))
    }

    /// Takes the turn if it is free.
    fn try_take(&self, shared: &WriterShared) -> bool {
        let taken = if shared.waiting > 0 { WANTED } else { TAKEN };
        let free = self.turn.compare_exchange(FREE, taken, Ordering::SeqCst, Ordering::SeqCst);
        free.is_ok()
    }

    /// Leaves a message with the thread that writes. Returns false if none writes, or the message is too long to be
    /// left; the caller then has to [`take`](Self::take) the turn.
    pub(super) fn leave_message(&self, shared: &mut WriterShared, message: &[u8], id: u32) -> bool {
        let room = ALL_LEFT.saturating_sub(shared.left.octets.len());
        if message.len() > LEFT.min(room) || shared.full {
            return false;
        }
        let wanted = self.turn.compare_exchange(TAKEN, WANTED, Ordering::SeqCst, Ordering::SeqCst);
        if wanted == Err(FREE) {
            return false;
        }
        shared.left.octets.extend_from_slice(message);
        shared.left.ids.push(id);
        true
    }

    /// Sends what others have left with this thread, then ends its turn.
    pub(super) fn leave(&self, mut send: impl FnMut(&Left)) {
        let free = self.turn.compare_exchange(TAKEN, FREE, Ordering::SeqCst, Ordering::SeqCst);
        if free.is_ok() {
            return;
        }
        let mut shared = self.shared();
        let mut rounds = 0;
        while !shared.left.ids.is_empty() {
            rounds += 1;
            shared.full = rounds == ROUNDS;
            let spare = mem::take(&mut shared.spare);
            let mut left = mem::replace(&mut shared.left, spare);
            drop(shared);
            send(&left);
            left.octets.clear();
            left.ids.clear();
            shared = self.shared();
            shared.spare = left;
        }
        shared.full = false;
        self.free(shared);
    }

    /// Ends a turn once no more messages are left.
    fn free(&self, shared: MutexGuard<'_, WriterShared>) {
        self.turn.store(FREE, Ordering::SeqCst);
        if shared.waiting > 0 {
            drop(shared);
            self.changed.notify_one();
        }
    }

    /// Calls `write` if no other thread writes, and lets none write meanwhile.
    pub(super) fn if_free(&self, write: impl FnOnce()) {
        let Some(shared) = self.shared.try_lock() else {
            return;
        };
        if !self.try_take(&shared) {
            return;
        }
        write();
        self.free(shared);
    }
}

#[cfg(all(test, not(feature = "model")))]
mod tests {
    use super::*;

    fn leave_message(writers: &Writers, message: &[u8], id: u32) -> bool {
        writers.leave_message(&mut writers.shared(), message, id)
    }

    #[test]
    fn what_comes_while_somebody_writes_goes_with_one_write() {
        let writers = Writers::default();
        assert!(!leave_message(&writers, b"nobody would send it", 0));
        drop(writers.take(writers.shared(), None));
        assert!(leave_message(&writers, b"one ", 2));
        assert!(leave_message(&writers, b"two", 4));
        assert!(!leave_message(&writers, &[0; LEFT + 1], 6));
        let mut sent = Vec::new();
        writers.leave(|left| sent.push((left.octets.clone(), left.ids.clone())));
        assert_eq!(sent, [(b"one two".to_vec(), vec![2, 4])]);
        assert!(!leave_message(&writers, b"the turn has ended", 8));
    }

    #[test]
    fn a_writer_sends_for_others_a_few_times_at_most() {
        let writers = Writers::default();
        drop(writers.take(writers.shared(), None));
        assert!(leave_message(&writers, b"first", 0));
        let (mut rounds, mut refused) = (0, 0);
        writers.leave(|_| {
            rounds += 1;
            if !leave_message(&writers, b"one more", 2 * rounds) {
                refused += 1;
            }
        });
        assert_eq!((rounds, refused), (ROUNDS, 1));
        drop(writers.take(writers.shared(), None));
        assert!(leave_message(&writers, b"the next one sends again", 0));
    }
}
