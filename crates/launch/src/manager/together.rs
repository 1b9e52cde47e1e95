//! Concurrent execution of a step on several processes or nodes, and a gate for exclusive operations.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use oxorb_core::lock::{Condvar, Mutex};

/// Maximum number of threads for one step.
const THREADS: usize = 16;

/// Executes a step for each item, for up to 16 items concurrently. Returns the results in the order of the items.
pub(super) fn together<T: Send, R: Send>(items: Vec<T>, step: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = items.len().min(THREADS);
    if threads <= 1 {
        return items.into_iter().map(step).collect();
    }
    let todo: Mutex<VecDeque<(usize, T)>> = Mutex::new(items.into_iter().enumerate().collect());
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let Some((at, item)) = todo.lock().pop_front() else {
                return;
            };
            let result = step(item);
            done.lock().push((at, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let named = std::thread::Builder::new().name("oxorb-launch".to_owned());
            // Ignore the error: this thread also executes steps, alone if no other thread can be started.
            let _ = named.spawn_scoped(scope, work);
        }
        work();
    });
    let mut done = std::mem::take(&mut *done.lock());
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Gate that admits one operation at a time.
#[derive(Default)]
pub(super) struct Gate {
    is_taken: Mutex<bool>,
    freed: Condvar,
}

/// Permit of an operation. When it is dropped, the next operation may enter the gate.
pub(super) struct Pass<'g>(&'g Gate);

impl Gate {
    /// Waits for at most `limit` until no other operation is running.
    pub(super) fn pass(&self, limit: Duration) -> Option<Pass<'_>> {
        let deadline = Instant::now().checked_add(limit);
        let mut is_taken = self.is_taken.lock();
        while *is_taken {
            let left = deadline.map_or(limit, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            is_taken = self.freed.wait_timeout(is_taken, left).0;
        }
        *is_taken = true;
        Some(Pass(self))
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        *self.0.is_taken.lock() = false;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_items() {
        let items: Vec<usize> = (0..100).collect();
        let doubled = together(items.clone(), |item| item * 2);
        assert_eq!(doubled, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        assert!(together(Vec::<u8>::new(), |item| item).is_empty());
    }

    #[test]
    fn a_gate_lets_one_pass_at_a_time() {
        let gate = Gate::default();
        let first = gate.pass(Duration::ZERO).expect("nobody is in");
        assert!(gate.pass(Duration::ZERO).is_none());
        // `Duration::MAX` from now exceeds the range of the clock, and must count as no limit.
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.pass(Duration::MAX).is_some());
            drop(first);
            assert!(waiting.join().unwrap());
        });
        assert!(gate.pass(Duration::ZERO).is_some());
    }
}
