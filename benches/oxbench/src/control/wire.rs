//! `oxbench control wire`: an urgent client and bulk traffic share a slow link, with and without priority queues.
//!
//! Server and client are in separate network namespaces, connected by a pair of veth devices. A token bucket, which
//! represents the link, limits the server's traffic. Bulk clients continuously fetch large answers from a low-priority
//! lane and keep the link full; an urgent client fetches small ones from a high-priority lane. The lanes set the DSCP
//! and SO_PRIORITY of their packets; the device's queueing discipline orders packets by one of them, or by arrival.

use std::borrow::Cow;
use std::fmt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};
use oxorb::settings::ClientConnections;
use oxorb::{Interface as _, Orb};
use serde::Serialize;

use crate::bootstrap::Ratio;
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::placement::{Placement, Role};
use crate::plot::{Axis, Drawing, Panel};
use crate::process::Process;
use crate::table::{Table, or_dash};
use crate::verdict::{Verdict, Verdicts, at_least, at_most};
use crate::{Result, session};

#[allow(missing_docs)]
mod generated {
    oxorb::include_idl!("wire");
}

use generated::oxbench::{Wire, WireRef};

/// Environment variable set in the process that has its own namespaces.
const INSIDE: &str = "OXBENCH_CONTROL_WIRE";

const SERVER: &str = "10.78.1.2";
const CLIENT: &str = "10.78.1.1";
/// Devices of both ends.
const DEVICES: [&str; 2] = ["oxbench-c", "oxbench-s"];

/// CORBA priorities of the lanes, equal to those of SCHED_FIFO.
const PRIORITIES: [i16; 2] = [10, 60];

/// DSCP and SO_PRIORITY of the lanes.
const MARKS: [u8; 2] = [10, 46];
const QUEUES: [u8; 2] = [2, 6];

/// Size in octets of an answer.
const BULK: u32 = 256 << 10;
const URGENT: u32 = 64;

/// Time between urgent calls.
const PERIOD: Duration = Duration::from_millis(5);

/// Maximum number of octets that wait for the link in the bulk queue.
const LIMIT: u32 = 400_000;

/// Order in which packets leave on the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Queueing {
    /// Urgent calls without bulk traffic
    Alone,
    /// Order of arrival
    None,
    /// Order by the SO_PRIORITY of lanes (pfifo_fast)
    Priority,
    /// Order by the DSCP of lanes (htb with u32)
    Mark,
}

impl Queueing {
    fn name(self) -> &'static str {
        match self {
            Queueing::Alone => "alone",
            Queueing::None => "none",
            Queueing::Priority => "priority",
            Queueing::Mark => "mark",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Queueing::Alone => "no bulk",
            Queueing::None => "first come, first served",
            Queueing::Priority => "by SO_PRIORITY",
            Queueing::Mark => "by DSCP",
        }
    }

    fn has_bulk(self) -> bool {
        self != Queueing::Alone
    }
}

/// Options of `oxbench control wire`.
#[derive(Args)]
pub(crate) struct Options {
    /// Rate of the link, in Mbit/s
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rate: u32,

    /// Number of bulk clients
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    bulk: u32,

    /// Seconds of measurement for each point
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,

    /// Measure each point for one second only
    #[arg(long)]
    quick: bool,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Options of the server.
#[derive(Args)]
pub(crate) struct SideOptions {
    #[arg(long)]
    queueing: Queueing,
}

#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    rate_mbit: u32,
    bulk: u32,
    seconds: u64,
    points: Vec<Point>,
}

