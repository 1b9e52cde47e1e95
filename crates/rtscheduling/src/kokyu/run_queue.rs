//! Run queue: a few threads run, the others wait in order of urgency.

use std::sync::Arc;
use std::time::Instant;

use oxorb::SystemException;

use super::turn::{self, Told, Turn};
use super::{Exclusive, Urgency};
use crate::Id;
use crate::refusal::{RUN_QUEUE, cancelled_here};
use crate::slots::Cancelled;
use crate::sync::{Mutex, MutexGuard};

/// Bounded queue of threads that wait for one of a few processors.
pub(crate) struct RunQueue {
    bounds: Exclusive,
    state: Mutex<State>,
}

struct State {
    /// Running threads: at most as many as processors, plus those that continue after their wait
    /// has timed out.
    running: Vec<Running>,
    /// Threads that are away with a call and had several nested admissions, which are restored on
    /// return.
    away: Vec<Running>,
    waiting: Vec<Waiter>,
    /// Number of the next arrival.
    arrivals: u64,
}

struct Running {
    thread: u64,
    /// Number of nested admissions: a thread may serve a request of its own process while it runs.
    times: usize,
}

struct Waiter {
    id: Id,
    thread: u64,
    urgency: Urgency,
    arrival: u64,
    turn: Arc<Turn>,
}

