//! Clients that call at once, a thread each in one process: the workload of E1, E13, E14 and of throughput.
//!
//! A server process has one or more objects; each client calls one of them, at a rate or back to back, and may have
//! the servant work for a while. Who connects and serves how is an [`Architecture`].

mod architecture;
mod corba;
mod floor;
mod priority;
mod protocol;
mod quiet;
mod spread;

use std::sync::Barrier;
use std::time::{Duration, Instant};

pub(crate) use self::architecture::{Architecture, Contender, Pair, Setting};
pub(crate) use self::quiet::{KeptOut, Quiet};
pub(crate) use self::spread::Spread;
use crate::Result;

/// One client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Task {
    /// Which object of the server it calls.
    pub(crate) object: usize,
    /// Where priorities are used: of its thread, and of whoever serves it (CORBA's, mapped directly to SCHED_FIFO).
    pub(crate) priority: i16,
    /// When it calls first, after the start.
    pub(crate) phase: Duration,
    /// From one call to the next; zero: back to back.
    pub(crate) period: Duration,
    /// CPU time that the servant uses up for each call.
    pub(crate) work: Duration,
}

/// Nanoseconds of each call of one client.
pub(crate) type Samples = Vec<u64>;

/// Plays a server process until standard input closes; it has an object for each of `priorities`.
pub(crate) fn serve(architecture: Architecture, priorities: &[i16]) -> Result {
    match architecture {
        Architecture::Floor => floor::serve(priorities.len()),
        _ => corba::serve(architecture, priorities),
    }
}

/// Plays a client process: makes the calls of loads that it is told on standard input.
pub(crate) fn call(architecture: Architecture, references: &[String]) -> Result {
    match architecture {
        Architecture::Floor => floor::call(references),
        _ => corba::call(architecture, references),
    }
}

/// The calls of one client: made in its own thread, asked for the cube of a number again and again.
trait Caller {
    /// One call; `work` is zero for the plain one.
    fn cube(&mut self, value: u8, work: Duration) -> Result<u8>;
}

/// Calls tried before the start, so that connections are there.
const WARM_UP: usize = 3;

/// From the moment that the last client is ready to the common start.
const LEAD: Duration = Duration::from_millis(20);

/// Room for the samples of a client that calls back to back.
const MANY: usize = 1 << 16;

/// Lets all clients call until the time is over.
fn run<C: Caller>(
    tasks: &[Task],
    duration: Duration,
    caller: impl Fn(&Task) -> Result<C> + Sync,
) -> Result<Vec<Samples>> {
    let ready = Barrier::new(tasks.len());
    std::thread::scope(|scope| {
        let start = |task| {
            let (ready, caller) = (&ready, &caller);
            scope.spawn(move || repeat(task, duration, ready, || caller(task)))
        };
        let threads: Vec<_> = tasks.iter().map(start).collect();
        // All are joined before the first error is told.
        let ended: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().expect("clients do not panic"))
            .collect();
        ended.into_iter().collect()
    })
}

fn repeat<C: Caller>(
    task: &Task,
    duration: Duration,
    ready: &Barrier,
    caller: impl FnOnce() -> Result<C>,
) -> Result<Samples> {
    let Task { period, work, .. } = *task;
    let expected = match period.as_nanos() {
        0 => MANY,
        period => (duration.as_nanos() / period) as usize + 1,
    };
    let mut samples = Vec::with_capacity(expected);
    let caller = caller().and_then(|mut caller| {
        for _ in 0..WARM_UP {
            caller.cube(0, Duration::ZERO)?;
        }
        Ok(caller)
    });
    // Also one that failed: the others wait for it here.
    ready.wait();
    let mut caller = caller?;
    let start = Instant::now() + LEAD;
    let end = start + duration;
    let mut release = start + task.phase;
    sleep_until(release);
    let mut value: u8 = 0;
    loop {
        let before = Instant::now();
        if before >= end {
            return Ok(samples);
        }
        let cube = caller.cube(value, work)?;
        let after = Instant::now();
        if cube != value.wrapping_pow(3) {
            return Err(format!("{cube} came back as the cube of {value}").into());
        }
        samples.push((after - before).as_nanos() as u64);
        value = value.wrapping_add(1);
        if !period.is_zero() {
            // A release that passed during the call is left out, not caught up with.
            while release <= after {
                release += period;
            }
            sleep_until(release.min(end));
        }
    }
}

fn sleep_until(when: Instant) {
    let left = when.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        std::thread::sleep(left);
    }
}

/// Uses up CPU time of the calling thread; time during which others run does not count.
fn toil(work: Duration) {
    let now = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let nanoseconds =
        |time: rustix::time::Timespec| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    let end = nanoseconds(now()) + work.as_nanos() as u64;
    while nanoseconds(now()) < end {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Here;

    impl Caller for Here {
        fn cube(&mut self, value: u8, work: Duration) -> Result<u8> {
            toil(work);
            Ok(value.wrapping_pow(3))
        }
    }

    struct Wrong;

    impl Caller for Wrong {
        fn cube(&mut self, _: u8, _: Duration) -> Result<u8> {
            Ok(7)
        }
    }

    const PERIODIC: Task = Task {
        object: 0,
        priority: 60,
        phase: Duration::ZERO,
        period: Duration::from_millis(5),
        work: Duration::ZERO,
    };
    const GREEDY: Task = Task {
        object: 1,
        priority: 20,
        phase: Duration::ZERO,
        period: Duration::ZERO,
        work: Duration::from_micros(50),
    };
    const DURATION: Duration = Duration::from_millis(60);

    #[test]
    fn every_client_calls_until_the_time_is_over() {
        let samples = run(&[PERIODIC, GREEDY, GREEDY], DURATION, |_| Ok(Here)).unwrap();
        assert!((1..=12).contains(&samples[0].len()), "{samples:?}");
        for greedy in &samples[1..] {
            assert!(!greedy.is_empty());
            assert!(greedy.iter().all(|&sample| sample >= 50_000));
        }
    }

    #[test]
    fn a_wrong_cube_or_a_client_that_cannot_be_made_is_an_error() {
        assert!(run(&[PERIODIC], DURATION, |_| Ok(Wrong)).is_err());
        let made = |task: &Task| match task.object {
            0 => Ok(Here),
            _ => Err("no such server".into()),
        };
        assert!(run(&[PERIODIC, GREEDY], DURATION, made).is_err());
    }
}
