//! `oxorb sched simulate` and `oxorb sched plot`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use oxorb_sched::simulate::{
    Bars, SimulationOptions, TaskStatistics, Timeline, bars, construct, gantt, jobs_csv, overall,
    releases, run as simulate, statistics, summary_csv,
};
use oxorb_sched::time::{Nanos, Show, ShowSigned};
use oxorb_sched::{Schedule, Strategy, TaskSet};
use serde_json::{Value, json};

use super::how::{How, LateJobs};
use super::paper;
use super::times::nanos;
use oxorb_terminal::duration;
use oxorb_terminal::output::{BAD, Done, Failed, Format, STRONG, because, print, print_json};

/// Method of computing timelines.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Form {
    /// Discrete-event simulation
    #[default]
    Events,
    /// Timelines as constructed by TAO's scheduling service for its paper (see --paper)
    Constructed,
}

/// Options of `oxorb sched simulate`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Task sets as TOML, IDL files with @rt(...) before operations, and models in AADL (.aadl)
    #[arg(required_unless_present = "paper", value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    what: What,
    /// Simulate table 1 of "The Design and Performance of a Real-Time CORBA Scheduling Service" (Gill, Levine, Schmidt)
    /// under MUF, MLF, EDF and RMS, in both forms
    #[arg(long, conflicts_with = "files")]
    paper: bool,
    /// Directory for the figures and tables of --paper
    #[arg(long, value_name = "DIR", requires = "paper")]
    out: Option<PathBuf>,
    /// Write a line for each operation to FILE
    #[arg(long, value_name = "FILE", conflicts_with = "paper")]
    csv: Option<PathBuf>,
    /// Write a line for each job to FILE
    #[arg(long, value_name = "FILE", conflicts_with = "paper")]
    jobs: Option<PathBuf>,
    /// Format of the numbers
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Options of a simulation.
#[derive(clap::Args)]
pub(crate) struct What {
    /// Method of computing the timeline
    #[arg(long, value_enum, default_value_t)]
    form: Form,
    /// Treatment of late jobs in the form `events`
    #[arg(long, value_enum, default_value_t)]
    late: LateJobs,
    /// Time for which jobs are released; default: until the schedule repeats. For example 200ms
    #[arg(long, value_name = duration::VALUE_NAME, value_parser = nanos())]
    frame: Option<Nanos>,
}

/// Options of `oxorb sched plot`.
#[derive(clap::Args)]
pub(crate) struct PlotArgs {
    /// Task sets as TOML, IDL files with @rt(...) before operations, and models in AADL (.aadl)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    what: What,
    /// Strategies to compare
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "MUF,MLF,EDF,RMS")]
    compare: Vec<Strategy>,
    /// Folder for the pictures
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
}

pub(super) fn run(args: &Args) -> Done {
    if args.paper {
        return paper::run(args.out.as_deref(), args.format);
    }
    let loaded = args.how.load(&args.files)?;
    let schedule = args.how.schedule(&loaded)?;
    let timeline = args.what.timeline(&schedule)?;
    let set = &schedule.tasks;
    let found = statistics(set, &timeline);
    if let Some(file) = &args.csv {
        let one = [(schedule.strategy.as_str(), found.as_slice())];
        write(file, &summary_csv(set, one))?;
    }
    if let Some(file) = &args.jobs {
        write(file, &jobs_csv(set, &timeline))?;
    }
    match args.format {
        Format::Json => print_json(&as_json(&schedule.strategy, set, &timeline, &found)),
        Format::Text => {
            for anomaly in &schedule.anomalies {
                print(format!("{}\n", loaded.told(anomaly)))?;
            }
            print(as_text(&schedule.strategy, set, &timeline, &found))
        }
    }
}

pub(super) fn plot(args: &PlotArgs) -> Done {
    let loaded = args.how.load(&args.files)?;
    let mut runs = Vec::new();
    for &strategy in &args.compare {
        let schedule = args.how.schedule_under(&loaded, strategy)?;
        let timeline = args.what.timeline(&schedule)?;
        runs.push(Run::of(strategy.name, schedule.tasks, timeline));
    }
    draw(&args.out, &runs)?;
    print(format!("pictures and tables written to {}\n", args.out.display()))
}

impl What {
    fn timeline(&self, schedule: &Schedule) -> Result<Timeline, Failed> {
        let set = &schedule.tasks;
        let frame = self.frame.or(schedule.frame).ok_or_else(|| {
            because("it takes more than 36 years until the schedule repeats; specify --frame")
        })?;
        match self.form {
            Form::Constructed => Ok(construct(set, frame)?),
            Form::Events => {
                let options = SimulationOptions { late: self.late.into() };
                Ok(simulate(set, &releases(set, frame)?, &options))
            }
        }
    }
}

/// Named simulation.
pub(super) struct Run {
    pub(super) name: String,
    pub(super) set: TaskSet,
    pub(super) timeline: Timeline,
    pub(super) found: Vec<TaskStatistics>,
}

