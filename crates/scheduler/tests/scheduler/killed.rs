//! kill -9 at any moment loses no acknowledged change, and leaves no change half done.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use oxorb::{Interface as _, Orb};
use oxorb_scheduler::rtec_base::DependencyTypeT;
use oxorb_scheduler::rtec_scheduler::SchedulerRef;
use oxorb_scheduler::{Limits, Scheduling, serve};
use oxorb_testkit::process::{Process, rerun};
use oxorb_testkit::until;

use super::{Folder, rms, set};

const START: Duration = Duration::from_secs(60);

/// Environment variable with the path of the server's state.
const STATE: &str = "OXORB_TEST_STATE";

/// Runs the server process that the other test kills; not a test itself.
#[test]
#[ignore = "the server of the other test"]
fn server() {
    let Some(state) = std::env::var_os(STATE) else {
        return;
    };
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let scheduling = Scheduling::open(state, rms(), Limits::default()).unwrap();
    let served = serve(&orb, &scheduling).unwrap();
    println!("ready {}", served.scheduler().to_ior());
    orb.run();
}

fn start(state: &Path) -> (Process, Orb, SchedulerRef) {
    let mut command = rerun("killed::server");
    command.env(STATE, state);
    let mut process = Process::spawn(command);
    let line = process.wait_for_line("ready ", START);
    let ior = line.split_once("ready ").expect("it matched").1.trim();
    let orb = Orb::builder().round_trip_timeout(Duration::from_secs(20)).build().unwrap();
    let scheduler = orb.resolve(ior).unwrap();
    (process, orb, scheduler)
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    let _watchdog = oxorb_testkit::watchdog::watchdog(Duration::from_secs(300));
    let folder = Folder::new("killed");
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    // For each operation: whether its period, and its dependency on the previous one, were
    // acknowledged.
    let mut known: Vec<(bool, bool)> = Vec::new();
    let mut scheduled = 0;
    for round in 0..6 {
        let (mut server, orb, scheduler) = start(&folder.state());
        check(&scheduler, &known);
        // Operations whose creation was not acknowledged before the kill may exist.
        known.resize(scheduler.get_rt_info_set().unwrap().len(), (false, false));
        // Kill the server after pseudo-random times (xorshift), which are the same in every run of the test.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let moment = Duration::from_micros(30_000 + random % 150_000);
        let acknowledged = &AtomicU32::new(0);
        std::thread::scope(|scope| {
            let (known, scheduled) = (&mut known, &mut scheduled);
            scope.spawn(move || *scheduled += work(&scheduler, round, known, acknowledged));
            until("changes are acknowledged", || acknowledged.load(Relaxed) >= 5);
            std::thread::sleep(moment);
            server.kill();
        });
        orb.shutdown(true).unwrap();
    }
    let (_server, orb, scheduler) = start(&folder.state());
    check(&scheduler, &known);
    let (sets, dependencies): (Vec<bool>, Vec<bool>) = known.iter().copied().unzip();
    let many = |all: Vec<bool>| all.into_iter().filter(|&known| known).count();
    assert!(many(sets) + many(dependencies) > 20, "little was acknowledged: {known:?}");
    assert!(scheduled > 0);
    orb.shutdown(true).unwrap();
}

/// Declares operations until the server is gone; returns the number of computed schedules.
fn work(
    scheduler: &SchedulerRef,
    round: u32,
    known: &mut Vec<(bool, bool)>,
    acknowledged: &AtomicU32,
) -> u32 {
    let mut computed = 0;
    for i in 0.. {
        let Ok(handle) = scheduler.create(&format!("o{round}-{i}")) else {
            break;
        };
        known.push((false, false));
        let at = known.len() - 1;
        assert_eq!(handle as usize, at + 1);
        if set(scheduler, handle, 1, period(handle)).is_err() {
            break;
        }
        known[at].0 = true;
        acknowledged.fetch_add(1, Relaxed);
        if at > 0 {
            let done = scheduler.add_dependency(handle, handle - 1, 2, DependencyTypeT::OneWayCall);
            if done.is_err() {
                break;
            }
            known[at].1 = true;
            acknowledged.fetch_add(1, Relaxed);
        }
        if i % 4 == 0 {
            match scheduler.recompute_scheduling(1, 99) {
                Ok(_) => computed += 1,
                // Computing is refused if an operation of an earlier round was created but never set. Continue if the
                // server still answers.
                Err(_) if scheduler.get_rt_info_set().is_ok() => {}
                Err(_) => break,
            }
        }
    }
    computed
}

fn period(handle: i32) -> i32 {
    1_000_000 + handle % 3
}

/// Checks that every acknowledged change exists, and that each other change exists completely or
/// not at all.
fn check(scheduler: &SchedulerRef, known: &[(bool, bool)]) {
    let infos = scheduler.get_rt_info_set().unwrap();
    assert!(infos.len() >= known.len(), "{} of {}", infos.len(), known.len());
    for (info, (set, depends)) in infos.iter().zip(known) {
        let period = period(info.handle);
        match set {
            true => assert_eq!(info.period, period),
            false => assert!([0, period].contains(&info.period)),
        }
        assert!(!depends || info.dependencies.len() == 1, "{info:?}");
        assert!(info.dependencies.len() <= 1, "{info:?}");
    }
}
