//! `oxorb doctor`: reports what this host can guarantee to threads of real-time priority, and what to change.

mod apply;
mod change;
mod clock;
mod container;
mod cpus;
mod finding;
mod hold;
mod host;
mod kernel;
mod measure;
mod memory;
mod network;
mod rights;

use std::fmt::Write as _;
use std::path::PathBuf;

use apply::{Applied, Left, Undone};
use finding::{Finding, Verdict};
use hold::Ends;
use host::Host;
use oxorb::values::Printable;

use oxorb_terminal::output::{
    BAD, Done, FAINT, Failed, Format, GOOD, STRONG, because, print, print_json, print_line,
};

/// Arguments of `oxorb doctor`.
#[derive(clap::Args)]
#[command(
    after_help = "Reads /proc and /sys, and changes nothing without --apply. Each remedy is a command to run as root, \
    or a parameter for the kernel's command line. docs/doctor.md explains each finding.\n\nExamples:\n  \
    oxorb doctor\n  oxorb doctor --check --format json\n  oxorb doctor --root /mnt/copy-of-another-host\n  \
    oxorb doctor --measure --plot wakeups.svg\n  oxorb doctor --apply -- ./server\n  \
    oxorb doctor --apply --measure --duration 30s"
)]
pub(crate) struct Args {
    /// Fail if anything needs improvement
    #[arg(long)]
    check: bool,
    /// Directory that contains the host's proc and sys
    #[arg(long, value_name = "DIRECTORY", default_value = "/")]
    root: PathBuf,
    /// Report only the findings with these names
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    #[command(flatten)]
    measure: measure::MeasureArgs,
    /// Apply the remedies that can be reverted; revert them when COMMAND or the measurement ends, or a signal arrives
    #[arg(long)]
    apply: bool,
    /// Leave the changes of --apply in place, to be reverted by --undo
    #[arg(long, requires = "apply")]
    keep: bool,
    /// Revert the changes of an earlier `oxorb doctor` that was killed or run with --keep
    #[arg(long, conflicts_with_all = ["apply", "check", "measure", "answer"])]
    undo: bool,
    /// File that records the state before the changes; default: run/oxorb-doctor.json below the root
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Program to run while the changes of --apply are in place, with its arguments
    #[arg(last = true, requires = "apply", value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(serde::Serialize)]
struct Report {
    findings: Vec<Finding>,
    /// Number of findings with each verdict.
    good: usize,
    improve: usize,
    unknown: usize,
}

/// Names of all findings. Some do not apply to every host.
const NAMES: [&str; 28] = [
    "preemption",
    "throttling",
    "starving processes",
    "isolated processors",
    "interrupts",
    "speed",
    "idle states",
    "shared cores",
    "locked memory",
    "transparent huge pages",
    "swap",
    "locked pages that move",
    "pages between nodes",
    "merged pages",
    "real-time priority",
    "capabilities",
    "container",
    "filter of system calls",
    "processor time of the control group",
    "memory of the control group",
    "processors of the control group",
    "real-time threads of the control group",
    "clock",
    "arriving packets",
    "priority of the threads that process packets",
    "busy polling",
    "packets kept back",
    "leaving packets",
];

/// Runs the checks that the arguments select.
pub(crate) fn run(args: Args) -> Done {
    if let Some(endpoint) = &args.measure.answer {
        return measure::answer(endpoint);
    }
    if !args.root.join("proc").is_dir() {
        let root = args.root.display();
        return Err(because(format!(
            "{root} has no directory proc: --root expects the directory that contains proc and sys of a host"
        )));
    }
    let record = args.record.clone();
    let record = record.unwrap_or_else(|| args.root.join("run/oxorb-doctor.json"));
    let host = Host::at(args.root.clone()).only(&args.only);
    if args.undo {
        return told(args.format, "undone", &apply::undo(&host, &record)?);
    }
    if args.apply {
        return while_applied(&args, &host, &record);
    }
    if args.measure.is_asked() {
        let ends = Ends::at_signals()?;
        let measured = args.measure.run(&ends, args.format)?;
        return match args.format {
            Format::Json => print_json(&measured),
            Format::Text => print(measured),
        };
    }
    let report = Report::of(&host);
    if let Some(unknown) = host.unknown_name(NAMES.into_iter()) {
        return Err(because(format!(
            "there is no finding {unknown:?}; the findings are {}",
            NAMES.join(", ")
        )));
    }
    for name in args.only.iter().filter(|&name| report.findings.iter().all(|it| it.name != *name)) {
        oxorb_terminal::note!("{name}: does not apply to this host");
    }
    match args.format {
        Format::Json => print_json(&report)?,
        Format::Text => print(report.text())?,
    }
    match args.check && report.improve > 0 {
        true => Err(Failed::Told),
        false => Ok(()),
    }
}

/// Applies the changes, does the requested work, and reverts the changes regardless of its result.
fn while_applied(args: &Args, host: &Host, record: &std::path::Path) -> Done {
    // From here on, a signal requests the end instead of ending the process, so that the changes are always reverted.
    let ends = Ends::at_signals()?;
    let before = match args.measure.is_asked() {
        true => Some(args.measure.run(&ends, args.format)?),
        false => None,
    };
    let applied = apply::apply(host, record)?;
    let meanwhile = meanwhile(args, &ends, &applied, before);
    if !args.keep {
        told(args.format, "undone", &apply::undo(host, record)?)?;
    }
    meanwhile
}

fn meanwhile(
    args: &Args,
    ends: &Ends,
    applied: &Applied,
    before: Option<measure::Measured>,
) -> Done {
    told(args.format, "applied", applied)?;
    if let Some(before) = before {
        let after = args.measure.run(ends, args.format)?;
        match args.format {
            Format::Json => {
                print_line(&serde_json::json!({ "before": before, "measured": after }))?
            }
            Format::Text => {
                print(format!("\nbefore the changes\n{before}\nwith the changes\n{after}"))?
            }
        }
    }
    match args.command.split_first() {
        Some((program, arguments)) => hold::run(ends, program, arguments),
        None if args.keep || args.measure.is_asked() => Ok(()),
        None => {
            if args.format == Format::Text {
                print("They are undone when the command ends: Ctrl-C, or SIGTERM.\n")?;
            }
            ends.wait();
            Ok(())
        }
    }
}

/// Prints what was done, as text or as a line of JSON.
fn told<T: serde::Serialize + std::fmt::Display>(format: Format, what: &str, done: &T) -> Done {
    match format {
        Format::Json => print_line(&serde_json::json!({ what: done })),
        Format::Text => print(done),
    }
}

impl std::fmt::Display for Applied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        steps(f, "made", &self.made, &self.left)?;
        let (made, left) = (self.made.len(), self.left.len());
        let record = self.record.display();
        writeln!(f, "\n{made} changes made, {left} not made; {record} contains the previous values")
    }
}