impl Run {
    pub(super) fn of(name: &str, set: TaskSet, timeline: Timeline) -> Run {
        Run { name: name.into(), found: statistics(&set, &timeline), set, timeline }
    }

    pub(super) fn overall(&self) -> oxorb_sched::simulate::Overall {
        overall(&self.timeline, &self.found, |task| self.set.tasks[task].criticality.is_critical())
    }
}

/// Picture to draw: file, title, unit, and the number to show for each operation.
type Picture = (&'static str, &'static str, &'static str, fn(&TaskStatistics) -> f64);

/// Writes a timeline for each run, comparisons of latency, laxity and missed deadlines (as Figures 19 to 21), and the
/// numbers.
pub(super) fn draw(out: &Path, runs: &[Run]) -> Done {
    std::fs::create_dir_all(out).map_err(|error| because(format!("{}: {error}", out.display())))?;
    for run in runs {
        let name = run.name.to_lowercase().replace([' ', '+', ','], "-");
        let picture = gantt(&run.name, &run.set, &run.timeline);
        write(&out.join(format!("timeline-{name}.svg")), &picture)?;
    }
    let Some(first) = runs.first() else {
        return Ok(());
    };
    let groups: Vec<String> = first.set.tasks.iter().map(|task| task.name.clone()).collect();
    let pictures: [Picture; 3] = [
        ("latency", "Mean latency", "milliseconds", |one| one.mean_latency / 1e6),
        ("laxity", "Mean laxity at completion", "milliseconds", |one| one.mean_laxity / 1e6),
        ("missed", "Fraction of deadlines missed", "fraction", TaskStatistics::fraction_missed),
    ];
    for (file, title, unit, of) in pictures {
        let series = runs.iter().map(|run| {
            let values = run.found.iter().map(of);
            (run.name.clone(), values.collect())
        });
        let picture = bars(&Bars { title, unit, groups: groups.clone(), series: series.collect() });
        write(&out.join(format!("{file}.svg")), &picture)?;
    }
    let all = runs.iter().map(|run| (run.name.as_str(), run.found.as_slice()));
    write(&out.join("summary.csv"), &summary_csv(&first.set, all))
}

pub(super) fn write(file: &Path, text: &str) -> Done {
    std::fs::write(file, text).map_err(|error| because(format!("{}: {error}", file.display())))
}

pub(super) fn as_text(
    name: &str,
    set: &TaskSet,
    timeline: &Timeline,
    found: &[TaskStatistics],
) -> String {
    let all = overall(timeline, found, |task| set.tasks[task].criticality.is_critical());
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{STRONG}{name}{STRONG:#}: {} of {} jobs missed, {} of critical operations; mean fraction {:.3}; {} \
         interruptions; done at {}",
        all.missed,
        all.jobs,
        all.critical_missed,
        all.mean_fraction,
        all.interruptions,
        Show(timeline.end())
    );
    let width = set.tasks.iter().map(|task| task.name.len()).max().unwrap_or(0).max(9);
    let _ = writeln!(
        out,
        "  {:width$} {:>7} {:>7} {:>12} {:>12} {:>12} {:>12}",
        "operation", "jobs", "missed", "latency", "worst", "laxity", "worst"
    );
    for (task, one) in set.tasks.iter().zip(found) {
        let style = if one.missed > 0 { BAD } else { anstyle::Style::new() };
        let _ = writeln!(
            out,
            "  {:width$} {:>7} {style}{:>7}{style:#} {:>12} {:>12} {:>12} {:>12}",
            task.name,
            one.jobs,
            one.missed,
            Show(one.mean_latency as u64 / 1_000 * 1_000),
            Show(one.worst_latency),
            ShowSigned(one.mean_laxity as i64 / 1_000 * 1_000),
            ShowSigned(one.worst_laxity)
        );
    }
    out
}

pub(super) fn as_json(
    name: &str,
    set: &TaskSet,
    timeline: &Timeline,
    found: &[TaskStatistics],
) -> Value {
    let all = overall(timeline, found, |task| set.tasks[task].criticality.is_critical());
    let operations = set.tasks.iter().zip(found).map(|(task, one)| {
        json!({
            "operation": task.name,
            "jobs": one.jobs,
            "missed": one.missed,
            "missed_at_dispatch": one.missed_at_dispatch,
            "dropped": one.dropped,
            "mean_latency_ns": one.mean_latency,
            "worst_latency_ns": one.worst_latency,
            "mean_laxity_ns": one.mean_laxity,
            "worst_laxity_ns": one.worst_laxity,
        })
    });
    json!({
        "run": name,
        "jobs": all.jobs,
        "missed": all.missed,
        "critical_missed": all.critical_missed,
        "mean_fraction_missed": all.mean_fraction,
        "interruptions": all.interruptions,
        "end_ns": timeline.end(),
        "operations": operations.collect::<Vec<_>>(),
    })
}
