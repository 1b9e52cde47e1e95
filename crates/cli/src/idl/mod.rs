//! `oxorb idl`: the IDL compiler.

mod check;
mod diff;
mod fmt;
mod generate;
mod lsp;
mod show;
mod source;

pub(crate) use source::{Reading, tell};

use oxorb_terminal::output::Done;

/// Verbs of `oxorb idl`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Report errors in IDL files
    Check(check::Args),
    /// Generate Rust from IDL files
    Gen(generate::Args),
    /// Print IDL files with names resolved, constants evaluated and templates instantiated
    Show(show::Args),
    /// Format IDL files; only white space changes
    Fmt(fmt::Args),
    /// Report the differences between two IDL files, and what they break
    Diff(diff::Args),
    /// Serve an editor as a language server: errors, definitions, renaming, formatting
    Lsp(lsp::Args),
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    match command {
        Command::Check(args) => check::run(&args),
        Command::Gen(args) => generate::run(args),
        Command::Show(args) => show::run(&args),
        Command::Fmt(args) => fmt::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Lsp(args) => lsp::run(&args),
    }
}
