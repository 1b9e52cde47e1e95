//! Cost of deploying a hundred instances on four nodes of this machine, compared with starting as many processes.

use std::fmt;
use std::time::Instant;

use serde::Serialize;

use super::locality::{Locality, Stage};
use super::plans;
use crate::Result;
use crate::peers::own_side;
use crate::placement::{Placement, Role};
use crate::process::Process;
use crate::table::Table;

const INSTANCES: usize = 100;
const NODES: usize = 4;

/// Milliseconds and KiB of each round, alternating.
#[derive(Debug, Serialize)]
pub(super) struct Deployment {
    instances: usize,
    nodes: usize,
    rounds: Vec<Round>,
}

#[derive(Debug, Serialize)]
struct Round {
    /// Four processes, each with only a listening ORB.
    bare: Cost,
    /// Four processes with all instances of the plan, connected and active.
    deployed: Cost,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct Cost {
    /// Milliseconds from the start of the first process until the last one is ready.
    time: f64,
    /// KiB of all processes together; shared memory is divided among them (Pss).
    memory: f64,
}

pub(super) fn measure(rounds: u32) -> Result<Deployment> {
    let plan = plans::crowd(INSTANCES, NODES);
    let rounds = (0..rounds).map(|round| {
        eprintln!("deployment of {INSTANCES} instances, round {} ...", round + 1);
        Ok(Round { bare: bare()?, deployed: deployed(&plan)? })
    });
    Ok(Deployment { instances: INSTANCES, nodes: NODES, rounds: rounds.collect::<Result<_>>()? })
}

fn bare() -> Result<Cost> {
    let begin = Instant::now();
    let start = |node| {
        let mut command = own_side("component-bare")?;
        let name = format!("bare process {node}");
        Process::start(name, Placement::Free, Role::Server, &mut command)
    };
    let mut processes = (0..NODES).map(start).collect::<Result<Vec<_>>>()?;
    processes.iter_mut().try_for_each(|process| process.expect("ready"))?;
    let time = begin.elapsed().as_secs_f64() * 1000.0;
    let memory = processes.iter().map(|it| pss(it.id())).sum::<Result<_>>()?;
    processes.into_iter().try_for_each(Process::finish)?;
    Ok(Cost { time, memory })
}

fn deployed(plan: &str) -> Result<Cost> {
    let stage = Stage::new(("crowd.toml", plan), None)?;
    let begin = Instant::now();
    let start = |node| {
        let node = format!("node-{node}");
        Locality::start(&stage, &node, Placement::Free, Role::Server)
    };
    let mut processes = (0..NODES).map(start).collect::<Result<Vec<_>>>()?;
    processes.iter_mut().try_for_each(Locality::wait)?;
    let time = begin.elapsed().as_secs_f64() * 1000.0;
    let memory = processes.iter().map(|it| pss(it.id())).sum::<Result<_>>()?;
    processes.into_iter().try_for_each(Locality::finish)?;
    Ok(Cost { time, memory })
}

/// Runs a process with a listening ORB, until standard input closes.
pub(crate) fn serve_bare() -> Result {
    let orb = oxorb::Orb::builder().listen("iiop://127.0.0.1:0").build()?;
    crate::session::announce("ready")?;
    orb.shutdown(true)?;
    Ok(())
}

/// Returns the proportional set size of a process, in KiB.
fn pss(process: u32) -> Result<f64> {
    let file = format!("/proc/{process}/smaps_rollup");
    let text =
        std::fs::read_to_string(&file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.ok_or_else(|| format!("{file} has no line Pss").into())
}

impl Deployment {
    /// Returns the median of each cost, bare and deployed.
    fn medians(&self) -> [Cost; 2] {
        let median = |of: &dyn Fn(&Round) -> f64| {
            let mut all: Vec<f64> = self.rounds.iter().map(of).collect();
            all.sort_unstable_by(f64::total_cmp);
            all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
        };
        [
            Cost {
                time: median(&|round| round.bare.time),
                memory: median(&|round| round.bare.memory),
            },
            Cost {
                time: median(&|round| round.deployed.time),
                memory: median(&|round| round.deployed.memory),
            },
        ]
    }
}

impl fmt::Display for Deployment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Deployment { instances, nodes, rounds } = self;
        let [bare, deployed] = self.medians();
        let more = Cost {
            time: (deployed.time - bare.time) / *instances as f64,
            memory: (deployed.memory - bare.memory) / *instances as f64,
        };
        let names = [
            &format!("{nodes} processes with an ORB each"),
            &format!("{instances} connected instances on {nodes} nodes"),
            "more for each instance",
        ];
        let table = Table::of(names.into_iter().zip([bare, deployed, more]))
            .left([""], |(name, _)| [name])
            .fixed(["ms"], 2, |(_, cost)| [cost.time])
            .fixed(["Pss, KiB"], 1, |(_, cost)| [cost.memory]);
        write!(f, "deployment, median of {} rounds in turns\n{table}", rounds.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_process_is_read() {
        assert!(pss(std::process::id()).unwrap() > 100.0);
        assert!(pss(u32::MAX).unwrap_err().to_string().contains("smaps_rollup"));
    }
}
