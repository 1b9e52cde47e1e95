//! `oxorb demo avionics`: components of a cockpit in an overloaded ordinary server, and again with a document of
//! real-time resources.

mod act;
mod compare;
mod documents;
mod instrument;
pub(crate) mod server;
mod stolen;

use crate::whole_seconds;
use act::Act;
use compare::Comparison;
use documents::Documents;
use oxorb_terminal::duration;
use oxorb_terminal::output::{Done, Format, STRONG, print, print_json};

/// Arguments of `oxorb demo avionics`.
#[derive(clap::Args)]
#[command(
    after_help = "Both acts run the same executable, into which the components of examples/avionics-display are \
    linked, with the same plan. The second act also has the real-time resources. No privilege is required. Without the \
    privilege for SCHED_FIFO (root, CAP_SYS_NICE or `ulimit -r 61`), the lanes of the second act have no priority, and \
    the demo reports this."
)]
pub(crate) struct Args {
    /// Duration of each of the two acts, in whole seconds. For example 5s; a bare number is seconds
    #[arg(short, long = "duration", alias = "seconds", default_value = "6s", value_name = duration::VALUE_NAME, value_parser = whole_seconds(3600))]
    seconds: u32,
    /// Factor by which each picture of the navigation display takes longer to draw than planned
    #[arg(short, long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=20))]
    load: u32,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Plays both acts and compares them.
pub(super) fn run(args: &Args) -> Done {
    let documents = Documents::overloaded(args.load)?;
    if args.format == Format::Text {
        let planned = documents.planned_work / 1_000;
        print(format!(
            "{STRONG}A cockpit on one processor.{STRONG:#} A navigation display draws 20 times a second; each picture \
             takes {} ms of processor time,\nbut {planned} ms were planned. A collision radar and a {STRONG}warning \
             display{STRONG:#} run 5 times a second, and each warning must\nbe complete {} ms after its tick.\n",
            planned * args.load,
            documents.warning.deadline_ns / 1_000_000,
        ))?;
    }
    let ordinary = act::play(Act::Ordinary, args, &documents)?;
    let real_time = act::play(Act::RealTime, args, &documents)?;
    let comparison = Comparison { load: args.load, ordinary, real_time };
    match args.format {
        Format::Text => print(&comparison),
        Format::Json => print_json(&comparison),
    }
}
