//! Architectures under test: each strategy of connecting and serving, the floor and omniORB.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;

use super::{Samples, Task, priority, protocol};
use crate::Result;
use crate::format::display_by_name;
use crate::peers::{available, jacorb, omniorb, own_side};
use crate::placement::{Placement, Role};
use crate::process::Process;
use crate::protocols::Folder;

/// Load before the measured one, for just-in-time compilation by a virtual machine.
const COMPILING: Duration = Duration::from_secs(1);

/// Pair of programs and their configuration, in the order of the report.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Architecture {
    /// Sockets, threads, the system's priorities, no ORB
    Floor,
    /// OxORB: a lane for each priority, private connections
    Lanes,
    /// OxORB: as `lanes`, but with asynchronous calls to the first object
    LanesAsynchronous,
    /// OxORB: as `lanes`, but with the first client in the server's process
    LanesCollocated,
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
    /// OxORB: all clients share one connection, read by a thread of the ORB; no priorities
    Shared,
    /// OxORB: all clients share one connection, read by one of the waiting clients; no priorities
    Led,
    /// omniORB with its defaults
    #[value(name = "omniorb")]
    #[serde(rename = "omniorb")]
    OmniOrb,
    /// omniORB with all clients on one connection
    #[value(name = "omniorb-shared")]
    #[serde(rename = "omniorb-shared")]
    OmniOrbShared,
    /// JacORB with its defaults: all clients share one connection
    #[value(name = "jacorb")]
    #[serde(rename = "jacorb")]
    JacOrb,
}

impl Architecture {
    /// Reports whether the threads of the architecture have priorities of the operating system.
    pub(crate) fn has_priorities(self) -> bool {
        self == Architecture::Floor || self.has_lanes()
    }

    /// Reports whether OxORB serves in lanes.
    pub(crate) fn has_lanes(self) -> bool {
        matches!(
            self,
            Architecture::Lanes | Architecture::LanesAsynchronous | Architecture::LanesCollocated
        )
    }

    /// Returns architectures whose clients have their own connections, are in another process, and wait for replies.
    pub(crate) fn usual() -> Vec<Architecture> {
        let all = Architecture::value_variants().iter().copied();
        let special = [
            Architecture::LanesAsynchronous,
            Architecture::LanesCollocated,
            Architecture::OmniOrbShared,
            Architecture::JacOrb,
        ];
        all.filter(|it| !special.contains(it)).collect()
    }

    /// Reports whether all clients share one connection.
    pub(crate) fn shares(self) -> bool {
        matches!(
            self,
            Architecture::Shared
                | Architecture::Led
                | Architecture::OmniOrbShared
                | Architecture::JacOrb
        )
    }

    /// Builds the programs outside this one.
    fn prepare(self) -> Result<Contender> {
        if self.has_priorities() && !priority::is_allowed() {
            return Err(
                "it needs the privilege to run at SCHED_FIFO: root, CAP_SYS_NICE or `ulimit -r 99`"
                    .into(),
            );
        }
        let programs = match self {
            Architecture::OmniOrb | Architecture::OmniOrbShared => {
                Programs::OmniOrb(omniorb::Load::build()?)
            }
            Architecture::JacOrb => Programs::JacOrb(jacorb::Load::build()?),
            _ => Programs::Own,
        };
        Ok(Contender { architecture: self, programs, sockets: None })
    }
}

display_by_name!(Architecture);

/// Architecture whose programs are available.
pub(crate) struct Contender {
    pub(crate) architecture: Architecture,
    programs: Programs,
    /// OxORB's protocol, and the folder of the sockets that clients connect to; `None`: over TCP.
    sockets: Option<(&'static str, Arc<Folder>)>,
}

enum Programs {
    Own,
    OmniOrb(omniorb::Load),
    JacOrb(jacorb::Load),
}

/// Placement and duration of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) placement: Placement,
    pub(crate) duration: Duration,
}

/// Server process, and the process of all clients.
pub(crate) struct Pair {
    pub(crate) client: Process,
    pub(crate) server: Process,
    /// Whether the first client is in the server's process.
    collocates: bool,
}

