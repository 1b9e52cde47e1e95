//! Locks of this crate and of the crates above it: those of [`oxorb_sys::sync`], counted in debug builds.
//!
//! "In steady state a request takes no lock" is a promise, and an uncontended lock leaves no trace outside the process:
//! no system call, no allocation. Therefore every lock is taken through these types, which count per thread, and a test
//! compares [`taken`] before and after a request. In release builds they are exactly `oxorb_sys::sync::Mutex`.

use super::sync;
pub use super::sync::{Condvar, MutexGuard};

/// [`oxorb_sys::sync::Mutex`] that counts how often it is taken.
#[derive(Debug, Default)]
pub struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    /// Returns a free mutex around a value.
    pub const fn new(value: T) -> Self {
        Mutex(sync::Mutex::new(value))
    }

    /// Waits until the mutex is free, and takes it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        count();
        self.0.lock()
    }

    /// Takes the mutex if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        count();
        self.0.try_lock()
    }
}

/// Returns the number of locks that the calling thread has taken so far; `None` in release builds, which do not count.
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
