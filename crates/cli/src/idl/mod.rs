//! `oxorb idl`: the IDL compiler.

mod check;
mod diff;
mod fmt;
mod generate;
mod show;
mod source;

pub(crate) use source::{Reading, tell};

use oxorb_terminal::output::Done;

/// Verbs of `oxorb idl`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Say what is wrong with IDL files
    Check(check::Args),
    /// Turn IDL files into Rust
    Gen(generate::Args),
    /// Print what IDL files mean: names resolved, constants evaluated, templates instantiated
    Show(show::Args),
    /// Give IDL files one style: only white space changes
    Fmt(fmt::Args),
    /// Say what changed between two IDL files, and whom that breaks
    Diff(diff::Args),
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    match command {
        Command::Check(args) => check::run(&args),
        Command::Gen(args) => generate::run(args),
        Command::Show(args) => show::run(&args),
        Command::Fmt(args) => fmt::run(&args),
        Command::Diff(args) => diff::run(&args),
    }
}
