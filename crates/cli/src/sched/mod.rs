//! `oxorb sched`: what runs when, known before it runs.

mod analyse;
mod annotation;
mod calibrate;
mod check;
mod emit;
mod flows;
mod load;
mod measured;
mod paper;
mod remote;
mod rewrite;
mod serve;
mod set;
mod simulate;
mod system;
mod watch;

use std::path::PathBuf;

use oxorb_sched::simulate::Late;
use oxorb_sched::time::{self, Nanos};
use oxorb_sched::{DispatchModel, OsPriorities, Overheads, Schedule, Strategy};

use crate::output::{Done, Failed, Format};
use load::Loaded;

// The Rust that build.rs made of idl/oxorb/measurements.idl.
mod measurements {
    #![allow(missing_docs, dead_code, unreachable_pub)]
    oxorb::include_idl!("measurements");
}

/// Verbs of `oxorb sched`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Say what is wrong with a set of operations
    #[command(
        after_help = "Tells unknown names, rings of calls, operations without a rate or with more work than time, and too few \
        thread priorities; fails if there is an error. docs/scheduling.md describes the files.\n\n\
        Examples:\n  oxorb sched check tasks.toml\n  oxorb sched check -I idl nav.idl calls.toml --strategy MUF"
    )]
    Check {
        #[command(flatten)]
        source: Source,
        /// For whom the findings are
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Prove that deadlines are met, or say which are not and why
    #[command(
        after_help = "Fails unless every critical deadline is proved, and on errors of `check`. Critical are all operations under RMS, DM, EDF \
        and MLF; those of criticality HIGH and VERY_HIGH under MUF and RMS+MLF, or all if there are none.\n\nExamples:\n  oxorb sched analyse tasks.toml\n  \
        oxorb sched analyse tasks.toml --strategy EDF --model urgency --sensitivity\n  \
        oxorb sched analyse tasks.toml --cores 4\n  \
        oxorb sched analyse flows.toml                 (nodes, links and flows over them: docs/scheduling.md)"
    )]
    Analyse {
        #[command(flatten)]
        source: Source,
        /// Say how much longer each operation might take
        #[arg(long)]
        sensitivity: bool,
        /// Spread operations over so many processors, each of which is then analysed alone; says how many are used
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
        cores: Option<u16>,
        /// For whom the verdicts are
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Show how operations run from the moment at which all arrive together
    #[command(
        after_help = "Examples:\n  oxorb sched simulate tasks.toml --strategy MUF --late demote\n  \
        oxorb sched simulate tasks.toml --csv summary.csv --jobs jobs.csv\n  \
        oxorb sched simulate --paper --out figures    (the simulation of paper 3, E10)"
    )]
    Simulate(simulate::Args),
    /// Draw timelines, latencies, laxities and missed deadlines under several strategies
    #[command(
        after_help = "Example:\n  oxorb sched plot tasks.toml --compare MUF,RMS,EDF --out figures"
    )]
    Plot(simulate::PlotArgs),
    /// Serve the scheduling service of TAO's IDL to clients of any ORB
    Serve(serve::Args),
    /// Make a scheduling service know operations from files
    #[command(
        after_help = "What the service knows besides stays. Deadlines, jitter, blocking and offsets stay behind: RtecScheduler has \
        no fields for them.\n\nExamples:\n  oxorb sched load tasks.toml --at corbaloc::host:4711/ScheduleService\n  \
        oxorb sched load nav.idl calls.toml"
    )]
    Load(remote::LoadArgs),
    /// List the operations of a scheduling service, with their priorities if it has computed them
    #[command(after_help = "Example:\n  oxorb sched list --at corbaname::host#ScheduleService")]
    List(remote::ListArgs),
    /// Let a scheduling service compute
    #[command(
        after_help = "Fails if there is no schedule, or an operation that it cannot schedule.\n\nExample:\n  \
        oxorb sched compute --priorities 10,40 --at corbaname::host#ScheduleService"
    )]
    Compute(remote::ComputeArgs),
    /// Write the table of static priorities, to be compiled into a program
    #[command(
        after_help = "Refuses what an ORB does not enforce (full preemption by deadline or laxity), and schedules with critical deadlines \
        that are not proved.\n\nExamples:\n  oxorb sched emit tasks.toml --language rust --out src/priorities.rs\n  \
        oxorb sched emit nav.idl --strategy RMS --language cpp > priorities.h"
    )]
    Emit {
        #[command(flatten)]
        source: Source,
        /// Language of the table
        #[arg(long, value_enum, default_value_t)]
        language: emit::Language,
        /// Emit the table of a schedule whose critical deadlines are not all proved, too
        #[arg(long)]
        unproved: bool,
        /// File to write, instead of standard output
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Run an application, measure what its operations take, and feed that back into the task set
    #[command(
        after_help = "The application is any server of OxORB; it enforces the schedule and measures processor time while it runs. \
        Clients, yours or its own, have to call it meanwhile. Calls between its operations are found, too.\n\nExamples:\n  \
        oxorb sched calibrate tasks.toml --seconds 30 --out tasks.toml -- ./server --quiet\n  \
        oxorb sched calibrate tasks.toml --server corbaloc::radar:5000"
    )]
    Calibrate(calibrate::Args),
    /// Watch a server: for every operation what was proved beside what is measured
    #[command(
        after_help = "The server measures: measure = true in [schedule] of its configuration file, or RunTimeScheduler::measure.\n\n\
        Examples:\n  oxorb sched watch tasks.toml --server corbaloc::radar:5000\n  \
        oxorb sched watch tasks.toml --server corbaloc::radar:5000 --count 1 --format json"
    )]
    Watch(watch::Args),
}

