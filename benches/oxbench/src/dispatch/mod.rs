//! `oxbench dispatch` (E8): one pair of high priority among 1 to 1,000 of low priority, through the dispatching modules of an
//! ORB; urgency by laxity (MUF) beside static urgency (RMS).
//!
//! Each low pair is an object; in each round all of them are called at once, so that as many requests wait in the low
//! module, while the high pair calls again and again. Paper 3 (5.1) asks two things: does the high pair notice, and what
//! does it cost to order requests by laxity.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use oxorb::sched::level::Criticality;
use oxorb::sched::repository::{Characteristics, Repository};
use oxorb::sched::time::{MICROSECOND, MILLISECOND, SECOND};
use oxorb::sched::{DispatchModel, DispatchTable, OsPriorities, Schedule, Strategy};
use oxorb::{
    ClientConnections, Incident, Interface, Modules, Orb, Poa, Policies, Priority, PriorityModel,
    PriorityModelPolicy, RtPolicies, RunTimeScheduler, SchedulingClass, SystemException,
    Threadpool, ThreadpoolLane,
};
use serde::Serialize;

use crate::Result;
use crate::machine::Machine;
use crate::output::Output;
use crate::plot::{Axis, Drawing, Panel};
use crate::table::Table;

// The Rust that build.rs made of idl/dispatch.idl.
mod generated {
    #![allow(missing_docs, dead_code, unreachable_pub)]
    oxorb::include_idl!("dispatch");
}
pub(crate) use generated::dispatching;
use generated::dispatching::{Pair, PairRef};

/// Options of `oxbench dispatch`.
#[derive(Args)]
pub(crate) struct Options {
    /// Few rounds, and 100 low pairs at most: to see that it works
    #[arg(long)]
    quick: bool,

    /// Rounds of each point; strategies take turns
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    output: Output,
}

const PAIRS: [u32; 7] = [1, 3, 10, 30, 100, 300, 1_000];
const QUICK: [u32; 3] = [1, 10, 100];
const STRATEGIES: [Strategy; 2] = [Strategy::RMS, Strategy::MUF];

/// Requests of low pairs in each round of a point, at least.
const REQUESTS: u32 = 2_000;

/// Between two calls of the high pair.
const PAUSE: Duration = Duration::from_micros(200);

/// Between two looks whether all are served.
const LOOK: Duration = Duration::from_micros(50);

/// What is not over by then never will be.
const PATIENCE: Duration = Duration::from_secs(30);

/// Everything one run found out.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    pub(crate) rounds: u32,
    /// Threads had SCHED_FIFO.
    pub(crate) real_time: bool,
    pub(crate) series: Vec<Series>,
    /// For each number of low pairs: a request under MUF, in times of one under RMS.
    pub(crate) dynamic_cost: Vec<(u32, f64)>,
}

/// One strategy.
#[derive(Debug, Serialize)]
pub(crate) struct Series {
    pub(crate) strategy: &'static str,
    pub(crate) points: Vec<Point>,
}

/// One number of low pairs.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Point {
    pub(crate) pairs: u32,
    /// Round trips of the high pair, in nanoseconds.
    pub(crate) calls: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) max_ns: u64,
    /// From the first of as many requests as there are low pairs to the end of the last, for each; the median.
    pub(crate) low_ns: u64,
}

/// What the rounds of one point gave, in nanoseconds.
#[derive(Default)]
struct Seen {
    latencies: Vec<u64>,
    lows: Vec<u64>,
}

/// Measures and reports.
pub(crate) fn run(options: &Options) -> Result {
    let (pairs, rounds) = match options.quick {
        true => (&QUICK[..], options.rounds.min(2)),
        false => (&PAIRS[..], options.rounds),
    };
    let mut series =
        STRATEGIES.map(|strategy| Series { strategy: strategy.name, points: Vec::new() });
    let mut real_time = true;
    for &many in pairs {
        let mut seen = [(); STRATEGIES.len()].map(|()| Seen::default());
        for round in 1..=rounds {
            // In turns, so that a drift of the machine meets both.
            for (strategy, seen) in STRATEGIES.into_iter().zip(&mut seen) {
                eprintln!("{many} low pairs, round {round}, {} ...", strategy.name);
                let server = Server::start(strategy, many)?;
                real_time &= measure(&server, many, seen)?;
                server.orb.shutdown(true)?;
            }
        }
        for (seen, series) in seen.into_iter().zip(&mut series) {
            series.points.push(seen.point(many));
        }
    }
    let [rms, muf] = &series;
    let both = rms.points.iter().zip(&muf.points);
    let cost = |(rms, muf): (&Point, &Point)| (rms.pairs, muf.low_ns as f64 / rms.low_ns as f64);
    let report = Report {
        machine: Machine::this(),
        rounds,
        real_time,
        dynamic_cost: both.map(cost).collect(),
        series: series.into(),
    };
    options.output.show(&report, Report::drawing)
}

