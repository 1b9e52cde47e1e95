//! Requests of `oxbench events` and their answers (see `benches/oxbench/src/events/driver.rs`).

use std::error::Error;
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Time after which an event counts as lost.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Request to a driver.
#[derive(Clone, Copy)]
pub struct Task {
    pub consumers: u32,
    pub size: u32,
    pub events: u64,
    /// Maximum number of events in transit.
    pub window: u64,
}

/// Performs each task from standard input.
pub fn listen(mut work: impl FnMut(Task) -> Result<String>) -> Result {
    let mut output = std::io::stdout().lock();
    writeln!(output, "ready")?;
    output.flush()?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words = line.split(' ').skip(1).map(str::parse);
        let words: Vec<u64> = words.collect::<std::result::Result<_, _>>()?;
        let &[consumers, 0, size, events, window] = words.as_slice() else {
            return Err(format!("no command is {line}, or one with filters").into());
        };
        let answer = work(Task {
            consumers: u32::try_from(consumers)?,
            size: u32::try_from(size)?,
            events,
            window,
        })?;
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

/// Counter of the consumers that have an event; records the time of the last one.
pub struct Run {
    consumers: u32,
    began: Instant,
    pushed: Vec<AtomicU64>,
    arrived: Vec<AtomicU32>,
    latencies: Vec<AtomicU64>,
    complete: Mutex<u64>,
    changed: Condvar,
}

impl Run {
    pub fn new(task: Task) -> Run {
        let events = task.events as usize;
        Run {
            consumers: task.consumers,
            began: Instant::now(),
            pushed: (0..events).map(|_| AtomicU64::new(0)).collect(),
            arrived: (0..events).map(|_| AtomicU32::new(0)).collect(),
            latencies: (0..events).map(|_| AtomicU64::new(0)).collect(),
            complete: Mutex::new(0),
            changed: Condvar::new(),
        }
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }

    /// Receives an event at a consumer.
    pub fn take(&self, payload: &[u8]) {
        let number = payload.first_chunk().map(|one| u64::from_ne_bytes(*one) as usize);
        let Some(number) = number.filter(|number| *number < self.arrived.len()) else {
            return;
        };
        if self.arrived[number].fetch_add(1, Ordering::AcqRel) + 1 < self.consumers {
            return;
        }
        let pushed = self.pushed[number].load(Ordering::Acquire);
        self.latencies[number].store(self.now() - pushed, Ordering::Relaxed);
        *self.complete.lock().expect("nothing panics") += 1;
        self.changed.notify_one();
    }

    fn wait(&self, wanted: u64) -> Result {
        let complete = self.complete.lock().expect("nothing panics");
        let waited =
            self.changed.wait_timeout_while(complete, PATIENCE, |complete| *complete < wanted);
        let (complete, _) = waited.expect("nothing panics");
        match *complete >= wanted {
            true => Ok(()),
            false => Err(format!(
                "{} events of {wanted} reached all consumers, others are lost",
                *complete
            )
            .into()),
        }
    }

    /// Pushes all events; returns the time until all consumers have received all of them.
    pub fn push_all(&self, task: Task, mut push: impl FnMut(&[u8]) -> Result) -> Result<Duration> {
        let mut payload: Vec<u8> = (0..task.size).map(|at| at as u8).collect();
        let start = Instant::now();
        for number in 0..task.events {
            if number >= task.window {
                self.wait(number - task.window + 1)?;
            }
            payload[..8].copy_from_slice(&number.to_ne_bytes());
            self.pushed[number as usize].store(self.now(), Ordering::Release);
            push(&payload)?;
        }
        self.wait(task.events)?;
        Ok(start.elapsed())
    }

    pub fn answer(&self, took: Duration) -> String {
        let latencies = self.latencies.iter().map(|one| one.load(Ordering::Relaxed));
        let mut latencies: Vec<u64> = latencies.collect();
        latencies.sort_unstable();
        let part = |part: f64| latencies[((latencies.len() - 1) as f64 * part) as usize];
        let [p50, p99, p999, max] = [0.5, 0.99, 0.999, 1.0].map(part);
        format!("{p50} {p99} {p999} {max} {}", took.as_nanos())
    }
}
