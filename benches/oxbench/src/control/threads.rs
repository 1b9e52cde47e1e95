//! `oxbench control threads`: distributable threads run through three processes, scheduled by fixed priorities and by
//! MUF.
//!
//! Three distributable threads begin a job in each of their periods. A third of the job is computed at its origin, a
//! third in a servant of a second process, and a third in a servant of a third process, called by the second one. The
//! critical thread has the longest period. Fixed priorities follow the rates, as in rate-monotonic scheduling: under
//! overload, the critical thread is the first to miss its deadlines. Under MUF it is the last to miss them, and the
//! other threads share the remaining time by laxity.

use std::fmt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use oxorb::poa::{Policies, RtPolicies};
use oxorb::rt::{Priority, PriorityModel, PriorityModelPolicy, Threadpool, ThreadpoolLane};
use oxorb::{Interface as _, Orb};
use oxorb_rtscheduling::{
    Band, Enforcement, Fp, FpParameter, Kokyu, Muf, MufParameter, RtScheduling, Scheduler,
};
use serde::{Deserialize, Serialize};

use crate::bootstrap::Ratio;
use crate::load::{KeptOut, Quiet, now, sleep_until, toil};
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::placement::{Placement, Role};
use crate::plot::{Axis, Drawing, Panel};
use crate::process::Process;
use crate::table::Table;
use crate::verdict::{Verdicts, at_least, at_most};
use crate::{Result, session};

#[allow(missing_docs)]
mod generated {
    oxorb::include_idl!("load");
}

use generated::oxbench::{Cubing, CubingRef};

/// Distributable thread of the experiment.
struct Task {
    name: &'static str,
    period: Duration,
    criticality: i32,
    /// Priority according to the rate.
    priority: i16,
}

const TASKS: [Task; 3] = [
    Task { name: "20 ms", period: Duration::from_millis(20), criticality: 0, priority: 70 },
    Task { name: "40 ms", period: Duration::from_millis(40), criticality: 0, priority: 50 },
    Task {
        name: "80 ms, critical",
        period: Duration::from_millis(80),
        criticality: 3,
        priority: 30,
    },
];

/// Processes that a job passes through.
const STAGES: u32 = 3;

/// CORBA priority of threads that wait for a job: a released thread must be able to declare its urgency.
const RELEASING: i16 = 90;

/// CORBA priorities of jobs.
const JOBS: (i16, i16) = (10, 80);

/// Scheduling discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Discipline {
    /// Fixed priorities by rate
    Fp,
    /// Criticality first, then laxity
    Muf,
}

impl Discipline {
    fn name(self) -> &'static str {
        match self {
            Discipline::Fp => "fp",
            Discipline::Muf => "muf",
        }
    }
}

/// Options of `oxbench control threads`.
#[derive(Args)]
pub(crate) struct Options {
    /// Processor time that all jobs together need, in percent
    #[arg(long, value_delimiter = ',', default_values_t = [60, 80, 100, 120, 140, 160])]
    load: Vec<u32>,

    /// Duration of each point, in seconds
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,

    /// Processor of all three processes
    #[arg(long, default_value_t = 1)]
    cpu: usize,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Options of one of the processes.
#[derive(Args)]
pub(crate) struct SideOptions {
    #[arg(long)]
    discipline: Discipline,
    /// Object of the next process
    #[arg(long)]
    next: Option<String>,
    /// Begin jobs in this process, for this number of seconds
    #[arg(long)]
    seconds: Option<u64>,
    #[arg(long, default_value_t = 0)]
    load: u32,
}

#[derive(Debug, Serialize)]
struct Report {
    machine: Machine,
    cpu: usize,
    kept_out: KeptOut,
    seconds: u64,
    points: Vec<Point>,
}

/// Result of a discipline under a load.
#[derive(Debug, Serialize)]
struct Point {
    discipline: Discipline,
    load: u32,
    /// Results of the tasks.
    jobs: Vec<Jobs>,
}

/// Result of the jobs of a task.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Jobs {
    released: u32,
    in_time: u32,
}

