//! `oxorb gateway`: stands between clients outside and servers inside.

mod http;
#[cfg(feature = "tls")]
mod repository;
#[cfg(feature = "tls")]
mod serving;

use std::path::PathBuf;

use crate::idl::Reading;
use oxorb_terminal::output::{Done, Format};

/// Arguments of `oxorb gateway`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
FILE contains the settings of both sides, as in a configuration file of an ORB, the names that outside clients may \
call, and the addresses that the gateway may call back. The gateway replaces all references in messages by references \
to itself. On SIGINT (Ctrl-C) or SIGTERM it answers running requests, and ends. SIGHUP reads certificates and access \
rules again. Settings (-ORB...) apply to both sides. docs/gateway.md describes the file and the replacement.

Examples:
  oxorb gateway gateway.toml
  oxorb gateway -I idl gateway.toml
  oxorb gateway check gateway.toml corbaloc::10.0.0.7/NameService")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Configuration of the gateway (TOML)
    #[arg(required = true, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Verbs of `oxorb gateway`.
#[derive(clap::Subcommand)]
enum Command {
    /// Report what becomes of a reference that passes through the gateway, without calling it
    Check(Check),
    /// Offer objects as JSON over HTTP
    Http(Box<http::Args>),
}

/// Arguments of `oxorb gateway check`.
#[derive(clap::Args)]
#[command(after_help = "\
Signatures are verified with the key of the configuration, so references of a gateway with a random key are unknown.

Examples:
  oxorb gateway check gateway.toml IOR:0000...
  nameclt resolve Bank | oxorb gateway check gateway.toml -")]
struct Check {
    /// Configuration of the gateway (TOML)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// IOR:, corbaloc:, corbaname:, file: or - for standard input
    reference: String,
    #[command(flatten)]
    reading: Reading,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Serves until a signal ends the process, or checks a reference.
#[cfg(feature = "tls")]
pub(crate) fn run(args: Args) -> Done {
    match (args.command, args.file) {
        (Some(Command::Check(check)), _) => {
            serving::check(&check.file, &check.reference, &check.reading, check.format)
        }
        (Some(Command::Http(args)), _) => http::run(*args),
        (None, Some(file)) => serving::serve(&file, &args.reading, args.format),
        (None, None) => unreachable!("without a subcommand, the configuration file is required"),
    }
}

/// Offers objects over HTTP, or reports that the command was built without other gateways.
#[cfg(not(feature = "tls"))]
pub(crate) fn run(args: Args) -> Done {
    match args.command {
        Some(Command::Http(args)) => http::run(*args),
        _ => Err(oxorb_terminal::output::because(crate::without_tls::WITHOUT_TLS)),
    }
}