#[derive(Debug, Serialize)]
struct Point {
    queueing: Queueing,
    calls: usize,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
    /// Payload of bulk, in Mbit/s.
    bulk_mbit: f64,
    /// Round trips in nanoseconds, ascending.
    #[serde(skip)]
    samples: Vec<u64>,
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    if std::env::var_os(INSIDE).is_none() {
        return enter();
    }
    if !crate::load::may_use_priorities() {
        return Err("this experiment needs SCHED_FIFO: run it as root".into());
    }
    connect()?;
    let seconds = if options.quick { 1 } else { options.seconds };
    let mut points = Vec::new();
    for &queueing in Queueing::value_variants() {
        eprintln!("{} ...", queueing.text());
        queue(queueing, options.rate)?;
        points.push(measure(queueing, options.bulk, Duration::from_secs(seconds))?);
    }
    let report = Report {
        machine: Machine::this(),
        rate_mbit: options.rate,
        bulk: options.bulk,
        seconds,
        points,
    };
    options.output.show(&report, verdicts, Report::drawing)
}

/// Runs this command again in its own namespaces, which end with it.
fn enter() -> Result {
    let status = Command::new("unshare")
        .args(["--net", "--mount", "--fork", "--kill-child"])
        .arg(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .env(INSIDE, "yes")
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("unshare (util-linux): {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(
            "the run in namespaces of its own failed (it needs root, and ip and tc of iproute2)"
                .into(),
        ),
    }
}

fn system(line: &str) -> Result {
    let mut words = line.split(' ');
    let program = words.next().unwrap_or_default();
    let output = Command::new(program).args(words).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{line}: {}", said.trim_end()).into())
        }
    }
}

/// Connects the client's namespace to the server's.
fn connect() -> Result {
    let [here, there] = DEVICES;
    system("mount -t tmpfs none /run")?;
    system("ip link set lo up")?;
    system("ip netns add server")?;
    system("ip -n server link set lo up")?;
    system(&format!("ip link add {here} type veth peer name {there}"))?;
    system(&format!("ip link set {there} netns server"))?;
    for (inside, device, address) in [("", here, CLIENT), ("-n server ", there, SERVER)] {
        system(&format!("ip {inside}addr add {address}/24 dev {device}"))?;
        // Disables segmentation offload, so that packets have the size of a real link's.
        system(&format!("ip {inside}link set {device} gso_max_segs 1 up"))?;
    }
    Ok(())
}

/// Sets the link's rate and queueing discipline at the server's device.
fn queue(queueing: Queueing, rate: u32) -> Result {
    let device = DEVICES[1];
    let tc = |rest: String| system(&format!("ip netns exec server tc {rest}"));
    // On the first call there is no queueing discipline to delete, so the command fails.
    let _ = tc(format!("qdisc del dev {device} root"));
    let bucket = format!("rate {rate}mbit burst 4000");
    match queueing {
        Queueing::Alone | Queueing::None | Queueing::Priority => {
            tc(format!("qdisc add dev {device} root handle 1: tbf {bucket} limit {LIMIT}"))?
        }
        Queueing::Mark => {
            tc(format!("qdisc add dev {device} root handle 1: htb default 30"))?;
            let whole = format!("rate {rate}mbit ceil {rate}mbit burst 4000 cburst 4000");
            tc(format!("class add dev {device} parent 1: classid 1:1 htb {whole}"))?;
            let kbit = rate * 1000;
            for (class, order, share) in [("1:10", 0, kbit / 10), ("1:30", 1, kbit * 9 / 10)] {
                let part = format!("rate {share}kbit ceil {rate}mbit burst 4000 cburst 4000");
                tc(format!(
                    "class add dev {device} parent 1:1 classid {class} htb prio {order} {part} quantum 1514"
                ))?;
                tc(format!("qdisc add dev {device} parent {class} bfifo limit {LIMIT}"))?;
            }
            let octet = MARKS[1] << 2;
            tc(format!(
                "filter add dev {device} parent 1: protocol ip prio 1 u32 match ip dsfield {octet:#x} 0xfc flowid 1:10"
            ))?;
        }
    }
    if queueing == Queueing::Priority {
        tc(format!("qdisc add dev {device} parent 1:1 handle 10: pfifo_fast"))?;
    }
    Ok(())
}