/// Which operations, and under which strategy.
#[derive(clap::Args)]
pub(crate) struct Source {
    /// Task sets as TOML, and IDL files with @rt(...) before operations
    #[arg(
        required_unless_present = "at",
        conflicts_with = "at",
        value_name = "FILE"
    )]
    files: Vec<PathBuf>,
    #[command(flatten)]
    at: remote::At,
    #[command(flatten)]
    how: How,
}

/// How operations are scheduled.
#[derive(clap::Args)]
pub(crate) struct How {
    /// Look for included IDL files in DIR, too
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    include: Vec<PathBuf>,
    /// MUF, MLF, EDF, RMS, DM or RMS+MLF; else what the file says, else MUF
    #[arg(long, value_name = "NAME")]
    strategy: Option<Strategy>,
    /// Who interrupts whom: urgency, band or non-preemptive; else what the file says, else band
    #[arg(long, value_name = "NAME")]
    model: Option<DispatchModel>,
    /// Thread priorities that may be used, least and most; else what the file says, else 1 to 99
    #[arg(long, value_name = "MIN,MAX", value_parser = range)]
    priorities: Option<(i32, i32)>,
    /// With full preemption, laxity is looked at again so often while a job runs; else what the file says, else 100 us
    #[arg(long, value_name = "TIME", value_parser = duration)]
    step: Option<Nanos>,
    /// Time to take a request off its queue; else what the file says, else 0
    #[arg(long, value_name = "TIME", value_parser = duration)]
    dispatch: Option<Nanos>,
    /// Time of a context switch; else what the file says, else 0
    #[arg(long, value_name = "TIME", value_parser = duration)]
    switch: Option<Nanos>,
    /// Look at this node or link alone, where the files have several
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
}

/// Thread priorities, least and most, unless somebody says others.
const RANGE: (i32, i32) = (1, 99);

fn range(text: &str) -> Result<(i32, i32), String> {
    let parts = text
        .split_once(',')
        .and_then(|(least, most)| Some((least.trim().parse().ok()?, most.trim().parse().ok()?)));
    parts.ok_or_else(|| format!("{text:?} is no range; write 1,99"))
}

fn duration(text: &str) -> Result<Nanos, String> {
    time::parse(text).map_err(|error| error.to_string())
}

