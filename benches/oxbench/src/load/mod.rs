//! Simultaneous clients, each a thread of one process: the workload of E1, E13, E14 and of throughput.
//!
//! A server process has one or more objects; each client calls one of them, at a rate or back to back, and may request
//! work of the servant. An [`Architecture`] decides how clients connect and servers serve.

mod architecture;
mod corba;
mod floor;
mod priority;
mod protocol;
mod quiet;
mod spread;

use std::sync::{Barrier, OnceLock};
use std::time::Duration;

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

pub(crate) use self::architecture::{Architecture, Contender, Pair, Setting};
pub(crate) use self::corba::real_time;
pub(crate) use self::priority::is_allowed as may_use_priorities;
pub(crate) use self::quiet::{KeptOut, Quiet};
pub(crate) use self::spread::Spread;
use crate::Result;

/// Task of one client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Task {
    /// Index of the object that it calls.
    pub(crate) object: usize,
    /// Priority of the client's and the serving thread, if priorities are used (a CORBA priority, mapped directly to
    /// SCHED_FIFO).
    pub(crate) priority: i16,
    /// Time from the start to the first call.
    pub(crate) phase: Duration,
    /// Time from one call to the next; zero: back to back.
    pub(crate) period: Duration,
    /// CPU time that the servant uses for each call.
    pub(crate) work: Duration,
    /// Whether the time of a call is measured from its release, like a response time. The time then includes the wait
    /// until the client's thread runs.
    pub(crate) from_release: bool,
}

/// Nanoseconds of each call of one client.
pub(crate) type Samples = Vec<u64>;

/// Runs a server process until standard input closes; it has an object for each of `priorities`, and listens on TCP
/// unless `at` is given.
pub(crate) fn serve(architecture: Architecture, at: Option<&str>, priorities: &[i16]) -> Result {
    match architecture {
        Architecture::Floor => floor::serve(at, priorities.len()),
        _ => corba::serve(architecture, at, priorities),
    }
}

/// Runs a client process: performs the loads requested on standard input.
pub(crate) fn call(architecture: Architecture, references: &[String]) -> Result {
    match architecture {
        Architecture::Floor => floor::call(references),
        _ => corba::call(architecture, references),
    }
}

/// Caller of one client: requests the cube of a number, in its own thread.
trait Caller {
    /// Makes one call; `work` is zero for the plain one.
    fn cube(&mut self, value: u8, work: Duration) -> Result<u8>;
}

/// Number of calls before the start, so that connections exist.
const WARM_UP: usize = 3;

/// Time from the readiness of the last client to the common start.
const LEAD: Duration = Duration::from_millis(20);

/// Capacity for the samples of a client that calls back to back.
const MANY: usize = 1 << 16;

/// Barrier at the common start of a load's clients.
pub(crate) struct Start {
    ready: Barrier,
    at: OnceLock<Duration>,
}

impl Start {
    /// Creates the barrier of a number of clients.
    pub(crate) fn new(clients: usize) -> Start {
        Start { ready: Barrier::new(clients), at: OnceLock::new() }
    }

    /// Waits for the start, and returns its time, equal for all.
    pub(crate) fn wait(&self) -> Duration {
        self.ready.wait();
        *self.at.get_or_init(|| now() + LEAD)
    }
}

/// Makes all clients call until the time is over.
fn run<C: Caller>(
    tasks: &[Task],
    duration: Duration,
    caller: impl Fn(&Task) -> Result<C> + Sync,
) -> Result<Vec<Samples>> {
    let start = Start::new(tasks.len());
    std::thread::scope(|scope| {
        let spawn = |task| {
            let (start, caller) = (&start, &caller);
            scope.spawn(move || repeat(task, duration, start, || caller(task)))
        };
        let threads: Vec<_> = tasks.iter().map(spawn).collect();
        // All threads are joined before the first error is reported.
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
    start: &Start,
    caller: impl FnOnce() -> Result<C>,
) -> Result<Samples> {
    let Task { period, work, from_release, .. } = *task;
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
    // Waits even after a failure, because the other clients wait for this one here.
    let start = start.wait();
    let mut caller = caller?;
    let end = start + duration;
    let mut release = start + task.phase;
    sleep_until(release);
    let mut value: u8 = 0;
    loop {
        let before = now();
        if before >= end {
            return Ok(samples);
        }
        let cube = caller.cube(value, work)?;
        let after = now();
        let since = if from_release { release } else { before };
        if cube != value.wrapping_pow(3) {
            return Err(format!("{cube} came back as the cube of {value}").into());
        }
        samples.push((after - since).as_nanos() as u64);
        value = value.wrapping_add(1);
        if !period.is_zero() {
            // A release that passed during the call is skipped, not made up for.
            while release <= after {
                release += period;
            }
            sleep_until(release.min(end));
        }
    }
}

/// Returns the time since an arbitrary moment.
pub(crate) fn now() -> Duration {
    elapsed(ClockId::Monotonic)
}

fn elapsed(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Sleeps until a moment, not for the remaining time: an interruption between reading the clock and sleeping would
/// delay the wake-up.
pub(crate) fn sleep_until(when: Duration) {
    let time = Timespec { tv_sec: when.as_secs() as i64, tv_nsec: when.subsec_nanos().into() };
    while clock_nanosleep_absolute(ClockId::Monotonic, &time).is_err() {}
}

/// Uses CPU time of the calling thread; the time of other threads does not count.
pub(crate) fn toil(work: Duration) {
    let end = elapsed(ClockId::ThreadCPUTime) + work;
    while elapsed(ClockId::ThreadCPUTime) < end {
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
        from_release: false,
    };
    const GREEDY: Task = Task {
        object: 1,
        priority: 20,
        phase: Duration::ZERO,
        period: Duration::ZERO,
        work: Duration::from_micros(50),
        from_release: false,
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
    fn what_counts_from_its_release_includes_the_wait_for_the_processor() {
        let late = Task {
            // Has the same effect as a thread that starts three milliseconds after the release.
            phase: Duration::ZERO,
            from_release: true,
            ..PERIODIC
        };
        struct Late;
        impl Caller for Late {
            fn cube(&mut self, value: u8, _: Duration) -> Result<u8> {
                std::thread::sleep(Duration::from_millis(3));
                Here.cube(value, Duration::ZERO)
            }
        }
        let from = |task: Task| {
            let start = Start {
                ready: Barrier::new(1),
                at: OnceLock::from(now() - Duration::from_millis(3)),
            };
            let samples = repeat(&task, Duration::from_millis(60), &start, || Ok(Late));
            samples.unwrap()[0]
        };
        assert!(from(late) >= 6_000_000);
        assert!(from(late) >= from(PERIODIC));
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