fn measure(queueing: Queueing, bulk: u32, time: Duration) -> Result<Point> {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", "server"]).arg(std::env::current_exe()?).args([
        "control",
        "wire-side",
        "--queueing",
        queueing.name(),
    ]);
    let mut server =
        Process::start("the server".into(), Placement::Free, Role::Server, &mut command)?;
    let told = server.hear()?;
    let (low, high) = told.split_once(' ').ok_or("the server names two objects")?;
    let (over, fetched) = (AtomicBool::new(false), AtomicU64::new(0));
    let bulk = if queueing.has_bulk() { bulk } else { 0 };
    let (mut samples, took) = thread::scope(|scope| {
        for _ in 0..bulk {
            scope.spawn(|| fetch_bulk(low, &over, &fetched));
        }
        // Waits until the bulk traffic fills the link.
        thread::sleep(Duration::from_millis(500));
        let before = fetched.load(Ordering::Relaxed);
        let begin = Instant::now();
        let samples = scope.spawn(|| call(high, time)).join().expect("nobody panics");
        let took = (fetched.load(Ordering::Relaxed) - before, begin.elapsed());
        over.store(true, Ordering::Relaxed);
        samples.map(|samples| (samples, took))
    })?;
    server.finish()?;
    samples.sort_unstable();
    let at = |quantile: f64| {
        let rank = (quantile * samples.len() as f64).ceil() as usize;
        samples[rank.clamp(1, samples.len()) - 1]
    };
    let (octets, during) = took;
    Ok(Point {
        queueing,
        calls: samples.len(),
        p50_ns: at(0.5),
        p99_ns: at(0.99),
        max_ns: at(1.0),
        bulk_mbit: octets as f64 * 8.0 / during.as_secs_f64() / 1e6,
        samples,
    })
}

fn client(priority: i16) -> Result<Orb> {
    let orb = Orb::builder()
        .client_connections(ClientConnections::Private)
        .setting("SchedPolicy", "SCHED_FIFO")
        .setting("PriorityMapping", "direct")
        .build()?;
    orb.set_thread_priority(Priority::new(priority)?)?;
    Ok(orb)
}

fn fetch_bulk(reference: &str, over: &AtomicBool, fetched: &AtomicU64) -> Result {
    let orb = client(PRIORITIES[0])?;
    let object: WireRef = orb.resolve(reference)?;
    while !over.load(Ordering::Relaxed) {
        let octets = object.fetch(BULK)?.len();
        fetched.fetch_add(octets as u64, Ordering::Relaxed);
    }
    orb.shutdown(true)?;
    Ok(())
}

/// Calls in each period, and returns the time of each call, in nanoseconds.
fn call(reference: &str, time: Duration) -> Result<Vec<u64>> {
    let orb = client(PRIORITIES[1])?;
    let object: WireRef = orb.resolve(reference)?;
    let mut samples = Vec::new();
    let end = Instant::now() + time;
    let mut next = Instant::now();
    object.fetch(URGENT)?;
    while next < end {
        let begin = Instant::now();
        object.fetch(URGENT)?;
        samples.push(begin.elapsed().as_nanos() as u64);
        next = (next + PERIOD).max(Instant::now());
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    orb.shutdown(true)?;
    Ok(samples)
}

/// Contents of the largest answer.
static ANSWER: [u8; BULK as usize] = [7; BULK as usize];

struct Answers;

impl Wire for Answers {
    fn fetch(&self, count: u32) -> oxorb::Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(&ANSWER[..count.min(BULK) as usize]))
    }
}