impl Pair {
    /// Makes the clients perform the calls of one load.
    pub(crate) fn load(&mut self, tasks: &[Task], duration: Duration) -> Result<Vec<Samples>> {
        let inside = usize::from(self.collocates);
        let (inside, outside) = tasks.split_at(inside.min(tasks.len()));
        let mut both = [(&mut self.server, inside), (&mut self.client, outside)];
        both.iter_mut()
            .filter(|(_, tasks)| !tasks.is_empty())
            .try_for_each(|(process, tasks)| protocol::tell(process, tasks, duration))?;
        let heard = both.map(|(process, tasks)| protocol::hear(process, tasks.len()));
        Ok(heard.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }

    /// Ends both processes.
    pub(crate) fn finish(self) -> Result {
        self.client.finish()?;
        self.server.finish()
    }
}

impl Contender {
    /// Returns the requested contenders; by default all of `known`, with unavailable ones reported and left out.
    pub(crate) fn all(asked: &[Architecture], known: &[Architecture]) -> Result<Vec<Contender>> {
        available(asked, known, Architecture::prepare)
    }

    /// Uses UNIX sockets in a folder; OxORB's clients use the given protocol.
    pub(crate) fn over(mut self, sockets: Option<&(&'static str, Arc<Folder>)>) -> Contender {
        self.sockets = sockets.cloned();
        self
    }

    /// Measures clients that call objects of these priorities. Starts new processes each time, so that loads do not
    /// affect each other.
    pub(crate) fn measure(
        &self,
        setting: Setting,
        priorities: &[i16],
        tasks: &[Task],
    ) -> Result<Vec<Samples>> {
        self.measure_against(self, setting, priorities, tasks)
    }

    /// Measures its clients with another contender's server.
    pub(crate) fn measure_against(
        &self,
        server: &Contender,
        setting: Setting,
        priorities: &[i16],
        tasks: &[Task],
    ) -> Result<Vec<Samples>> {
        let placement = setting.placement;
        let mut pair = self.start_with(server, placement, priorities, |_, command| command)?;
        if [self, server].iter().any(|side| side.is_java()) {
            pair.load(tasks, COMPILING)?;
        }
        let samples = pair.load(tasks, setting.duration)?;
        pair.finish()?;
        Ok(samples)
    }

    /// Starts both processes, with each command wrapped.
    pub(crate) fn start_under(
        &self,
        placement: Placement,
        priorities: &[i16],
        wrap: impl FnMut(Role, Command) -> Command,
    ) -> Result<Pair> {
        self.start_with(self, placement, priorities, wrap)
    }

    fn start_with(
        &self,
        server: &Contender,
        placement: Placement,
        priorities: &[i16],
        mut wrap: impl FnMut(Role, Command) -> Command,
    ) -> Result<Pair> {
        let collocates = server.architecture == Architecture::LanesCollocated;
        let name = format!("the server of {}", server.architecture);
        let mut command = wrap(Role::Server, server.server(priorities)?);
        let mut server = Process::start(name, placement, Role::Server, &mut command)?;
        let references = server.hear()?;
        if collocates {
            server.expect("ready")?;
        }
        let name = format!("the client of {}", self.architecture);
        let mut command = wrap(Role::Client, self.client(&references)?);
        let mut client = Process::start(name, placement, Role::Client, &mut command)?;
        client.expect("ready")?;
        Ok(Pair { client, server, collocates })
    }

    fn is_java(&self) -> bool {
        matches!(self.programs, Programs::JacOrb(_))
    }

    fn server(&self, priorities: &[i16]) -> Result<Command> {
        let file = self.sockets.as_ref().map(|(_, folder)| folder.file());
        let mut command = match (&self.programs, &file) {
            (Programs::OmniOrb(programs), None) => programs.server("giop:tcp:127.0.0.1:"),
            (Programs::OmniOrb(programs), Some(file)) => {
                programs.server(&format!("giop:unix:{file}"))
            }
            (Programs::JacOrb(programs), None) => programs.server(),
            (Programs::JacOrb(_), Some(_)) => return Err("JacORB has no UNIX sockets".into()),
            (Programs::Own, _) => self.own_side("load-server")?,
        };
        command.args(priorities.iter().map(i16::to_string));
        match file {
            Some(file) if self.architecture == Architecture::Floor => {
                command.args(["--at", &file]);
            }
            Some(file) if matches!(self.programs, Programs::Own) => {
                let protocol = self.sockets.as_ref().map_or("uiop", |(protocol, _)| protocol);
                command.args(["--at", &format!("{protocol}://{file}")]);
            }
            _ => {}
        }
        Ok(command)
    }

    /// Returns the command of the client. `references`: output of the server.
    fn client(&self, references: &str) -> Result<Command> {
        let mut command = match &self.programs {
            Programs::OmniOrb(programs) if self.architecture.shares() => programs.sharing_client(),
            Programs::OmniOrb(programs) => programs.client(),
            Programs::JacOrb(programs) => programs.client(),
            Programs::Own => self.own_side("load-client")?,
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
