//! Hooks of the application that run before the ORB refuses calls.

use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

use super::Orb;
use crate::threads::clock;
use crate::threads::lock::Mutex;
use crate::threads::sync::thread::{self, ThreadId};
use crate::threads::sync::{Condvar, MutexGuard};

/// Longest wait of a second `shutdown` for the hooks that the first one runs.
const LAST_HOOKS: Duration = Duration::from_secs(30);

/// Hooks of [`Orb::before_shutdown`].
#[derive(Default)]
pub(super) struct ExitHooks {
    state: Mutex<HooksState>,
    ran: Condvar,
}

type Hook = Box<dyn FnOnce(&Orb) + Send>;

#[derive(Default)]
struct HooksState {
    hooks: Vec<Hook>,
    /// Thread that runs hooks now.
    runner: Option<ThreadId>,
}

impl ExitHooks {
    pub(super) fn add(&self, hook: Hook) {
        self.lock().hooks.push(hook);
    }

    /// Runs all hooks, the last added first. A second caller waits for the first; a hook that shuts
    /// the ORB down does not wait for itself.
    pub(super) fn run(&self, orb: &Orb) {
        let here = thread::current().id();
        let until = clock::now() + LAST_HOOKS;
        let mut state = self.lock();
        while let Some(runner) = state.runner {
            let left = until.saturating_duration_since(clock::now());
            if runner == here || left.is_zero() {
                return;
            }
            state = self.ran.wait_timeout(state, left).0;
        }
        state.runner = Some(here);
        while let Some(hook) = state.hooks.pop() {
            drop(state);
            let _ = panic::catch_unwind(AssertUnwindSafe(|| hook(orb)));
            state = self.lock();
        }
        state.runner = None;
        self.ran.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, HooksState> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, mpsc};

    use super::*;
    use crate::Options;

    #[test]
    fn hooks_run_once_in_reverse_and_a_panic_stops_none() {
        let orb = Orb::new(Options::default());
        let ran = Arc::new(Mutex::new(Vec::new()));
        let note = |name: &'static str| {
            let ran = Arc::clone(&ran);
            move |orb: &Orb| {
                ran.lock().unwrap().push(name);
                assert!(!orb.is_closing());
                assert!(name != "panics", "as it should");
            }
        };
        orb.before_shutdown(note("first"));
        orb.before_shutdown(note("panics"));
        orb.before_shutdown(note("last"));
        orb.shutdown(true).unwrap();
        orb.shutdown(true).unwrap();
        assert_eq!(*ran.lock().unwrap(), ["last", "panics", "first"]);
    }

    #[test]
    fn a_hook_may_shut_the_orb_down_itself() {
        let orb = Orb::new(Options::default());
        orb.before_shutdown(|orb| orb.shutdown(false).unwrap());
        orb.shutdown(true).unwrap();
        assert!(orb.is_closing());
    }

    #[test]
    fn a_second_shutdown_waits_for_the_hooks_of_the_first() {
        let orb = Orb::new(Options::default());
        let (entered, enters) = mpsc::channel();
        let (go, goes) = mpsc::channel();
        let done = Arc::new(Mutex::new(false));
        let mark = Arc::clone(&done);
        orb.before_shutdown(move |_| {
            entered.send(()).unwrap();
            goes.recv_timeout(Duration::from_secs(20)).unwrap();
            *mark.lock().unwrap() = true;
        });
        let first = orb.clone();
        let first = thread::spawn(move || first.shutdown(false));
        enters.recv_timeout(Duration::from_secs(20)).unwrap();
        let second = orb.clone();
        let second = thread::spawn(move || {
            second.shutdown(false).unwrap();
            *done.lock().unwrap()
        });
        go.send(()).unwrap();
        assert!(second.join().unwrap(), "the second one came too early");
        first.join().unwrap().unwrap();
    }
}
