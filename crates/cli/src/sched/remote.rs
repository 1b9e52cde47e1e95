//! `oxorb sched load`, `list`, `compute`, and `--at`: a remote scheduling service of any ORB.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use oxorb::Orb;
use oxorb::values::Printable;
use oxorb_sched::Anomaly;
use oxorb_sched::repository::{Assigned, CallKind, Dependency, InfoType, RtInfo};
use oxorb_sched::time::Show;
use oxorb_scheduler::{INITIAL_NAME, Remote};
use serde_json::{Value, json};

use super::admission::{self, NOT_TRANSFERRED};
use super::how::range;
use super::load::{self, Loaded, is_wrong};
use oxorb_terminal::duration;
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{Done, Failed, Format, STRONG, because, counted, print, print_json};

/// Service to call, and the time limit.
#[derive(clap::Args)]
pub(crate) struct ServiceArgs {
    /// Scheduling service: IOR:, corbaloc:, corbaname: or file:
    #[arg(long, alias = "ref", value_name = "URL")]
    at: Option<String>,
    /// Time limit for connecting to a server, and for each call; default: 5s, or 30s for the admission of a whole set.
    /// For example 300ms; a bare number is milliseconds
    #[arg(long, value_name = duration::VALUE_NAME, value_parser = duration::milliseconds().positive())]
    timeout: Option<Duration>,
}

impl ServiceArgs {
    /// Returns the time limit for connecting, and for each call.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(Duration::from_secs(5))
    }

    /// Returns an ORB, and the service: that of `--at`, or else of -ORBInitRef, or else the one bound in the name
    /// server.
    fn connect(&self) -> Result<(Orb, Remote), Failed> {
        let timeout = self.timeout();
        let builder = Orb::builder().connect_timeout(timeout).round_trip_timeout(timeout);
        let orb = with_args(builder).build()?;
        let remote = match &self.at {
            Some(url) => Remote::at(&orb, url).map_err(|error| because(&error)),
            None => usual(&orb),
        };
        let remote = remote.map_err(|failed| match failed {
            Failed::Because(why) => because(format!(
                "{why}\nno scheduling service was found. Specify one with --at URL or -ORBInitRef {INITIAL_NAME}=URL; \
                 `oxorb sched serve --port 4711` starts one at corbaloc::localhost:4711/{INITIAL_NAME}"
            )),
            told => told,
        })?;
        Ok((orb, remote))
    }
}

fn usual(orb: &Orb) -> Result<Remote, Failed> {
    match Remote::at(orb, &format!("corbaloc:rir:/{INITIAL_NAME}")) {
        Err(oxorb::ResolveError::UnknownName { .. }) => {
            let names = crate::name::usual(orb)?;
            Ok(Remote::new(names.resolve(INITIAL_NAME)?))
        }
        remote => Ok(remote?),
    }
}

/// Fetches the operations of a service, in place of files.
pub(super) fn fetch(at: &ServiceArgs) -> Result<Loaded, Failed> {
    let (_orb, remote) = at.connect()?;
    let repository = remote.repository()?;
    match repository.is_empty() {
        true => Err(because("the service has no operations; `oxorb sched load` adds some")),
        false => Ok(Loaded::of(repository)),
    }
}

