//! `oxorb demo sched`: a server that is asked for more than its processor has, under four strategies.
//!
//! The eight operations of Table 1 of paper 3, at twice their rates and half their times, 129.6 % of a processor.
//! One thread
//! releases them all at the critical instant and from then on; the server dispatches them from modules whose threads share
//! one processor. A round lasts half a second and what is left over then; between rounds there is rest, so that the
//! kernel's limit for real-time threads (`kernel.sched_rt_runtime_us`, usually 95 % of each second) is never reached: it
//! would stop them all, the critical ones as well.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use oxorb::sched::repository::{Characteristics, Repository};
use oxorb::sched::simulate::{self, Release, TaskStatistics, table_1};
use oxorb::sched::{DispatchModel, DispatchTable, OsPriorities, Schedule, Strategy};
use oxorb::{
    Incident, Interface as _, Modules, Orb, Policies, Priority, RtPolicies, RunTimeScheduler,
    SchedulingClass, SystemException, Threadpool, ThreadpoolLane,
};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{
    BAD, Done, FAINT, Failed, Format, GOOD, STRONG, because, print, print_json,
};

// The Rust that build.rs made of idl/overload.idl.
mod generated {
    #![allow(missing_docs, dead_code, unreachable_pub)]
    oxorb::include_idl!("overload");
}
use generated::overload::{Avionics, AvionicsRef};

/// Arguments of `oxorb demo sched`.
#[derive(clap::Args)]
#[command(
    after_help = "Real threads, real calls: SCHED_FIFO where the process may have it (root, CAP_SYS_NICE or `ulimit -r 99`), \
    which is said. Without it the kernel shares the processor out, and no strategy can keep its promise."
)]
pub(crate) struct Args {
    /// Rounds under each strategy; one takes a little more than a second
    #[arg(short, long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10))]
    rounds: u32,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const STRATEGIES: [Strategy; 4] = [Strategy::RMS, Strategy::EDF, Strategy::MLF, Strategy::MUF];

/// Times of the table are divided by this.
const QUICKER: u64 = 2;

/// Pause between rounds.
const REST: Duration = Duration::from_millis(500);

/// A round that is not over by then never will be.
const PATIENCE: Duration = Duration::from_secs(5);

/// Results of an operation under a strategy.
#[derive(Serialize)]
struct Seen {
    operation: String,
    critical: bool,
    jobs: u64,
    /// Deadlines missed in all rounds, if they went like the simulation.
    simulated_missed: u64,
    measured_missed: u64,
    simulated_worst_latency_ns: u64,
    measured_p50_ns: u64,
    measured_max_ns: u64,
}

/// Act with one strategy.
#[derive(Serialize)]
struct Act {
    strategy: &'static str,
    operations: Vec<Seen>,
    critical_missed: u64,
    simulated_critical_missed: u64,
}

#[derive(Serialize)]
struct Told {
    utilization: f64,
    rounds: u32,
    frame_ns: u64,
    /// The threads had their priorities.
    real_time: bool,
    strategies: Vec<Act>,
}

/// Plays all strategies.
pub(crate) fn run(args: &Args) -> Done {
    let mut told = Told {
        utilization: 0.0,
        rounds: args.rounds,
        frame_ns: table_1::FRAME / QUICKER,
        real_time: true,
        strategies: Vec::new(),
    };
    let cpus = processors()?;
    if args.format == Format::Text {
        let releasing = match cpus.releasing {
            Some(cpu) => format!("released from CPU {cpu}"),
            None => "released from there, too: this process may use no other".to_owned(),
        };
        print(format!(
            "{STRONG}eight operations that want 129.6 % of a processor, four of them critical{STRONG:#}\n{FAINT}{} rounds of \
             {} ms under each strategy; they run on CPU {}, {releasing}{FAINT:#}\n",
            args.rounds,
            told.frame_ns / 1_000_000,
            cpus.dispatching
        ))?;
    }
    for strategy in STRATEGIES {
        let schedule = schedule(strategy)?;
        told.utilization = schedule.total.fraction();
        let (act, real_time) = play(&schedule, strategy, args.rounds, cpus)?;
        told.real_time &= real_time;
        if args.format == Format::Text {
            print(text(&act))?;
        }
        told.strategies.push(act);
    }
    match args.format {
        Format::Json => print_json(&told),
        Format::Text => print(summary(&told)),
    }
}

/// The operations of the paper, quicker and under the names that are called.
fn operations() -> Result<Repository, Failed> {
    let mut repository = Repository::new();
    for info in table_1::operations()?.infos() {
        let said = info.characteristics;
        let handle = repository.create(&format!("overload::Avionics::{}", info.entry_point))?;
        let quicker = Characteristics {
            worst_case: said.worst_case / QUICKER,
            typical: said.typical / QUICKER,
            period: said.period / QUICKER,
            ..said
        };
        repository.set(handle, quicker)?;
    }
    Ok(repository)
}

fn schedule(strategy: Strategy) -> Result<Schedule, Failed> {
    let priorities = OsPriorities::range(10, 80)?;
    let band = DispatchModel::Band;
    Ok(Schedule::compute(&operations()?, &strategy, &band, &priorities)?)
}

fn play(
    schedule: &Schedule,
    strategy: Strategy,
    rounds: u32,
    cpus: Cpus,
) -> Result<(Act, bool), Failed> {
    let frame = table_1::FRAME / QUICKER;
    let mut releases = simulate::releases(&schedule.tasks, frame)?;
    // What is released together cannot be sent together: the most urgent goes first, as if it were.
    releases.sort_by_key(|one| (one.at, schedule.tasks.tasks[one.task].order));
    let timeline = simulate::run(&schedule.tasks, &releases, &simulate::Options::default());
    let simulated = simulate::statistics(&schedule.tasks, &timeline);

    let server = Server::start(schedule, cpus.dispatching)?;
    let client = with_args(Orb::builder()).build()?;
    let object = client.string_to_object(&server.ior).map_err(because)?;
    let object = AvionicsRef::from_ref(oxorb::Interface::reference(&object).clone());
    object.reference().validate_connection().map_err(because)?;
    for _ in 0..rounds {
        release(&client, &object, &releases, schedule, cpus.releasing)?;
        std::thread::sleep(REST);
    }
    let expected = releases.len() as u64 * u64::from(rounds);
    server.wait(expected)?;
    let act = server.tell(schedule, strategy, &simulated, rounds);
    let real_time = server.orb.connection_statistics().count(Incident::NoRealTimePriority) == 0;
    client.shutdown(true)?;
    server.orb.shutdown(true)?;
    Ok((act, real_time))
}

/// Processors of the server and of the clients.
#[derive(Clone, Copy)]
struct Cpus {
    dispatching: usize,
    releasing: Option<usize>,
}

/// Releases must not wait for the operations: another processor, if there is one.
fn processors() -> Result<Cpus, Failed> {
    let allowed = sched_getaffinity(None)?;
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let Some((&dispatching, others)) = allowed.split_last() else {
        return Err(because("this process may run on no processor"));
    };
    Ok(Cpus { dispatching, releasing: others.first().copied() })
}

/// Calls every operation at its times, in a thread that is more urgent than all of them.
fn release(
    client: &Orb,
    object: &AvionicsRef,
    releases: &[Release],
    schedule: &Schedule,
    cpu: Option<usize>,
) -> Done {
    let calls: Vec<Call> = schedule.tasks.tasks.iter().map(|task| call_of(&task.name)).collect();
    let work = || -> Result<(), SystemException> {
        client.set_thread_priority(Priority::MAX)?;
        let start = Instant::now() + Duration::from_millis(20);
        for release in releases {
            let at = start + Duration::from_nanos(release.at);
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            calls[release.task](object)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            if let Some(cpu) = cpu {
                // Where that is not possible it runs anywhere.
                let mut only = CpuSet::new();
                only.set(cpu);
                let _ = sched_setaffinity(None, &only);
            }
            work()
        });
        thread.join().expect("it does not panic")
    })
    .map_err(because)
}

