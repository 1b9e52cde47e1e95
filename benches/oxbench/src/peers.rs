//! Peers under test: each is a server process and a client process that communicate only with each other.

pub(crate) mod apart;
mod build;
pub(crate) mod cyclone;
pub(crate) mod jacorb;
pub(crate) mod omniorb;
mod oxorb;
pub(crate) mod raw;

use std::fmt;
use std::process::Command;

use clap::{Subcommand, ValueEnum};
use serde::Serialize;

use crate::Result;
use crate::channel;
use crate::collocated::{self, Way};
use crate::components;
use crate::demux;
use crate::events;
use crate::experiment::Experiment;
use crate::format::display_by_name;
#[cfg(feature = "gateway")]
use crate::gateway;
use crate::http;
use crate::load::{self, Architecture};
use crate::marshal::{self, Kind};
use crate::naming;
use crate::oneway;
use crate::placement::{Placement, Role};
use crate::process::Process;
use crate::protocols;
#[cfg(feature = "tls")]
use crate::tls;
use crate::wire::{self, Lengths};

/// Peer by name, in the order of the report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Peer {
    /// Exchange of messages of the same sizes over blocking TCP sockets: the floor
    Raw,
    /// omniORB, C++ on both sides
    #[value(name = "omniorb")]
    OmniOrb,
    /// OxORB on both sides
    #[value(name = "oxorb")]
    OxOrb,
}

/// Prepares the requested peers; by default all, with unavailable ones reported and left out.
pub(crate) fn available<Name: Copy + fmt::Display, C>(
    asked: &[Name],
    all: &[Name],
    prepare: impl Fn(Name) -> Result<C>,
) -> Result<Vec<C>> {
    let mut found = Vec::new();
    for &name in if asked.is_empty() { all } else { asked } {
        match prepare(name) {
            Ok(contender) => found.push(contender),
            Err(error) if asked.is_empty() => eprintln!("{name} is left out: {error}"),
            Err(error) => return Err(format!("{name}: {error}").into()),
        }
    }
    Ok(found)
}