/// The pairs' server.
struct Server {
    orb: Orb,
    high: String,
    low: Vec<String>,
    served: Arc<Served>,
}

/// Calls of low pairs that have been served.
struct Served {
    number: AtomicU64,
    began: Instant,
    /// When the last of them was, in nanoseconds since then.
    last: AtomicU64,
}

impl Server {
    fn start(strategy: Strategy, pairs: u32) -> Result<Server> {
        let mut modules = Modules::default();
        modules.capacity = pairs as usize + 16;
        let mut scheduler = RunTimeScheduler::new(table(strategy)?);
        scheduler.modules = Some(modules);
        let orb = Orb::builder()
            .scheduler(scheduler)
            .setting("ListenEndpoints", "iiop://127.0.0.1:0")
            .configure(|options| options.realtime.class = SchedulingClass::Fifo)
            .build()?;
        let poa = poa(&orb)?;
        let served = Arc::new(Served {
            number: AtomicU64::new(0),
            began: Instant::now(),
            last: AtomicU64::new(0),
        });
        let activate = || -> Result<String> {
            let pair: PairRef = poa.activate(Consumer(Arc::clone(&served)))?;
            Ok(pair.to_ior())
        };
        let high = activate()?;
        let low = (0..pairs).map(|_| activate()).collect::<Result<_>>()?;
        Ok(Server { high, low, served, orb })
    }

    fn is_real_time(&self) -> bool {
        let statistics = self.orb.connection_statistics();
        statistics.count(Incident::NoRealTimePriority) == 0
    }
}

/// Served by a lane above all modules, which reads.
fn poa(orb: &Orb) -> Result<Poa> {
    let lane = ThreadpoolLane::new(Priority::MAX, 2);
    let pool = orb.create_threadpool(Threadpool::with_lanes(vec![lane]))?;
    let policies = Policies {
        realtime: RtPolicies {
            threadpool: Some(pool),
            priority_model: Some(PriorityModelPolicy {
                model: PriorityModel::ServerDeclared,
                server_priority: Priority::MAX.get(),
            }),
            ..RtPolicies::default()
        },
        ..Policies::default()
    };
    let poa = orb.root_poa().create_poa("pairs", policies)?;
    poa.manager().activate()?;
    Ok(poa)
}

fn table(strategy: Strategy) -> Result<DispatchTable> {
    let mut repository = Repository::new();
    for (name, criticality, period) in
        [("high", Criticality::High, 25 * MILLISECOND), ("low", Criticality::Low, SECOND)]
    {
        let handle = repository.create(&format!("dispatching::Pair::{name}"))?;
        let said = Characteristics {
            criticality,
            period,
            worst_case: 20 * MICROSECOND,
            threads: 1,
            ..Characteristics::default()
        };
        repository.set(handle, said)?;
    }
    let (band, priorities) = (DispatchModel::Band, OsPriorities::range(10, 80)?);
    let schedule = Schedule::compute(&repository, &strategy, &band, &priorities)?;
    Ok(DispatchTable::from(&schedule))
}

/// Counts the calls of low pairs.
struct Consumer(Arc<Served>);

impl Pair for Consumer {
    fn high(&self, value: i32) -> Result<i32, SystemException> {
        Ok(value)
    }

    fn low(&self) {
        let now = self.0.began.elapsed().as_nanos() as u64;
        self.0.last.fetch_max(now, Ordering::Relaxed);
        self.0.number.fetch_add(1, Ordering::Release);
    }
}

/// One round; says whether all threads had the priorities that they were to have.
fn measure(server: &Server, pairs: u32, seen: &mut Seen) -> Result<bool> {
    let client = Orb::builder()
        .client_connections(ClientConnections::Private)
        .configure(|options| options.realtime.class = SchedulingClass::Fifo)
        .build()?;
    let pair = |ior: &String| -> Result<PairRef> {
        let object = client.string_to_object(ior)?;
        Ok(PairRef::from_ref(object.reference().clone()))
    };
    let high = pair(&server.high)?;
    let low: Vec<PairRef> = server.low.iter().map(pair).collect::<Result<_>>()?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| -> Result {
        let calls = scope.spawn(|| -> Result<_> {
            // Its caller is as urgent as the pair: modules of low priority must not keep it from its processor.
            client.set_thread_priority(Priority::MAX)?;
            call_again_and_again(&high, &over)
        });
        let bursts = REQUESTS.div_ceil(pairs);
        let lows: Result<Vec<u64>> = (0..bursts).map(|_| burst(server, &low)).collect();
        over.store(true, Ordering::Relaxed);
        let latencies = calls.join().expect("it does not panic")?;
        seen.latencies.extend(latencies);
        seen.lows.extend(lows?);
        Ok(())
    })?;
    let statistics = client.connection_statistics();
    client.shutdown(true)?;
    Ok(server.is_real_time() && statistics.count(Incident::NoRealTimePriority) == 0)
}

