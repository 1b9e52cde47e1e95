//! The locks of this crate and of the object adapter: those of `std`, counted in debug builds.
//!
//! "A request on the steady path takes no lock" is a promise, and an
//! uncontended lock leaves no trace outside the process: no system call, no
//! allocation. So every lock is taken through these types, which count per
//! thread, and a test looks at [`taken`] around a request. In release builds
//! they are exactly `std::sync::Mutex` and `RwLock`.

use std::fmt;
use std::sync::{LockResult, TryLockResult};

use crate::sync::{self, MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// `std::sync::Mutex`, counted.
#[derive(Default)]
pub struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Makes a mutex, as `std::sync::Mutex::new` does.
    pub const fn new(value: T) -> Self {
        Mutex(sync::Mutex::new(value))
    }

    /// Locks, as `std::sync::Mutex::lock` does.
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        count();
        self.0.lock()
    }

    /// Tries to lock, as `std::sync::Mutex::try_lock` does.
    #[inline]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        count();
        self.0.try_lock()
    }
}

/// `std::sync::RwLock`, counted.
#[derive(Default)]
pub struct RwLock<T>(sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Locks for reading, as `std::sync::RwLock::read` does.
    #[inline]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        count();
        self.0.read()
    }

    /// Locks for writing, as `std::sync::RwLock::write` does.
    #[inline]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        count();
        self.0.write()
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns the number of locks that this thread has taken so far; `None` in release builds, which
/// do not count.
pub fn taken() -> Option<u64> {
    #[cfg(debug_assertions)]
    return Some(TAKEN.get());
    #[cfg(not(debug_assertions))]
    None
}

#[cfg(debug_assertions)]
thread_local! {
    static TAKEN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[inline]
fn count() {
    #[cfg(debug_assertions)]
    TAKEN.set(TAKEN.get() + 1);
}