/// Sides of the peers that are part of this program.
#[derive(Subcommand)]
pub(crate) enum Side {
    /// Answer raw exchanges
    RawServer {
        /// Size in octets of a request
        request: usize,
        /// Size in octets of a reply
        reply: usize,
    },
    /// Make raw exchanges
    RawClient {
        /// host:port
        address: String,
    },
    /// Serve a Probe
    OxorbServer {
        /// Endpoint to listen on
        #[arg(default_value = "iiop://127.0.0.1:0")]
        endpoint: String,
    },
    /// Call a Probe
    OxorbClient {
        /// IOR:... or corbaloc:...
        reference: String,
    },
    /// Serve names
    NameServer {
        /// Endpoint to listen on
        port: u16,
        /// File that stores the names
        store: std::path::PathBuf,
    },
    /// Serve objects that many clients call simultaneously
    LoadServer {
        /// Architecture
        architecture: Architecture,
        /// Priority of each object
        priorities: Vec<i16>,
        /// Endpoint of the ORB, or a path for the floor
        #[arg(long)]
        at: Option<String>,
    },
    /// Run many simultaneous clients
    LoadClient {
        /// Architecture
        architecture: Architecture,
        /// Reference of each object
        references: Vec<String>,
    },
    /// Serve a Gauge
    OnewayServer,
    /// Send oneways to a Gauge
    OnewayClient {
        /// Kind of oneway
        mode: oneway::Mode,
        /// IOR:...
        reference: String,
    },
    /// Serve a Cubit
    CubitServer {
        /// Endpoint to listen on
        endpoint: String,
    },
    /// Call a Cubit
    CubitClient {
        /// IOR:...
        reference: String,
    },
    /// Serve a Cubit and call it
    CubitPair {
        /// Endpoint to listen on
        endpoint: String,
    },
    /// Answer raw exchanges of any length
    CubitRawServer {
        /// host:port, or a path
        at: String,
    },
    /// Make raw exchanges of any length
    CubitRawClient {
        /// host:port, or a path
        address: String,
    },
    /// Answer raw exchanges through shared memory
    CubitRingServer {
        /// Path of the meeting point
        path: String,
        /// Kind of waiting
        wait: protocols::ring::Wait,
        /// Way of passing octets
        #[arg(default_value = "whole")]
        way: protocols::ring::Way,
    },
    /// Make raw exchanges through shared memory
    CubitRingClient {
        /// Path of the meeting point
        path: String,
        /// Kind of waiting
        wait: protocols::ring::Wait,
        /// Way of passing octets
        #[arg(default_value = "whole")]
        way: protocols::ring::Way,
    },
    /// Serve a Sink
    SinkServer {
        /// Endpoint to listen on
        endpoint: String,
        /// Do not read the octets
        #[arg(long)]
        untouched: bool,
    },
    /// Call a Sink
    SinkClient {
        /// IOR:...
        reference: String,
        /// Fill memory that the connection lends
        #[arg(long)]
        placed: bool,
        /// Do not write the octets
        #[arg(long)]
        untouched: bool,
    },
    /// Copy octets within the process
    CubitMemcpy {
        /// Unused
        #[arg(default_value = "")]
        endpoint: String,
    },
    /// Call an object of the same process
    Collocated {
        /// Route
        way: Way,
        /// Number of calls
        calls: i32,
    },
    /// Serve a plain object and a component
    ComponentCalled,
    /// Call a plain object and a component, in the same process if no references are given
    ComponentCaller {
        /// IOR:... of the plain object and of the facet
        references: Vec<String>,
    },
    /// Serve no object
    ComponentBare,
    /// Serve requests from memory
    Demux {
        /// Quantity that grows and its lookup
        shape: demux::Shape,
        /// Number of objects, operations or POAs
        many: usize,
        /// Number of requests to serve
        requests: usize,
    },
    /// Serve an event channel
    EventChannel {
        /// Endpoint to listen on
        #[arg(default_value = "iiop://127.0.0.1:0")]
        endpoint: String,
    },
    /// Push events to a channel, and receive them
    EventDriver {
        /// IOR:...
        reference: String,
        /// Endpoint of the consumers
        #[arg(default_value = "iiop://127.0.0.1:0")]
        endpoint: String,
    },
    /// Push events to a channel of the same process
    EventLocal,
    /// Serve an event channel with the queues of a schedule
    ScheduledChannel {
        /// IOR:... of the scheduling service
        scheduler: String,
        /// Number of low-priority pairs
        lows: usize,
    },
    /// Receive the events of all pairs of a scheduled channel
    ScheduledConsumers {
        /// IOR:... of the scheduling service
        scheduler: String,
        /// Number of low-priority pairs
        lows: usize,
        /// IOR:... of the channel
        channel: String,
    },
    /// Push the events of all pairs to a scheduled channel
    ScheduledSuppliers {
        /// IOR:... of the scheduling service
        scheduler: String,
        /// Number of low-priority pairs
        lows: usize,
        /// IOR:... of the channel
        channel: String,
    },
    /// Return octets
    EventRelay {
        /// Number of octets at a time
        octets: usize,
    },
    /// Send octets to a relay, and receive them
    EventRaw {
        /// host:port
        address: String,
        /// Receive the octets in a separate thread, as consumers do
        #[arg(long)]
        apart: bool,
    },
    /// Answer bare exchanges over TLS
    #[cfg(feature = "tls")]
    TlsServer {
        /// Size in octets of a request
        request: usize,
        /// Size in octets of a reply
        reply: usize,
        /// Folder of the certificates
        folder: std::path::PathBuf,
    },
    /// Make bare exchanges over TLS
    #[cfg(feature = "tls")]
    TlsClient {
        /// host:port
        address: String,
        /// Folder of the certificates
        folder: std::path::PathBuf,
    },
    /// Serve TLS handshakes
    #[cfg(feature = "tls")]
    HandshakeServer {
        /// Kind of server
        server: tls::handshakes::Server,
        /// Folder of the certificates
        folder: std::path::PathBuf,
    },
    /// Make TLS handshakes
    #[cfg(feature = "tls")]
    HandshakeClient {
        /// host:port
        address: String,
        /// Folder of the certificates
        folder: std::path::PathBuf,
    },
    /// Forward the calls of a Probe to another one
    #[cfg(feature = "gateway")]
    OxorbRelay {
        /// IOR:...
        reference: String,
    },
    /// Serve a gateway before a Probe
    #[cfg(feature = "gateway")]
    Gateway {
        /// Whether the gateway knows the types of the Probe
        types: gateway::sides::Types,
        /// IOR:...
        target: String,
        /// Number of simultaneous connections of clients, served by a pool of threads
        #[arg(long)]
        connections: Option<u32>,
    },
    /// Open many connections to a Probe
    #[cfg(feature = "gateway")]
    GatewayClient {
        /// IOR:...
        reference: String,
    },
    /// Send requests to an HTTP gateway
    HttpClient {
        /// host:port
        address: String,
    },
    /// Write and read values
    Marshal {
        /// Kind of code
        kind: Kind,
        /// IOR:..., of an object that need not exist
        reference: String,
    },
}

