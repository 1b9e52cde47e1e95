//! (d) Test whether a proved bound is ever exceeded. The urgent client of (b) has its own lane; the flooding client and
//! the spinning servant have a lane of lower priority. All run on one processor, with budgets. The admission analysis
//! computes the bound of the urgent call.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};
use oxorb::settings::ClientConnections;
use oxorb::{Interface as _, Orb};
use oxorb_sched::Task;
use oxorb_sched::admission::{Answer, Controller, LateComers, MemberRequest};
use oxorb_sys::schedule::{self, SchedulingClass, ThreadPriority};
use oxorb_testkit::stall::{self, Judged, Response, Stalls};

use super::admission::{curve, part};
use super::idl::StationRef;
use super::report::Proof;
use super::station::{Desk, burn};
use super::storm::{BUDGETS, FLOOD, FLOODERS, IDLE};
use crate::Result;
use crate::load::{Quiet, now, sleep_until};
use crate::placement::pin_this_thread;

/// CORBA priorities of the lanes, equal to those of SCHED_FIFO.
const PRIORITIES: [i16; 2] = [20, 60];

/// Shortest period of the urgent client; on a slow machine it is extended, so that a call fits into the period.
const PERIOD: Duration = Duration::from_micros(200);

/// Processor of all lanes and of the urgent client.
const CPU: usize = 1;

/// Period of the sentinel that measures stalls of the machine.
const SENTINEL: Duration = Duration::from_micros(500);

/// Number of calls without load, from which the processor time of one call is derived.
const ALONE: usize = 20_000;

/// Ratio of the assumed worst case to the time within which nearly all calls without load return.
const MARGIN: u64 = 2;

/// Measures `calls` calls.
pub(super) fn measure(calls: usize) -> Result<Option<Proof>> {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    if !crate::load::may_use_priorities() || cpus <= CPU {
        eprintln!(
            "(d) is left out: it needs SCHED_FIFO (root, or CAP_SYS_NICE) and two processors"
        );
        return Ok(None);
    }
    let quiet = Quiet::begin(&[]);
    eprintln!("(d) alone ...");
    let (alone, _, watcher) = run(ALONE.min(calls), PERIOD, false)?;
    let mut alone = times(&alone);
    let worst_case = part(&mut alone, 0.999) * MARGIN;
    let period = PERIOD.max(Duration::from_nanos((worst_case + watcher) / 4 * 5));
    eprintln!("(d) {calls} calls beside the flood ...");
    let (responses, stalls, watcher) = run(calls, period, true)?;
    let bound = bound(worst_case, watcher, period)?;
    let judged = stalls.judge(&responses, bound.map(Duration::from_nanos));
    let Judged { beyond, explained, undisturbed_max, .. } = judged;
    eprintln!("(d) the same without an ORB ...");
    let mut without = times(&bare(calls / 5, period, part(&mut alone, 0.5)));
    drop(quiet);
    let over = without.iter().filter(|time| bound.is_some_and(|bound| **time > bound));
    let without_orb_beyond = over.count() as u64;
    let mut times = times(&responses);
    Ok(Some(Proof {
        calls: times.len() as u64,
        period_ns: period.as_nanos() as u64,
        worst_case_ns: worst_case,
        watcher_ns: watcher,
        bound_ns: bound,
        beyond,
        explained,
        stalls: stalls.count() as u64,
        undisturbed_max_ns: undisturbed_max.as_nanos() as u64,
        curve: curve(&mut times, 5),
        p50_ns: part(&mut times, 0.5),
        p99_ns: part(&mut times, 0.99),
        p999_ns: part(&mut times, 0.999),
        max_ns: part(&mut times, 1.0),
        without_orb: without.len() as u64,
        without_orb_beyond,
        without_orb_curve: curve(&mut without, 5),
        without_orb_max_ns: part(&mut without, 1.0),
    }))
}

/// Returns the longest response of an urgent call, including preemption by the budget watcher. `None`: unbounded.
fn bound(worst_case: u64, watcher: u64, urgent: Duration) -> Result<Option<u64>> {
    let watching = Task::periodic("the watching thread", watcher.max(1), QUANTUM.as_nanos() as u64);
    let wanted = MemberRequest {
        name: "urgent".into(),
        worst_case: worst_case.max(1),
        period: urgent.as_nanos() as u64,
        deadline: urgent.as_nanos() as u64,
        priority: 0,
        shares: false,
    };
    let mut controller = Controller::new(LateComers::Refuse).behind(watching);
    Ok(match controller.admit(wanted)? {
        Answer::Guaranteed { response } => Some(response),
        Answer::BestEffort { .. } | Answer::Refused(_) => None,
    })
}

/// Period of the budget watcher (`-ORBBudgetQuantum`).
const QUANTUM: Duration = Duration::from_millis(1);

/// Returns the times of responses, in nanoseconds.
fn times(responses: &[Response]) -> Vec<u64> {
    responses.iter().map(|response| response.time.as_nanos() as u64).collect()
}

