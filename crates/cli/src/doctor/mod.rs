//! `oxorb doctor`: what this host can guarantee to threads of real-time priority, and what to change.

mod clock;
mod cpus;
mod finding;
mod host;
mod kernel;
mod memory;
mod network;
mod rights;

use std::fmt::Write as _;
use std::path::PathBuf;

use finding::{Finding, Verdict};
use host::Host;
use oxorb::Printable;

use crate::output::{BAD, Done, FAINT, Failed, Format, GOOD, STRONG, because, print, print_json};

/// Arguments of `oxorb doctor`.
#[derive(clap::Args)]
#[command(
    after_help = "Reads /proc and /sys, and changes nothing. A cure is a command to be run as root, or a word for the command line of \
    the kernel. docs/doctor.md says more of each.\n\nExamples:\n  oxorb doctor\n  oxorb doctor --check --format json\n  \
    oxorb doctor --root /mnt/copy-of-another-host"
)]
pub(crate) struct Args {
    /// Fail if anything is to be improved
    #[arg(long)]
    check: bool,
    /// Directory in which proc and sys of the host lie
    #[arg(long, value_name = "DIRECTORY", default_value = "/")]
    root: PathBuf,
    /// For whom the output is
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(serde::Serialize)]
struct Report {
    findings: Vec<Finding>,
    /// Numbers of findings by verdict.
    good: usize,
    improve: usize,
    unknown: usize,
}

/// Prints what was found.
pub(crate) fn run(args: Args) -> Done {
    if !args.root.join("proc").is_dir() {
        let root = args.root.display();
        return Err(because(format!(
            "{root} has no directory proc: --root takes the directory in which proc and sys of a host lie"
        )));
    }
    let report = Report::of(&Host::at(args.root));
    match args.format {
        Format::Json => print_json(&report)?,
        Format::Text => print(report.text())?,
    }
    match args.check && report.improve > 0 {
        true => Err(Failed::Told),
        false => Ok(()),
    }
}

impl Report {
    fn of(host: &Host) -> Self {
        let looks = [
            kernel::look,
            cpus::look,
            memory::look,
            rights::look,
            clock::look,
            network::look,
        ];
        let findings: Vec<Finding> = looks.iter().flat_map(|look| look(host)).collect();
        let count = |verdict| findings.iter().filter(|it| it.verdict == verdict).count();
        let (good, improve) = (count(Verdict::Good), count(Verdict::Improve));
        Report {
            good,
            improve,
            unknown: count(Verdict::Unknown),
            findings,
        }
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
            let _ = writeln!(
                text,
                "{style}{word}{style:#}  {STRONG}{name}{STRONG:#}: {seen}"
            );
            if finding.verdict != Verdict::Good {
                let _ = writeln!(text, "         {}", finding.means);
                for cure in &finding.cures {
                    let _ = writeln!(text, "           {}", Printable(cure));
                }
            }
        }
        let (good, improve, unknown) = (self.good, self.improve, self.unknown);
        let _ = writeln!(
            text,
            "\n{good} good, {improve} to improve, {unknown} unknown"
        );
        text
    }
}
