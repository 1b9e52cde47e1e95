//! `oxorb deploy`: plans of components, known to be right before anything runs.

mod check;
mod components;
mod convert;
mod emit;
mod files;

use crate::output::Done;

/// Verbs of `oxorb deploy`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Prove that a plan can be deployed, or say what is wrong with it and where
    #[command(
        after_help = "Always checked: every instance is on a node, connections join ports that fit, references lead somewhere.\n\
        With --idl: ports and attributes exist, types of both ends agree.\n\
        With --domain: nodes exist.\n\
        With --rt: policies go together, ports are called at the rates that they demand, and every critical deadline is met.\n\
        Fails if there is an error; warnings do not fail the check. docs/deployment.md describes the files.\n\nExamples:\n  \
        oxorb deploy check plan.toml --idl avionics.idl\n  \
        oxorb deploy check plan.cdp --rt plan.csr --domain domain.cdd --format json\n  \
        oxorb deploy check plan.toml --rt rt.toml --assign assigned.toml    (the analysis chooses the priorities)"
    )]
    Check(check::Args),
    /// Turn a document of OMG's XML into TOML, or the other way round
    #[command(
        after_help = "Plans (.cdp), domains (.cdd), packages (.cpd, .ccd, .cid, .iad, .pcd, .tpd) and real-time resources (.csr)\n\
        lose nothing but comments and layout either way. What the schema does not have is refused with its place.\n\n\
        Examples:\n  oxorb deploy convert plan.cdp plan.toml\n  \
        oxorb deploy convert --from toml --to xml - - < plan.toml"
    )]
    Convert(convert::Args),
    /// Write what another engine runs a plan by
    #[command(subcommand)]
    Emit(emit::Command),
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    match command {
        Command::Check(args) => check::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Emit(command) => emit::run(&command),
    }
}
