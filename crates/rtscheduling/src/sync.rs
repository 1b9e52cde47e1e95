//! Locks and waits of the system or of a model checker. Locks return guards without poisoning.
//!
//! In a test build with the feature `model` they are shuttle's, which chooses at each lock and wait
//! the thread that runs next (see `src/model.rs`). Shuttle's waits have no timeouts: a lost wake-up
//! is a deadlock, which it reports.

#[cfg(not(all(test, feature = "model")))]
mod chosen {
    pub(crate) use std::thread_local;

    pub(crate) use oxorb_sys::sync::{Condvar, Mutex, MutexGuard};
}

#[cfg(all(test, feature = "model"))]
mod chosen {
    use std::sync::PoisonError;
    use std::time::Duration;

    use shuttle::sync::{self, WaitTimeoutResult};

    pub(crate) use shuttle::sync::MutexGuard;
    pub(crate) use shuttle::thread_local;

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T>(sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Self {
            Mutex(sync::Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    #[derive(Debug, Default)]
    pub(crate) struct Condvar(sync::Condvar);

    impl Condvar {
        pub(crate) const fn new() -> Self {
            Condvar(sync::Condvar::new())
        }

        pub(crate) fn wait_timeout<'a, T>(
            &self,
            guard: MutexGuard<'a, T>,
            limit: Duration,
        ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
            self.0.wait_timeout(guard, limit).unwrap_or_else(PoisonError::into_inner)
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

pub(crate) use chosen::*;
