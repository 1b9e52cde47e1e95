//! `oxorb idl check`: reports errors in IDL.

use super::source::{Source, tell};
use oxorb_terminal::output::{Done, Failed, Format, print};

/// Arguments of `oxorb idl check`.
#[derive(clap::Args)]
#[command(
    after_help = "One run reports every problem, with its position and a correction; warnings do not fail the check.\n\
        \nExamples:\n  oxorb idl check idl/*.idl\n  oxorb idl check -I /usr/share/idl/omniORB --format json bank.idl"
)]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// Format of the diagnostics
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args) -> Done {
    let source = &args.source;
    let (report, good) = match oxorb_idl::compile(&source.files(), &source.reading.options()) {
        Ok(compiled) => (compiled.report, true),
        Err(failed) => (failed.report, false),
    };
    match args.format {
        Format::Json => print(format_args!("{}\n", report.json()))?,
        Format::Text => tell(&report),
    }
    if good { Ok(()) } else { Err(Failed::Told) }
}
