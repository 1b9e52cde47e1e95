//! Components of paper 4, section 3.1: workers that use processor time, and controllers that call them, at a rate or
//! back to back. Their code does not depend on priorities, lanes and processes, which the plans determine.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use oxorb::SystemException;
use oxorb::components::CcmException;
use oxorb_sys::sync::Mutex;

use super::generated::load::{
    CallerExecutor, Control, ControllerExecutor, Labour, Statistics, WorkerExecutor, caller,
    controller, worker,
};
use crate::load::{now, sleep_until, toil};

/// Worker that uses processor time as requested.
#[derive(Default)]
pub(crate) struct Worker {
    /// Processor time of one repetition, in us.
    repetition: AtomicU32,
}

impl WorkerExecutor for Worker {
    fn repetition(&self) -> oxorb::Result<u32> {
        Ok(self.repetition.load(Ordering::Relaxed))
    }

    fn set_repetition(&self, value: u32) -> oxorb::Result<()> {
        self.repetition.store(value, Ordering::Relaxed);
        Ok(())
    }

    fn offer(self: &Arc<Self>, _: &worker::Context) -> Arc<dyn Labour> {
        Arc::clone(self) as Arc<dyn Labour>
    }
}

impl Labour for Worker {
    fn work(&self, repetitions: u32) -> Result<(), SystemException> {
        let repetition = self.repetition.load(Ordering::Relaxed);
        toil(Duration::from_micros(u64::from(repetitions) * u64::from(repetition)));
        Ok(())
    }

    fn ping(&self, value: i64) -> Result<i64, SystemException> {
        Ok(value)
    }

    fn carry<'a>(&'a self, values: &'a [u8]) -> Result<Cow<'a, [u8]>, SystemException> {
        Ok(values.into())
    }
}

/// Controller that calls a worker from its own thread, between start and stop.
#[derive(Default)]
pub(crate) struct Controller {
    hertz: AtomicU32,
    repetitions: AtomicU32,
    context: OnceLock<controller::Context>,
    /// Current run, or the last one if it has ended.
    run: Mutex<Arc<Run>>,
}

/// Parameters and results of a controller's thread.
#[derive(Default)]
struct Run {
    stop: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Clone, Default)]
struct Seen {
    running: bool,
    begin: Duration,
    /// Time from start to stop; zero while running.
    time: Duration,
    period: Duration,
    calls: u64,
    /// Number of calls that returned within their period.
    met: u64,
    sum: Duration,
    longest: Duration,
}

impl ControllerExecutor for Controller {
    fn hertz(&self) -> oxorb::Result<u32> {
        Ok(self.hertz.load(Ordering::Relaxed))
    }

    fn set_hertz(&self, value: u32) -> oxorb::Result<()> {
        self.hertz.store(value, Ordering::Relaxed);
        Ok(())
    }

    fn repetitions(&self) -> oxorb::Result<u32> {
        Ok(self.repetitions.load(Ordering::Relaxed))
    }

    fn set_repetitions(&self, value: u32) -> oxorb::Result<()> {
        self.repetitions.store(value, Ordering::Relaxed);
        Ok(())
    }

    fn activate(&self, context: &controller::Context) -> Result<(), CcmException> {
        let _ = self.context.set(context.clone());
        Ok(())
    }

    fn remove(&self, _: &controller::Installed) -> Result<(), CcmException> {
        self.run().stop.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Control for Controller {
    fn start(&self) -> Result<(), SystemException> {
        let not_active = oxorb::minor::bad_inv_order::COMPONENT_PHASE;
        let not_now = SystemException::bad_inv_order(not_active, oxorb::CompletionStatus::No);
        let context = self.context.get().ok_or(not_now)?.clone();
        let mut last = self.run.lock();
        if last.seen().running {
            return Err(not_now);
        }
        let period = match self.hertz.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            hertz => Duration::from_secs(1) / hertz,
        };
        let repetitions = self.repetitions.load(Ordering::Relaxed);
        let run = Arc::new(Run::default());
        *run.lock() = Seen { running: true, begin: now(), period, ..Seen::default() };
        *last = Arc::clone(&run);
        // On Linux, the thread inherits class and priority of the serving thread.
        std::thread::spawn(move || run.repeat(&context, period, repetitions));
        Ok(())
    }

    fn stop(&self) -> Result<(), SystemException> {
        self.run().end();
        Ok(())
    }

    fn results(&self) -> Result<Statistics, SystemException> {
        let seen = self.run().seen();
        Ok(Statistics {
            running: seen.running,
            seconds: seen.time.as_secs_f64(),
            calls: seen.calls,
            missed: seen.missed(),
            mean: seen.sum.as_nanos() as f64 / seen.calls.max(1) as f64,
            longest: seen.longest.as_nanos() as u64,
        })
    }
}

impl Controller {
    fn run(&self) -> Arc<Run> {
        Arc::clone(&self.run.lock())
    }
}

impl Run {
    fn lock(&self) -> oxorb_sys::sync::MutexGuard<'_, Seen> {
        self.seen.lock()
    }

    fn seen(&self) -> Seen {
        self.lock().clone()
    }

    /// Ends the measured time; a call in progress returns later and does not count.
    fn end(&self) {
        let mut seen = self.lock();
        if !self.stop.swap(true, Ordering::AcqRel) && seen.running {
            seen.time = now() - seen.begin;
        }
    }

    /// Calls until stopped, or until a call fails.
    fn repeat(&self, context: &controller::Context, period: Duration, repetitions: u32) {
        let mut release = self.lock().begin;
        while !self.stop.load(Ordering::Acquire) {
            let before = now();
            let worked = context
                .worker()
                .map_err(SystemException::from)
                .and_then(|worker| worker.work(repetitions));
            let after = now();
            if let Err(exception) = worked {
                eprintln!(
                    "controller {} ends: its worker raised {exception}",
                    context.instance_name()
                );
                self.end();
                break;
            }
            let in_time = period.is_zero() || after < release + period;
            self.lock().add(&self.stop, after - before, in_time);
            if !period.is_zero() {
                // A release that passed during the call is skipped, not made up for.
                while release <= after {
                    release += period;
                }
                sleep_until(release);
            }
        }
        self.lock().running = false;
    }
}

impl Seen {
    fn add(&mut self, stop: &AtomicBool, took: Duration, in_time: bool) {
        if stop.load(Ordering::Acquire) {
            return;
        }
        self.calls += 1;
        self.met += u64::from(in_time);
        self.sum += took;
        self.longest = self.longest.max(took);
    }

    /// Returns the number of releases whose call did not return within the period: calls that were late, and releases
    /// that were skipped.
    fn missed(&self) -> u64 {
        let due = match self.period.as_nanos() {
            0 => self.met,
            period => (self.time.as_nanos() / period) as u64,
        };
        due.saturating_sub(self.met)
    }
}

/// Component that passes its context to the caller.
pub(crate) struct Caller(pub(crate) Arc<OnceLock<caller::Context>>);

impl CallerExecutor for Caller {
    fn activate(&self, context: &caller::Context) -> Result<(), CcmException> {
        let _ = self.0.set(context.clone());
        Ok(())
    }
}