/// What becomes of late jobs.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum LateJobs {
    /// They keep their place
    #[default]
    Keep,
    /// They run behind all that can be in time
    Demote,
    /// They are dropped unless they have begun
    Drop,
}

impl From<LateJobs> for Late {
    fn from(late: LateJobs) -> Late {
        match late {
            LateJobs::Keep => Late::Keep,
            LateJobs::Demote => Late::Demote,
            LateJobs::Drop => Late::Drop,
        }
    }
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    match command {
        Command::Check { source, format } => check::run(&source, format),
        Command::Analyse {
            source,
            sensitivity,
            cores,
            format,
        } => analyse::run(&source, sensitivity, cores, format),
        Command::Simulate(args) => simulate::run(&args),
        Command::Plot(args) => simulate::plot(&args),
        Command::Serve(args) => serve::run(args),
        Command::Load(args) => remote::load(&args),
        Command::List(args) => remote::list(&args),
        Command::Compute(args) => remote::compute(&args),
        Command::Emit {
            source,
            language,
            unproved,
            out,
        } => emit::run(&source, language, unproved, out.as_deref()),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Watch(args) => watch::run(&args),
    }
}

impl Source {
    fn load(&self) -> Result<Loaded, Failed> {
        match self.files.is_empty() {
            true => remote::fetch(&self.at),
            false => self.how.load(&self.files),
        }
    }
}

impl How {
    /// What files say, of one node alone if so asked.
    fn load(&self, files: &[PathBuf]) -> Result<Loaded, Failed> {
        let loaded = load::load(files, &self.include)?;
        match &self.node {
            Some(node) => loaded.only(node),
            None => Ok(loaded),
        }
    }

    fn strategy(&self, loaded: &Loaded) -> Strategy {
        self.strategy
            .or(loaded.asked.strategy)
            .unwrap_or(Strategy::MUF)
    }

    fn model(&self, loaded: &Loaded) -> DispatchModel {
        self.model.or(loaded.asked.model).unwrap_or_default()
    }

    fn range(&self, loaded: &Loaded) -> (i32, i32) {
        let asked = self.priorities.or(loaded.asked.priorities);
        asked.unwrap_or(RANGE)
    }

    fn schedule(&self, loaded: &Loaded) -> Result<Schedule, Failed> {
        self.schedule_under(loaded, self.strategy(loaded))
    }

    fn schedule_under(&self, loaded: &Loaded, strategy: Strategy) -> Result<Schedule, Failed> {
        loaded.on_one_processor()?;
        let (least, most) = self.range(loaded);
        let priorities = OsPriorities::range(least, most)?;
        let model = self.model(loaded);
        let computed = Schedule::compute(&loaded.repository, &strategy, &model, &priorities);
        let mut schedule = computed.map_err(|error| match place_of(loaded, &error) {
            Some(place) => crate::output::because(format!("{place}: {error}")),
            None => error.into(),
        })?;
        self.charge(&mut schedule, &loaded.asked)?;
        Ok(schedule)
    }

    /// Gives a schedule the costs of dispatching that are asked for.
    fn charge(&self, schedule: &mut Schedule, asked: &set::Asked) -> Result<(), Failed> {
        let usual = Overheads::default();
        let overheads = Overheads {
            step: self.step.or(asked.step).unwrap_or(usual.step),
            dispatch: self.dispatch.or(asked.dispatch).unwrap_or(usual.dispatch),
            switch: self.switch.or(asked.switch).unwrap_or(usual.switch),
        };
        overheads
            .check(&schedule.tasks)
            .map_err(|error| crate::output::because(error.to_string()))?;
        schedule.tasks.overheads = overheads;
        Ok(())
    }
}

/// The place of the operation that an error is about; rings are told at the first of theirs.
fn place_of<'l>(loaded: &'l Loaded, error: &oxorb_sched::Error) -> Option<&'l str> {
    use oxorb_sched::Error;
    loaded.place(match error {
        Error::Cycles(cycles) => cycles.first()?.0.first()?,
        Error::Overflow { operation, .. } => operation,
        _ => return None,
    })
}
