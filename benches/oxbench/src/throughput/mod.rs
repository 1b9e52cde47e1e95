//! `oxbench throughput`: calls per second of 1 to 16 simultaneous clients, for each architecture.
//!
//! The calls are small, back to back, and without priorities. The placement of threads matters more than the ORB, so
//! each report has two placements: client and server on one CPU each, and the kernel's choice.

mod report;

use std::rc::Rc;
use std::time::Duration;

use clap::{Args, ValueEnum as _};

use self::report::{Point, Report};
use crate::Result;
use crate::load::{Architecture, Contender, Quiet, Setting, Task};
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::placement::Placement;

/// Options of `oxbench throughput`.
#[derive(Args)]
pub(crate) struct Options {
    /// Numbers of clients
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16])]
    clients: Vec<usize>,

    /// Duration of each round in milliseconds
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(100..))]
    time: u64,

    /// Number of rounds of each point; in each round all architectures take turns, beginning with a different one
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// CPUs of client and server: `0,1` puts them on one each, `0` puts both on CPU 0, `free` leaves the choice to the
    /// kernel; may be repeated
    #[arg(long, default_values = ["0,1", "free"])]
    cpus: Vec<Placement>,

    /// Run only these architectures; default: all available ones
    #[arg(long, value_delimiter = ',')]
    architectures: Vec<Architecture>,

    /// CPU time that the servant uses for each call, in microseconds; may be repeated
    #[arg(long, value_delimiter = ',', default_values_t = [0])]
    work: Vec<u64>,

    /// Measure only how a shared connection affects concurrent requests: clients of OxORB, omniORB and JacORB that
    /// share one connection, each with the server of every ORB
    #[arg(long)]
    one_connection: bool,

    /// Run only these servers with --one-connection
    #[arg(long, value_delimiter = ',', default_values_t = SERVERS, requires = "one_connection")]
    servers: Vec<Architecture>,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, Report::verdicts, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let entrants = match options.one_connection {
        true => one_connection(&options.architectures, &options.servers)?,
        false => usual(&options.architectures)?,
    };
    let (mut points, mut kept_out) = (Vec::new(), Vec::new());
    for &placement in &options.cpus {
        // Without this guard, the wake-up times of a sleeping CPU would dominate the calls.
        let quiet = Quiet::begin(&placement.cpus());
        kept_out.push((placement.to_string(), quiet.kept_out()));
        let setting = Setting { placement, duration: Duration::from_millis(options.time) };
        for &work in &options.work {
            let work = Duration::from_micros(work);
            for &clients in &options.clients {
                points.extend(measure_at(setting, work, clients, options.rounds, &entrants)?);
            }
        }
    }
    Ok(Report {
        machine: Machine::this(),
        kept_out,
        rounds: options.rounds,
        milliseconds: options.time,
        one_connection: options.one_connection,
        points,
    })
}

/// Clients of one contender, and the server of the same or another one.
struct Entrant {
    client: Rc<Contender>,
    server: Rc<Contender>,
}

/// Servers whose clients share one connection.
const SERVERS: [Architecture; 4] =
    [Architecture::Threads, Architecture::Workers, Architecture::OmniOrb, Architecture::JacOrb];

/// Returns the contenders whose clients have their own connections, each with its own server.
fn usual(asked: &[Architecture]) -> Result<Vec<Entrant>> {
    // Without priorities all calls are alike, so that lanes cannot be distinguished.
    let mut known = Architecture::usual();
    known.retain(|it| !it.has_lanes());
    let contenders = Contender::all(asked, &known)?.into_iter().map(Rc::new);
    Ok(contenders
        .map(|contender| Entrant { server: Rc::clone(&contender), client: contender })
        .collect())
}

/// Returns the contenders whose clients share one connection, each with every server.
fn one_connection(asked: &[Architecture], servers: &[Architecture]) -> Result<Vec<Entrant>> {
    let all = Architecture::value_variants().iter().copied();
    let known: Vec<Architecture> = all.filter(|it| it.shares()).collect();
    let clients: Vec<_> = Contender::all(asked, &known)?.into_iter().map(Rc::new).collect();
    let servers: Vec<_> = Contender::all(&[], servers)?.into_iter().map(Rc::new).collect();
    let entrants = clients.iter().flat_map(|client| {
        servers
            .iter()
            .map(|server| Entrant { client: Rc::clone(client), server: Rc::clone(server) })
    });
    Ok(entrants.collect())
}

/// Returns one point of each entrant.
fn measure_at(
    setting: Setting,
    work: Duration,
    clients: usize,
    rounds: u32,
    entrants: &[Entrant],
) -> Result<Vec<Point>> {
    let task = Task {
        object: 0,
        priority: 0,
        phase: Duration::ZERO,
        period: Duration::ZERO,
        work,
        from_release: false,
    };
    let tasks = vec![task; clients];
    let mut seen = vec![Vec::new(); entrants.len()];
    for round in 0..rounds {
        // Each round begins with another contender, so that drift of the machine affects all equally and none always
        // follows the same one.
        let first = round as usize % entrants.len();
        for at in (first..entrants.len()).chain(0..first) {
            let Entrant { client, server } = &entrants[at];
            eprintln!(
                "{}, {clients} clients, round {}, {} with the server of {} ...",
                setting.placement,
                round + 1,
                client.architecture,
                server.architecture
            );
            let samples = client.measure_against(server, setting, &[0], &tasks)?;
            seen[at].push(samples.concat());
        }
    }
    let placement = setting.placement.to_string();
    let points = entrants.iter().zip(seen).map(|(entrant, rounds)| Point {
        server: entrant.server.architecture,
        ..Point::new(
            placement.clone(),
            entrant.client.architecture,
            work,
            clients,
            setting.duration,
            rounds,
        )
    });
    let mut points: Vec<Point> = points.collect();
    let omniorb: Vec<Point> = points.iter().filter(|it| it.is_omniorb()).cloned().collect();
    for point in &mut points {
        if let Some(omniorb) = omniorb.iter().find(|omniorb| point.is_beside(omniorb)) {
            point.compare(&omniorb.rates);
        }
    }
    Ok(points)
}
