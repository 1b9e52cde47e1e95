//! omniORB: C++ programs, built on first use.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use oxorb_testkit::net::free_port;

use super::build::{build, run};
use crate::Result;
use crate::placement::{Placement, Role};
use crate::process::Process;

/// Requirements of omniORB's programs.
const HINT: &str =
    "omniidl, g++ and omniORB's headers; on Debian: apt install omniidl libomniorb4-dev g++";

const SOURCES: [(&str, &str); 3] = [
    ("probe.idl", include_str!("../../idl/probe.idl")),
    ("server.cc", include_str!("../../peers/omniorb/server.cc")),
    ("client.cc", include_str!("../../peers/omniorb/client.cc")),
];

const CODEC_SOURCES: [(&str, &str); 2] = [
    ("marshal.idl", include_str!("../../idl/marshal.idl")),
    ("marshal.cc", include_str!("../../peers/omniorb/marshal.cc")),
];

/// Programs of the pair.
pub(crate) struct Programs {
    directory: PathBuf,
}

impl Programs {
    /// Builds both next to this program, unless these sources were built there before.
    pub(crate) fn build() -> Result<Programs> {
        let directory = build("omniorb", &SOURCES, |directory| {
            let idl = ["-bcxx", "-Wbh=.hh", "-Wbs=SK.cc", "probe.idl"];
            run(directory, "omniidl", &idl, HINT)?;
            for program in ["server", "client"] {
                let source = format!("{program}.cc");
                compile(directory, program, &[&source, "probeSK.cc"])?;
            }
            Ok(())
        })?;
        Ok(Programs { directory })
    }

    /// Returns the command of the server in omniORB's fastest configuration: a thread for each connection (its default)
    /// and no scans for idle connections.
    pub(super) fn server(&self) -> Command {
        let mut command = Command::new(self.directory.join("server"));
        command.args(["-ORBendPoint", "giop:tcp:127.0.0.1:"]);
        command.args(["-ORBthreadPerConnectionPolicy", "1"]);
        command.args(["-ORBgiopMaxMsgSize", "67108864"]);
        command.args(QUIET);
        command
    }

    /// Returns the command of the client.
    pub(super) fn client(&self, reference: &str) -> Command {
        let mut command = Command::new(self.directory.join("client"));
        command.arg(reference);
        command.args(["-ORBmaxGIOPConnectionPerServer", "100"]);
        command.args(["-ORBgiopMaxMsgSize", "67108864"]);
        command.args(QUIET);
        command
    }
}

/// Program that writes and reads values without sending them.
pub(crate) struct Codec {
    directory: PathBuf,
}

impl Codec {
    /// Builds it next to this program, unless these sources were built there before.
    pub(crate) fn build() -> Result<Codec> {
        let directory = build("omniorb-codec", &CODEC_SOURCES, |directory| {
            let idl = ["-bcxx", "-Wba", "-Wbh=.hh", "-Wbs=SK.cc", "-Wbd=DynSK.cc"];
            run(directory, "omniidl", &[&idl[..], &["marshal.idl"]].concat(), HINT)?;
            let sources = ["marshal.cc", "marshalSK.cc", "marshalDynSK.cc"];
            compile(directory, "marshal", &sources)
        })?;
        Ok(Codec { directory })
    }

    /// Returns the command, whose argument is a reference.
    pub(crate) fn command(&self) -> Command {
        Command::new(self.directory.join("marshal"))
    }
}

const LOAD_SOURCES: [(&str, &str); 3] = [
    ("load.idl", include_str!("../../idl/load.idl")),
    ("load-server.cc", include_str!("../../peers/omniorb/load-server.cc")),
    ("load-client.cc", include_str!("../../peers/omniorb/load-client.cc")),
];

/// Programs of `oxbench inversion`, `lanes` and `throughput`, with omniORB's defaults.
pub(crate) struct Load {
    directory: PathBuf,
}

impl Load {
    /// Builds them next to this program, unless these sources were built there before.
    pub(crate) fn build() -> Result<Load> {
        let directory = build("omniorb-load", &LOAD_SOURCES, |directory| {
            let idl = ["-bcxx", "-Wbh=.hh", "-Wbs=SK.cc", "load.idl"];
            run(directory, "omniidl", &idl, HINT)?;
            for program in ["load-server", "load-client"] {
                let source = format!("{program}.cc");
                compile(directory, program, &[&source, "loadSK.cc"])?;
            }
            Ok(())
        })?;
        Ok(Load { directory })
    }

