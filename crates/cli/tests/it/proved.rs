//! The bounds that `oxorb deploy check` proves, compared with the responses of launched plans beside a load.
//!
//! A response beyond its bound contradicts the proof only if the processors ran the most urgent threads meanwhile. On
//! each processor, a sentinel of the highest priority measures the times in which that was not so.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::hint::spin_loop;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use oxorb_sys::clock::monotonic;
use oxorb_testkit::peers::missing;
use oxorb_testkit::process::Process;
use oxorb_testkit::stall::{self, Response, Stalls};
use oxorb_testkit::{require_realtime, watchdog};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;

use crate::common::{LIMIT, command};
use crate::launch::{Cockpit, good};

/// Time in which responses are compared.
const WINDOW: Duration = Duration::from_secs(8);

/// Period of the sentinels, which use about 1 % of their processors.
const SENTINEL: Duration = Duration::from_millis(1);

/// Plans, each with its nodes. Each node has a processor of its own, as the check assumes.
const PLANS: [(&str, &[&str]); 4] = [
    ("navigation", &["cockpit"]),
    ("with-warning", &["cockpit"]),
    ("channel", &["cockpit"]),
    ("two-node", &["nose", "cockpit"]),
];

/// Bound of a chain that ends with a picture of a display.
struct Promise {
    display: String,
    period: u64,
    bound: Duration,
}

/// Returns the promises that the check prints for a plan, all of whose deadlines it proves.
fn promises(plan: &str, resources: &str) -> Vec<Promise> {
    let told = good(&["deploy", "check", plan, "--rt", resources, "--format", "json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    let promise = |chain: &Value| {
        let last = chain["steps"].as_array().unwrap().last().unwrap().as_str().unwrap();
        let display = last.strip_suffix(".update")?.to_owned();
        assert_eq!(chain["meets"], true, "{chain:#}");
        let number = |key: &str| chain[key].as_u64().unwrap();
        let bound = Duration::from_nanos(number("response_ns"));
        Some(Promise { display, period: number("period_ns"), bound })
    };
    let promises: Vec<Promise> =
        told["chains"].as_array().unwrap().iter().filter_map(promise).collect();
    assert!(!promises.is_empty(), "{told:#}");
    promises
}

/// Pictures of a display: microseconds from the tick until the picture was complete, by number of the tick.
type Pictures = BTreeMap<u64, u64>;

/// Returns the pictures of a display among the lines of a launch.
fn pictures<'l>(display: &str, lines: impl Iterator<Item = &'l str>) -> Pictures {
    let picture = |line: &str| {
        let values = line.strip_prefix(display)?.strip_prefix(": ")?;
        let number = |key: &str| {
            let mut pairs = values.split(' ').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == key)?.1.parse().ok()
        };
        Some((number("tick")?, number("after_us")?))
    };
    lines.filter_map(picture).collect()
}

/// Returns the responses to ticks. If a tick has no picture, the rate generator was still busy with a tick before: the
/// response to that one took at least until then.
fn responses(pictures: &Pictures, period: u64, ticks: Range<u64>) -> Vec<Response> {
    let release = |tick| Duration::from_nanos(tick * period);
    let response = |tick| match pictures.get(&tick) {
        Some(&after) => Response { release: release(tick), time: Duration::from_micros(after) },
        None => {
            let before = pictures.range(..tick).next_back();
            let (&before, _) = before.expect("the display has drawn before");
            Response { release: release(before), time: release(tick) - release(before) }
        }
    };
    ticks.map(response).collect()
}

/// Sets a flag when it is dropped, also when a test fails.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns the processors that this test may use.
fn processors() -> Vec<usize> {
    let allowed = sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect()
}

/// Restricts all threads of a process, and those that they will start, to a processor.
fn keep_on(process: &Value, cpu: usize) {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    // A thread may be started by one that is not restricted yet, so look twice.
    for _ in 0..2 {
        for thread in fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten() {
            let id = thread.file_name().to_str().and_then(|id| id.parse().ok());
            if let Some(id) = id.and_then(Pid::from_raw) {
                // The thread may have ended.
                let _ = sched_setaffinity(Some(id), &cpus);
            }
        }
    }
}