/// Arguments of `oxorb sched load`.
#[derive(clap::Args)]
pub(crate) struct LoadArgs {
    /// Task sets as TOML, IDL files with @rt(...) before operations, and models in AADL (.aadl)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Search DIR for included IDL files, too
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    include: Vec<PathBuf>,
    /// Load the operations of this node only, if the files have several
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    #[command(flatten)]
    at: ServiceArgs,
    /// Request admission of the operations from this server, instead of loading them into a scheduling service:
    /// corbaloc::HOST:PORT, or any reference to its OxorbAdmission object
    #[arg(long, value_name = "URL", conflicts_with = "at")]
    server: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Refuses files with tables that requests for admission do not have.
fn refuse_servers_and_costs(files: &Loaded) -> Done {
    if let Some((name, place)) = files.extra.servers.first().map(|said| &said.name) {
        return Err(because(format!(
            "{place}: {name}: {NOT_TRANSFERRED} servers and their requests"
        )));
    }
    let costs = [files.asked.dispatch, files.asked.switch];
    if costs.into_iter().flatten().any(|time| time > 0) {
        return Err(because(format!(
            "[schedule]: {NOT_TRANSFERRED} the times of dispatching and of context switches; add them to each wcet"
        )));
    }
    Ok(())
}

pub(super) fn load(args: &LoadArgs) -> Done {
    let files = load::load(&args.files, &args.include)?;
    let files = match &args.node {
        Some(node) => files.only(node)?,
        None => files,
    };
    files.on_one_processor()?;
    if let Some(server) = &args.server {
        refuse_servers_and_costs(&files)?;
        let place = |name: &str| files.place(name);
        return admission::admit_all(
            &files.repository,
            place,
            server,
            args.at.timeout.unwrap_or(Duration::from_secs(30)),
            args.format,
        );
    }
    let (_orb, remote) = args.at.connect()?;
    let loaded = remote.load(&files.repository)?;
    match args.format {
        Format::Json => print_json(&json!({
            "created": loaded.created,
            "updated": loaded.updated,
            "dependencies": loaded.dependencies,
            "constraints_left_behind": loaded.constrained,
        })),
        Format::Text => {
            let mut out = format!(
                "{} created, {} updated, {} added\n",
                counted(loaded.created, "operation"),
                loaded.updated,
                match loaded.dependencies {
                    1 => "1 dependency".to_owned(),
                    many => format!("{many} dependencies"),
                }
            );
            if loaded.constrained > 0 {
                let _ = writeln!(
                    out,
                    "deadline, jitter, blocking, offset, bursts and overruns of {} operations were not transferred, \
                     because RtecScheduler has no fields for them",
                    loaded.constrained
                );
            }
            print(out)
        }
    }
}

/// Arguments of `oxorb sched list`.
#[derive(clap::Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    at: ServiceArgs,
    /// Format of the list
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn list(args: &ListArgs) -> Done {
    let (_orb, remote) = args.at.connect()?;
    let repository = remote.repository()?;
    let scheduled = remote.levels()?.is_some();
    let mut rows = Vec::with_capacity(repository.len());
    for info in repository.infos() {
        let assigned = match scheduled {
            true => remote.priority(&info.entry_point)?,
            false => None,
        };
        rows.push((info, assigned));
    }
    let name = |handle| repository.get(handle).map_or("?", |info| &info.entry_point);
    match args.format {
        Format::Json => {
            let rows = rows.iter().map(|(info, assigned)| {
                let mut row = row_json(info, *assigned);
                let needs = info.dependencies.iter().map(|one| {
                    json!({
                        "on": name(one.on),
                        "kind": kind(one),
                        "times": one.calls,
                        "enabled": format!("{:?}", one.enabled).to_lowercase(),
                    })
                });
                row["dependencies"] = needs.collect();
                row
            });
            let rows: Vec<Value> = rows.collect();
            print_json(&json!({"scheduled": scheduled, "operations": rows}))
        }
        Format::Text => {
            let shown = |info: &RtInfo| Printable(&info.entry_point).to_string().chars().count();
            let width = rows.iter().map(|(info, _)| shown(info));
            let width = width.max().unwrap_or(0).max("operation".len());
            let mut out = format!(
                "{STRONG}{:width$}  {:>8} {:>5} {:>4}  {:>10} {:>10}  {:<11} {:<11}{STRONG:#}\n",
                "operation",
                "priority",
                "queue",
                "sub",
                "period",
                "wcet",
                "criticality",
                "importance"
            );
            for (info, assigned) in &rows {
                row_text(&mut out, width, info, *assigned);
                for one in &info.dependencies {
                    let verb = match one.kind {
                        CallKind::TwoWay => "calls",
                        CallKind::OneWay => "gets events of",
                    };
                    let _ = writeln!(out, "  {verb} {} x{}", Printable(name(one.on)), one.calls);
                }
            }
            print(out)
        }
    }
}

fn row_text(out: &mut String, width: usize, info: &RtInfo, assigned: Option<Assigned>) {
    let said = &info.characteristics;
    let number = |of: fn(Assigned) -> i32| assigned.map_or("-".into(), |it| of(it).to_string());
    let mut notes = String::new();
    if said.info_type != InfoType::Operation {
        let _ = write!(notes, "  {}", type_name(said.info_type));
    }
    if !info.is_enabled() {
        notes.push_str("  disabled");
    }
    let period = match said.period {
        0 => "-".to_owned(),
        period => Show(period).to_string(),
    };
    let _ = writeln!(
        out,
        "{:width$}  {:>8} {:>5} {:>4}  {period:>10} {:>10}  {:<11} {:<11}{notes}",
        Printable(&info.entry_point).to_string(),
        number(|it| it.os_priority),
        number(|it| it.preemption_priority),
        number(|it| it.subpriority),
        Show(said.worst_case),
        said.criticality,
        said.importance
    );
}

fn row_json(info: &RtInfo, assigned: Option<Assigned>) -> Value {
    let said = &info.characteristics;
    json!({
        "operation": info.entry_point,
        "handle": info.handle.0,
        "os_priority": assigned.map(|it| it.os_priority),
        "preemption_priority": assigned.map(|it| it.preemption_priority),
        "subpriority": assigned.map(|it| it.subpriority),
        "period_ns": said.period,
        "wcet_ns": said.worst_case,
        "typical_ns": said.typical,
        "cached_ns": said.cached,
        "quantum_ns": said.quantum,
        "criticality": said.criticality.name(),
        "importance": said.importance.name(),
        "threads": said.threads,
        "type": type_name(said.info_type),
        "enabled": format!("{:?}", info.enabled).to_lowercase(),
    })
}

fn kind(one: &Dependency) -> &'static str {
    match one.kind {
        CallKind::TwoWay => "call",
        CallKind::OneWay => "event",
    }
}