impl Jobs {
    /// Returns the percentage that was in time.
    fn share(self) -> f64 {
        f64::from(self.in_time) / f64::from(self.released.max(1)) * 100.0
    }
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    if !crate::load::may_use_priorities() {
        return Err("this experiment needs SCHED_FIFO: run it as root, or with CAP_SYS_NICE".into());
    }
    let quiet = Quiet::begin(&[]);
    let mut points = Vec::new();
    for &load in &options.load {
        for &discipline in Discipline::value_variants() {
            eprintln!("{load} %, {} ...", discipline.name());
            points.push(measure(options, discipline, load)?);
        }
    }
    let report = Report {
        machine: Machine::this(),
        cpu: options.cpu,
        kept_out: quiet.kept_out(),
        seconds: options.seconds,
        points,
    };
    options.output.show(&report, verdicts, Report::drawing)
}

fn measure(options: &Options, discipline: Discipline, load: u32) -> Result<Point> {
    let placement = Placement::Pinned { client: options.cpu, server: options.cpu };
    let start = |name: &str, arguments: &[String]| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["control", "threads-side", "--discipline", discipline.name()]);
        command.args(arguments);
        Process::start(name.to_owned(), placement, Role::Server, &mut command)
    };
    let next = |reference: &str| ["--next".to_owned(), reference.to_owned()];
    let mut last = start("the last process", &[])?;
    let reference = last.hear()?;
    let mut middle = start("the second process", &next(&reference))?;
    let reference = middle.hear()?;
    let [flag, reference] = next(&reference);
    let more =
        [flag, reference, format!("--seconds={}", options.seconds), format!("--load={load}")];
    let mut first = start("the first process", &more)?;
    let jobs = serde_json::from_str(&first.hear()?)?;
    first.finish()?;
    middle.finish()?;
    last.finish()?;
    Ok(Point { discipline, load, jobs })
}

/// Runs one of the processes.
pub(crate) fn serve(options: &SideOptions) -> Result {
    let band = Band::new(Priority::new(JOBS.0)?, Priority::new(JOBS.1)?);
    let enforcement = Enforcement::Priorities(band);
    match options.discipline {
        Discipline::Fp => side(options, Kokyu::<Fp>::new(enforcement), |task, _, _| {
            Ok(FpParameter { priority: Priority::new(task.priority)? })
        }),
        Discipline::Muf => side(options, Kokyu::<Muf>::new(enforcement), |task, left, work| {
            Ok(MufParameter::within(task.criticality, left, work))
        }),
    }
}

fn side<S: Scheduler>(
    options: &SideOptions,
    scheduler: S,
    parameter: impl Fn(&Task, Duration, Duration) -> Result<S::Parameter> + Sync,
) -> Result {
    let scheduling = RtScheduling::new(scheduler);
    // From one period to the next, a thread of a lane stays with its connection, and a client uses its own without a
    // check.
    let orb = Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .setting("SchedPolicy", "SCHED_FIFO")
        .setting("PriorityMapping", "direct")
        .setting("ClientConnections", "private")
        .setting("WorkerStay", "10000")
        .setting("TrustIdle", "10000")
        .scheduling_interceptor(scheduling.interceptor())
        .build()?;
    let next = options.next.as_deref();
    let next: Option<CubingRef> = next.map(|next| orb.resolve(next)).transpose()?;
    match (options.seconds, next) {
        (Some(seconds), Some(next)) => {
            let head = Head {
                orb: &orb,
                scheduling: &scheduling,
                next: &next,
                seconds,
                load: options.load,
            };
            let jobs = head.run(&parameter)?;
            println!("{}", serde_json::to_string(&jobs)?);
        }
        (_, next) => session::announce(&offer(&orb, next)?.to_ior())?,
    }
    orb.shutdown(true)?;
    Ok(())
}

