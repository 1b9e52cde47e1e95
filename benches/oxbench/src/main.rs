//! Command with all experiments. Each experiment measures OxORB and its peers in the same run.
//!
//! `oxbench latency` times two-way calls; `oxbench counts` counts the allocations, system calls and instructions of a
//! call; `oxbench steps` times the steps of one call; `oxbench marshal` times the codec alone. `docs/benchmarking.md`
//! explains which number answers which question, and how far to trust it on a small virtual machine.
#![forbid(unsafe_code)]

mod bootstrap;
mod channel;
mod check;
mod collocated;
mod components;
mod control;
mod counts;
mod demux;
mod dispatch;
mod events;
mod experiment;
mod fields;
mod format;
#[cfg(feature = "gateway")]
mod gateway;
mod http;
mod inversion;
mod lanes;
mod latency;
mod load;
mod machine;
mod marshal;
mod naming;
mod oneway;
mod output;
mod peers;
mod placement;
mod plot;
mod process;
mod protocols;
mod queues;
mod record;
mod report;
mod session;
mod steps;
mod table;
mod throughput;
#[cfg(feature = "tls")]
mod tls;
mod verdict;
mod whitebox;
mod wire;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use oxorb_testkit::alloc::CountingAllocator;

/// Counting allocator of `oxbench counts`; a call that allocates nothing has no overhead.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// Result whose error is a sentence for the person at the terminal.
type Result<T = (), E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

#[derive(Parser)]
#[command(name = "oxbench", version, about = "Measures OxORB beside its peers")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Time two-way calls: p50, p99, p99.9, max and CPU time, compared with raw TCP and omniORB
    Latency(latency::Options),
    /// Count the allocations, system calls and instructions of a ping; fails if a count exceeds its bound
    Counts(counts::Options),
    /// Time calls to objects of the same process: direct, within a lane, marshalled, through a lane
    Collocated(collocated::Options),
    /// Time writing and reading values of every type as CDR, compared with omniORB
    Marshal(marshal::Options),
    /// Time from the octets of a request to the upcall, for each lookup of objects, operations and POAs (E15)
    Demux(demux::Options),
    /// Time the calls of a cubit over every messaging and transport, compared with omniORB and raw sockets (E5, E7)
    Protocols(protocols::Options),
    /// Time each step of one call on both sides, with timeprobes (E6; the tables of "pluggable protocols")
    Steps(steps::Options),
    /// Count the names per second that a name server binds, resolves, lists and unbinds, compared with omniNames
    Naming(naming::Options),
    /// Count the instructions that it takes to write arguments, and to compare them with the previous ones (request
    /// fields prepared by a flow analysis)
    Fields(fields::Options),
    /// Time how long it takes to put a request into a dispatching queue and to remove it, with the queue as a list and
    /// as a heap (E9)
    Queues(queues::Options),
    /// Time calls of one high-priority client/object pair among 1 to 1,000 low-priority pairs, with laxity-based (MUF)
    /// and static (RMS) dispatching (E8)
    Dispatch(dispatch::Options),
    /// Time events of one high-priority supplier/consumer pair among 1 to 1,000 low-priority pairs, through one
    /// scheduled channel, in one process and between processes (E8)
    Channel(channel::Options),
    /// Time events from supplier to consumers through a channel, compared with omniEvents
    Events(events::Options),
    /// Time high-priority calls during growing numbers of low-priority calls, for each architecture (E1)
    Inversion(inversion::Options),
    /// Increase the work of calls at 25, 50 and 75 Hz, and report which clients keep their rate (E13, E14)
    Lanes(lanes::Options),
    /// Call between components, deploy them, and let plans determine which components keep their rate (E11, E13, E14,
    /// E16)
    Components(components::Options),
    /// Measure the control of an endsystem: admission and budgets, distributable threads over three processes, and
    /// queueing on a link
    Control(control::Options),
    /// Count the calls per second of 1 to 16 simultaneous clients, for each architecture, compared with omniORB
    Throughput(throughput::Options),
    /// Count the oneways per second of one and four callers, sent one by one and buffered, compared with omniORB
    Oneway(oneway::Options),
    /// Time calls over TLS, and count the handshakes per second of a server, full and resumed, compared with plain IIOP
    /// and with bare rustls
    #[cfg(feature = "tls")]
    Tls(tls::Options),
    /// Time calls through a gateway, compared with a second plain call; count its allocations; open 5,000 connections
    #[cfg(feature = "gateway")]
    Gateway(gateway::Options),
    /// Count the requests per second that the HTTP gateway answers
    Http(http::Options),
    /// Count locks, allocations and system calls of a request in each architecture, compared with omniORB (E2, E3)
    Whitebox(whitebox::Options),
    /// Draw files of `--plot` again, from the data in them
    Redraw(plot::redraw::Options),
    /// One side of a measured pair; started by oxbench itself
    #[command(subcommand, hide = true)]
    Peer(peers::Side),
}

fn main() -> ExitCode {
    if components::is_locality() {
        return components::run_locality();
    }
    let outcome = match Arguments::parse().command {
        Command::Latency(options) => latency::run(&options),
        Command::Counts(options) => counts::run(&options),
        Command::Collocated(options) => collocated::run(&options),
        Command::Marshal(options) => marshal::run(&options),
        Command::Demux(options) => demux::run(&options),
        Command::Protocols(options) => protocols::run(&options),
        Command::Steps(options) => steps::run(&options),
        Command::Naming(options) => naming::run(&options),
        Command::Fields(options) => fields::run(&options),
        Command::Queues(options) => queues::run(&options),
        Command::Dispatch(options) => dispatch::run(&options),
        Command::Channel(options) => channel::run(&options),
        Command::Events(options) => events::run(&options),
        Command::Inversion(options) => inversion::run(&options),
        Command::Throughput(options) => throughput::run(&options),
        Command::Components(options) => components::run(&options),
        Command::Control(options) => control::run(&options),
        Command::Lanes(options) => lanes::run(&options),
        Command::Oneway(options) => oneway::run(&options),
        #[cfg(feature = "tls")]
        Command::Tls(options) => tls::run(&options),
        #[cfg(feature = "gateway")]
        Command::Gateway(options) => gateway::run(&options),
        Command::Http(options) => http::run(&options),
        Command::Whitebox(options) => whitebox::run(&options),
        Command::Redraw(options) => plot::redraw::run(&options),
        Command::Peer(side) => peers::play(&side),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("oxbench: {error}");
            ExitCode::FAILURE
        }
    }
}