fn type_name(info_type: InfoType) -> &'static str {
    match info_type {
        InfoType::Operation => "operation",
        InfoType::Conjunction => "conjunction",
        InfoType::Disjunction => "disjunction",
        InfoType::RemoteDependant => "remote",
    }
}

/// Arguments of `oxorb sched compute`.
#[derive(clap::Args)]
pub(crate) struct ComputeArgs {
    /// Usable thread priorities, lowest and highest
    #[arg(long, value_name = "MIN,MAX", value_parser = range, default_value = "1,99")]
    priorities: (i32, i32),
    #[command(flatten)]
    at: ServiceArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn compute(args: &ComputeArgs) -> Done {
    let (_orb, remote) = args.at.connect()?;
    let (least, most) = args.priorities;
    let anomalies = remote.compute(least, most)?;
    let levels = remote.levels()?;
    let good = levels.is_some() && !anomalies.iter().any(is_wrong);
    match args.format {
        Format::Json => {
            let queues = levels.iter().flatten().map(|level| {
                json!({
                    "preemption_priority": level.preemption_priority,
                    "os_priority": level.os_priority,
                    "dispatching": level.dispatching.to_string(),
                    "periods_ns": level.periods,
                })
            });
            print_json(&json!({
                "good": good,
                "scheduled": levels.is_some(),
                "findings": anomalies.iter().map(Anomaly::to_string).collect::<Vec<_>>(),
                "queues": queues.collect::<Vec<_>>(),
            }))?;
        }
        Format::Text => {
            let mut out = String::new();
            for found in &anomalies {
                let _ = writeln!(out, "{}", Printable(&found.to_string()));
            }
            if levels.is_none() {
                out.push_str("nothing is scheduled\n");
            }
            for level in levels.iter().flatten() {
                let periods: Vec<String> =
                    level.periods.iter().map(|&it| Show(it).to_string()).collect();
                let _ = writeln!(
                    out,
                    "queue {}: thread priority {}, {}, periods {}",
                    level.preemption_priority,
                    level.os_priority,
                    level.dispatching,
                    periods.join(", ")
                );
            }
            print(out)?;
        }
    }
    if good { Ok(()) } else { Err(Failed::Told) }
}
