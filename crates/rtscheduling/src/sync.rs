//! Locks and waits: the system's, or those of a model checker.
//!
//! In a test build with the feature `model` they are shuttle's, which chooses at each lock and wait which thread runs next
//! (see `src/model.rs`). Shuttle's waits know no time: one that is lost is a deadlock, which it reports.

#[cfg(not(all(test, feature = "model")))]
pub(crate) use std::{
    sync::{Condvar, Mutex, MutexGuard},
    thread_local,
};

#[cfg(all(test, feature = "model"))]
pub(crate) use shuttle::{
    sync::{Condvar, Mutex, MutexGuard},
    thread_local,
};

use std::sync::PoisonError;

/// Takes a lock. What a panic leaves behind in this crate is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
