//! `oxbench control`: experiments on the control of an endsystem.

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
    /// Admit operations one by one, flood a server during the calls of an urgent client, and start clients whose work
    /// the server can no longer guarantee
    Budgets(budgets::Options),
    /// Run distributable threads through three processes, scheduled by MUF and by fixed priorities
    Threads(threads::Options),
    /// Process of `threads`; started by oxbench itself
    #[command(hide = true)]
    ThreadsSide(threads::SideOptions),
    /// Fill a link with bulk traffic, and compare the delays of urgent calls under the queueing disciplines of the
    /// network device
    Wire(wire::Options),
    /// Server of `wire`; started by oxbench itself
    #[command(hide = true)]
    WireSide(wire::SideOptions),
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    match &options.experiment {
        Experiment::Budgets(options) => budgets::run(options),
        Experiment::Threads(options) => threads::run(options),
        Experiment::ThreadsSide(options) => threads::serve(options),
        Experiment::Wire(options) => wire::run(options),
        Experiment::WireSide(options) => wire::serve(options),
    }
}
