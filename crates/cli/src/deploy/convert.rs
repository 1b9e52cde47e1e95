//! `oxorb deploy convert`.

use std::path::PathBuf;

use super::files::{self, Form};
use oxorb_terminal::output::Done;

/// Arguments of `oxorb deploy convert`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Document to read; - reads standard input
    #[arg(value_name = "IN", value_hint = clap::ValueHint::FilePath)]
    input: PathBuf,
    /// Document to write; - writes to standard output
    #[arg(value_name = "OUT", value_hint = clap::ValueHint::FilePath)]
    output: PathBuf,
    /// Input format [default: that of its file name extension]
    #[arg(long, value_enum)]
    from: Option<Form>,
    /// Output format [default: that of its file name extension]
    #[arg(long, value_enum)]
    to: Option<Form>,
}

/// Converts one document.
pub(super) fn run(args: &Args) -> Done {
    let to = files::format(&args.output, args.to, Some("--to"))?;
    let document = files::read(&args.input, args.from)?;
    let text = document.write(to).map_err(|error| files::located(&args.input, &error))?;
    files::write(&args.output, &text)
}