    /// Returns the command of the server, whose arguments are the priorities of its objects; it only uses their number.
    pub(crate) fn server(&self, endpoint: &str) -> Command {
        let mut command = Command::new(self.directory.join("load-server"));
        command.args(["-ORBendPoint", endpoint]);
        command
    }

    /// Returns the command of the client, whose arguments are the references printed by the server.
    pub(crate) fn client(&self) -> Command {
        Command::new(self.directory.join("load-client"))
    }

    /// Returns the command of the client whose threads share one connection, without waiting for each other's replies.
    pub(crate) fn sharing_client(&self) -> Command {
        let mut command = Command::new(self.directory.join("load-client"));
        command.args(["-ORBmaxGIOPConnectionPerServer", "1"]);
        command.args(["-ORBoneCallPerConnection", "0"]);
        command.args(QUIET);
        command
    }
}

const ONEWAY_SOURCES: [(&str, &str); 3] = [
    ("oneway.idl", include_str!("../../idl/oneway.idl")),
    ("oneway-server.cc", include_str!("../../peers/omniorb/oneway-server.cc")),
    ("oneway-client.cc", include_str!("../../peers/omniorb/oneway-client.cc")),
];

/// Programs of `oxbench oneway`.
pub(crate) struct Oneways {
    directory: PathBuf,
}

impl Oneways {
    /// Builds them next to this program, unless these sources were built there before.
    pub(crate) fn build() -> Result<Oneways> {
        let directory = build("omniorb-oneway", &ONEWAY_SOURCES, |directory| {
            let idl = ["-bcxx", "-Wbh=.hh", "-Wbs=SK.cc", "oneway.idl"];
            run(directory, "omniidl", &idl, HINT)?;
            for program in ["oneway-server", "oneway-client"] {
                let source = format!("{program}.cc");
                compile(directory, program, &[&source, "onewaySK.cc"])?;
            }
            Ok(())
        })?;
        Ok(Oneways { directory })
    }

    /// Returns the command of the server, configured like that of `oxbench latency`.
    pub(crate) fn server(&self) -> Command {
        let mut command = Command::new(self.directory.join("oneway-server"));
        command.args(["-ORBendPoint", "giop:tcp:127.0.0.1:"]);
        command.args(["-ORBthreadPerConnectionPolicy", "1"]);
        command.args(QUIET);
        command
    }

    /// Returns the command of the client, with a connection for each caller.
    pub(crate) fn client(&self, reference: &str) -> Command {
        let mut command = Command::new(self.directory.join("oneway-client"));
        command.arg(reference);
        command.args(["-ORBmaxGIOPConnectionPerServer", "100"]);
        command.args(QUIET);
        command
    }
}

const CUBIT_SOURCES: [(&str, &str); 3] = [
    ("cubit.idl", include_str!("../../idl/cubit.idl")),
    ("cubit-server.cc", include_str!("../../peers/omniorb/cubit-server.cc")),
    ("cubit-client.cc", include_str!("../../peers/omniorb/cubit-client.cc")),
];

/// Programs of `oxbench protocols`.
pub(crate) struct Cubits {
    directory: PathBuf,
}

impl Cubits {
    /// Builds them next to this program, unless these sources were built there before.
    pub(crate) fn build() -> Result<Cubits> {
        let directory = build("omniorb-cubit", &CUBIT_SOURCES, |directory| {
            let idl = ["-bcxx", "-Wbh=.hh", "-Wbs=SK.cc", "cubit.idl"];
            run(directory, "omniidl", &idl, HINT)?;
            for program in ["cubit-server", "cubit-client"] {
                let source = format!("{program}.cc");
                compile(directory, program, &[&source, "cubitSK.cc"])?;
            }
            Ok(())
        })?;
        Ok(Cubits { directory })
    }

    /// Returns the command of the server, configured like that of `oxbench latency`.
    pub(crate) fn server(&self, endpoint: &str) -> Command {
        let mut command = Command::new(self.directory.join("cubit-server"));
        command.args(["-ORBendPoint", endpoint]);
        command.args(["-ORBthreadPerConnectionPolicy", "1"]);
        command.args(["-ORBgiopMaxMsgSize", "67108864"]);
        command.args(QUIET);
        command
    }

