//! Mutex with priority inheritance: its holder runs at least at the priority of the most urgent
//! thread that waits for it, so no thread of a priority between the two can delay both
//! (`FUTEX_LOCK_PI`).

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::thread::futex::{self, Flags};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Value accessible to one thread at a time; waiting threads lend their priority to the holder.
///
/// Not recursive, and not poisoned by a panic.
///
/// **Real-time cost.** Locking a free mutex and releasing one without waiters takes one atomic
/// operation each, no system call. Otherwise the waiting thread and the releasing thread make one
/// system call each. Never allocates.
///
/// ```
/// use std::time::Duration;
///
/// let shared = oxorb_sys::mutex::Mutex::new(1);
/// *shared.lock()? += 1;
/// let guard = shared.lock()?;
/// assert!(shared.try_lock(Duration::ZERO).is_err(), "it is this very thread that holds it");
/// assert_eq!(*guard, 2);
/// # Ok::<(), oxorb_sys::mutex::LockError>(())
/// ```
#[derive(Default)]
pub struct Mutex<T: ?Sized = ()> {
    /// 0 if free; otherwise the id of the holding thread and the waiters bit, in the format of the
    /// kernel.
    owner: AtomicU32,
    value: UnsafeCell<T>,
}

/// Exclusive access to the value until dropped, for the locking thread only.
#[must_use = "the mutex is free again as soon as this goes"]
pub struct Guard<'m, T: ?Sized = ()> {
    mutex: &'m Mutex<T>,
    not_send: PhantomData<*const ()>,
}

/// Reason why a mutex cannot be locked.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The calling thread holds the mutex, or is part of a cycle of threads that wait for each
    /// other.
    #[error("this thread already holds the mutex")]
    Deadlock,
    /// The kernel lacks priority inheritance, or memory.
    #[error("the system cannot lock the mutex: {0}")]
    System(io::Error),
}

/// Set by the kernel while others wait.
const WAITERS: u32 = 0x8000_0000;
const THREAD: u32 = 0x3fff_ffff;

// SAFETY: only the thread that holds the lock reaches the value, one at a time, so the value moves between threads
// (`Send`) and is never shared.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
// SAFETY: as above; without a guard there are no other references to it.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: a shared guard provides only `&T` to another thread.
unsafe impl<T: ?Sized + Sync> Sync for Guard<'_, T> {}

impl<T> Mutex<T> {
    /// Creates an unlocked mutex around a value.
    pub const fn new(value: T) -> Self {
        Mutex { owner: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// Returns the value, without locking: owning the mutex guarantees exclusive access.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the mutex is free, and locks it.
    ///
    /// # Errors
    /// [`LockError::Deadlock`] when the mutex would never become free.
    pub fn lock(&self) -> Result<Guard<'_, T>, LockError> {
        self.acquire()?;
        Ok(self.guard())
    }

    /// Locks the mutex, waiting for `max_wait` at most; if that is zero, it does not wait. Returns `None` on a
    /// time-out.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn try_lock(&self, max_wait: Duration) -> Result<Option<Guard<'_, T>>, LockError> {
        let locked = self.acquire_within(max_wait)?;
        Ok(locked.then(|| self.guard()))
    }

    /// Locks the mutex without a guard, for callers that [`release`](Self::release) it elsewhere.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn acquire(&self) -> Result<(), LockError> {
        match self.take() {
            Ok(()) => Ok(()),
            Err(()) => self.wait(None).map(drop),
        }
    }

    /// Locks the mutex as [`try_lock`](Self::try_lock), without a guard; `false` on a time-out.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    pub fn acquire_within(&self, max_wait: Duration) -> Result<bool, LockError> {
        match self.take() {
            Ok(()) => Ok(true),
            Err(()) if self.is_ours() => Err(LockError::Deadlock),
            Err(()) if max_wait.is_zero() => Ok(false),
            Err(()) => self.wait(Some(max_wait)),
        }
    }

    /// Releases the mutex that [`acquire`](Self::acquire) locked. Returns `false` if the calling
    /// thread does not hold it.
    pub fn release(&self) -> bool {
        let ours = self.is_ours();
        if ours {
            self.give_back();
        }
        ours
    }

    /// Reports whether the calling thread holds the mutex.
    pub fn is_ours(&self) -> bool {
        self.owner.load(Ordering::Relaxed) & THREAD == thread()
    }

    /// Reports whether another thread waits for the mutex.
    pub fn is_awaited(&self) -> bool {
        self.owner.load(Ordering::Relaxed) & WAITERS != 0
    }

    #[inline]
    fn take(&self) -> Result<(), ()> {
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        let taken = self.owner.compare_exchange(0, thread(), acquire, relaxed);
        taken.map(drop).map_err(drop)
    }

    /// Waits in the kernel, which lends the caller's priority to the holder.
    #[cold]
    fn wait(&self, limit: Option<Duration>) -> Result<bool, LockError> {
        let until = limit.map(deadline);
        loop {
            match futex::lock_pi(&self.owner, Flags::PRIVATE, until.as_ref()) {
                Ok(()) => return Ok(true),
                Err(rustix::io::Errno::TIMEDOUT) => return Ok(false),
                Err(rustix::io::Errno::DEADLK) => return Err(LockError::Deadlock),
                // The holder is exiting and the kernel has not cleaned up yet, or the wait was interrupted: try again.
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(other) => return Err(LockError::System(other.into())),
            }
        }
    }

    #[inline]
    fn give_back(&self) {
        let (release, relaxed) = (Ordering::Release, Ordering::Relaxed);
        let free = self.owner.compare_exchange(thread(), 0, release, relaxed);
        if free.is_err() {
            // The exchange fails only if the kernel has set the waiters bit. The kernel then hands the mutex to the
            // most urgent waiter.
            let _ = futex::unlock_pi(&self.owner, Flags::PRIVATE);
        }
    }

    fn guard(&self) -> Guard<'_, T> {
        Guard { mutex: self, not_send: PhantomData }
    }
}