/// Returns the response to each call, the stalls of the machine meanwhile, and the longest check of the budget watcher
/// in nanoseconds.
fn run(calls: usize, period: Duration, storm: bool) -> Result<(Vec<Response>, Stalls, u64)> {
    let builder = real_time(Orb::builder().listen("iiop://127.0.0.1:0"));
    let server = builder.setting("Budget", BUDGETS).build()?;
    let desk = Desk::default();
    let lane = |priority, threads| -> Result<ThreadpoolLane> {
        Ok(ThreadpoolLane::new(Priority::new(priority)?, threads).cpu(CPU))
    };
    let lanes = [lane(PRIORITIES[0], FLOODERS + 2)?, lane(PRIORITIES[1], 2)?];
    let pool = server.create_threadpool(Threadpool::with_lanes(lanes))?;
    let [low, high] = PRIORITIES.map(|priority| -> Result<String> {
        let realtime = RtPolicies {
            threadpool: Some(pool),
            priority_model: Some(PriorityModelPolicy {
                model: PriorityModel::ServerDeclared,
                server_priority: priority,
            }),
            ..RtPolicies::default()
        };
        let policies = Policies { realtime, ..Policies::default() };
        let poa = server.root_poa().create_poa(&format!("lane {priority}"), policies)?;
        let station: StationRef = poa.activate(desk.clone())?;
        Ok(station.to_ior())
    });
    let (low, high) = (low?, high?);
    let over = AtomicBool::new(false);
    let (others, own) = (client()?, client()?);
    let flood: StationRef = others.resolve(&low)?;
    let urgent: StationRef = own.resolve(&high)?;
    let measured: Result<(Vec<Response>, Stalls)> = thread::scope(|scope| {
        let over = &over;
        let sentinel = scope.spawn(move || stall::watch(CPU, SENTINEL, over));
        if storm {
            for _ in 0..FLOODERS {
                let flood = flood.clone();
                scope.spawn(move || {
                    // The flooding client uses no processor time that another thread wants, as if it ran on another
                    // machine.
                    let _ = schedule::set_current(IDLE);
                    while !over.load(Ordering::Relaxed) {
                        let _ = flood.flood(FLOOD);
                    }
                });
            }
            let spin = flood.clone();
            scope.spawn(move || spin.spin());
            thread::sleep(Duration::from_millis(100));
        }
        let responses = scope.spawn(|| call(&own, &urgent, calls, period)).join();
        over.store(true, Ordering::Relaxed);
        desk.over.store(true, Ordering::Relaxed);
        let stalls = sentinel.join().map_err(|_| "the sentinel panicked")??;
        Ok((responses.map_err(|_| "the urgent client panicked")??, stalls))
    });
    let (responses, stalls) = measured?;
    let watcher = longest_look();
    own.shutdown(true)?;
    others.shutdown(true)?;
    server.shutdown(true)?;
    Ok((responses, stalls, watcher))
}

fn real_time(builder: oxorb::Builder) -> oxorb::Builder {
    builder
        .setting("SchedPolicy", "SCHED_FIFO")
        .setting("PriorityMapping", "direct")
        .setting("WorkerStay", "10000")
        .setting("TrustIdle", "10000")
        .setting("LogLevel", "error")
}

fn client() -> Result<Orb> {
    let builder = real_time(Orb::builder()).client_connections(ClientConnections::Private);
    Ok(builder.round_trip_timeout(Duration::from_secs(60)).build()?)
}

fn call(orb: &Orb, urgent: &StationRef, calls: usize, period: Duration) -> Result<Vec<Response>> {
    pin_this_thread(CPU)?;
    orb.set_thread_priority(Priority::new(PRIORITIES[1])?)?;
    urgent.validate_connection()?;
    urgent.urgent()?;
    let mut called = Ok(());
    let responses = at_each_release(calls, period, || called = urgent.urgent());
    called?;
    Ok(responses)
}

/// Returns the response times of a thread that only computes for the time of a call: the delays caused by the machine
/// itself.
fn bare(releases: usize, period: Duration, work: u64) -> Vec<Response> {
    let thread = thread::spawn(move || {
        let _ = pin_this_thread(CPU);
        let _ = schedule::set_current(ThreadPriority {
            class: SchedulingClass::Fifo,
            priority: PRIORITIES[1].into(),
        });
        at_each_release(releases, period, || burn(work))
    });
    thread.join().unwrap_or_default()
}

/// Returns the response to each release. A release that passes during a call is skipped.
fn at_each_release(releases: usize, period: Duration, mut each: impl FnMut()) -> Vec<Response> {
    let mut responses = Vec::with_capacity(releases);
    let mut release = now() + period;
    for _ in 0..releases {
        sleep_until(release);
        each();
        let after = now();
        responses.push(Response { release, time: after - release });
        while release <= after {
            release += period;
        }
    }
    responses
}

/// Returns a bound on one check of the budget watcher, in nanoseconds: four times the average.
fn longest_look() -> u64 {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let look = |path: std::path::PathBuf| {
        let name = fs::read_to_string(path.join("comm")).ok()?;
        (name.trim() == "oxorb-budgets").then_some(())?;
        let text = fs::read_to_string(path.join("schedstat")).ok()?;
        let mut numbers = text.split_whitespace().map(str::parse::<u64>);
        let run = numbers.next()?.ok()?;
        let times = numbers.nth(1)?.ok()?;
        Some(run / times.max(1) * 4)
    };
    threads.filter_map(|thread| look(thread.path())).max().unwrap_or(0)
}
