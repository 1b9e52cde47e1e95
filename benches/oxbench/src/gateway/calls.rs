//! Calls with and without a process between client and server.

use clap::ValueEnum;
use serde::Serialize;

use super::report::{self, CallReport};
use super::sides::Types;
use crate::Result;
use crate::experiment::{EXPERIMENTS, Experiment};
use crate::format::display_by_name;
use crate::peers::own_side;
use crate::placement::{Placement, Role};
use crate::process::Process;
use crate::record::Record;

/// Names of the measured calls.
pub(super) const CALLS: [&str; 3] = ["ping", "octets-64k", "octets-1m"];

/// Process between client and server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Contender {
    /// No process.
    Direct,
    /// Object of generated code that makes a second plain call.
    Relay,
    /// Gateway that knows the types of the operations.
    Gateway,
    /// Gateway that searches the octets of the values for references.
    Search,
}

display_by_name!(Contender);

/// All contenders, in the order of the report and of their discriminants.
pub(super) const CONTENDERS: [Contender; 4] =
    [Contender::Direct, Contender::Relay, Contender::Gateway, Contender::Search];

/// Calls of one contender so far.
pub(super) struct Taken {
    pub(super) calls: Record,
    /// Number of allocations of the process between client and server in each round.
    pub(super) allocations: Vec<u64>,
}

impl Taken {
    pub(super) fn nothing() -> Taken {
        Taken { calls: Record::empty(), allocations: Vec::new() }
    }
}

/// Measures each call by each contender.
pub(super) fn measure(placement: Placement, rounds: u32, divisor: u32) -> Result<Vec<CallReport>> {
    let mut reports = Vec::new();
    for experiment in EXPERIMENTS.iter().filter(|it| CALLS.contains(&it.name)) {
        eprintln!("{} ...", experiment.name);
        let calls = experiment.calls / divisor;
        let mut all = CONTENDERS.map(|_| Taken::nothing());
        for round in 0..rounds {
            // Each round begins with another contender, so that drift of the machine affects all equally and none
            // always follows the same one.
            let first = round as usize % CONTENDERS.len();
            for at in (first..CONTENDERS.len()).chain(0..first) {
                let mut chain = Chain::start(CONTENDERS[at], placement)?;
                // Warm-up: caches, connections, buffers and the kernel's socket buffers reach their final size.
                chain.call(experiment, calls / 2 + 1)?;
                // A query allocates, too. The difference between these two is the number of allocations of one query.
                let [earlier, before] = [chain.allocations()?, chain.allocations()?];
                chain.call(experiment, calls)?;
                let made = chain.allocations()? - before;
                all[at].allocations.push(made.saturating_sub(before - earlier));
                all[at].calls.add(chain.client.samples(calls)?);
                chain.finish()?;
            }
        }
        reports.push(report::call(experiment, &all));
    }
    Ok(reports)
}

/// Client, server, and the process between them.
struct Chain {
    client: Process,
    between: Option<Process>,
    server: Process,
}

impl Chain {
    fn start(contender: Contender, placement: Placement) -> Result<Chain> {
        let start = |name: String, side: &str, arguments: &[&str]| -> Result<(Process, String)> {
            let mut command = own_side(side)?;
            command.args(arguments);
            let mut process = Process::start(name, placement, Role::Server, &mut command)?;
            let reference = process.hear()?;
            Ok((process, reference))
        };
        let (server, target) = start("the server".to_owned(), "oxorb-server", &[])?;
        let name = format!("the process {contender}");
        let gateway = |name, types: Types| start(name, "gateway", &[&types.to_string(), &target]);
        let started = match contender {
            Contender::Direct => None,
            Contender::Relay => Some(start(name, "oxorb-relay", &[&target])?),
            Contender::Gateway => Some(gateway(name, Types::Known)?),
            Contender::Search => Some(gateway(name, Types::Unknown)?),
        };
        let (between, reference) = match started {
            None => (None, target),
            Some((process, reference)) => (Some(process), reference),
        };
        let mut command = own_side("oxorb-client")?;
        command.arg(&reference);
        let name = format!("the client of {contender}");
        let mut client = Process::start(name, placement, Role::Client, &mut command)?;
        client.expect("ready")?;
        Ok(Chain { client, between, server })
    }

    /// Makes the client perform `calls` calls.
    fn call(&mut self, experiment: &Experiment, calls: u32) -> Result {
        let Experiment { operation, size, .. } = experiment;
        self.client.tell(&format!("run {operation} {size} {calls}"))?;
        self.client.expect("done")
    }

    /// Returns the number of allocations of the process between client and server so far.
    fn allocations(&mut self) -> Result<u64> {
        let Some(between) = &mut self.between else {
            return Ok(0);
        };
        between.tell("allocations")?;
        Ok(between.hear()?.parse()?)
    }

    /// Ends all processes, the client first.
    fn finish(self) -> Result {
        self.client.finish()?;
        if let Some(between) = self.between {
            between.finish()?;
        }
        self.server.finish()
    }
}
