//! Locks and condition variables of a world, with the interface of [`oxorb_sys::sync`]. Threads outside of a world use
//! the locks like those of `std`.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use oxorb_sys::sync;

use super::world::{Here, here};

/// Threads that wait for a lock or a condition.
#[derive(Default)]
struct WaitingThreads(sync::Mutex<Vec<u64>>);

impl WaitingThreads {
    const fn new() -> Self {
        WaitingThreads(sync::Mutex::new(Vec::new()))
    }

    fn all(&self) -> sync::MutexGuard<'_, Vec<u64>> {
        self.0.lock()
    }

    fn wake_all(&self) {
        let all = std::mem::take(&mut *self.all());
        if let Some(here) = here() {
            all.into_iter().for_each(|id| here.wake(id));
        }
    }

    fn wake_one(&self) {
        let Some(here) = here() else { return };
        let mut all = self.all();
        if !all.is_empty() {
            let chosen = here.random().below(all.len() as u64) as usize;
            let id = all.remove(chosen);
            here.wake(id);
        }
    }

    /// Retries until a lock is free.
    fn until_free<G>(&self, try_lock: impl Fn() -> Option<G>) -> G {
        let here = here();
        if let Some(here) = &here {
            here.step();
        }
        loop {
            match (try_lock(), &here) {
                (Some(guard), _) => return guard,
                (None, Some(here)) => {
                    self.all().push(here.id);
                    here.wait(None);
                }
                (None, None) => std::thread::yield_now(),
            }
        }
    }
}

#[derive(Default)]
pub(crate) struct Mutex<T> {
    waiting: WaitingThreads,
    inner: sync::Mutex<T>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Mutex { waiting: WaitingThreads::new(), inner: sync::Mutex::new(value) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.guard(self.waiting.until_free(|| self.inner.try_lock()))
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.inner.try_lock().map(|inner| self.guard(inner))
    }

    fn guard<'a>(&'a self, inner: sync::MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        MutexGuard { inner: Some(inner), mutex: self }
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// Guard of a held lock.
pub struct MutexGuard<'a, T> {
    inner: Option<sync::MutexGuard<'a, T>>,
    mutex: &'a Mutex<T>,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_ref().expect("held until it is dropped")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("held until it is dropped")
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        drop(self.inner.take());
        self.mutex.waiting.wake_all();
    }
}

/// Condition variable of a world.
#[derive(Default)]
pub struct Condvar(WaitingThreads);

/// Whether a wait ended by its time limit.
#[derive(Clone, Copy)]
pub(crate) struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    pub(crate) fn timed_out(self) -> bool {
        self.0
    }
}

impl Condvar {
    pub(crate) const fn new() -> Self {
        Condvar(WaitingThreads::new())
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.until(guard, place(), None).0
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        let here = place();
        let until = here.after(limit);
        self.until(guard, here, until)
    }

    fn until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        here: Here,
        until: Option<u64>,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        let mutex = guard.mutex;
        self.0.all().push(here.id);
        drop(guard);
        let woken = here.wait(until);
        if !woken {
            self.0.all().retain(|id| *id != here.id);
        }
        (mutex.lock(), WaitTimeoutResult(!woken))
    }

    pub(crate) fn notify_one(&self) {
        self.0.wake_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.wake_all();
    }
}

fn place() -> Here {
    here().expect("a thread of a simulation")
}
