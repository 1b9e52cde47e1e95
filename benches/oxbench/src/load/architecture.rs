//! Who is measured: each way to connect and to serve, beside the floor and omniORB.

use std::fmt;
use std::process::Command;
use std::time::Duration;

use clap::ValueEnum;
use plotters::style::RGBColor;
use serde::Serialize;

use super::{Samples, Task, priority, protocol};
use crate::Result;
use crate::peers::omniorb::Load;
use crate::peers::own_side;
use crate::placement::{Placement, Role};
use crate::process::Process;

/// A pair of programs and how they are set up, in the order of the report.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Architecture {
    /// Sockets, threads, the system's priorities, no ORB
    Floor,
    /// OxORB: a lane for each priority, private connections
    Lanes,
    /// OxORB: a thread for each connection, no priorities
    Threads,
    /// OxORB: four leader/follower workers, no priorities
    Workers,
    /// OxORB: one thread reads and serves everything, no priorities
    Reactive,
    /// OxORB: one thread reads and queues, four workers serve, no priorities
    Pool,
    /// OxORB: one thread reads and starts a thread for each request, no priorities
    Spawned,
    /// OxORB: all clients share one connection, which a thread of the ORB reads; no priorities
    Shared,
    /// OxORB: all clients share one connection, which one of those that wait reads; no priorities
    Led,
    /// omniORB as it is by default
    #[value(name = "omniorb")]
    #[serde(rename = "omniorb")]
    OmniOrb,
    /// omniORB whose clients share one connection
    #[value(name = "omniorb-shared")]
    #[serde(rename = "omniorb-shared")]
    OmniOrbShared,
}

impl Architecture {
    /// Whether its threads have priorities of the operating system.
    pub(crate) fn has_priorities(self) -> bool {
        matches!(self, Architecture::Floor | Architecture::Lanes)
    }

    /// All but that which only `oxbench throughput --one-connection` measures.
    pub(crate) fn usual() -> Vec<Architecture> {
        let all = Architecture::value_variants().iter().copied();
        all.filter(|&it| it != Architecture::OmniOrbShared)
            .collect()
    }

    /// Whether all clients share one connection.
    pub(crate) fn shares(self) -> bool {
        matches!(
            self,
            Architecture::Shared | Architecture::Led | Architecture::OmniOrbShared
        )
    }

    /// Of its curve, in all plots.
    pub(crate) fn color(self) -> RGBColor {
        match self {
            Architecture::Floor => RGBColor(120, 120, 120),
            Architecture::Lanes => RGBColor(214, 69, 29),
            Architecture::Threads => RGBColor(230, 160, 30),
            Architecture::Workers => RGBColor(44, 160, 44),
            Architecture::Reactive => RGBColor(23, 190, 207),
            Architecture::Pool => RGBColor(188, 189, 34),
            Architecture::Spawned => RGBColor(227, 119, 194),
            Architecture::Shared => RGBColor(148, 103, 189),
            Architecture::Led => RGBColor(140, 86, 75),
            Architecture::OmniOrb => RGBColor(31, 119, 180),
            Architecture::OmniOrbShared => RGBColor(174, 199, 232),
        }
    }

    /// Builds what is not part of this program.
    fn prepare(self) -> Result<Contender> {
        if self.has_priorities() && !priority::is_allowed() {
            return Err(
                "it needs the privilege to run at SCHED_FIFO: root, CAP_SYS_NICE or `ulimit -r 99`"
                    .into(),
            );
        }
        let omniorb = match self {
            Architecture::OmniOrb | Architecture::OmniOrbShared => Some(Load::build()?),
            _ => None,
        };
        Ok(Contender {
            architecture: self,
            omniorb,
        })
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("none is skipped");
        f.pad(value.get_name())
    }
}

/// An architecture whose programs are there.
pub(crate) struct Contender {
    pub(crate) architecture: Architecture,
    omniorb: Option<Load>,
}

/// Where and for how long a contender is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) placement: Placement,
    pub(crate) duration: Duration,
}

/// A server process, and the process of all clients.
pub(crate) struct Pair {
    pub(crate) client: Process,
    pub(crate) server: Process,
}

impl Pair {
    /// Has the clients make the calls of one load.
    pub(crate) fn load(&mut self, tasks: &[Task], duration: Duration) -> Result<Vec<Samples>> {
        protocol::ask(&mut self.client, tasks, duration)
    }

    /// Ends both.
    pub(crate) fn finish(self) -> Result {
        self.client.finish()?;
        self.server.finish()
    }
}

impl Contender {
    /// Those asked for. Nobody asked: all of `known`, and what cannot be had is named and left out.
    pub(crate) fn all(asked: &[Architecture], known: &[Architecture]) -> Result<Vec<Contender>> {
        let mut contenders = Vec::new();
        for &architecture in if asked.is_empty() { known } else { asked } {
            match architecture.prepare() {
                Ok(contender) => contenders.push(contender),
                Err(error) if asked.is_empty() => eprintln!("{architecture} is left out: {error}"),
                Err(error) => return Err(format!("{architecture}: {error}").into()),
            }
        }
        Ok(contenders)
    }

    /// Lets the clients call objects of these priorities. New processes each time: nothing of one load shows in the next.
    pub(crate) fn measure(
        &self,
        setting: Setting,
        priorities: &[i16],
        tasks: &[Task],
    ) -> Result<Vec<Samples>> {
        let mut pair = self.start_under(setting.placement, priorities, |_, command| command)?;
        let samples = pair.load(tasks, setting.duration)?;
        pair.finish()?;
        Ok(samples)
    }

    /// Starts both processes, with each command wrapped into another first.
    pub(crate) fn start_under(
        &self,
        placement: Placement,
        priorities: &[i16],
        mut wrap: impl FnMut(Role, Command) -> Command,
    ) -> Result<Pair> {
        let name = |side| format!("the {side} of {}", self.architecture);
        let mut command = wrap(Role::Server, self.server(priorities)?);
        let mut server = Process::start(name("server"), placement, Role::Server, &mut command)?;
        let references = server.hear()?;
        let mut command = wrap(Role::Client, self.client(&references)?);
        let mut client = Process::start(name("client"), placement, Role::Client, &mut command)?;
        client.expect("ready")?;
        Ok(Pair { client, server })
    }

    fn server(&self, priorities: &[i16]) -> Result<Command> {
        let mut command = match &self.omniorb {
            Some(programs) => programs.server(),
            None => self.own_side("load-server")?,
        };
        command.args(priorities.iter().map(i16::to_string));
        Ok(command)
    }

    /// `references`: what the server has printed.
    fn client(&self, references: &str) -> Result<Command> {
        let mut command = match &self.omniorb {
            Some(programs) if self.architecture.shares() => programs.sharing_client(),
            Some(programs) => programs.client(),
            None => self.own_side("load-client")?,
        };
        command.args(references.split_whitespace());
        Ok(command)
    }

    fn own_side(&self, side: &str) -> Result<Command> {
        let mut command = own_side(side)?;
        command.arg(self.architecture.to_string());
        Ok(command)
    }
}
