//! Who is measured: each way to connect and to serve, beside the floor and omniORB.

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

/// Load before the one that counts, where a virtual machine compiles what it runs.
const COMPILING: Duration = Duration::from_secs(1);

/// A pair of programs and how they are set up, in the order of the report.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Architecture {
    /// Sockets, threads, the system's priorities, no ORB
    Floor,
    /// OxORB: a lane for each priority, private connections
    Lanes,
    /// OxORB: as lanes, but the calls to the first object are asynchronous
    LanesAsynchronous,
    /// OxORB: as lanes, but the first client is in the server's process
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
    /// JacORB as it is by default: all clients share one connection
    #[value(name = "jacorb")]
    #[serde(rename = "jacorb")]
    JacOrb,
}

impl Architecture {
    /// Reports whether its threads have priorities of the operating system.
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

    /// Returns those whose clients have connections of their own and call from another process, and wait.
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

    /// Builds what is not part of this program.
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

/// An architecture whose programs are there.
pub(crate) struct Contender {
    pub(crate) architecture: Architecture,
    programs: Programs,
    /// OxORB's protocol, and folder of the sockets that the clients connect to; `None`: over TCP.
    sockets: Option<(&'static str, Arc<Folder>)>,
}

enum Programs {
    Own,
    OmniOrb(omniorb::Load),
    JacOrb(jacorb::Load),
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
    /// The first client is in the server's process.
    collocates: bool,
}

impl Pair {
    /// Has the clients make the calls of one load.
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

    /// Ends both.
    pub(crate) fn finish(self) -> Result {
        self.client.finish()?;
        self.server.finish()
    }
}

impl Contender {
    /// Those asked for. Nobody asked: all of `known`, and what cannot be had is named and left out.
    pub(crate) fn all(asked: &[Architecture], known: &[Architecture]) -> Result<Vec<Contender>> {
        available(asked, known, Architecture::prepare)
    }

    /// Connects at UNIX sockets in a folder, OxORB's clients by a protocol.
    pub(crate) fn over(mut self, sockets: Option<&(&'static str, Arc<Folder>)>) -> Contender {
        self.sockets = sockets.cloned();
        self
    }

    /// Lets the clients call objects of these priorities. New processes each time: nothing of one load shows in the next.
    pub(crate) fn measure(
        &self,
        setting: Setting,
        priorities: &[i16],
        tasks: &[Task],
    ) -> Result<Vec<Samples>> {
        self.measure_against(self, setting, priorities, tasks)
    }

    /// Lets its clients call objects of another contender's server.
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

    /// Starts both processes, with each command wrapped into another first.
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

    /// `references`: what the server has printed.
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
