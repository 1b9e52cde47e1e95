//! Mutexes with priority inheritance (RTCORBA::Mutex, RT-CORBA 1.2, 5.11).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use oxorb_object::SystemException;
use oxorb_sys::mutex::{self, LockError};

use crate::error::raise;
use crate::threads::lock::Mutex;

/// Guard of [`RtMutex::lock`] with access to the value. Not `Send`.
pub use oxorb_sys::mutex::Guard as RtMutexGuard;

/// Mutex around a value, with priority inheritance: the thread that holds it is scheduled at least as urgently as the
/// most urgent thread that waits for it, so that no thread of a priority between theirs delays both.
///
/// `RTCORBA::Mutex`: `lock` and `try_lock` return a guard, and dropping the guard is `unlock`. Needs no ORB; named
/// mutexes belong to an ORB ([`Orb::create_named_mutex`](crate::Orb::create_named_mutex)). Not recursive. A panic
/// unlocks the mutex and leaves the value as it is.
///
/// **Real-time cost.** One atomic operation without contention, otherwise one system call on each side. Never
/// allocates.
///
/// ```
/// use std::time::Duration;
///
/// use oxorb_core::RtMutex;
///
/// let track = RtMutex::new(0);
/// *track.lock()? += 1;
/// if let Some(mut track) = track.try_lock(Duration::from_millis(1))? {
///     *track += 1;
/// }
/// assert_eq!(*track.lock()?, 2);
/// # Ok::<(), oxorb_object::SystemException>(())
/// ```
#[derive(Default)]
pub struct RtMutex<T: ?Sized = ()>(mutex::Mutex<T>);

impl<T> RtMutex<T> {
    /// Returns an unlocked mutex around a value (`create_mutex`).
    pub const fn new(value: T) -> Self {
        RtMutex(mutex::Mutex::new(value))
    }

    /// Consumes the mutex and returns the value (`destroy_mutex`).
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

impl<T: ?Sized> RtMutex<T> {
    /// Locks the mutex, and waits until it is free (`lock`).
    ///
    /// # Errors
    /// BAD_INV_ORDER if this thread would wait for itself: it holds the mutex, or threads wait in a circle. INTERNAL if
    /// the kernel has no priority inheritance.
    #[inline]
    pub fn lock(&self) -> Result<RtMutexGuard<'_, T>, SystemException> {
        self.0.lock().map_err(exception)
    }

    /// Locks the mutex within `max_wait`; zero for no wait (`try_lock`, whose `max_wait` counts units of 100 ns).
    /// `None` if it was not free in time.
    ///
    /// # Errors
    /// Those of [`lock`](Self::lock).
    #[inline]
    pub fn try_lock(
        &self,
        max_wait: Duration,
    ) -> Result<Option<RtMutexGuard<'_, T>>, SystemException> {
        self.0.try_lock(max_wait).map_err(exception)
    }
}

#[cold]
fn exception(error: LockError) -> SystemException {
    match error {
        LockError::Deadlock => raise::WOULD_DEADLOCK,
        _ => raise::BROKEN_INVARIANT,
    }
}

impl<T: ?Sized> fmt::Debug for RtMutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RtMutex").field(&&self.0).finish()
    }
}

/// Error of an unknown name of a mutex (`RTCORBA::RTORB::MutexNotFound`).
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("this ORB has no mutex {0:?}; create_named_mutex creates one")]
pub struct MutexNotFound(pub String);

impl fmt::Debug for MutexNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Named mutexes of an ORB.
#[derive(Default)]
pub(crate) struct NamedMutexes(Mutex<HashMap<String, Arc<RtMutex>>>);

impl NamedMutexes {
    /// Returns the mutex of a name, and whether it was created by this call.
    pub(crate) fn create(&self, name: &str) -> (Arc<RtMutex>, bool) {
        let mut mutexes = self.0.lock();
        if let Some(known) = mutexes.get(name) {
            return (Arc::clone(known), false);
        }
        let made = Arc::<RtMutex>::default();
        mutexes.insert(name.to_owned(), Arc::clone(&made));
        (made, true)
    }

    /// Returns the mutex of a name.
    pub(crate) fn open(&self, name: &str) -> Result<Arc<RtMutex>, MutexNotFound> {
        let mutexes = self.0.lock();
        let known = mutexes.get(name).cloned();
        known.ok_or_else(|| MutexNotFound(name.to_owned()))
    }

    /// Removes a name; its mutex exists until the last handle is dropped.
    pub(crate) fn destroy(&self, name: &str) -> Result<(), MutexNotFound> {
        let mut mutexes = self.0.lock();
        let known = mutexes.remove(name);
        known.map(drop).ok_or_else(|| MutexNotFound(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::Orb;

    #[test]
    fn a_name_leads_to_one_mutex_until_it_is_destroyed() {
        let (orb, other) = (Orb::new(Options::default()), Orb::new(Options::default()));
        assert_eq!(orb.open_named_mutex("radar").err(), Some(MutexNotFound("radar".to_owned())));
        let (made, created) = orb.create_named_mutex("radar");
        let (known, again) = orb.create_named_mutex("radar");
        assert!(created && !again && Arc::ptr_eq(&made, &known));
        let _held = made.lock().unwrap();
        let opened = orb.open_named_mutex("radar").unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(opened.try_lock(Duration::ZERO).unwrap().is_none()));
        });
        assert!(other.open_named_mutex("radar").is_err(), "names are an ORB's own");
        orb.destroy_named_mutex("radar").unwrap();
        assert!(orb.destroy_named_mutex("radar").is_err());
        assert!(orb.create_named_mutex("radar").1);
    }

    #[test]
    fn who_would_wait_for_itself_is_told() {
        let mutex = RtMutex::new(7);
        let guard = mutex.lock().unwrap();
        assert_eq!(mutex.lock().unwrap_err(), raise::WOULD_DEADLOCK);
        assert_eq!(*guard, 7);
        drop(guard);
        assert_eq!(mutex.into_inner(), 7);
    }
}