type Call = fn(&AvionicsRef) -> Result<(), SystemException>;

fn call_of(name: &str) -> Call {
    match name.rsplit("::").next().unwrap_or_default() {
        "low_1" => AvionicsRef::low_1,
        "low_5" => AvionicsRef::low_5,
        "low_10" => AvionicsRef::low_10,
        "low_20" => AvionicsRef::low_20,
        "high_1" => AvionicsRef::high_1,
        "high_5" => AvionicsRef::high_5,
        "high_10" => AvionicsRef::high_10,
        _ => AvionicsRef::high_20,
    }
}

/// The server: modules on one processor, and a lane above them that reads.
struct Server {
    orb: Orb,
    ior: String,
}

impl Server {
    fn start(schedule: &Schedule, cpu: usize) -> Result<Server, Failed> {
        let mut modules = Modules::default();
        modules.cpu = Some(cpu);
        modules.capacity = 512;
        let mut scheduler = RunTimeScheduler::new(DispatchTable::from(schedule));
        scheduler.modules = Some(modules);
        scheduler.measure = true;
        let orb = Orb::builder()
            .scheduler(scheduler)
            .setting("ListenEndpoints", "iiop://127.0.0.1:0")
            .configure(|options| options.realtime.class = SchedulingClass::Fifo);
        let orb = with_args(orb).build()?;
        let lane = ThreadpoolLane::new(Priority::MAX, 2);
        let pool = orb.create_threadpool(Threadpool::with_lanes(vec![lane]))?;
        let policies = Policies {
            realtime: RtPolicies {
                threadpool: Some(pool),
                priority_model: Some(oxorb::PriorityModelPolicy {
                    model: oxorb::PriorityModel::ServerDeclared,
                    server_priority: Priority::MAX.get(),
                }),
                ..RtPolicies::default()
            },
            ..Policies::default()
        };
        let poa = orb.root_poa().create_poa("avionics", policies)?;
        poa.manager().activate()?;
        let work = Duration::from_nanos(schedule.tasks.tasks[0].wcet);
        let object: AvionicsRef = poa.activate(Worker(work))?;
        Ok(Server { ior: object.to_ior(), orb })
    }

