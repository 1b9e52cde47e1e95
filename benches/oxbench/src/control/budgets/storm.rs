//! (b) A flooding client and a spinning servant against an urgent client: through an ORB with and without budgets, and
//! without an ORB.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};

use super::admission::{curve, part};
use super::report::Storm;
use super::sockets;
use super::station::Server;
use crate::Result;

/// Number of threads of the flooding client.
pub(super) const FLOODERS: usize = 4;

/// Processor time of one flooding request, in microseconds.
pub(super) const FLOOD: u32 = 200;

/// Pause between two urgent calls.
const PAUSE: Duration = Duration::from_millis(1);

/// Class of the threads of the flooding client, and of demoted threads.
pub(super) const IDLE: ThreadPriority =
    ThreadPriority { class: SchedulingClass::Idle, priority: 0 };

/// Budgets of the servers that demote the flood.
pub(super) const BUDGETS: &str = "operation control::Station::flood time=2ms/100ms beyond=demote; \
                       operation control::Station::spin longest=2ms beyond=demote";

/// Budgets of the servers that pause the connections of the flood.
const PAUSES: &str = "operation control::Station::flood time=2ms/100ms beyond=pause; \
                      operation control::Station::spin longest=2ms beyond=demote";

/// Number of rounds of each setup, alternating.
const ROUNDS: u32 = 3;

/// Setup whose calls are compared with those of an urgent client alone.
#[derive(Clone, Copy)]
struct Setup {
    name: &'static str,
    /// Name of the setup with the urgent client alone.
    baseline: &'static str,
    storm: bool,
    through: Through,
}

/// Path of the calls.
#[derive(Clone, Copy)]
enum Through {
    /// ORB with these budgets; empty for none.
    Orb(&'static str),
    /// Threads that call each other over sockets.
    Sockets,
}

const ALONE: &str = "alone";
const SOCKETS: &str = "sockets alone";

const SETUPS: [Setup; 6] = [
    Setup { name: ALONE, baseline: ALONE, storm: false, through: Through::Orb("") },
    Setup { name: "without budgets", baseline: ALONE, storm: true, through: Through::Orb("") },
    Setup { name: "with budgets", baseline: ALONE, storm: true, through: Through::Orb(BUDGETS) },
    Setup { name: "flood paused", baseline: ALONE, storm: true, through: Through::Orb(PAUSES) },
    Setup { name: SOCKETS, baseline: SOCKETS, storm: false, through: Through::Sockets },
    Setup { name: "sockets", baseline: SOCKETS, storm: true, through: Through::Sockets },
];

/// Measures all setups.
pub(super) fn measure(quick: bool) -> Result<Vec<Storm>> {
    let (calls, rounds) = if quick { (300, 1) } else { (3_000, ROUNDS) };
    let mut storms =
        SETUPS.map(|Setup { name, baseline, .. }| Storm { name, baseline, ..Storm::default() });
    let mut times = [(); SETUPS.len()].map(|()| Vec::new());
    for round in 1..=rounds {
        for (at, setup) in SETUPS.iter().enumerate() {
            eprintln!("(b) {}, round {round} ...", setup.name);
            times[at].extend(match setup.through {
                Through::Orb(budgets) => one(setup.storm, budgets, calls, &mut storms[at])?,
                Through::Sockets => {
                    let (times, flooded) = sockets::measure(setup.storm, calls, PAUSE)?;
                    storms[at].flooded += flooded;
                    times
                }
            });
        }
    }
    for (storm, times) in storms.iter_mut().zip(&mut times) {
        storm.calls = times.len() as u64;
        storm.curve = curve(times, 3);
        (storm.p50_ns, storm.p99_ns) = (part(times, 0.5), part(times, 0.99));
        (storm.p999_ns, storm.max_ns) = (part(times, 0.999), part(times, 1.0));
    }
    Ok(storms.into())
}

/// Returns the urgent client's round trips through an ORB with these budgets, in nanoseconds.
fn one(storm: bool, budgets: &str, calls: usize, seen: &mut Storm) -> Result<Vec<u64>> {
    let settings = [("Budget", budgets)];
    let server = Server::start(if budgets.is_empty() { &[] } else { &settings })?;
    let times = through(&server, storm, calls, seen)?;
    for used in server.orb.budgets() {
        seen.demoted += used.demoted;
        seen.overruns += used.overruns;
    }
    server.orb.shutdown(true)?;
    Ok(times)
}

/// Returns the urgent client's round trips to the server, in nanoseconds.
fn through(server: &Server, storm: bool, calls: usize, seen: &mut Storm) -> Result<Vec<u64>> {
    let over = AtomicBool::new(false);
    let flooded = AtomicU64::new(0);
    let (_urgent, client, urgent) = server.station()?;
    let (_flooded, flooder, flood) = server.station()?;
    let (_spun, other, spinner) = server.station()?;
    let times = thread::scope(|scope| -> Result<Vec<u64>> {
        let over = &over;
        if storm {
            for _ in 0..FLOODERS {
                let (flood, flooded) = (flood.clone(), &flooded);
                scope.spawn(move || {
                    // The flooding client uses no processor time that the server wants, as if it ran on another
                    // machine.
                    let _ = schedule::set_current(IDLE);
                    while !over.load(Ordering::Relaxed) {
                        if flood.flood(FLOOD).is_ok() {
                            flooded.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
            let spin = spinner.clone();
            scope.spawn(move || spin.spin());
            thread::sleep(Duration::from_millis(100));
        }
        let times = at_intervals(calls, PAUSE, || Ok(urgent.urgent()?));
        over.store(true, Ordering::Relaxed);
        server.desk.over.store(true, Ordering::Relaxed);
        times
    })?;
    seen.flooded += flooded.load(Ordering::Relaxed);
    client.shutdown(true)?;
    flooder.shutdown(true)?;
    other.shutdown(true)?;
    Ok(times)
}

/// Returns the nanoseconds of each call, after each of which the thread sleeps.
pub(super) fn at_intervals(
    calls: usize,
    pause: Duration,
    mut call: impl FnMut() -> Result,
) -> Result<Vec<u64>> {
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let began = Instant::now();
        call()?;
        times.push(began.elapsed().as_nanos() as u64);
        thread::sleep(pause);
    }
    Ok(times)
}
