//! Mutexes that outlive a panic: what they guard is consistent between any two statements.

use std::sync::{MutexGuard, PoisonError};

/// A mutex whose lock always succeeds.
pub(crate) struct Mutex<T>(oxorb_core::lock::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Mutex(oxorb_core::lock::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}
