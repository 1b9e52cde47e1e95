//! (b) A flooding client and a spinning servant against an urgent client.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxorb_sys::schedule::{self, Class, Schedule};

use super::admission::{curve, part};
use super::report::Storm;
use super::station::Server;
use crate::Result;

/// Number of threads of the flooding client.
pub(super) const FLOODERS: usize = 4;

/// Processor time of one flooding request, in microseconds.
pub(super) const FLOOD: u32 = 200;

/// Pause between two urgent calls.
const PAUSE: Duration = Duration::from_millis(1);

/// Budgets of the servers that have budgets.
pub(super) const BUDGETS: &str = "operation control::Station::flood time=2ms/100ms beyond=demote; \
                       operation control::Station::spin longest=2ms beyond=demote";

/// Number of rounds of each setup, alternating.
const ROUNDS: u32 = 3;

/// Name of each setup, and whether it has the storm, and budgets.
const SETUPS: [(&str, bool, bool); 3] =
    [("alone", false, false), ("without budgets", true, false), ("with budgets", true, true)];

/// Measures all three setups.
pub(super) fn measure(quick: bool) -> Result<Vec<Storm>> {
    let (calls, rounds) = if quick { (300, 1) } else { (3_000, ROUNDS) };
    let mut storms = SETUPS.map(|(name, ..)| Storm { name, ..Storm::default() });
    let mut times = [(); SETUPS.len()].map(|()| Vec::new());
    for round in 1..=rounds {
        for (at, (name, storms_on, budgets)) in SETUPS.into_iter().enumerate() {
            eprintln!("(b) {name}, round {round} ...");
            let settings = [("Budget", BUDGETS)];
            let server = Server::start(if budgets { &settings } else { &[] })?;
            times[at].extend(one(&server, storms_on, calls, &mut storms[at])?);
            for used in server.orb.budgets() {
                storms[at].demoted += used.demoted;
                storms[at].overruns += used.overruns;
            }
            server.orb.shutdown(true)?;
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

/// Returns the urgent client's round trips, in nanoseconds.
fn one(server: &Server, storm: bool, calls: usize, seen: &mut Storm) -> Result<Vec<u64>> {
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
                    let _ = schedule::set_current(Schedule { class: Class::Idle, priority: 0 });
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
        let mut times = Vec::with_capacity(calls);
        let called = (0..calls).try_for_each(|_| {
            let began = Instant::now();
            urgent.urgent()?;
            times.push(began.elapsed().as_nanos() as u64);
            thread::sleep(PAUSE);
            Ok::<(), oxorb::SystemException>(())
        });
        over.store(true, Ordering::Relaxed);
        server.desk.over.store(true, Ordering::Relaxed);
        called?;
        Ok(times)
    })?;
    seen.flooded += flooded.load(Ordering::Relaxed);
    client.shutdown(true)?;
    flooder.shutdown(true)?;
    other.shutdown(true)?;
    Ok(times)
}
