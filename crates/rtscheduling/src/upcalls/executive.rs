//! Thread that makes the upcalls of one priority, in the order of their releases.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use oxorb::rt::Priority;
use oxorb::{Orb, SystemException, SystemExceptionKind};
use oxorb_sys::sync::{Condvar, Mutex, MutexGuard};

use super::counts::{Measured, add};
use super::periodic::{Missed, Overrun, Periodic};

type Call = Box<dyn FnMut() -> Result<(), SystemException> + Send>;

/// Longest sleep of an executive without upcalls.
const IDLE: Duration = Duration::from_secs(3600);

/// Upcall with its timing.
pub(super) struct Job {
    number: u64,
    periodic: Periodic,
    measured: Arc<Measured>,
    /// `None` while it runs.
    call: Option<Call>,
    /// Release of the next call.
    release: Instant,
    /// Whether calls are made at the lower priority of the job's overrun policy.
    demoted: bool,
}

impl Job {
    /// Creates a job whose first release is now or later. `periodic` must have been checked: an offset of at most a
    /// day can be added to the current time.
    pub(super) fn new(number: u64, periodic: Periodic, measured: Arc<Measured>, call: Call) -> Job {
        Job {
            release: Instant::now() + periodic.offset,
            number,
            periodic,
            measured,
            call: Some(call),
            demoted: false,
        }
    }

    fn deadline(&self) -> Duration {
        self.periodic.deadline.unwrap_or(self.periodic.period)
    }

    /// Counts a call, computes the next release, and returns the number of releases that have
    /// passed already.
    fn ended(&mut self, begun: Instant, ended: Instant, done: bool) -> u64 {
        let measured = &self.measured;
        let since = |then: Instant| then.saturating_duration_since(self.release);
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        measured.latency.record(nanoseconds(since(begun)));
        let response = since(ended);
        measured.response.record(nanoseconds(response));
        add(&measured.misses, u64::from(response > self.deadline()));
        add(&measured.failures, u64::from(!done));
        let period = self.periodic.period;
        let behind = (response.as_nanos() / period.as_nanos()) as u64;
        add(&measured.overruns, u64::from(behind > 0));
        let skipped = match self.periodic.overrun {
            Overrun::CatchUp(most) => behind.saturating_sub(most.into()),
            _ => behind,
        };
        add(&measured.skipped, skipped);
        self.demoted = behind > 0 && matches!(self.periodic.overrun, Overrun::Demote(_));
        // Skipped releases have passed already, so the new release is at most one period from now.
        let skipped = u32::try_from(skipped).unwrap_or(u32::MAX);
        self.release += period + period.saturating_mul(skipped);
        // Increment this count last, so that a reader that sees it also sees the other counts of
        // the call.
        add(&measured.runs, 1);
        behind
    }
}

/// Upcalls of one priority, and their thread.
pub(super) struct Executive {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    /// Number of the running upcall.
    running: Option<u64>,
    thread: Option<ThreadId>,
    stop: bool,
    stopped: bool,
}

impl Executive {
    pub(super) fn start(orb: &Orb, priority: Priority) -> io::Result<Arc<Executive>> {
        let executive = Arc::new(Executive { state: Mutex::default(), changed: Condvar::new() });
        let (own, orb) = (Arc::clone(&executive), orb.downgrade());
        let name = format!("upcalls {}", priority.get());
        thread::Builder::new().name(name).spawn(move || {
            let _stopped = Stopped(&own);
            own.lock().thread = Some(thread::current().id());
            if let Some(orb) = orb.upgrade() {
                // Ignore errors: the ORB logs a missing native priority, and the thread keeps its
                // own priority.
                let _ = orb.set_thread_priority(priority);
            }
            own.run(&|priority: Priority, call: &mut dyn FnMut()| {
                let raised = orb.upgrade().and_then(|orb| orb.raise_thread(priority).ok());
                call();
                drop(raised);
            });
        })?;
        Ok(executive)
    }

    pub(super) fn add(&self, job: Job) {
        self.lock().jobs.push(job);
        self.changed.notify_all();
    }

    /// Removes an upcall and waits for its current call, at most until `until`. Reports whether no
    /// call runs.
    pub(super) fn remove(&self, number: u64, until: Option<Instant>) -> bool {
        let mut state = self.lock();
        let removed = state.jobs.iter().position(|job| job.number == number);
        let removed = removed.map(|at| state.jobs.swap_remove(at));
        while state.running == Some(number) && state.thread != Some(thread::current().id()) {
            let left = until
                .map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            state = self.wait(state, left);
        }
        let ended = state.running != Some(number);
        drop(state);
        // Drop the upcall after the lock is released, because dropping its captured values may take
        // locks.
        drop(removed);
        ended
    }

