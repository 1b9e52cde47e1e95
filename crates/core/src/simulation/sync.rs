//! Locks and condition variables of a world. Threads of no world take the locks as those of `std`.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{self, LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::Duration;

use super::world::{Here, here};

/// Threads that wait for something.
#[derive(Default)]
struct Waiting(sync::Mutex<Vec<u64>>);

impl Waiting {
    const fn new() -> Self {
        Waiting(sync::Mutex::new(Vec::new()))
    }

    fn all(&self) -> sync::MutexGuard<'_, Vec<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Tries until a lock is free.
    fn until_free<G>(&self, try_lock: impl Fn() -> TryLockResult<G>) -> LockResult<G> {
        let here = here();
        if let Some(here) = &here {
            here.step();
        }
        loop {
            match try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Err(poisoned),
                Err(TryLockError::WouldBlock) => match &here {
                    Some(here) => {
                        self.all().push(here.id);
                        here.wait(None);
                    }
                    None => std::thread::yield_now(),
                },
            }
        }
    }
}

#[derive(Default)]
pub(crate) struct Mutex<T> {
    waiting: Waiting,
    inner: sync::Mutex<T>,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Mutex { waiting: Waiting::new(), inner: sync::Mutex::new(value) }
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let locked = self.waiting.until_free(|| self.inner.try_lock());
        locked
            .map(|inner| self.guard(inner))
            .map_err(|poisoned| PoisonError::new(self.guard(poisoned.into_inner())))
    }

    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.inner.try_lock() {
            Ok(inner) => Ok(self.guard(inner)),
            Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
            Err(TryLockError::Poisoned(poisoned)) => {
                let guard = self.guard(poisoned.into_inner());
                Err(TryLockError::Poisoned(PoisonError::new(guard)))
            }
        }
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

#[derive(Default)]
pub(crate) struct RwLock<T> {
    waiting: Waiting,
    inner: sync::RwLock<T>,
}

impl<T> RwLock<T> {
    pub(crate) fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let locked = self.waiting.until_free(|| self.inner.try_read());
        let guard = |inner| RwLockReadGuard(Some(inner), &self.waiting);
        locked.map(guard).map_err(|poisoned| PoisonError::new(guard(poisoned.into_inner())))
    }

    pub(crate) fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let locked = self.waiting.until_free(|| self.inner.try_write());
        let guard = |inner| RwLockWriteGuard(Some(inner), &self.waiting);
        locked.map(guard).map_err(|poisoned| PoisonError::new(guard(poisoned.into_inner())))
    }
}

pub struct RwLockReadGuard<'a, T>(Option<sync::RwLockReadGuard<'a, T>>, &'a Waiting);

pub struct RwLockWriteGuard<'a, T>(Option<sync::RwLockWriteGuard<'a, T>>, &'a Waiting);

impl<T> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("held until it is dropped")
    }
}

impl<T> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("held until it is dropped")
    }
}

impl<T> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("held until it is dropped")
    }
}

impl<T> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        drop(self.0.take());
        self.1.wake_all();
    }
}

impl<T> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        drop(self.0.take());
        self.1.wake_all();
    }
}

#[derive(Default)]
pub(crate) struct Condvar(Waiting);

/// Whether a wait ended because its time was over.
#[derive(Clone, Copy)]
pub(crate) struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    pub(crate) fn timed_out(self) -> bool {
        self.0
    }
}

impl Condvar {
    pub(crate) const fn new() -> Self {
        Condvar(Waiting::new())
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.until(guard, place(), None).1
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let here = place();
        let until = here.after(limit);
        let (woken, locked) = self.until(guard, here, until);
        let result = WaitTimeoutResult(!woken);
        locked
            .map(|guard| (guard, result))
            .map_err(|poisoned| PoisonError::new((poisoned.into_inner(), result)))
    }

    fn until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        here: Here,
        until: Option<u64>,
    ) -> (bool, LockResult<MutexGuard<'a, T>>) {
        let mutex = guard.mutex;
        self.0.all().push(here.id);
        drop(guard);
        let woken = here.wait(until);
        if !woken {
            self.0.all().retain(|id| *id != here.id);
        }
        (woken, mutex.lock())
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
