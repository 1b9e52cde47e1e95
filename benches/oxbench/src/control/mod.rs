//! `oxbench control`: experiments about an endsystem under control.

mod budgets;
mod threads;
mod wire;

use clap::{Args, Subcommand};

use crate::Result;

/// Options of `oxbench control`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    /// Admit operations one by one, flood a server beside an urgent client, and let clients come too late
    Budgets(budgets::Options),
    /// Let distributable threads go through three processes, scheduled by MUF and by fixed priorities
    Threads(threads::Options),
    /// Process of `threads`; started by oxbench itself
    #[command(hide = true)]
    ThreadsSide(threads::SideOptions),
    /// Let bulk fill a link, and see whether urgent calls wait for it, by the queues of the network device
    Wire(wire::Options),
    /// The server of `wire`; started by oxbench itself
    #[command(hide = true)]
    WireSide(wire::SideOptions),
}

/// Measures and reports.
pub(crate) fn run(options: &Options) -> Result {
    match &options.experiment {
        Experiment::Budgets(options) => budgets::run(options),
        Experiment::Threads(options) => threads::run(options),
        Experiment::ThreadsSide(options) => threads::serve(options),
        Experiment::Wire(options) => wire::run(options),
        Experiment::WireSide(options) => wire::serve(options),
    }
}