impl<T: ?Sized> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread holds the lock for as long as the guard lives, so there is no writer of the value.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread holds the lock for as long as the guard lives, and the guard is borrowed mutably: there
        // are no other references to the value.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.mutex.give_back();
    }
}

/// Returns the kernel's id of this thread, cached after the first call.
#[inline]
fn thread() -> u32 {
    thread_local! {
        static THREAD: Cell<u32> = const { Cell::new(0) };
    }
    match THREAD.get() {
        0 => {
            let id = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
            THREAD.set(id);
            id
        }
        id => id,
    }
}

/// Returns the deadline in realtime, the clock that `FUTEX_LOCK_PI` uses.
fn deadline(limit: Duration) -> Timespec {
    let now = clock_gettime(ClockId::Realtime);
    let nanoseconds = now.tv_nsec + i64::from(limit.subsec_nanos());
    let seconds = i64::try_from(limit.as_secs()).unwrap_or(i64::MAX / 2);
    Timespec {
        tv_sec: now.tv_sec.saturating_add(seconds).saturating_add(nanoseconds / 1_000_000_000),
        tv_nsec: nanoseconds % 1_000_000_000,
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = self.owner.load(Ordering::Relaxed);
        f.debug_struct("Mutex")
            .field("thread", &(owner & THREAD))
            .field("awaited", &(owner & WAITERS != 0))
            .finish()
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Guard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guard").field(&&**self).finish()
    }
}

impl fmt::Debug for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc;
    use std::thread as threads;

    use oxorb_testkit::peers::missing;

    use super::*;

    #[test]
    fn one_thread_at_a_time() {
        const ROUNDS: u64 = 20_000;
        let mutex = Mutex::new((0, 0));
        threads::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        let mut both = mutex.lock().unwrap();
                        both.0 += 1;
                        assert_eq!(both.0, both.1 + 1);
                        both.1 += 1;
                    }
                });
            }
        });
        assert_eq!(mutex.into_inner(), (4 * ROUNDS, 4 * ROUNDS));
    }

    #[test]
    fn who_waits_gives_up_in_time_and_who_holds_it_is_told() {
        let mutex = Mutex::new(());
        let guard = mutex.lock().unwrap();
        assert!(matches!(mutex.lock(), Err(LockError::Deadlock)));
        threads::scope(|scope| {
            scope.spawn(|| {
                assert!(mutex.try_lock(Duration::ZERO).unwrap().is_none());
                assert!(mutex.try_lock(Duration::from_millis(5)).unwrap().is_none());
                assert!(!mutex.release(), "not ours to release");
            });
        });
        drop(guard);
        assert!(mutex.try_lock(Duration::ZERO).unwrap().is_some());
    }

    #[test]
    fn two_threads_that_wait_for_each_other_are_told() {
        let (one, other) = (Mutex::new(()), Mutex::new(()));
        let both = std::sync::Barrier::new(2);
        let deadlocks = threads::scope(|scope| {
            let lock = |first, second| {
                let both = &both;
                move || {
                    let _first: Guard<'_> = Mutex::lock(first).unwrap();
                    both.wait();
                    Mutex::lock(second).is_err()
                }
            };
            let threads = [scope.spawn(lock(&one, &other)), scope.spawn(lock(&other, &one))];
            threads.map(|thread| thread.join().unwrap())
        });
        assert!(deadlocks.contains(&true), "one of them has to give way");
    }

    /// A low-priority holder runs at the priority of the waiting thread while that thread waits.
    #[test]
    fn who_holds_it_inherits_the_priority_of_who_waits() {
        let mutex = Mutex::new(());
        let (say, holding) = mpsc::channel();
        threads::scope(|scope| {
            let (release, released) = mpsc::channel::<()>();
            scope.spawn({
                let mutex = &mutex;
                move || {
                    // Makes this thread less urgent than the waiting one. On Linux, niceness is per thread, and raising
                    // it needs no privilege.
                    rustix::process::setpriority_process(None, 19).unwrap();
                    let nice = priority_of(thread());
                    let guard = mutex.lock().unwrap();
                    say.send((thread(), nice)).unwrap();
                    released.recv().unwrap();
                    drop(guard);
                    assert_eq!(priority_of(thread()), nice, "restored");
                }
            });
            let (holder, nice) = holding.recv().unwrap();
            let (tell, waiting) = mpsc::channel();
            let mutex = &mutex;
            scope.spawn(move || {
                // If the test runs under `nice`, this fails without CAP_SYS_NICE, and the thread keeps the niceness of
                // the test.
                let _ = rustix::process::setpriority_process(None, 0);
                tell.send(priority_of(thread())).unwrap();
                drop(mutex.lock().unwrap());
            });
            // In `stat`, a smaller priority value is more urgent.
            let more_urgent = waiting.recv().unwrap() < nice;
            while !mutex.is_awaited() {
                threads::yield_now();
            }
            while more_urgent && priority_of(holder) >= nice {
                threads::yield_now();
            }
            release.send(()).unwrap();
            if !more_urgent {
                let why = "no thread can be more urgent than one of niceness 19";
                missing("a niceness below 19 (or CAP_SYS_NICE)", why);
            }
        });
    }

    /// Returns field 18 of the thread's `stat`: its current priority.
    fn priority_of(thread: u32) -> i64 {
        let stat = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
        let fields = stat.rsplit_once(") ").unwrap().1;
        fields.split(' ').nth(15).unwrap().parse().unwrap()
    }
}