/// Starts a launch that manages all nodes of a plan, with a processor for each. Also returns its address.
fn launch(
    cockpit: &Cockpit,
    plan: &str,
    resources: &str,
    places: &[(&str, usize)],
) -> (Process, String) {
    let artifacts = cockpit.folder.path("");
    let mut launch = command(&["deploy", "launch", plan, "--rt", resources, "--local"]);
    launch.args(["--artifacts", &artifacts, "--port", "0", "--format", "json"]);
    let mut launching = Process::spawn(launch);
    let line = launching.wait_for_line("\"running\"", LIMIT);
    let said: Value = serde_json::from_str(&line).expect("one line of JSON");
    let at = said["corbaloc"][0].as_str().expect("it has an address").to_owned();
    let told = good(&["deploy", "status", "--at", &at, "--format", "json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    for process in told[0]["processes"].as_array().unwrap() {
        let mut places = places.iter();
        let place = places.find(|(node, _)| process["node"] == *node);
        let (_, cpu) = place.unwrap_or_else(|| panic!("{process:#}"));
        keep_on(&process["pid"], *cpu);
    }
    (launching, at)
}

/// Lines of a launch, the time in which its responses are compared, and the stalls in this time.
struct Played {
    lines: Vec<String>,
    window: Range<Duration>,
    stalls: Stalls,
}

/// Launches a plan beside a thread on each processor that computes without end.
fn play(
    cockpit: &Cockpit,
    plan: &str,
    resources: &str,
    places: &[(&str, usize)],
    promises: &[Promise],
) -> Played {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let end = Over(&over);
        let mut sentinels = Vec::new();
        for &(_, cpu) in places {
            let over = &over;
            sentinels.push(scope.spawn(move || stall::watch(cpu, SENTINEL, over)));
            scope.spawn(move || {
                stall::stay_on(cpu).unwrap();
                while !over.load(Ordering::Relaxed) {
                    spin_loop();
                }
            });
        }
        let (mut launching, at) = launch(cockpit, plan, resources, places);
        let picture = |promise: &Promise| format!("{}: tick=", promise.display);
        // The processes have their processors now. The first pictures after that are not compared.
        for promise in promises.iter().chain(promises) {
            launching.wait_for_line(&picture(promise), LIMIT);
        }
        let from = monotonic();
        thread::sleep(WINDOW);
        let to = monotonic();
        // Two pictures later, all of the window are written, or never will be.
        for promise in promises.iter().chain(promises) {
            let mut last = 0;
            while Duration::from_nanos(last * promise.period) < to {
                let line = launching.wait_for_line(&picture(promise), LIMIT);
                let pictures = pictures(&promise.display, std::iter::once(&*line));
                last = pictures.into_keys().max().unwrap_or(last);
            }
        }
        let lines = launching.output().iter().map(|line| line.text.clone()).collect();
        drop(end);
        let stalls = sentinels.into_iter().map(|one| one.join().unwrap().unwrap());
        let stalls = stalls.reduce(Stalls::and).expect("a plan has a node");
        good(&["deploy", "stop", "--all", "--at", &at]);
        launching.wait_success(LIMIT);
        Played { lines, window: from..to, stalls }
    })
}

/// Bounds that `oxorb deploy check` calls proved hold in a run of the plan.
#[test]
#[ignore = "half a minute, with processors of its own: run by .ci/full proved"]
fn no_response_of_a_launched_plan_contradicts_its_proof() {
    if !require_realtime() {
        return;
    }
    let _watchdog = watchdog(Duration::from_secs(600));
    let cpus = processors();
    let cockpit = Cockpit::new("proved");
    for file in ["channel.toml", "channel.rt.toml", "two-node.toml", "two-node.rt.toml"] {
        let from = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plans");
        fs::copy(format!("{from}/{file}"), cockpit.folder.path(file)).unwrap();
    }
    let mut table = format!(
        "{:14} {:12} {:>9} {:>8} {:>8} {:>12} {:>8} {:>7} {:>9}\n",
        "plan", "display", "responses", "bound", "max", "undisturbed", "max", "beyond", "explained"
    );
    let mut contradicted = Vec::new();
    for (plan, nodes) in PLANS {
        if cpus.len() < nodes.len() {
            missing("a processor for each node", &format!("{plan} has {} nodes", nodes.len()));
            continue;
        }
        let places: Vec<(&str, usize)> =
            nodes.iter().copied().zip(cpus.iter().rev().copied()).collect();
        let document = |kind: &str| cockpit.folder.path(&format!("{plan}{kind}.toml"));
        let (file, resources) = (document(""), document(".rt"));
        let promises = promises(&file, &resources);
        let Played { lines, window, stalls } =
            play(&cockpit, &file, &resources, &places, &promises);
        for Promise { display, period, bound } in promises {
            let pictures = pictures(&display, lines.iter().map(String::as_str));
            let tick = |time: Duration| (time.as_nanos() as u64).div_ceil(period);
            let responses = responses(&pictures, period, tick(window.start)..tick(window.end));
            let judged = stalls.judge(&responses, Some(bound));
            let longest = responses.iter().map(|one| one.time).max().unwrap();
            let ms = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
            let _ = writeln!(
                table,
                "{plan:14} {display:12} {:>9} {:>8} {:>8} {:>12} {:>8} {:>7} {:>9}",
                responses.len(),
                ms(bound),
                ms(longest),
                judged.undisturbed,
                ms(judged.undisturbed_max),
                judged.beyond,
                judged.explained
            );
            if judged.beyond > judged.explained {
                contradicted.push(format!("{plan}: {display}"));
            }
        }
        let (many, longest) = (stalls.count(), stalls.longest());
        let _ = writeln!(table, "  stalls of the machine: {many}, the longest {longest:?}");
    }
    println!("{table}");
    assert!(
        contradicted.is_empty(),
        "responses beyond the proved bound that no stall of the machine explains: {contradicted:?}\n{table}"
    );
}

#[test]
fn a_lost_tick_is_a_response_that_took_until_its_release() {
    const PERIOD: u64 = 200_000_000;
    let lines = [
        "warning: tick=12 latitude=1 longitude=2 after_us=19000",
        "navigation: tick=13 latitude=1 longitude=2 after_us=7",
        "warning: tick=13 latitude=1 longitude=2 after_us=450000",
        "warning: tick=x after_us=1",
        "{\"event\":\"running\"}",
        "warning: tick=16 latitude=1 longitude=2 after_us=18000",
    ];
    let pictures = pictures("warning", lines.into_iter());
    assert_eq!(
        pictures.clone().into_iter().collect::<Vec<_>>(),
        [(12, 19_000), (13, 450_000), (16, 18_000)]
    );
    let ms = Duration::from_millis;
    let responses = responses(&pictures, PERIOD, 13..17);
    let expected = [
        Response { release: ms(2_600), time: ms(450) },
        Response { release: ms(2_600), time: ms(200) },
        Response { release: ms(2_600), time: ms(400) },
        Response { release: ms(3_200), time: ms(18) },
    ];
    assert_eq!(responses, expected);
}
