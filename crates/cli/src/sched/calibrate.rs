//! `oxorb sched calibrate`: runs the application, measures execution times and calls between operations, and writes
//! both into the task set.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use oxorb_sched::DispatchTable;
use oxorb_sched::time::Show;
use serde_json::json;

use super::how::Source;
use super::measured::{CallCount, OperationMeasurement, Server};
use super::{emit, rewrite};
use oxorb_terminal::duration;
use oxorb_terminal::output::{Done, FAINT, Failed, Format, STRONG, because, print, print_json};

/// Arguments of `oxorb sched calibrate`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// Address of the application; default: a port of this machine, passed to the application in OXORB_LISTENENDPOINTS
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Duration of the measurement. For example 5s; a bare number is seconds
    #[arg(short = 's', long, alias = "seconds", value_name = duration::VALUE_NAME, default_value = "10s", value_parser = duration::seconds())]
    duration: Duration,
    /// Ratio of the worst-case time to the longest measured time
    #[arg(long, value_name = "FACTOR", default_value_t = 1.2)]
    margin: f64,
    /// Write the task set with the measured times to FILE, which may be the input file
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Format of the result
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Application with its arguments, started with OXORB_SCHEDULE in its environment; if omitted, an application that
    /// is already running and measuring is queried
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Found {
    /// Returns the number of calls in each run of the operation, given the number of calls in all its runs. Rounds the
    /// result, because the beginning and the end of the measurement may cut off runs.
    pub(super) fn times_of(&self, calls: u64) -> u64 {
        let runs = self.measured.cpu.count.max(1);
        (calls + runs / 2) / runs
    }
}

/// Time limit for the application's first answer.
const START: Duration = Duration::from_secs(30);

/// Findings about one operation.
pub(super) struct Found {
    pub(super) operation: String,
    /// Worst-case time in nanoseconds.
    pub(super) worst_case: u64,
    pub(super) typical: u64,
    measured: OperationMeasurement,
}

pub(super) fn run(args: &Args) -> Done {
    let loaded = args.source.load()?;
    let schedule = args.source.how.schedule(&loaded)?;
    let enforceable = DispatchTable::from(&schedule).enforceable();
    enforceable.map_err(|error| because(error.to_string()))?;
    if args.margin < 1.0 {
        return Err(because(
            "--margin must be at least 1: a worst case cannot be less than the measured time",
        ));
    }
    let url = match (&args.server, args.command.is_empty()) {
        (Some(url), _) => url.clone(),
        (None, false) => format!("corbaloc::127.0.0.1:{}", free_port()?),
        (None, true) => {
            return Err(because(
                "no application is specified. Append its command after --, or name a running one with --server",
            ));
        }
    };
    let table = Table::write(&emit::document(&schedule, true)?)?;
    let mut application = match args.command.split_first() {
        Some((program, rest)) => Some(Application::start(program, rest, args, &url, &table)?),
        None => None,
    };
    let server = Server::new(&url, args.source.at.timeout())?;
    wait_for(&server, application.as_mut())?;
    server.reset()?;
    std::thread::sleep(args.duration);
    let (measured, calls) = (server.operations()?, server.calls()?);
    drop(application);

    let rows = DispatchTable::from(&schedule);
    let names: Vec<&str> = rows.operations().iter().map(|row| row.name.as_str()).collect();
    let found: Vec<Found> = measured
        .into_iter()
        .filter(|seen| seen.cpu.count > 0 && names.contains(&seen.operation.as_str()))
        .map(|seen| Found {
            operation: seen.operation.clone(),
            worst_case: (seen.cpu.longest as f64 * args.margin).ceil() as u64,
            typical: seen.cpu.p50,
            measured: seen,
        })
        .collect();
    if found.is_empty() {
        return Err(because(
            "none of the operations was called during the measurement; start clients that call them, or measure longer \
             (--duration)",
        ));
    }
    if let Some(out) = &args.out {
        rewrite::write(&args.source.files, &found, &calls, out)?;
    }
    tell(args, &names, &found, &calls)
}

fn tell(args: &Args, names: &[&str], found: &[Found], calls: &[CallCount]) -> Done {
    let silent: Vec<&&str> =
        names.iter().filter(|name| !found.iter().any(|one| one.operation == **name)).collect();
    match args.format {
        Format::Json => print_json(&json!({
            "operations": found.iter().map(|one| json!({
                "operation": one.operation,
                "calls": one.measured.cpu.count,
                "cpu_ns": {
                    "p50": one.measured.cpu.p50,
                    "p99": one.measured.cpu.p99,
                    "max": one.measured.cpu.longest,
                },
                "wcet_ns": one.worst_case,
                "typical_ns": one.typical,
                "overruns": one.measured.overruns,
            })).collect::<Vec<_>>(),
            "calls": calls.iter().map(|call| json!({
                "from": call.from, "to": call.to, "two_way": call.two_way, "calls": call.calls,
            })).collect::<Vec<_>>(),
            "not_called": silent,
        })),
        Format::Text => {
            let mut out = format!(
                "{STRONG}{:<28} {:>8} {:>10} {:>10} {:>10}   worst case{STRONG:#}\n",
                "operation", "calls", "p50", "p99", "max"
            );
            for Found { operation, worst_case, measured, .. } in found {
                let cpu = &measured.cpu;
                let _ = writeln!(
                    out,
                    "{operation:<28} {:>8} {:>10} {:>10} {:>10}   {}",
                    cpu.count,
                    Show(cpu.p50).to_string(),
                    Show(cpu.p99).to_string(),
                    Show(cpu.longest).to_string(),
                    Show(*worst_case),
                );
            }
            for CallCount { from, to, two_way, calls } in calls {
                let how = if *two_way { "calls" } else { "sends to" };
                let _ = writeln!(out, "{from} {how} {to}, {calls} times");
            }
            for name in silent {
                let _ = writeln!(out, "{FAINT}{name} was not called{FAINT:#}");
            }
            print(out)
        }
    }
}

fn free_port() -> Result<u16, Failed> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port())
}

/// Waits until the server answers, or the application ends.
fn wait_for(server: &Server, mut application: Option<&mut Application>) -> Done {
    let until = Instant::now() + START;
    loop {
        let failed = match server.operations() {
            Ok(_) => return Ok(()),
            Err(failed) => failed,
        };
        if let Some(status) = application.as_mut().and_then(|one| one.ended()) {
            return Err(because(format!(
                "the application ended ({status}) before it could be measured"
            )));
        }
        if application.is_none() || Instant::now() >= until {
            return Err(failed);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Schedule table in a temporary file, which is removed when this value is dropped.
struct Table(PathBuf);

impl Table {
    fn write(text: &str) -> Result<Table, Failed> {
        let name = format!("oxorb-calibrate-{}.json", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text)
            .map_err(|error| because(format!("{}: {error}", path.display())))?;
        Ok(Table(path))
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Running application, which is killed when this value is dropped.
struct Application(Child);

impl Application {
    fn start(
        program: &str,
        rest: &[String],
        args: &Args,
        url: &str,
        table: &Table,
    ) -> Result<Application, Failed> {
        let mut command = Command::new(program);
        command.args(rest).env("OXORB_SCHEDULE", &table.0);
        if args.server.is_none() {
            let address = url.trim_start_matches("corbaloc::");
            command.env("OXORB_LISTENENDPOINTS", format!("iiop://{address}"));
        }
        let child = command.spawn().map_err(|error| because(format!("{program}: {error}")))?;
        Ok(Application(child))
    }

    fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.0.try_wait().ok().flatten()
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