    /// Waits until so many requests were served.
    fn wait(&self, expected: u64) -> Done {
        let until = Instant::now() + PATIENCE;
        loop {
            let measured = self.orb.measurements().unwrap_or_default();
            let done: u64 = measured.iter().map(|one| one.response.count + one.refused).sum();
            if done >= expected {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(because(format!(
                    "only {done} of {expected} requests were served; is the processor taken by something more urgent?"
                )));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn tell(
        &self,
        schedule: &Schedule,
        strategy: Strategy,
        simulated: &[TaskStatistics],
        rounds: u32,
    ) -> Act {
        let measured = self.orb.measurements().unwrap_or_default();
        let critical_by_paper = |name: &str| name.contains("high");
        let seen = schedule.tasks.tasks.iter().zip(simulated).filter_map(|(task, simulated)| {
            let one = measured.iter().find(|one| one.operation == task.name)?;
            let operation = task.name.rsplit("::").next().unwrap_or_default().to_owned();
            Some(Seen {
                critical: critical_by_paper(&operation),
                operation,
                jobs: one.response.count + one.refused,
                simulated_missed: simulated.missed * u64::from(rounds),
                measured_missed: one.missed + one.refused,
                simulated_worst_latency_ns: simulated.worst_latency,
                measured_p50_ns: one.response.quantile(0.5),
                measured_max_ns: one.response.max_ns,
            })
        });
        let operations: Vec<Seen> = seen.collect();
        let critical = || operations.iter().filter(|one| one.critical);
        Act {
            strategy: strategy.name,
            critical_missed: critical().map(|one| one.measured_missed).sum(),
            simulated_critical_missed: critical().map(|one| one.simulated_missed).sum(),
            operations,
        }
    }
}

/// Uses so much processor time for each call.
struct Worker(Duration);

impl Worker {
    fn work(&self) {
        let used = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default();
        let until = used() + self.0;
        while used() < until {
            for _ in 0..1_000 {
                std::hint::spin_loop();
            }
        }
    }
}

impl Avionics for Worker {
    fn low_1(&self) {
        self.work();
    }

    fn low_5(&self) {
        self.work();
    }

    fn low_10(&self) {
        self.work();
    }

    fn low_20(&self) {
        self.work();
    }

    fn high_1(&self) {
        self.work();
    }

    fn high_5(&self) {
        self.work();
    }

    fn high_10(&self) {
        self.work();
    }

    fn high_20(&self) {
        self.work();
    }
}

fn text(act: &Act) -> String {
    let mut out = format!(
        "\n{STRONG}{:<10} {:>6} {:>18} {:>18} {:>12} {:>12}{STRONG:#}\n",
        act.strategy, "jobs", "missed, simulated", "missed, measured", "p50", "max"
    );
    for one in &act.operations {
        let style = match (one.critical, one.measured_missed) {
            (_, 0) => GOOD,
            (true, _) => BAD,
            (false, _) => FAINT,
        };
        let _ = writeln!(
            out,
            "{style}{:<10}{style:#} {:>6} {:>18} {style}{:>18}{style:#} {:>9.1} ms {:>9.1} ms",
            one.operation,
            one.jobs,
            one.simulated_missed,
            one.measured_missed,
            one.measured_p50_ns as f64 / 1e6,
            one.measured_max_ns as f64 / 1e6,
        );
    }
    out
}

fn summary(told: &Told) -> String {
    let mut out = format!("\n{STRONG}critical deadlines missed{STRONG:#}\n");
    for act in &told.strategies {
        let style = if act.critical_missed == 0 { GOOD } else { BAD };
        let _ = writeln!(
            out,
            "{style}{:<4} {:>5}{style:#} {FAINT}(simulated {}){FAINT:#}",
            act.strategy, act.critical_missed, act.simulated_critical_missed
        );
    }
    if !told.real_time {
        let _ = writeln!(
            out,
            "{BAD}this process may not have SCHED_FIFO{BAD:#}, so its threads had no priorities and the numbers are the \
             kernel's, not the strategies' (CAP_SYS_NICE or `ulimit -r 99` allows it)"
        );
    }
    out
}
