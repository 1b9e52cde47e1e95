//! Bounded queue of waiting frames, with its own memory.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use oxorb_sys::sync::{Condvar, Mutex, MutexGuard};

/// Waiting frame.
#[derive(Debug, Default)]
pub(crate) struct Queued {
    pub(crate) sequence: u32,
    pub(crate) time: u64,
    pub(crate) data: Vec<u8>,
}

/// Result of sending a frame.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The frame was queued.
    Queued,
    /// The frame was queued, and the oldest waiting frame was dropped.
    OldestDropped,
    /// The frame was dropped: the queue is full, or the sender has stopped.
    Dropped,
}

/// Error for a frame larger than the queue's memory. Nothing of it is sent.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a frame of {octets} octets is larger than {largest} (SenderOptions::largest): raise it, or divide the frame"
)]
pub struct TooLarge {
    /// Size of the frame in octets.
    pub octets: usize,
    /// Limit by [`SenderOptions::largest`](crate::SenderOptions::largest).
    pub largest: usize,
}

impl fmt::Debug for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Queue of frames from the application to the sending thread. All memory is allocated at creation.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    /// Maximum number of waiting frames.
    frames: usize,
    largest: usize,
    drop_oldest: bool,
}

#[derive(Debug)]
struct State {
    waiting: VecDeque<Queued>,
    free: Vec<Vec<u8>>,
    /// Number of the next frame.
    sequence: u32,
    /// Number of frames dropped by the queue.
    dropped: u64,
    stopped: bool,
    /// Whether the sender ends without sending the waiting frames.
    cut: bool,
}

/// Next step of the sending thread.
#[derive(Debug)]
pub(crate) enum Turn {
    Frame(Queued),
    Nothing,
    Stopped,
}

