//! The locks of `std` without poisoning: `lock` returns the guard itself.
//!
//! Poisoning is not needed: panics are caught around servants and callbacks, and no code panics
//! in the middle of a change of guarded data, so the data are consistent after a panic.

use std::sync::{self, LockResult, PoisonError, TryLockError};
use std::time::Duration;

pub use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult};

/// [`std::sync::Mutex`] without poisoning. For priority inheritance, use [`crate::mutex::Mutex`].
///
/// **Real-time cost.** That of `std`: one atomic operation when uncontended, else a system call.
/// Never allocates.
///
/// ```
/// use oxorb_sys::sync::Mutex;
///
/// static CALLS: Mutex<u64> = Mutex::new(0);
/// *CALLS.lock() += 1;
/// assert_eq!(*CALLS.lock(), 1);
/// ```
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates an unlocked mutex around a value.
    pub const fn new(value: T) -> Self {
        Mutex(sync::Mutex::new(value))
    }

    /// Returns the value, without locking: owning the mutex guarantees exclusive access.
    #[inline]
    pub fn into_inner(self) -> T {
        whole(self.0.into_inner())
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the mutex is free, and locks it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        whole(self.0.lock())
    }

    /// Locks the mutex if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Returns the value; the exclusive borrow makes locking unnecessary.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        whole(self.0.get_mut())
    }
}

/// [`std::sync::RwLock`] without poisoning.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Creates an unlocked lock around a value.
    pub const fn new(value: T) -> Self {
        RwLock(sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until there is no writer, and locks for reading.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        whole(self.0.read())
    }

    /// Waits until there is no reader or writer, and locks for writing.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        whole(self.0.write())
    }
}

/// [`std::sync::Condvar`], for a [`Mutex`] of this module.
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    /// Creates a condition variable without waiters.
    pub const fn new() -> Self {
        Condvar(sync::Condvar::new())
    }

    /// Waits for a notification. May return early.
    #[inline]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        whole(self.0.wait(guard))
    }

    /// Waits while `waits` returns `true` for the value.
    #[inline]
    pub fn wait_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        waits: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        whole(self.0.wait_while(guard, waits))
    }

    /// Waits for a notification, for `limit` at most. May return early.
    #[inline]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        whole(self.0.wait_timeout(guard, limit))
    }

    /// Waits while `waits` returns `true` for the value, for `limit` at most.
    #[inline]
    pub fn wait_timeout_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        limit: Duration,
        waits: impl FnMut(&mut T) -> bool,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        whole(self.0.wait_timeout_while(guard, limit, waits))
    }

    /// Wakes one waiting thread.
    #[inline]
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiting threads.
    #[inline]
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[inline]
fn whole<G>(locked: LockResult<G>) -> G {
    locked.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_under_a_lock_leaves_it_usable() {
        let (mutex, lock) = (Mutex::new(1), RwLock::new(2));
        std::thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _held = (mutex.lock(), lock.write());
                panic!("while both are held");
            });
            panics.join().unwrap_err();
        });
        assert_eq!(*mutex.lock(), 1);
        assert_eq!(mutex.try_lock().map(|value| *value), Some(1));
        assert_eq!(*lock.read(), 2);
        assert_eq!(*lock.write(), 2);
        assert_eq!(mutex.into_inner(), 1);
    }
}