/// Peer whose programs are available.
pub(crate) struct Contender {
    /// Kind of peer.
    pub(crate) peer: Peer,
    omniorb: Option<omniorb::Programs>,
    /// Endpoint of OxORB's server; default: over TCP.
    endpoint: Option<String>,
}

/// A peer's two processes, connected and ready.
pub(crate) struct Pair {
    /// Process that makes the calls.
    pub(crate) client: Process,
    /// Process that serves the calls.
    pub(crate) server: Process,
}

/// Builds the programs of `peer` if necessary.
pub(crate) fn prepare(peer: Peer) -> Result<Contender> {
    let omniorb = match peer {
        Peer::OmniOrb => Some(omniorb::Programs::build()?),
        Peer::Raw | Peer::OxOrb => None,
    };
    Ok(Contender { peer, omniorb, endpoint: None })
}

impl Contender {
    /// Sets the endpoint of OxORB's server.
    pub(crate) fn at(mut self, endpoint: String) -> Contender {
        self.endpoint = Some(endpoint);
        self
    }

    /// Starts both processes for one experiment.
    pub(crate) fn start(&self, experiment: &Experiment, placement: Placement) -> Result<Pair> {
        self.start_under(experiment, placement, |_, command| command)
    }

    /// Starts both processes for one experiment, with each command wrapped.
    pub(crate) fn start_under(
        &self,
        experiment: &Experiment,
        placement: Placement,
        wrap: impl Fn(Role, Command) -> Command,
    ) -> Result<Pair> {
        let mut command = match &self.omniorb {
            Some(programs) => programs.server(),
            None => own_side(&format!("{}-server", self.peer))?,
        };
        if self.peer == Peer::Raw {
            // The server gets the lengths as arguments, so that the connection carries only messages.
            let lengths = wire::lengths(experiment.operation, experiment.size);
            command.args([lengths.request, lengths.reply].map(|length| length.to_string()));
        }
        if let (Peer::OxOrb, Some(endpoint)) = (self.peer, &self.endpoint) {
            command.arg(endpoint);
        }
        let mut command = wrap(Role::Server, command);
        let name = format!("the {} server", self.peer);
        let mut server = Process::start(name, placement, Role::Server, &mut command)?;
        let address = server.hear()?;

        let command = match &self.omniorb {
            Some(programs) => programs.client(&address),
            None => {
                let mut command = own_side(&format!("{}-client", self.peer))?;
                command.arg(&address);
                command
            }
        };
        let mut command = wrap(Role::Client, command);
        let name = format!("the {} client", self.peer);
        let mut client = Process::start(name, placement, Role::Client, &mut command)?;
        client.expect("ready")?;
        Ok(Pair { client, server })
    }
}

