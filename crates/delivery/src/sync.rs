//! Locks and waits of the operating system, or those of a model checker.
//!
//! Test builds with the feature `model` use shuttle's. Shuttle decides at each lock and each wait which thread runs
//! next (see `src/model.rs`).

#[cfg(not(all(test, feature = "model")))]
mod chosen {
    use std::fmt;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;
    use std::time::Duration;

    use oxorb_sys::futex;
    use oxorb_sys::mutex::{Guard, Mutex};

    /// A mutex whose holder inherits the priority of its waiters.
    pub(crate) struct Lock<T>(Mutex<T>);

    pub(crate) type Locked<'l, T> = Guard<'l, T>;

    impl<T> Lock<T> {
        pub(crate) fn new(value: T) -> Lock<T> {
            Lock(Mutex::new(value))
        }

        /// Takes the lock. This crate never holds a lock while it calls a sink.
        #[inline]
        pub(crate) fn lock(&self) -> Locked<'_, T> {
            crate::taken::note(std::ptr::from_ref(self).addr());
            loop {
                match self.0.lock() {
                    Ok(guard) => return guard,
                    // The kernel does not support priority inheritance. Try again, because locks are held only for a
                    // short time.
                    Err(_) => thread::yield_now(),
                }
            }
        }
    }

    impl<T> fmt::Debug for Lock<T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.fmt(f)
        }
    }

    /// A counter of changes. Threads can sleep until it changes.
    #[derive(Debug, Default)]
    pub(crate) struct Signal {
        changes: AtomicU32,
        sleepers: AtomicU32,
    }

    impl Signal {
        /// Returns the count. Must be called before the awaited condition is checked.
        pub(crate) fn seen(&self) -> u32 {
            self.changes.load(Ordering::SeqCst)
        }

        /// Sleeps until the count differs from `seen`, for at most `limit`. May return early.
        pub(crate) fn wait(&self, seen: u32, limit: Duration) {
            // Register before the kernel compares the count. A thread that changes the count after this comparison then
            // sees the sleeper and wakes it.
            self.sleepers.fetch_add(1, Ordering::SeqCst);
            futex::sleep(&self.changes, seen, limit);
            self.sleepers.fetch_sub(1, Ordering::SeqCst);
        }

        /// Wakes all sleepers. Makes no system call if there are none.
        #[inline]
        pub(crate) fn notify(&self) {
            self.changes.fetch_add(1, Ordering::SeqCst);
            if self.sleepers.load(Ordering::SeqCst) > 0 {
                while futex::wake(&self.changes) {}
            }
        }
    }
}

#[cfg(all(test, feature = "model"))]
mod chosen {
    use std::time::Duration;

    use shuttle::sync::{Condvar, Mutex, MutexGuard};

    #[derive(Debug)]
    pub(crate) struct Lock<T>(Mutex<T>);

    pub(crate) type Locked<'l, T> = MutexGuard<'l, T>;

    impl<T> Lock<T> {
        pub(crate) fn new(value: T) -> Lock<T> {
            Lock(Mutex::new(value))
        }

        pub(crate) fn lock(&self) -> Locked<'_, T> {
            self.0.lock().unwrap()
        }
    }

    /// Signal that ignores time limits, so that a lost wake-up is a deadlock, which shuttle reports.
    #[derive(Debug)]
    pub(crate) struct Signal {
        changes: Mutex<u32>,
        changed: Condvar,
    }

    impl Default for Signal {
        fn default() -> Signal {
            Signal { changes: Mutex::new(0), changed: Condvar::new() }
        }
    }

    impl Signal {
        pub(crate) fn seen(&self) -> u32 {
            *self.changes.lock().unwrap()
        }

        pub(crate) fn wait(&self, seen: u32, _: Duration) {
            let mut changes = self.changes.lock().unwrap();
            while *changes == seen {
                changes = self.changed.wait(changes).unwrap();
            }
        }

        pub(crate) fn notify(&self) {
            *self.changes.lock().unwrap() += 1;
            self.changed.notify_all();
        }
    }
}

pub(crate) use chosen::*;
