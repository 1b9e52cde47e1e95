//! `oxorb idl diff`: compares two versions of IDL.

use std::fmt::Write as _;
use std::path::PathBuf;

use oxorb_idl::diff::{Change, Effect, diff};
use serde_json::json;

use super::source::Reading;
use oxorb_terminal::output::{BAD, Done, FAINT, Failed, Format, STRONG, print, print_json};

/// Arguments of `oxorb idl diff`.
#[derive(clap::Args)]
#[command(
    after_help = "Each change breaks wire compatibility (peers built with the old IDL may fail), only the language \
        mapping (old source code may not compile), or nothing. Exit status 1 if a change breaks the wire.\n\n\
        Example:\n  git show main:idl/bank.idl > /tmp/old.idl && oxorb idl diff /tmp/old.idl idl/bank.idl"
)]
pub(crate) struct Args {
    /// IDL that peers were built with
    old: PathBuf,
    /// Present IDL
    new: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// Format of the changes
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: &Args) -> Done {
    let old = args.reading.model(&[&args.old])?;
    let new = args.reading.model(&[&args.new])?;
    let changes = diff(&old, &new);
    match args.format {
        Format::Json => print_json(&changes.iter().map(row).collect::<Vec<_>>())?,
        Format::Text => print(table(&changes))?,
    }
    match changes.iter().any(|change| change.effect == Effect::Wire) {
        true => Err(Failed::Told),
        false => Ok(()),
    }
}

fn row(change: &Change) -> serde_json::Value {
    json!({
        "name": change.name,
        "effect": change.effect.to_string(),
        "what": change.what,
        "why": change.why,
    })
}

fn table(changes: &[Change]) -> String {
    let mut text = String::new();
    for change in changes {
        let style = match change.effect {
            Effect::Wire => BAD,
            Effect::Mapping => STRONG,
            Effect::Nothing => FAINT,
        };
        let _ = writeln!(
            text,
            "{style}breaks {:<8}{style:#} {}: {}\n                {FAINT}{}{FAINT:#}",
            change.effect, change.name, change.what, change.why
        );
    }
    text
}
