//! Sleeping on a word of memory until another thread, of this process or another, wakes the sleeper.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags};
use rustix::time::Timespec;

/// Sleeps while `word` holds `expected`, until another thread [wakes](wake) its sleepers, for
/// `limit` at most. The call may return early and does not report why, so the caller must re-check
/// its own condition.
///
/// **Real-time cost.** One system call.
pub fn sleep(word: &AtomicU32, expected: u32, limit: Duration) {
    let Ok(limit) = Timespec::try_from(limit) else {
        return;
    };
    match futex::wait(word, Flags::empty(), expected, Some(&limit)) {
        Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => {}
        // If the system call is not available, the thread cannot sleep. The caller's loop then polls the word.
        Err(_) => std::thread::yield_now(),
    }
}

/// Wakes one thread that sleeps on `word`, and reports whether there was one. If the word lies in
/// shared memory, the sleeper may belong to another process.
///
/// **Real-time cost.** One system call.
pub fn wake(word: &AtomicU32) -> bool {
    // If the system call is not available, it fails. No thread sleeps then, because `sleep` fails as well.
    matches!(futex::wake(word, Flags::empty(), 1), Ok(1..))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::thread;

    use super::*;

    #[test]
    fn a_sleeper_wakes_when_the_word_changes_and_not_before_it_is_asked_to() {
        let word = AtomicU32::new(0);
        sleep(&word, 1, Duration::from_secs(60));
        thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(Ordering::Acquire) == 0 {
                    sleep(&word, 0, Duration::from_secs(60));
                }
            });
            word.store(1, Ordering::Release);
            wake(&word);
        });
    }
}
