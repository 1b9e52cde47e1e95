//! omniORB, the fastest ORB in service: C++ programs, built when first needed.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::build::{build, run};
use crate::Result;

/// Has to be there for any of it.
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

/// The programs of the pair.
pub(crate) struct Programs {
    directory: PathBuf,
}

impl Programs {
    /// Builds both beside this program, unless these very sources were built there before.
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

    /// The server, with what makes omniORB fastest: a thread for each connection (its default) and no
    /// scans for idle connections.
    pub(super) fn server(&self) -> Command {
        let mut command = Command::new(self.directory.join("server"));
        command.args(["-ORBendPoint", "giop:tcp:127.0.0.1:"]);
        command.args(["-ORBthreadPerConnectionPolicy", "1"]);
        command.args(["-ORBgiopMaxMsgSize", "67108864"]);
        command.args(QUIET);
        command
    }

    /// The client.
    pub(super) fn client(&self, reference: &str) -> Command {
        let mut command = Command::new(self.directory.join("client"));
        command.arg(reference);
        command.args(["-ORBmaxGIOPConnectionPerServer", "100"]);
        command.args(["-ORBgiopMaxMsgSize", "67108864"]);
        command.args(QUIET);
        command
    }
}

/// The program that writes and reads values without sending them.
pub(crate) struct Codec {
    directory: PathBuf,
}

impl Codec {
    /// Builds it beside this program, unless these very sources were built there before.
    pub(crate) fn build() -> Result<Codec> {
        let directory = build("omniorb-codec", &CODEC_SOURCES, |directory| {
            let idl = ["-bcxx", "-Wba", "-Wbh=.hh", "-Wbs=SK.cc", "-Wbd=DynSK.cc"];
            run(
                directory,
                "omniidl",
                &[&idl[..], &["marshal.idl"]].concat(),
                HINT,
            )?;
            let sources = ["marshal.cc", "marshalSK.cc", "marshalDynSK.cc"];
            compile(directory, "marshal", &sources)
        })?;
        Ok(Codec { directory })
    }

    /// To be started with a reference.
    pub(crate) fn command(&self) -> Command {
        Command::new(self.directory.join("marshal"))
    }
}

const LOAD_SOURCES: [(&str, &str); 3] = [
    ("load.idl", include_str!("../../idl/load.idl")),
    (
        "load-server.cc",
        include_str!("../../peers/omniorb/load-server.cc"),
    ),
    (
        "load-client.cc",
        include_str!("../../peers/omniorb/load-client.cc"),
    ),
];

/// The programs of `oxbench inversion`, `lanes` and `throughput`, as omniORB is by default.
pub(crate) struct Load {
    directory: PathBuf,
}

impl Load {
    /// Builds them beside this program, unless these very sources were built there before.
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

    /// To be given the priorities of its objects, of which it only takes the number.
    pub(crate) fn server(&self, endpoint: &str) -> Command {
        let mut command = Command::new(self.directory.join("load-server"));
        command.args(["-ORBendPoint", endpoint]);
        command
    }

    /// To be given the references that the server prints.
    pub(crate) fn client(&self) -> Command {
        Command::new(self.directory.join("load-client"))
    }

    /// The client whose threads send their calls over one connection, without waiting for each other's answers.
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
    (
        "oneway-server.cc",
        include_str!("../../peers/omniorb/oneway-server.cc"),
    ),
    (
        "oneway-client.cc",
        include_str!("../../peers/omniorb/oneway-client.cc"),
    ),
];

/// The programs of `oxbench oneway`.
pub(crate) struct Oneways {
    directory: PathBuf,
}

impl Oneways {
    /// Builds them beside this program, unless these very sources were built there before.
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

    /// The server, set up as that of `oxbench latency`.
    pub(crate) fn server(&self) -> Command {
        let mut command = Command::new(self.directory.join("oneway-server"));
        command.args(["-ORBendPoint", "giop:tcp:127.0.0.1:"]);
        command.args(["-ORBthreadPerConnectionPolicy", "1"]);
        command.args(QUIET);
        command
    }

    /// The client, with a connection for each caller.
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
    (
        "cubit-server.cc",
        include_str!("../../peers/omniorb/cubit-server.cc"),
    ),
    (
        "cubit-client.cc",
        include_str!("../../peers/omniorb/cubit-client.cc"),
    ),
];

/// The programs of `oxbench protocols`.
pub(crate) struct Cubits {
    directory: PathBuf,
}

impl Cubits {
    /// Builds them beside this program, unless these very sources were built there before.
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

    /// Returns the server, set up as that of `oxbench latency`.
    pub(crate) fn server(&self, endpoint: &str) -> Command {
        let mut command = Command::new(self.directory.join("cubit-server"));
        command.args(["-ORBendPoint", endpoint]);
        command.args(["-ORBthreadPerConnectionPolicy", "1"]);
        command.args(["-ORBgiopMaxMsgSize", "67108864"]);
        command.args(QUIET);
        command
    }

    /// Returns the client.
    pub(crate) fn client(&self, reference: &str) -> Command {
        let mut command = Command::new(self.directory.join("cubit-client"));
        command.arg(reference);
        command.args(["-ORBmaxGIOPConnectionPerServer", "100"]);
        command.args(["-ORBgiopMaxMsgSize", "67108864"]);
        command.args(QUIET);
        command
    }
}

const QUIET: [&str; 4] = ["-ORBinConScanPeriod", "0", "-ORBoutConScanPeriod", "0"];

fn compile(directory: &Path, program: &str, sources: &[&str]) -> Result {
    let libraries = ["-lomniORB4", "-lomniDynamic4", "-lomnithread", "-lpthread"];
    let output = ["-std=c++17", "-O3", "-o", program];
    run(
        directory,
        "g++",
        &[&output[..], sources, &libraries[..]].concat(),
        HINT,
    )
}
