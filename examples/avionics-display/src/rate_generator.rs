//! Timer: a thread that pushes an event in each period.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use oxorb::components::{CcmException, CcmExceptionReason, InvalidConfiguration};
use oxorb::values::Value;

use crate::avionics::{self, Tick, rate_generator};
use crate::clock;

const SECOND: u64 = 1_000_000_000;

/// Pushes `pulse` at multiples of its period, so that all generators of a node begin their periods together. A tick
/// whose time comes while consumers still handle the one before is lost, as it is by a device.
#[derive(Default)]
pub(crate) struct RateGenerator {
    hertz: Arc<AtomicU32>,
    timer: Mutex<Option<Timer>>,
}

/// Running thread, which ends when `stop` is dropped.
struct Timer {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl avionics::RateGeneratorExecutor for RateGenerator {
    fn hertz(&self) -> oxorb::Result<u32> {
        Ok(self.hertz.load(Ordering::Relaxed))
    }

    fn set_hertz(&self, value: u32) -> oxorb::Result<()> {
        let hertz = clock::bounded(value, 1, 1_000)?;
        self.hertz.store(hertz, Ordering::Relaxed);
        Ok(())
    }

    /// The assembler sets the rate: it has no default.
    fn configuration_complete(
        &self,
        _: &rate_generator::Configured,
    ) -> Result<(), InvalidConfiguration> {
        match self.hertz.load(Ordering::Relaxed) {
            0 => Err(InvalidConfiguration {}),
            _ => Ok(()),
        }
    }

    fn activate(&self, context: &rate_generator::Context) -> Result<(), CcmException> {
        let (stop, stopped) = mpsc::channel();
        let (context, hertz) = (context.clone(), Arc::clone(&self.hertz));
        let thread = std::thread::Builder::new().name("rate generator".to_owned());
        let thread = thread.spawn(move || run(&context, &hertz, &stopped));
        let thread =
            thread.map_err(|_| CcmException { reason: CcmExceptionReason::SystemError })?;
        let mut timer = self.timer.lock().unwrap_or_else(PoisonError::into_inner);
        *timer = Some(Timer { stop, thread });
        Ok(())
    }

    fn passivate(&self, _: &rate_generator::Context) -> Result<(), CcmException> {
        let timer = self.timer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Timer { stop, thread }) = timer {
            drop(stop);
            // Waits for a push in progress, as long as the container's `push_timeout` allows.
            let _ = thread.join();
        }
        Ok(())
    }
}

fn run(context: &rate_generator::Context, hertz: &AtomicU32, stopped: &Receiver<()>) {
    loop {
        let period = SECOND / u64::from(hertz.load(Ordering::Relaxed).max(1));
        let now = clock::now();
        let number = now / period + 1;
        let released = number * period;
        match stopped.recv_timeout(Duration::from_nanos(released - now)) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
        let pushed = context.push_pulse(Value::new(Tick { number, released }));
        if pushed.failed > 0 {
            let name = context.instance_name();
            eprintln!("{name}: tick {number} did not reach {} consumer(s)", pushed.failed);
        }
    }
}