/// Activates the servant of a process in a lane whose threads accept requests before any job runs.
fn offer(orb: &Orb, next: Option<CubingRef>) -> Result<CubingRef> {
    let lane = ThreadpoolLane::new(Priority::new(RELEASING)?, TASKS.len() + 1);
    let pool = orb.create_threadpool(Threadpool::with_lanes(vec![lane]))?;
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: Some(PriorityModelPolicy {
            model: PriorityModel::ServerDeclared,
            server_priority: RELEASING,
        }),
        ..RtPolicies::default()
    };
    let policies = Policies { realtime, ..Policies::default() };
    let poa = orb.root_poa().create_poa("stages", policies)?;
    Ok(poa.activate(Stage { next })?)
}

/// Servant that computes, and calls the next process.
#[derive(Debug)]
struct Stage {
    next: Option<CubingRef>,
}

impl Cubing for Stage {
    fn cube(&self, value: u8) -> oxorb::Result<u8> {
        Ok(value)
    }

    fn toil(&self, value: u8, microseconds: u32) -> oxorb::Result<u8> {
        toil(Duration::from_micros(microseconds.into()));
        match &self.next {
            None => Ok(value),
            Some(next) => next.toil(value, microseconds),
        }
    }
}

/// Process in which jobs begin.
struct Head<'h, S: Scheduler> {
    orb: &'h Orb,
    scheduling: &'h RtScheduling<S>,
    next: &'h CubingRef,
    seconds: u64,
    load: u32,
}

impl<S: Scheduler> Head<'_, S> {
    fn run(
        &self,
        parameter: &(impl Fn(&Task, Duration, Duration) -> Result<S::Parameter> + Sync),
    ) -> Result<Vec<Jobs>> {
        let begin = now() + Duration::from_millis(200);
        thread::scope(|scope| {
            let threads: Vec<_> = TASKS
                .iter()
                .map(|task| scope.spawn(move || self.repeat(task, begin, parameter)))
                .collect();
            let ended = threads.into_iter().map(|it| it.join().expect("no task panics"));
            ended.collect()
        })
    }

    /// Runs the jobs of one task.
    fn repeat(
        &self,
        task: &Task,
        begin: Duration,
        parameter: &impl Fn(&Task, Duration, Duration) -> Result<S::Parameter>,
    ) -> Result<Jobs> {
        self.orb.set_thread_priority(Priority::new(RELEASING)?)?;
        let current = self.scheduling.current(self.orb);
        let tasks = TASKS.len() as u32;
        let work = task.period * self.load / 100 / tasks;
        let part = work / STAGES;
        let microseconds = part.as_micros() as u32;
        // Opens the connection before the measurement begins.
        self.next.cube(0)?;
        let released =
            (Duration::from_secs(self.seconds).as_nanos() / task.period.as_nanos()) as u32;
        let mut jobs = Jobs { released, in_time: 0 };
        for job in 0..released {
            let release = begin + task.period * job;
            let deadline = release + task.period;
            sleep_until(release);
            // If the period of this job ended while the previous job ran, the job is skipped.
            let left = deadline.saturating_sub(now());
            if left.is_zero() {
                continue;
            }
            let parameter = parameter(task, left, work)?;
            let segment = current.begin_scheduling_segment(task.name, parameter, None)?;
            toil(part);
            self.next.toil(0, microseconds)?;
            jobs.in_time += u32::from(now() <= deadline);
            segment.end()?;
        }
        Ok(jobs)
    }
}

/// Index of the critical task, which is the last one.
const CRITICAL: usize = 2;