impl Queue {
    pub(crate) fn new(frames: usize, largest: usize, drop_oldest: bool, sequence: u32) -> Queue {
        // Allocate one buffer more than frames may wait, for the frame being sent.
        let free = (0..=frames).map(|_| Vec::with_capacity(largest)).collect();
        Queue {
            state: Mutex::new(State {
                waiting: VecDeque::with_capacity(frames),
                free,
                sequence,
                dropped: 0,
                stopped: false,
                cut: false,
            }),
            changed: Condvar::new(),
            frames,
            largest,
            drop_oldest,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Copies a frame into the queue. Dropped frames also get sequence numbers, so that the receiver counts these
    /// frames as lost.
    pub(crate) fn put(&self, time: u64, data: &[u8]) -> Result<Sent, TooLarge> {
        if data.len() > self.largest {
            let (octets, largest) = (data.len(), self.largest);
            return Err(TooLarge { octets, largest });
        }
        let mut state = self.lock();
        let sequence = state.sequence;
        state.sequence = sequence.wrapping_add(1);
        let mut sent = Sent::Queued;
        let is_full = state.waiting.len() >= self.frames;
        if state.stopped || is_full && !self.drop_oldest {
            state.dropped += 1;
            return Ok(Sent::Dropped);
        }
        if is_full && let Some(oldest) = state.waiting.pop_front() {
            state.free.push(oldest.data);
            state.dropped += 1;
            sent = Sent::OldestDropped;
        }
        let Some(mut memory) = state.free.pop() else {
            state.dropped += 1;
            return Ok(Sent::Dropped);
        };
        memory.clear();
        memory.extend_from_slice(data);
        let data = memory;
        state.waiting.push_back(Queued { sequence, time, data });
        drop(state);
        self.changed.notify_one();
        Ok(sent)
    }

    /// Takes the next frame. If none is waiting, waits for one for at most `wait`.
    pub(crate) fn take(&self, wait: Duration) -> Turn {
        let mut state = self.lock();
        if state.waiting.is_empty() && !state.stopped {
            state = self.changed.wait_timeout(state, wait).0;
        }
        match state.waiting.pop_front() {
            Some(frame) => Turn::Frame(frame),
            None if state.stopped => Turn::Stopped,
            None => Turn::Nothing,
        }
    }

    /// Waits for a time, or until the waiting frames are dropped.
    pub(crate) fn pause(&self, time: Duration) {
        let state = self.lock();
        let _ended = self.changed.wait_timeout_while(state, time, |state| !state.cut);
    }

    /// Returns the memory of a frame to the queue.
    pub(crate) fn give_back(&self, memory: Vec<u8>) {
        self.lock().free.push(memory);
    }

    /// Rejects further frames; waiting ones are still sent.
    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Drops all waiting frames permanently and returns their number.
    pub(crate) fn drop_waiting(&self) -> usize {
        let mut state = self.lock();
        let dropped = state.waiting.len();
        while let Some(frame) = state.waiting.pop_front() {
            state.free.push(frame.data);
        }
        state.dropped += dropped as u64;
        state.cut = true;
        drop(state);
        self.changed.notify_all();
        dropped
    }

    /// Returns the numbers of waiting and of dropped frames.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let state = self.lock();
        (state.waiting.len(), state.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn numbers(queue: &Queue) -> Vec<u32> {
        let mut numbers = Vec::new();
        while let Turn::Frame(frame) = queue.take(NOW) {
            numbers.push(frame.sequence);
            queue.give_back(frame.data);
        }
        numbers
    }

    #[test]
    fn a_full_queue_drops_the_oldest_or_the_newest() {
        for (oldest, left) in [(true, [2, 3, 4]), (false, [0, 1, 2])] {
            let queue = Queue::new(3, 10, oldest, 0);
            for _ in 0..5 {
                let _ = queue.put(0, b"frame").unwrap();
            }
            assert_eq!(queue.counts(), (3, 2));
            assert_eq!(numbers(&queue), left);
        }
    }

    #[test]
    fn a_frame_that_is_being_sent_takes_no_place_in_the_queue() {
        for (oldest, beyond) in [(true, Sent::OldestDropped), (false, Sent::Dropped)] {
            let queue = Queue::new(1, 10, oldest, 0);
            assert_eq!(queue.put(0, b"sent"), Ok(Sent::Queued));
            let Turn::Frame(_sending) = queue.take(NOW) else {
                panic!("one waits");
            };
            assert_eq!(queue.put(0, b"next"), Ok(Sent::Queued));
            assert_eq!(queue.put(0, b"last"), Ok(beyond));
        }
    }

    #[test]
    fn memory_is_that_of_the_start() {
        let queue = Queue::new(4, 100, true, u32::MAX);
        for round in 0..50 {
            let _ = queue.put(round, &[7; 100]).unwrap();
            if round % 3 == 0
                && let Turn::Frame(frame) = queue.take(NOW)
            {
                assert_eq!(frame.data.capacity(), 100);
                queue.give_back(frame.data);
            }
        }
        queue.drop_waiting();
        let state = queue.lock();
        assert_eq!(state.free.len(), 5);
        assert!(state.free.iter().all(|memory| memory.capacity() == 100));
    }

    #[test]
    fn a_frame_that_is_too_large_says_which_limit() {
        let queue = Queue::new(1, 10, true, 0);
        let error = queue.put(0, &[0; 11]).unwrap_err();
        assert!(error.to_string().contains("SenderOptions::largest"), "{error}");
        assert!(numbers(&queue).is_empty());
    }

    #[test]
    fn what_waits_is_sent_after_a_stop_and_nothing_more_gets_in() {
        let queue = Queue::new(2, 10, true, 0);
        let _ = queue.put(0, b"one").unwrap();
        queue.stop();
        assert_eq!(queue.put(0, b"two"), Ok(Sent::Dropped));
        assert_eq!(numbers(&queue), [0]);
        assert!(matches!(queue.take(Duration::from_secs(60)), Turn::Stopped));
    }
}
