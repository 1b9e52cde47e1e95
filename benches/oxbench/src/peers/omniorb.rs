//! omniORB, the fastest ORB in service: a C++ pair, built when first needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

const SOURCES: [(&str, &str); 3] = [
    ("probe.idl", include_str!("../../idl/probe.idl")),
    ("server.cc", include_str!("../../peers/omniorb/server.cc")),
    ("client.cc", include_str!("../../peers/omniorb/client.cc")),
];

/// The programs of the pair.
pub(crate) struct Programs {
    directory: PathBuf,
}

impl Programs {
    /// Builds both beside this program, unless these very sources were built there before.
    pub(crate) fn build() -> Result<Programs> {
        let directory = std::env::current_exe()?
            .parent()
            .expect("a program lies in a directory")
            .join("oxbench-peers/omniorb");
        let stamp = directory.join("built");
        let wanted = SOURCES.map(|(_, text)| text).concat();
        if fs::read_to_string(&stamp).is_ok_and(|built| built == wanted) {
            return Ok(Programs { directory });
        }
        fs::create_dir_all(&directory)?;
        for (name, text) in SOURCES {
            fs::write(directory.join(name), text)?;
        }
        let idl = ["-bcxx", "-Wbh=.hh", "-Wbs=SK.cc", "probe.idl"];
        run(&directory, "omniidl", &idl)?;
        for program in ["server", "client"] {
            let source = format!("{program}.cc");
            let mut arguments = vec!["-std=c++17", "-O3", "-o", program, &source, "probeSK.cc"];
            arguments.extend(["-lomniORB4", "-lomnithread", "-lpthread"]);
            run(&directory, "g++", &arguments)?;
        }
        fs::write(stamp, wanted)?;
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

const QUIET: [&str; 4] = ["-ORBinConScanPeriod", "0", "-ORBoutConScanPeriod", "0"];

fn run(directory: &Path, program: &str, arguments: &[&str]) -> Result {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .map_err(|error| {
            format!(
                "cannot run {program} ({error}); on Debian: apt install omniidl libomniorb4-dev g++"
            )
        })?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(
            format!("{program} failed on omniORB's side of the benchmark:\n{complaint}").into(),
        );
    }
    Ok(())
}