/// Returns the verdicts on the order of the disciplines: MUF protects the critical task under every load, and fixed
/// priorities by rate meet every deadline until the processor is overloaded, when they lose the critical task first.
fn verdicts(report: &Report) -> Verdicts {
    let parts = |discipline, is_wanted: fn(u32) -> bool, tasks: std::ops::Range<usize>| {
        let points = report.of(discipline).filter(move |point| is_wanted(point.load));
        let jobs = points.flat_map(move |point| point.jobs[tasks.clone()].iter());
        jobs.map(|jobs| jobs.share() / 100.0).collect::<Vec<f64>>()
    };
    let least = |parts: Vec<f64>| parts.into_iter().reduce(f64::min).map(Ratio::exactly);
    let most = |parts: Vec<f64>| parts.into_iter().reduce(f64::max).map(Ratio::exactly);
    let critical = || CRITICAL..TASKS.len();
    Verdicts::new([
        at_least(
            "critical jobs in time under MUF, at any load",
            least(parts(Discipline::Muf, |_| true, critical())),
            0.95,
        ),
        at_least(
            "jobs in time under fixed priorities, below a load of 100 %",
            least(parts(Discipline::Fp, |load| load < 100, 0..TASKS.len())),
            0.99,
        ),
        at_most(
            "critical jobs in time under fixed priorities, above a load of 100 %",
            most(parts(Discipline::Fp, |load| load > 100, critical())),
            0.1,
        ),
    ])
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "three processes on CPU {}; {} s a point; {}; jobs in time, in percent",
            self.cpu, self.seconds, self.kept_out
        )?;
        for &discipline in Discipline::value_variants() {
            let table = Table::of(self.of(discipline))
                .left([discipline.name()], |_| [""])
                .right(["load"], |it| [format!("{} %", it.load)])
                .fixed(TASKS.iter().map(|task| task.name), 1, |it| {
                    it.jobs.iter().map(|it| it.share())
                });
            write!(f, "\n{table}")?;
        }
        Ok(())
    }
}

impl Report {
    fn of(&self, discipline: Discipline) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |it| it.discipline == discipline)
    }

    /// Draws the share of jobs in time over the load: a panel for each discipline, a line for each task.
    fn drawing(&self) -> Drawing {
        let panels = Discipline::value_variants().iter().map(|&discipline| {
            let lines = TASKS.iter().enumerate().map(|(at, task)| {
                let line = self.of(discipline);
                (task.name, line.map(move |it| (f64::from(it.load), it.jobs[at].share())))
            });
            let caption = match discipline {
                Discipline::Fp => "fixed priorities, by the rate",
                Discipline::Muf => "maximum urgency first",
            };
            let loads = self.points.iter().map(|it| f64::from(it.load));
            let (least, most) = (loads.clone().fold(100.0, f64::min), loads.fold(101.0, f64::max));
            let load = Axis::linear("asked of the processor, percent").between(least, most);
            let in_time = Axis::linear("jobs in time, percent").between(0.0, 105.0);
            Panel::lines(caption, load, in_time, lines)
        });
        Drawing { title: self.machine.to_string(), across: 2, panels: panels.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the verdicts on points with these loads, and with this number of jobs in time of 100.
    fn verdicts_on(points: &[(Discipline, u32, [u32; 3])]) -> String {
        let jobs = |in_time: &u32| Jobs { released: 100, in_time: *in_time };
        let points = points.iter().map(|(discipline, load, in_time)| Point {
            discipline: *discipline,
            load: *load,
            jobs: in_time.iter().map(jobs).collect(),
        });
        let report = Report {
            machine: Machine::this(),
            cpu: 1,
            kept_out: KeptOut { throttling: false, awake: Vec::new() },
            seconds: 1,
            points: points.collect(),
        };
        verdicts(&report).to_string()
    }

    #[test]
    fn each_discipline_has_its_bound() {
        let (fp, muf) = (Discipline::Fp, Discipline::Muf);
        let count = |text: &str, word: &str| text.lines().filter(|it| it.starts_with(word)).count();
        let good = [
            (fp, 80, [100, 99, 100]),
            (fp, 120, [100, 40, 3]),
            (muf, 80, [50, 60, 100]),
            (muf, 120, [10, 20, 97]),
        ];
        assert_eq!(count(&verdicts_on(&good), "met"), 3, "{}", verdicts_on(&good));
        let bad = [(fp, 80, [100, 90, 100]), (fp, 120, [100, 100, 50]), (muf, 120, [100, 100, 90])];
        assert_eq!(count(&verdicts_on(&bad), "NOT MET"), 3, "{}", verdicts_on(&bad));
        assert_eq!(count(&verdicts_on(&[(fp, 100, [0, 0, 0])]), "unknown"), 3);
    }
}
