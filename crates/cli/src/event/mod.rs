//! `oxorb event`: serves, uses and watches event channels.

/// Returns the end of a verb's help: its own text, and the part that all verbs share.
macro_rules! manual {
    ($text:literal) => {
        concat!(
            $text,
            "\n\nSettings of the ORB, as -ORBInitRef NAME=URL, may be at any position: docs/config.md. Channels: \
             docs/events.md.\n\n\
             Exit status: 0 done, or ended by a signal, 1 failed (a message on standard error gives the reason), 2 \
             wrong usage."
        )
    };
}

mod channel;
mod channels;
mod consumer;
mod filter;
mod gaps;
mod gateway;
mod latency;
mod notify;
mod presence;
mod publish;
mod record;
mod replay;
mod schedule;
mod schema;
mod serve;
mod stat;
mod statistics;
mod subscribe;
mod taker;
mod time;
mod topic;
mod value;

use oxorb_terminal::output::Done;

pub(crate) use filter::{source_number, type_number};

/// Verbs of `oxorb event`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Serve event channels
    Serve(serve::Args),
    /// Push events
    #[command(name = "pub")]
    Publish(publish::Args),
    /// Print events as they arrive, or their latencies
    #[command(name = "sub")]
    Subscribe(subscribe::Args),
    /// List the suppliers and consumers of a server's channels
    #[command(visible_alias = "list")]
    Ls(stat::ListArgs),
    /// Show the live traffic of channels
    Stat(stat::WatchArgs),
    /// Record events in an MCAP file, a format that existing viewers read
    Record(record::Args),
    /// Push the events of a recording again
    Replay(replay::Args),
    /// Pass events of one channel on to another
    Gateway(gateway::Args),
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    match command {
        Command::Serve(args) => serve::run(&args),
        Command::Publish(args) => publish::run(&args),
        Command::Subscribe(args) => subscribe::run(&args),
        Command::Ls(args) => stat::list(&args),
        Command::Stat(args) => stat::watch(&args),
        Command::Record(args) => record::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Gateway(args) => gateway::run(&args),
    }
}