/// Serves both lanes until standard input closes.
pub(crate) fn serve(options: &SideOptions) -> Result {
    let orb = Orb::builder()
        .listen(&format!("iiop://{SERVER}:0"))
        .setting("SchedPolicy", "SCHED_FIFO")
        .setting("PriorityMapping", "direct")
        .build()?;
    let lane = |at: usize| -> Result<ThreadpoolLane> {
        let lane = ThreadpoolLane::new(Priority::new(PRIORITIES[at])?, [8, 2][at]);
        Ok(match options.queueing {
            Queueing::Priority => lane.socket_priority(QUEUES[at]),
            Queueing::Mark => lane.dscp(MARKS[at]),
            Queueing::Alone | Queueing::None => lane,
        })
    };
    let pool = orb.create_threadpool(Threadpool::with_lanes([lane(0)?, lane(1)?]))?;
    let object = |priority: i16| -> Result<String> {
        let realtime = RtPolicies {
            threadpool: Some(pool),
            priority_model: Some(PriorityModelPolicy {
                model: PriorityModel::ServerDeclared,
                server_priority: priority,
            }),
            ..RtPolicies::default()
        };
        let policies = Policies { realtime, ..Policies::default() };
        let poa = orb.root_poa().create_poa(&format!("lane-{priority}"), policies)?;
        let object: WireRef = poa.activate(Answers)?;
        Ok(object.to_ior())
    };
    session::announce(&format!("{} {}", object(PRIORITIES[0])?, object(PRIORITIES[1])?))?;
    orb.shutdown(true)?;
    Ok(())
}

impl Report {
    fn of(&self, queueing: Queueing) -> Option<&Point> {
        self.points.iter().find(|point| point.queueing == queueing)
    }

    /// Returns the ratio of the urgent client's p99 to its p99 without priority queues.
    fn to_none(&self, queueing: Queueing) -> Option<Ratio> {
        let (these, those) = (self.of(queueing)?, self.of(Queueing::None)?);
        Some(Ratio::of(&these.samples, &those.samples, 0.99))
    }

    /// Returns the share of the link that bulk traffic uses.
    fn share(&self, queueing: Queueing) -> Option<Ratio> {
        let point = self.of(queueing)?;
        Some(Ratio::exactly(point.bulk_mbit / f64::from(self.rate_mbit)))
    }
}

fn verdicts(report: &Report) -> Verdicts {
    let by = [Queueing::Priority, Queueing::Mark];
    let urgent = by.map(|it| {
        let what = format!("urgent p99 {}, to first come, first served", it.text());
        at_most(what, report.to_none(it), 0.25)
    });
    let full = [Queueing::None, Queueing::Priority, Queueing::Mark];
    let full = full.map(|it| {
        let what = format!("part of the link that bulk has, {}", it.text());
        at_least(what, report.share(it), 0.7)
    });
    let all: Vec<Verdict> = urgent.into_iter().chain(full).collect();
    Verdicts::new(all)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "veth devices in namespaces, a link of {} Mbit/s, {} bulk clients; {} s a point\n",
            self.rate_mbit, self.bulk, self.seconds
        )?;
        let table = Table::of(&self.points)
            .left(["queueing"], |it| [it.queueing.text()])
            .right(["calls"], |it| [it.calls])
            .fixed(["p50 ms", "p99 ms", "max ms"], 2, |it| {
                [it.p50_ns, it.p99_ns, it.max_ns].map(|time| time as f64 / 1e6)
            })
            .fixed(["bulk Mbit/s"], 1, |it| [it.bulk_mbit])
            .right(["p99 to first come"], |it| [or_dash(self.to_none(it.queueing))]);
        table.fmt(f)
    }
}

impl Report {
    /// Draws the distribution of urgent call times: a line for each queueing.
    fn drawing(&self) -> Drawing {
        let lines = self.points.iter().map(|point| {
            let count = point.samples.len() as f64;
            let curve = point.samples.iter().zip(1u32..);
            let curve =
                curve.map(move |(time, at)| (*time as f64 / 1e6, f64::from(at) / count * 100.0));
            (point.queueing.text(), curve)
        });
        let calls = Axis::linear("percent of the calls that took no longer").between(0.0, 100.0);
        let caption = "urgent calls beside bulk on a full link";
        let panels = vec![Panel::lines(caption, Axis::log("milliseconds"), calls, lines)];
        Drawing { title: self.machine.to_string(), across: 1, panels }
    }
}
