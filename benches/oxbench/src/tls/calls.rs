//! Calls over TLS and over TCP, by the ORB and without an ORB. Each pair of a client and a server is two processes.

use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;

use super::report::{self, CallReport};
use crate::Result;
use crate::experiment::{EXPERIMENTS, Experiment};
use crate::format::display_by_name;
use crate::peers::{Pair, own_side};
use crate::placement::{Placement, Role};
use crate::process::Process;
use crate::record::Record;
use crate::wire;

/// Call without payload.
pub(super) const PING: &str = "ping";

/// Call with 1 MiB in each direction.
pub(super) const LARGE: &str = "octets-1m";

/// Exchange of the octets of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Contender {
    /// Bare exchange over TCP.
    Tcp,
    /// Call over IIOP.
    Iiop,
    /// Bare exchange over TLS.
    Rustls,
    /// Call over IIOP over TLS.
    Iiops,
}

display_by_name!(Contender);

/// All contenders, in the order of the report and of their discriminants.
pub(super) const CONTENDERS: [Contender; 4] =
    [Contender::Tcp, Contender::Iiop, Contender::Rustls, Contender::Iiops];

/// Measures each call by each contender.
pub(super) fn measure(
    folder: &Path,
    placement: Placement,
    rounds: u32,
    divisor: u32,
) -> Result<Vec<CallReport>> {
    let mut reports = Vec::new();
    for experiment in EXPERIMENTS.iter().filter(|it| [PING, LARGE].contains(&it.name)) {
        eprintln!("{} ...", experiment.name);
        let calls = experiment.calls / divisor;
        let mut records = CONTENDERS.map(|_| Record::empty());
        for round in 0..rounds {
            // Each round begins with another contender, so that drift of the machine affects all equally and none
            // always follows the same one.
            let first = round as usize % CONTENDERS.len();
            for at in (first..CONTENDERS.len()).chain(0..first) {
                let mut pair = CONTENDERS[at].start(experiment, placement, folder)?;
                // Warm-up: caches, connection, buffers and the kernel's socket buffers reach their final size.
                pair.call(experiment, calls / 2 + 1)?;
                pair.call(experiment, calls)?;
                records[at].add(pair.client.samples(calls)?);
                pair.finish()?;
            }
        }
        reports.push(report::call(experiment, &records));
    }
    Ok(reports)
}

impl Contender {
    /// Starts both processes for one experiment. Neither side over TLS requests or shows a certificate of a client.
    fn start(self, experiment: &Experiment, placement: Placement, folder: &Path) -> Result<Pair> {
        let lengths = wire::lengths(experiment.operation, experiment.size);
        let lengths = [lengths.request, lengths.reply].map(|length| length.to_string());
        let [server, client] = match self {
            Self::Tcp => ["raw-server", "raw-client"],
            Self::Rustls => ["tls-server", "tls-client"],
            Self::Iiop | Self::Iiops => ["oxorb-server", "oxorb-client"],
        };
        let mut command = own_side(server)?;
        match self {
            Self::Tcp => command.args(&lengths),
            Self::Rustls => command.args(&lengths).arg(folder),
            Self::Iiop => command.arg("iiop://127.0.0.1:0"),
            Self::Iiops => {
                let own = folder.join("server.pem");
                command.arg("iiops://127.0.0.1:0").env("OXORB_TLSCERTIFICATE", own)
            }
        };
        let name = format!("the {self} server");
        let mut server = Process::start(name, placement, Role::Server, &mut command)?;
        let address = server.hear()?;
        let mut command = own_side(client)?;
        command.arg(&address);
        match self {
            Self::Tcp | Self::Iiop => {}
            Self::Rustls => {
                command.arg(folder);
            }
            Self::Iiops => {
                command.env("OXORB_TLSROOTS", folder.join("ca.pem"));
            }
        }
        let name = format!("the {self} client");
        let mut client = Process::start(name, placement, Role::Client, &mut command)?;
        client.expect("ready")?;
        Ok(Pair { client, server })
    }
}