    /// Returns the command of the client.
    pub(crate) fn client(&self, reference: &str) -> Command {
        let mut command = Command::new(self.directory.join("cubit-client"));
        command.arg(reference);
        command.args(["-ORBmaxGIOPConnectionPerServer", "100"]);
        command.args(["-ORBgiopMaxMsgSize", "67108864"]);
        command.args(QUIET);
        command
    }
}

const EVENTS_SOURCES: [(&str, &str); 3] = [
    ("CosEventComm.idl", include_str!("../../../../idl/omg/CosEventComm.idl")),
    ("CosEventChannelAdmin.idl", include_str!("../../../../idl/omg/CosEventChannelAdmin.idl")),
    ("events-driver.cc", include_str!("../../peers/omniorb/events-driver.cc")),
];

/// Driver of `oxbench events`, and omniEvents.
pub(crate) struct Events {
    directory: PathBuf,
}

/// Running omniEvents with a channel. Dropping it ends it.
pub(crate) struct EventService {
    _service: Process,
    channel: String,
    _state: State,
}

/// Folder in which a service stores its channels.
struct State(PathBuf);

impl Drop for State {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Events {
    /// Builds the driver next to this program, unless these sources were built there before.
    pub(crate) fn build() -> Result<Events> {
        for program in [EVENTS, EVENTC] {
            if !Path::new(program).exists() {
                return Err(
                    format!("{program} is not there; on Debian: apt install omnievents").into()
                );
            }
        }
        let directory = build("omniorb-events", &EVENTS_SOURCES, |directory| {
            for idl in ["CosEventComm.idl", "CosEventChannelAdmin.idl"] {
                let idl = ["-bcxx", "-Wbh=.hh", "-Wbs=SK.cc", idl];
                run(directory, "omniidl", &idl, HINT)?;
            }
            let sources =
                ["-I.", "events-driver.cc", "CosEventCommSK.cc", "CosEventChannelAdminSK.cc"];
            compile(directory, "events-driver", &sources)
        })?;
        Ok(Events { directory })
    }

    /// Starts omniEvents with a channel that forwards events as often as it can (its default is ten times per second)
    /// and that drops no event in transit.
    pub(crate) fn serve(&self, placement: Placement) -> Result<EventService> {
        let port = free_port().to_string();
        let state = State(self.directory.join(format!("state-{}", std::process::id())));
        let _ = std::fs::remove_dir_all(&state.0);
        std::fs::create_dir_all(&state.0)?;
        let mut command = Command::new(EVENTS);
        command.args(["-f", "-p", &port, "-l"]).arg(&state.0);
        command.arg("-t").arg(state.0.join("trace")).args(QUIET);
        let name = "omniEvents".to_owned();
        let service = Process::start(name, placement, Role::Server, &mut command)?;
        let factory = format!("corbaloc::127.0.0.1:{port}/omniEvents");
        let end = Instant::now() + START;
        loop {
            let options = ["-c", "1000", "-q", "100000", "-p", "10000", "-i", "bench", &factory];
            let made = Command::new(EVENTC).args(options).output()?;
            let channel = format!("corbaloc::127.0.0.1:{port}/bench");
            if made.status.success() {
                return Ok(EventService { _service: service, channel, _state: state });
            }
            if Instant::now() >= end {
                let why = String::from_utf8_lossy(&made.stderr);
                return Err(format!("omniEvents made no channel: {why}").into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the command of the driver for a channel.
    pub(crate) fn driver(&self, channel: &str) -> Command {
        let mut command = Command::new(self.directory.join("events-driver"));
        command.arg(channel);
        command.args(["-ORBendPoint", "giop:tcp:127.0.0.1:"]);
        command.args(["-ORBthreadPerConnectionPolicy", "1"]);
        command.args(QUIET);
        command
    }
}

impl EventService {
    /// Returns the URL of the channel.
    pub(crate) fn channel(&self) -> &str {
        &self.channel
    }
}

const EVENTS: &str = "/usr/sbin/omniEvents";
const EVENTC: &str = "/usr/bin/eventc";
/// Time limit for the start of omniEvents.
const START: Duration = Duration::from_secs(10);

const QUIET: [&str; 4] = ["-ORBinConScanPeriod", "0", "-ORBoutConScanPeriod", "0"];

fn compile(directory: &Path, program: &str, sources: &[&str]) -> Result {
    let libraries = ["-lomniORB4", "-lomniDynamic4", "-lomnithread", "-lpthread"];
    let output = ["-std=c++17", "-O3", "-o", program];
    run(directory, "g++", &[&output[..], sources, &libraries[..]].concat(), HINT)
}
