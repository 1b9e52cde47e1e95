//! Simulated world for this crate's own clients and servers: one thread at a time, a network of our
//! own, and a clock that jumps to the next deadline when all threads wait.
//!
//! Threads are the system's, but only one thread of a world runs at a time; where a thread locks, waits, sleeps or
//! ends, the world's seeded generator chooses the next one. A seed thus determines a run, hours of which pass in
//! milliseconds, and a thread that waits without end is a failure, whose report names all threads. The reasons are in
//! docs/design/simulation.md.
//!
//! `cargo test -p oxorb-core --features simulation simulation::`, or `.ci/run simulation`. A failure prints its seed;
//! `OXORB_SIMULATION_SEED` repeats the run, and `OXORB_SIMULATION_SEEDS` sets the number of seeds of the random runs.

pub(crate) mod clock;
pub(crate) mod mpsc;
pub(crate) mod network;
mod pair;
pub(crate) mod random;
pub(crate) mod sync;
mod tests;
pub(crate) mod thread;
mod world;

use std::panic::{self, AssertUnwindSafe};

use self::random::Random;
use self::world::World;

/// Runs `test` in a separate world for each of `seeds` seeds, and waits for the end of all threads of the world. The
/// environment can name one seed, OXORB_SIMULATION_SEED, or the first seed and the number of seeds,
/// OXORB_SIMULATION_FIRST and OXORB_SIMULATION_SEEDS.
///
/// # Panics
/// Panics if `test` panics, if all threads of the world wait without end, or if they do not end.
#[track_caller]
pub(crate) fn simulate(seeds: u64, test: impl Fn() + Clone + Send + 'static) {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        Some(text.parse().unwrap_or_else(|_| panic!("{name}: a number")))
    };
    let (first, count) = match number("OXORB_SIMULATION_SEED") {
        Some(seed) => (seed, 1),
        None => (
            number("OXORB_SIMULATION_FIRST").unwrap_or(1),
            number("OXORB_SIMULATION_SEEDS").unwrap_or(seeds),
        ),
    };
    for seed in first..first + count {
        let test = test.clone();
        if let Err(what) = World::run(seed, test) {
            panic!("{what}\nOXORB_SIMULATION_SEED={seed} runs it again");
        }
    }
}

/// Returns a generator that is seeded by the world's own.
pub(crate) fn random() -> Random {
    world::here().expect("a thread of a simulation").random()
}

/// Returns the number of choices made so far and a digest of them: equal in two runs of one seed.
pub(crate) fn course() -> (u64, u64) {
    world::here().expect("a thread of a simulation").course()
}

/// Returns the text of a panic.
fn words(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}

/// Runs `work`, and returns a panic as its result.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn std::any::Any + Send>> {
    panic::catch_unwind(AssertUnwindSafe(work))
}
