//! `oxorb sched`: schedules operations, and analyses the schedule before it runs.

mod aadl;
mod admission;
mod analyse;
mod annotation;
mod calibrate;
mod check;
mod cores;
mod emit;
mod extra;
mod flows;
mod how;
mod load;
mod measured;
mod more;
mod order;
mod overheads;
mod paper;
mod remote;
mod rewrite;
mod serve;
mod servers;
mod set;
mod simulate;
mod system;
mod times;
mod watch;

use std::path::PathBuf;

use how::Source;
use oxorb_terminal::output::{Done, Format};

/// Verbs of `oxorb sched`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Report errors in a set of operations
    #[command(
        after_help = "Reports unknown names, cycles of calls, operations without a rate, operations with more work \
        than time, and too few thread priorities. Fails if there is an error. docs/scheduling.md describes the files.\n\
        \n\
        Examples:\n  oxorb sched check tasks.toml\n  oxorb sched check -I idl nav.idl calls.toml --strategy MUF"
    )]
    Check {
        #[command(flatten)]
        source: Source,
        /// Format of the findings
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Prove that deadlines are met, or report which ones are not and why
    #[command(
        after_help = "Fails unless every critical deadline is proved, and on the errors that `check` reports. Under \
        RMS, DM, EDF and MLF, all operations are critical. Under MUF and RMS+MLF, those of criticality HIGH and \
        VERY_HIGH are critical, or all operations if there are none.\n\nExamples:\n  \
        oxorb sched analyse tasks.toml\n  \
        oxorb sched analyse tasks.toml --strategy EDF --model urgency --sensitivity\n  \
        oxorb sched analyse tasks.toml --cores 4 --fit best\n  \
        oxorb sched analyse tasks.toml --cores 4 --global --strategy EDF --model urgency\n  \
        oxorb sched analyse tasks.toml --optimal --model urgency --overheads doctor.json\n  \
        oxorb sched analyse sets/*.toml --each --format json\n  oxorb sched analyse model.aadl\n  \
        oxorb sched analyse flows.toml    (nodes, links and flows over them: docs/scheduling.md)"
    )]
    Analyse {
        #[command(flatten)]
        source: Source,
        #[command(flatten)]
        what: analyse::What,
        /// Format of the verdicts
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Simulate operations, beginning with the release of all of them at the same time
    #[command(
        after_help = "Examples:\n  oxorb sched simulate tasks.toml --strategy MUF --late demote\n  \
        oxorb sched simulate tasks.toml --csv summary.csv --jobs jobs.csv\n  \
        oxorb sched simulate --paper --out figures    (experiment E10: docs/experiments/schedulers.md)"
    )]
    Simulate(simulate::Args),
    /// Draw timelines, latencies, laxities and missed deadlines under several strategies
    #[command(
        after_help = "Example:\n  oxorb sched plot tasks.toml --compare MUF,RMS,EDF --out figures"
    )]
    Plot(simulate::PlotArgs),
    /// Serve the scheduling service of TAO's IDL to clients of any ORB
    Serve(serve::Args),
    /// Load operations from files into a scheduling service, or have a running server admit them
    #[command(
        after_help = "Other operations of the service are not changed. Deadlines, jitter, blocking and offsets are not \
        transferred, because RtecScheduler has no fields for them.\n\nExamples:\n  \
        oxorb sched load tasks.toml --at corbaloc::host:4711/ScheduleService\n  \
        oxorb sched load nav.idl calls.toml\n  \
        oxorb sched load tasks.toml --server corbaloc::radar:5000    (admits all operations, or none)"
    )]
    Load(remote::LoadArgs),
    /// Ask a running server to admit an operation, an object, a POA or a client
    #[command(
        after_help = "The server analyses the request together with everything that it has admitted, and answers: \
        guaranteed, best effort, or refused, with the operation that would miss its deadline. A budget enforces each \
        admission. The command fails if the request is refused. docs/admission.md has the details.\n\n\
        Examples:\n  oxorb sched admit operation Radar::Track::update --worst-case 2ms --period 50ms \\\n    \
        --server corbaloc::radar:5000\n  \
        oxorb sched admit client 10.0.0.7 --share --server corbaloc::radar:5000"
    )]
    Admit(admission::AdmitArgs),
    /// Release work that a server has admitted
    #[command(
        after_help = "Example:\n  oxorb sched release client 10.0.0.7 --server corbaloc::radar:5000"
    )]
    Release(admission::ReleaseArgs),
    /// List the work that a server has admitted, and the use of each budget
    #[command(after_help = "Example:\n  oxorb sched admitted --server corbaloc::radar:5000")]
    Admitted(admission::AdmittedArgs),
    /// List the operations of a scheduling service, with their priorities if it has computed them
    #[command(
        visible_alias = "ls",
        after_help = "Example:\n  oxorb sched list --at corbaname::host#ScheduleService"
    )]
    List(remote::ListArgs),
    /// Make a scheduling service compute its schedule
    #[command(
        after_help = "Fails if no schedule exists, or if an operation cannot be scheduled.\n\nExample:\n  \
        oxorb sched compute --priorities 10,40 --at corbaname::host#ScheduleService"
    )]
    Compute(remote::ComputeArgs),
    /// Write the table of static priorities, to be compiled into a program
    #[command(
        after_help = "Rejects schedules that an ORB cannot enforce (full preemption by deadline or laxity), and \
        schedules with unproved critical deadlines.\n\nExamples:\n  oxorb sched emit tasks.toml --language rust --out \
        src/priorities.rs\n  oxorb sched emit nav.idl --strategy RMS --language cpp > priorities.h"
    )]
    Emit {
        #[command(flatten)]
        source: Source,
        /// Language of the table
        #[arg(long, value_enum, default_value_t)]
        language: emit::Language,
        /// Emit the table even if not all critical deadlines are proved
        #[arg(long)]
        unproved: bool,
        /// File to write; default: standard output
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Run an application, measure its operations, and write the times into the task set
    #[command(
        after_help = "The application can be any OxORB server; it enforces the schedule and measures processor time \
        while it runs. Clients must call it during the measurement. Calls between its operations are detected, too.\n\n\
        Examples:\n  oxorb sched calibrate tasks.toml --duration 30s --out tasks.toml -- ./server --quiet\n  \
        oxorb sched calibrate tasks.toml --server corbaloc::radar:5000"
    )]
    Calibrate(calibrate::Args),
    /// Watch a server: proved and measured times of every operation
    #[command(
        after_help = "The server must measure: set measure = true in [schedule] of its configuration file, or call \
        RunTimeScheduler::measure.\n\nExamples:\n  oxorb sched watch tasks.toml --server corbaloc::radar:5000\n  \
        oxorb sched watch tasks.toml --server corbaloc::radar:5000 --count 1 --format json"
    )]
    Watch(watch::Args),
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    match command {
        Command::Check { source, format } => check::run(&source, format),
        Command::Analyse { source, what, format } => analyse::run(&source, &what, format),
        Command::Simulate(args) => simulate::run(&args),
        Command::Plot(args) => simulate::plot(&args),
        Command::Serve(args) => serve::run(args),
        Command::Load(args) => remote::load(&args),
        Command::Admit(args) => admission::admit(&args),
        Command::Release(args) => admission::release(&args),
        Command::Admitted(args) => admission::admitted(&args),
        Command::List(args) => remote::list(&args),
        Command::Compute(args) => remote::compute(&args),
        Command::Emit { source, language, unproved, out } => {
            emit::run(&source, language, unproved, out.as_deref())
        }
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Watch(args) => watch::run(&args),
    }
}