impl RunQueue {
    pub(crate) fn new(bounds: Exclusive) -> RunQueue {
        let processors = bounds.processors.max(1);
        RunQueue {
            bounds: Exclusive { processors, ..bounds },
            state: Mutex::new(State {
                running: Vec::with_capacity(processors + 8),
                away: Vec::new(),
                waiting: Vec::with_capacity(bounds.waiting.min(1024)),
                arrivals: 0,
            }),
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waiting.len()
    }

    /// Waits until the calling thread may run; returns at once if it runs already.
    ///
    /// # Errors
    /// TRANSIENT if the queue is full or the wait times out; THREAD_CANCELLED.
    pub(crate) fn acquire(&self, id: &Id, urgency: Urgency) -> Result<(), SystemException> {
        let thread = turn::own().number();
        let mut state = self.state.lock();
        if let Some(running) = state.running.iter_mut().find(|it| it.thread == thread) {
            running.times += 1;
            return Ok(());
        }
        let free = state.running.len() < self.bounds.processors;
        // `admit` starts waiting threads as soon as a processor is free, so none waits here in
        // vain.
        if free && state.waiting.is_empty() {
            state.running.push(Running { thread, times: 1 });
            return Ok(());
        }
        self.wait(state, id, thread, urgency)
    }

    /// Makes a running thread with changed urgency wait if others are more urgent.
    ///
    /// # Errors
    /// Those of [`acquire`](Self::acquire); the thread continues then.
    pub(crate) fn change(&self, id: &Id, urgency: Urgency) -> Result<(), SystemException> {
        let thread = turn::own().number();
        let mut state = self.state.lock();
        let Some(at) = state.running.iter().position(|it| it.thread == thread) else {
            drop(state);
            return self.acquire(id, urgency);
        };
        let overtaken = state.waiting.iter().any(|waiter| waiter.urgency > urgency);
        if !overtaken || state.waiting.len() >= self.bounds.waiting {
            return Ok(());
        }
        let times = state.running.swap_remove(at).times;
        self.admit(&mut state);
        let waited = self.wait(state, id, thread, urgency);
        let mut state = self.state.lock();
        match state.running.iter_mut().find(|it| it.thread == thread) {
            Some(running) => running.times = times,
            // The wait has failed and the thread continues, so one thread too many runs for a
            // while. Without this entry the thread would later release an admission that it does
            // not have.
            None => state.running.push(Running { thread, times }),
        }
        waited
    }

    /// Releases the calling thread's processor while the thread is away with a call, whatever else
    /// the thread does in that time.
    pub(crate) fn go(&self) {
        let thread = turn::own().number();
        let mut state = self.state.lock();
        let Some(at) = state.running.iter().position(|it| it.thread == thread) else {
            return;
        };
        let running = state.running.swap_remove(at);
        if running.times > 1 {
            state.away.push(running);
        }
        self.admit(&mut state);
    }

    /// Waits as [`acquire`](Self::acquire) does, in a thread that returns from a call.
    ///
    /// # Errors
    /// As for [`acquire`](Self::acquire). The thread continues then without an admission.
    pub(crate) fn come_back(&self, id: &Id, urgency: Urgency) -> Result<(), SystemException> {
        self.acquire(id, urgency)?;
        let thread = turn::own().number();
        let mut state = self.state.lock();
        let last = state.away.iter().rposition(|it| it.thread == thread);
        if let Some(times) = last.map(|at| state.away.remove(at).times)
            && let Some(running) = state.running.iter_mut().find(|it| it.thread == thread)
        {
            running.times += times - 1;
        }
        Ok(())
    }

    /// Ends one of the calling thread's admissions, if it has one.
    pub(crate) fn release(&self) {
        let thread = turn::own().number();
        let mut state = self.state.lock();
        if let Some(at) = state.running.iter().position(|it| it.thread == thread) {
            state.running[at].times -= 1;
            if state.running[at].times == 0 {
                state.running.swap_remove(at);
                self.admit(&mut state);
            }
            return;
        }
        // The wait of the thread on its return from a call has failed, so its outer admissions are
        // still in `away`.
        if let Some(at) = state.away.iter().rposition(|it| it.thread == thread) {
            state.away[at].times -= 1;
            if state.away[at].times <= 1 {
                state.away.remove(at);
            }
        }
    }

    /// Ends the wait of a distributable thread, if it waits.
    pub(crate) fn cancel(&self, id: &Id) {
        let mut state = self.state.lock();
        while let Some(at) = state.waiting.iter().position(|waiter| waiter.id == *id) {
            let waiter = state.waiting.swap_remove(at);
            waiter.turn.tell(Told::Cancelled);
        }
    }

    fn wait(
        &self,
        mut state: MutexGuard<'_, State>,
        id: &Id,
        thread: u64,
        urgency: Urgency,
    ) -> Result<(), SystemException> {
        if state.waiting.len() >= self.bounds.waiting {
            return Err(RUN_QUEUE);
        }
        let turn = turn::own();
        turn.reset();
        state.arrivals += 1;
        let arrival = state.arrivals;
        state.waiting.push(Waiter { id: *id, thread, urgency, arrival, turn: Arc::clone(&turn) });
        self.admit(&mut state);
        drop(state);
        let told = turn.wait(Instant::now().checked_add(self.bounds.longest));
        let told = match told {
            Some(told) => told,
            None => {
                let mut state = self.state.lock();
                match state.waiting.iter().position(|it| it.arrival == arrival) {
                    Some(at) => {
                        state.waiting.swap_remove(at);
                        return Err(RUN_QUEUE);
                    }
                    // The thread was admitted or cancelled just now, so it is no longer in the
                    // queue.
                    None => turn.told().unwrap_or(Told::Run),
                }
            }
        };
        match told {
            Told::Run => Ok(()),
            Told::Cancelled => Err(cancelled_here(Cancelled)),
        }
    }

    /// Admits the most urgent waiting threads while a processor is free. Of equally urgent threads
    /// the one that has waited longest is admitted first.
    fn admit(&self, state: &mut State) {
        while state.running.len() < self.bounds.processors {
            let most = state.waiting.iter().enumerate().max_by(|(_, a), (_, b)| {
                let earlier = b.arrival.cmp(&a.arrival);
                a.urgency.cmp(&b.urgency).then(earlier)
            });
            let Some((at, _)) = most else {
                return;
            };
            let waiter = state.waiting.swap_remove(at);
            state.running.push(Running { thread: waiter.thread, times: 1 });
            waiter.turn.tell(Told::Run);
        }
    }
}
