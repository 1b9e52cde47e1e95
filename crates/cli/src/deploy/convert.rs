//! `oxorb deploy convert`.

use std::path::PathBuf;

use oxorb_deploy::{Document, expand_extended_ports};

use super::components;
use super::files::{self, Form};
use crate::idl::Reading;
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
    /// IDL file of the components of a plan, whose connections of extended ports are replaced by connections of the
    /// basic ports that these contain; may be repeated
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    idl: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

/// Converts one document.
pub(super) fn run(args: &Args) -> Done {
    let to = files::format(&args.output, args.to, Some("--to"))?;
    let from = files::format(&args.input, args.from, Some("--from"))?;
    let mut document = files::read_in(&args.input, from)?;
    if let Some(components) = components::read(&args.idl, &args.reading)? {
        let expanded = document.into_plan().and_then(|mut plan| {
            expand_extended_ports(&mut plan, &components)?;
            Ok(Document::from(plan))
        });
        document = expanded.map_err(|error| files::located(&args.input, &error))?;
    }
    let text = document.write(to).map_err(|error| files::located(&args.input, &error))?;
    files::write(&args.output, &text)
}
