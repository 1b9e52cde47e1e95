//! The `oxorb` command: noun, verb, and `--format json` for other programs.
#![forbid(unsafe_code)]

mod bridge;
mod call;
mod cert;
mod completions;
mod deploy;
mod doctor;
#[cfg(test)]
mod durations;
mod event;
#[cfg(test)]
mod examples;
mod explain;
mod gateway;
mod idl;
mod ifr;
mod input;
mod ior;
mod listening;
mod man;
mod name;
mod new;
mod node;
mod own;
mod ping;
mod reach;
mod sched;
mod serve;
mod token;
mod types;
mod without_tls;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// OxORB: a real-time CORBA ORB that interoperates with omniORB and JacORB.
#[derive(Parser)]
#[command(name = "oxorb", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Start with `oxorb demo`.\n\n\
    Settings of the ORB, as -ORBInitRef NAME=URL or OXORB_INITREF=NAME=URL in the environment, are accepted by every \
    command that calls or serves objects; docs/config.md lists them.\n\n\
    A DURATION is a number and a unit (ns, us, ms, s, m, h or d), such as 300ms, 1.5s or 2m. The help of an option \
    gives the unit of a number without one, if such a number is accepted.\n\n\
    Exit status: 0 done, 1 failed (a message on standard error gives the reason), 2 wrong usage.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(oxorb_demo::Args),
    /// Make a project: IDL, a server and a client
    New(new::Args),
    /// Check IDL files, or generate Rust from them
    #[command(subcommand)]
    Idl(idl::Command),
    /// Store, show and serve IDL as an Interface Repository
    #[command(subcommand)]
    Ifr(ifr::Command),
    /// Explain object references
    #[command(subcommand)]
    Ior(ior::Command),
    /// Serve names, inspect any ORB's name server, and remove names of objects that no longer exist
    #[command(subcommand)]
    Name(name::Command),
    /// Call an operation of any object, with types from its IDL
    Call(call::Args),
    /// Serve an interface from a table of answers, as a stand-in for a missing server
    Serve(serve::Args),
    /// Forward requests from one protocol to another; with IDL, translate the references in them
    Bridge(bridge::Args),
    /// Stand between clients outside and servers inside, and translate all references that pass
    Gateway(gateway::Args),
    /// Schedule operations: check, analyse, simulate, plot, and emit their priorities
    #[command(subcommand)]
    Sched(sched::Command),
    /// Manage a node for deployment plans
    #[command(subcommand)]
    Node(node::Command),
    /// Check, launch, change and stop deployment plans, and write them for systemd or Kubernetes
    #[command(subcommand)]
    Deploy(deploy::Command),
    /// Push and receive events, watch channels, record and replay
    #[command(subcommand)]
    Event(event::Command),
    /// Check that an object can be reached, and measure its response time
    Ping(ping::Args),
    /// Make test certificates for TLS
    #[command(subcommand)]
    Cert(cert::Command),
    /// Report what this host can guarantee to urgent threads, and what to change
    Doctor(doctor::Args),
    /// Explain a system exception and its remedies
    Explain(explain::Args),
    /// Print a shell completion script
    Completions(completions::Args),
    /// Print or write the manual pages
    Man(man::Args),
    #[command(flatten)]
    DemoPart(oxorb_demo::Part),
}

fn main() -> ExitCode {
    oxorb_store::hide_panics();
    oxorb_terminal::main(|cli: Cli| match cli.command {
        Command::Demo(args) => oxorb_demo::run(&args),
        Command::DemoPart(part) => part.run(),
        Command::New(args) => new::run(args),
        Command::Idl(command) => idl::run(command),
        Command::Ifr(command) => ifr::run(command),
        Command::Ior(command) => ior::run(command),
        Command::Name(command) => name::run(command),
        Command::Call(args) => call::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Bridge(args) => bridge::run(args),
        Command::Gateway(args) => gateway::run(args),
        Command::Sched(command) => sched::run(command),
        Command::Node(command) => node::run(command),
        Command::Deploy(command) => deploy::run(command),
        Command::Event(command) => event::run(command),
        Command::Ping(args) => ping::run(args),
        Command::Cert(command) => cert::run(command),
        Command::Doctor(args) => doctor::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    })
}
