//! `oxorb name ls`

use std::fmt::Write as _;

use oxorb::values::Printable;
use oxorb_naming::Name;
use serde_json::json;

use super::NameServerArgs;
use super::bindings::{Most, Summary, bindings, describe, object};
use oxorb_terminal::output::{BAD, Done, FAINT, Format, STRONG, print, print_json};

/// Arguments of `oxorb name ls`.
#[derive(clap::Args)]
#[command(after_help = "Works with any ORB's name server.\n\nExamples:\n  oxorb name ls\n  \
    oxorb name ls bank/branches --long --at corbaloc::10.0.0.7:2809/NameService")]
pub(crate) struct Args {
    /// Name of the context; default: the server's root
    #[arg(value_parser = super::name_argument)]
    name: Option<Name>,
    /// Show the type and address of each object, too, at the cost of one call per object
    #[arg(short, long)]
    long: bool,
    #[command(flatten)]
    most: Most,
    #[command(flatten)]
    at: NameServerArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn run(args: Args) -> Done {
    let (_orb, names) = args.at.context(args.name.as_ref())?;
    let mut rows = Vec::new();
    let mut text = String::new();
    let budget = args.most.budget();
    for found in bindings(&names, None, &budget)? {
        let mut row = found.to_json();
        let slash = if found.is_context { "/" } else { "" };
        let _ = write!(text, "{STRONG}{}{STRONG:#}{slash}", Printable(&found.last()));
        if args.long {
            match object(&names, &found.name) {
                Ok(object) => {
                    describe(object.as_ref(), &mut row);
                    let _ = match &object {
                        Some(object) => write!(text, "  {FAINT}{}{FAINT:#}", Summary(object)),
                        None => write!(text, "  {FAINT}nil{FAINT:#}"),
                    };
                }
                // If the name was unbound meanwhile, or its server does not answer, the other names are still shown.
                Err(error) => {
                    row["error"] = json!(error.to_string());
                    let _ = write!(text, "  {BAD}{}{BAD:#}", Printable(&error.to_string()));
                }
            }
        }
        text.push('\n');
        rows.push(row);
    }
    match args.format {
        Format::Text => print(text)?,
        Format::Json => print_json(&rows)?,
    }
    budget.end()
}
