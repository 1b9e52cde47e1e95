//! `oxorb idl show`: prints the meaning of IDL.

use oxorb_idlgen::{Bounds, Sizes};
use serde_json::json;

use super::source::Source;
use oxorb_terminal::output::{Done, Format, print, print_json};

/// Arguments of `oxorb idl show`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  oxorb idl show bank.idl\n  oxorb idl show --format json bank.idl | jq .definitions\n  \
        oxorb idl show --equivalent component.idl    (IDL3 as equivalent IDL2)\n  \
        oxorb idl show --implied ami bank.idl        (with reply handlers and sendc_ operations)\n  \
        oxorb idl show --sizes bank.idl              (maximum sizes of requests and replies)"
)]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// Print components, homes and event types as their equivalent interfaces and valuetypes
    #[arg(long)]
    equivalent: bool,
    /// Print the operations and types implied by interfaces, too: the reply handlers and `sendc_` operations of
    /// asynchronous calls with callbacks
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["equivalent", "sizes"])]
    implied: Option<Implied>,
    /// Print the number of octets of the arguments, results and exceptions of each operation
    #[arg(long, conflicts_with = "equivalent")]
    sizes: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t, conflicts_with_all = ["equivalent", "implied"])]
    format: Format,
}

/// Operations and types that interfaces imply.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum Implied {
    /// Asynchronous method invocation
    Ami,
}

pub(super) fn run(args: &Args) -> Done {
    let model = args.source.model()?;
    if args.equivalent {
        return print(oxorb_idl::equivalent::print(&model));
    }
    if let Some(Implied::Ami) = args.implied {
        let of = oxorb_idl::implied::all(&model);
        return print(oxorb_idl::implied::print(&model, of));
    }
    if args.sizes {
        let sizes = oxorb_idlgen::sizes(&model);
        return match args.format {
            Format::Json => print_json(&sizes_json(&sizes)),
            Format::Text => print(sizes),
        };
    }
    match args.format {
        Format::Json => print_json(&oxorb_idl::show::json(&model)),
        Format::Text => print(oxorb_idl::print::print(&model)),
    }
}

/// Octets; `max` is null for unbounded sizes, `reply` and `exceptions` are null if absent.
fn sizes_json(sizes: &Sizes) -> serde_json::Value {
    let octets = |bounds: Bounds| json!({ "min": bounds.min, "max": bounds.max });
    let rows = sizes.rows.iter().map(|row| {
        json!({
            "interface": row.interface,
            "operation": row.operation,
            "request": octets(row.request),
            "reply": row.reply.map(octets),
            "exceptions": row.exceptions.map(octets),
        })
    });
    rows.collect()
}