    pub(super) fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    pub(super) fn wait_stopped(&self, until: Instant) {
        let mut state = self.lock();
        // If a hook of the ORB runs in an upcall, this thread is the executive and must not wait
        // for itself.
        while !state.stopped && state.thread != Some(thread::current().id()) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.wait(state, left);
        }
    }

    fn run(&self, at_priority: &dyn Fn(Priority, &mut dyn FnMut())) {
        let mut state = self.lock();
        while !state.stop {
            let now = Instant::now();
            let next = state.jobs.iter_mut().min_by_key(|job| (job.release, job.deadline()));
            let Some(job) = next else {
                state = self.wait(state, IDLE);
                continue;
            };
            let early = job.release.saturating_duration_since(now);
            if !early.is_zero() {
                state = self.wait(state, early.min(IDLE));
                continue;
            }
            let Some(mut call) = job.call.take() else {
                unreachable!("one thread runs all of them");
            };
            let number = job.number;
            let lower = match job.periodic.overrun {
                Overrun::Demote(priority) if job.demoted => Some(priority),
                _ => None,
            };
            if lower.is_some() {
                add(&job.measured.demoted, 1);
            }
            state.running = Some(number);
            drop(state);
            let mut done = Ok(Ok(()));
            let mut act = || done = panic::catch_unwind(AssertUnwindSafe(&mut call));
            match lower {
                None => act(),
                Some(priority) => at_priority(priority, &mut act),
            }
            let ended = Instant::now();
            state = self.after(number, call, now, ended, &done);
        }
    }

    /// Stores an upcall again after its call, unless it was removed meanwhile or its object no
    /// longer exists.
    fn after(
        &self,
        number: u64,
        call: Call,
        begun: Instant,
        ended: Instant,
        done: &thread::Result<Result<(), SystemException>>,
    ) -> MutexGuard<'_, State> {
        let gone = matches!(done, Ok(Err(exception)) if exception.kind == SystemExceptionKind::ObjectNotExist);
        let mut state = self.lock();
        state.running = None;
        self.changed.notify_all();
        let Some(at) = state.jobs.iter().position(|job| job.number == number) else {
            drop(state);
            drop(call);
            return self.lock();
        };
        let job = &mut state.jobs[at];
        let release = job.release;
        let behind = job.ended(begun, ended, matches!(done, Ok(Ok(()))));
        if gone {
            let job = state.jobs.swap_remove(at);
            drop(state);
            drop((job, call));
            return self.lock();
        }
        job.call = Some(call);
        let Overrun::Callback(tell) = &job.periodic.overrun else {
            return state;
        };
        if behind == 0 {
            return state;
        }
        let (tell, measured) = (Arc::clone(tell), Arc::clone(&job.measured));
        // Clone the name, because the callback runs without the lock that protects the upcall.
        let name = job.periodic.name.clone();
        drop(state);
        let missed = Missed {
            name: &name,
            response: ended.saturating_duration_since(release),
            releases: behind,
        };
        if panic::catch_unwind(AssertUnwindSafe(|| tell(&missed))).is_err() {
            add(&measured.failures, 1);
        }
        self.lock()
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>, limit: Duration) -> MutexGuard<'s, State> {
        self.changed.wait_timeout(state, limit).0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Guard that marks the thread as ended, and drops its upcalls.
struct Stopped<'e>(&'e Executive);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        let jobs = {
            let mut state = self.0.lock();
            state.stopped = true;
            std::mem::take(&mut state.jobs)
        };
        self.0.changed.notify_all();
        drop(jobs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(10);

    fn job(overrun: Overrun) -> Job {
        let periodic = Periodic { overrun, ..Periodic::new("job", PERIOD) };
        Job::new(1, periodic, Arc::default(), Box::new(|| Ok(())))
    }

    /// Ends a call `periods` periods after its release; returns the time from that release to the
    /// next one, in periods.
    fn ends_after(job: &mut Job, periods: f64) -> f64 {
        let (begun, release) = (job.release, job.release);
        job.ended(begun, begun + PERIOD.mul_f64(periods), true);
        (job.release - release).as_secs_f64() / PERIOD.as_secs_f64()
    }

    #[test]
    fn releases_stay_on_the_grid_whatever_the_policy() {
        let mut skip = job(Overrun::Skip);
        assert_eq!(ends_after(&mut skip, 0.5), 1.0);
        assert_eq!(ends_after(&mut skip, 3.5), 4.0);
        let counts = skip.measured.counts();
        assert_eq!((counts.runs, counts.misses), (2, 1));
        assert_eq!((counts.overruns, counts.skipped), (1, 3));

        let mut catch_up = job(Overrun::CatchUp(2));
        assert_eq!(ends_after(&mut catch_up, 1.5), 1.0, "the next is late, and none is lost");
        assert_eq!(ends_after(&mut catch_up, 5.5), 4.0, "two of five are behind");
        assert_eq!(catch_up.measured.counts().skipped, 3);

        let mut demote = job(Overrun::Demote(Priority::MIN));
        ends_after(&mut demote, 1.5);
        assert!(demote.demoted);
        ends_after(&mut demote, 0.5);
        assert!(!demote.demoted);
    }
}