/// Runs one side until its standard input closes.
pub(crate) fn play(side: &Side) -> Result {
    match side {
        &Side::RawServer { request, reply } => raw::serve(Lengths { request, reply }),
        Side::RawClient { address } => raw::call(address),
        Side::OxorbServer { endpoint } => oxorb::serve(endpoint),
        Side::OxorbClient { reference } => oxorb::call(reference),
        Side::NameServer { port, store } => naming::serve(*port, store),
        Side::LoadServer { architecture, priorities, at } => {
            load::serve(*architecture, at.as_deref(), priorities)
        }
        Side::LoadClient { architecture, references } => load::call(*architecture, references),
        Side::ComponentCalled => components::serve(),
        Side::ComponentCaller { references } => components::call(references),
        Side::ComponentBare => components::serve_bare(),
        Side::OnewayServer => oneway::sides::serve(),
        Side::OnewayClient { mode, reference } => oneway::sides::call(*mode, reference),
        Side::CubitServer { endpoint } => protocols::sides::serve(endpoint),
        Side::CubitClient { reference } => protocols::sides::call(reference),
        Side::CubitPair { endpoint } => protocols::sides::serve_and_call(endpoint),
        Side::CubitRawServer { at } => protocols::sides::serve_raw(at),
        Side::CubitRawClient { address } => protocols::sides::call_raw(address),
        Side::CubitRingServer { path, wait, way } => protocols::ring::serve(path, *wait, *way),
        Side::CubitRingClient { path, wait, way } => protocols::ring::call(path, *wait, *way),
        Side::SinkServer { endpoint, untouched } => protocols::one_way::serve(endpoint, *untouched),
        Side::SinkClient { reference, placed, untouched } => {
            protocols::one_way::call(reference, *placed, *untouched)
        }
        Side::CubitMemcpy { .. } => protocols::one_way::copy(),
        &Side::Collocated { way, calls } => collocated::play(way, calls),
        &Side::Demux { shape, many, requests } => demux::play(shape, many, requests),
        Side::EventChannel { endpoint } => events::driver::serve(endpoint),
        Side::EventDriver { reference, endpoint } => events::driver::drive(reference, endpoint),
        Side::EventLocal => events::driver::drive_local(),
        Side::ScheduledChannel { scheduler, lows } => channel::processes::serve(scheduler, *lows),
        Side::ScheduledConsumers { scheduler, lows, channel } => {
            channel::processes::receive(scheduler, *lows, channel)
        }
        Side::ScheduledSuppliers { scheduler, lows, channel } => {
            channel::processes::push(scheduler, *lows, channel)
        }
        &Side::EventRelay { octets } => events::driver::relay(octets),
        Side::EventRaw { address, apart: false } => events::driver::drive_relay(address),
        Side::EventRaw { address, apart: true } => events::driver::drive_relay_apart(address),
        #[cfg(feature = "tls")]
        Side::TlsServer { request, reply, folder } => {
            tls::exchange::serve(Lengths { request: *request, reply: *reply }, folder)
        }
        #[cfg(feature = "tls")]
        Side::TlsClient { address, folder } => tls::exchange::call(address, folder),
        #[cfg(feature = "tls")]
        Side::HandshakeServer { server, folder } => tls::handshakes::serve(*server, folder),
        #[cfg(feature = "tls")]
        Side::HandshakeClient { address, folder } => tls::handshakes::call(address, folder),
        #[cfg(feature = "gateway")]
        Side::OxorbRelay { reference } => oxorb::relay(reference),
        #[cfg(feature = "gateway")]
        Side::Gateway { types, target, connections } => {
            gateway::sides::serve(*types, target, *connections)
        }
        #[cfg(feature = "gateway")]
        Side::GatewayClient { reference } => gateway::sides::connect(reference),
        Side::HttpClient { address } => http::client::call(address),
        Side::Marshal { kind, reference } => marshal::serve(*kind, reference),
    }
}

impl Pair {
    /// Makes the client perform `calls` calls.
    pub(crate) fn call(&mut self, experiment: &Experiment, calls: u32) -> Result {
        let Experiment { operation, size, .. } = experiment;
        let command = format!("run {operation} {size} {calls}");
        self.client.tell(&command)?;
        self.client.expect("done")
    }

    /// Ends both processes, the client first.
    pub(crate) fn finish(self) -> Result {
        self.client.finish()?;
        self.server.finish()
    }
}

display_by_name!(Peer);

/// Returns this program's command for one side of a pair.
pub(crate) fn own_side(side: &str) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["peer", side]);
    Ok(command)
}