impl std::fmt::Display for Undone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        steps(f, "undone", &self.undone, &self.left)?;
        let (undone, left) = (self.undone.len(), self.left.len());
        writeln!(f, "\n{undone} changes undone, {left} not undone")
    }
}

fn steps(
    f: &mut std::fmt::Formatter<'_>,
    word: &str,
    made: &[String],
    left: &[Left],
) -> std::fmt::Result {
    for what in made {
        writeln!(f, "{GOOD}{word:7}{GOOD:#}  {}", Printable(what))?;
    }
    for Left { what, why } in left {
        writeln!(f, "{FAINT}left   {FAINT:#}  {}: {}", Printable(what), Printable(why))?;
    }
    Ok(())
}

impl Report {
    fn of(host: &Host) -> Self {
        let looks = [
            kernel::look,
            cpus::look,
            memory::look,
            rights::look,
            container::look,
            clock::look,
            network::look,
        ];
        let all = looks.iter().flat_map(|look| look(host));
        let findings: Vec<Finding> = all.filter(|finding| host.wants(finding.name)).collect();
        let count = |verdict| findings.iter().filter(|it| it.verdict == verdict).count();
        let (good, improve) = (count(Verdict::Good), count(Verdict::Improve));
        Report { good, improve, unknown: count(Verdict::Unknown), findings }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let (style, word) = match finding.verdict {
                Verdict::Good => (GOOD, "good   "),
                Verdict::Improve => (BAD, "improve"),
                Verdict::Unknown => (FAINT, "unknown"),
            };
            let (name, seen) = (finding.name, Printable(&finding.seen));
            let _ = writeln!(text, "{style}{word}{style:#}  {STRONG}{name}{STRONG:#}: {seen}");
            if finding.verdict != Verdict::Good {
                if !finding.means.is_empty() {
                    let _ = writeln!(text, "         {}", finding.means);
                }
                for cure in &finding.cures {
                    let _ = writeln!(text, "           {}", Printable(cure));
                }
            }
        }
        let (good, improve, unknown) = (self.good, self.improve, self.unknown);
        let _ = writeln!(text, "\n{good} good, {improve} to improve, {unknown} unknown");
        text
    }
}