impl Seen {
    fn point(mut self, pairs: u32) -> Point {
        self.latencies.sort_unstable();
        self.lows.sort_unstable();
        let part = |part: f64| self.latencies[((self.latencies.len() - 1) as f64 * part) as usize];
        Point {
            pairs,
            calls: self.latencies.len() as u64,
            p50_ns: part(0.5),
            p99_ns: part(0.99),
            max_ns: part(1.0),
            low_ns: self.lows[self.lows.len() / 2],
        }
    }
}

/// Round trips of the high pair, until the low ones are done.
fn call_again_and_again(high: &PairRef, over: &AtomicBool) -> Result<Vec<u64>> {
    let mut latencies = Vec::new();
    let mut value = 0;
    while !over.load(Ordering::Relaxed) || latencies.is_empty() {
        let begin = Instant::now();
        let answer = high.high(value)?;
        latencies.push(begin.elapsed().as_nanos() as u64);
        assert_eq!(answer, value, "the pair answers what it was asked");
        value = value.wrapping_add(1);
        thread::sleep(PAUSE);
    }
    Ok(latencies)
}

/// All low pairs at once; nanoseconds for each.
fn burst(server: &Server, low: &[PairRef]) -> Result<u64> {
    let served = &server.served;
    let before = served.number.load(Ordering::Acquire);
    let begin = Instant::now();
    for pair in low {
        pair.low()?;
    }
    while served.number.load(Ordering::Acquire) - before < low.len() as u64 {
        if begin.elapsed() >= PATIENCE {
            return Err("the low pairs' calls do not come to an end".into());
        }
        thread::sleep(LOOK);
    }
    let end = served.began + Duration::from_nanos(served.last.load(Ordering::Relaxed));
    Ok(end.saturating_duration_since(begin).as_nanos() as u64 / low.len() as u64)
}

/// Said where the threads of a high pair are no more urgent than others.
pub(crate) const NO_PRIORITIES: &str =
    "without SCHED_FIFO: threads had no priorities, so the high pair is not above the others";

impl Report {
    /// Draws round trips of the high pair and what a low request takes, along the low pairs.
    fn drawing(&self) -> Drawing {
        let lines = |name, of: fn(&Point) -> u64| {
            self.series.iter().map(move |Series { strategy, points }| {
                let line = points.iter().map(move |it| (f64::from(it.pairs), of(it) as f64 / 1e3));
                (format!("{strategy} {name}"), line)
            })
        };
        let axes = || (Axis::log("low pairs"), Axis::linear("microseconds"));
        let ((pairs, time), (low_pairs, low_time)) = (axes(), axes());
        let high = lines("p50", |it| it.p50_ns).chain(lines("p99", |it| it.p99_ns));
        let low = lines("each", |it| it.low_ns);
        let panels = vec![
            Panel::lines("high pair, round trip", pairs, time, high),
            Panel::lines("low pairs, one request", low_pairs, low_time, low),
        ];
        Drawing { title: self.machine.to_string(), across: 2, panels }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        if !self.real_time {
            writeln!(f, "{NO_PRIORITIES}")?;
        }
        let rows = self.series.iter().flat_map(|it| it.points.iter().map(|at| (it.strategy, at)));
        let table = Table::of(rows)
            .left(["strategy"], |(strategy, _)| [strategy])
            .right(["low pairs"], |(_, at)| [at.pairs])
            .micros(["high p50 us", "high p99 us", "high max us"], 1, |(_, at)| {
                [at.p50_ns, at.p99_ns, at.max_ns]
            })
            .micros(["low us each"], 2, |(_, at)| [at.low_ns]);
        write!(f, "{table}")?;
        for (pairs, ratio) in &self.dynamic_cost {
            writeln!(
                f,
                "{pairs} low pairs: a request under MUF takes {ratio:.3} of one under RMS"
            )?;
        }
        Ok(())
    }
}
