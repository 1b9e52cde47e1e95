//! JacORB, whose clients send all calls of a process over one connection: Java programs, built on first use.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::build::{build, run};
use crate::Result;

const SOURCES: [(&str, &str); 3] = [
    ("load.idl", include_str!("../../idl/load.idl")),
    ("LoadServer.java", include_str!("../../peers/jacorb/LoadServer.java")),
    ("LoadClient.java", include_str!("../../peers/jacorb/LoadClient.java")),
];

/// Folder in which `tests/interop/install-peers.sh` puts JacORB's jars.
const JARS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/interop/jars");

/// Requirements of JacORB's programs.
const HINT: &str = "a JDK, and tests/interop/install-peers.sh for JacORB";

/// Programs of `oxbench throughput --one-connection`, with JacORB's defaults.
pub(crate) struct Load {
    class_path: OsString,
}

impl Load {
    /// Builds them next to this program, unless these sources were built there before.
    pub(crate) fn build() -> Result<Load> {
        let jars = jars()?;
        let directory = build("jacorb-load", &SOURCES, |directory| compile(directory, &jars))?;
        let class_path = join(jars.into_iter().chain([directory.join("classes")]))?;
        Ok(Load { class_path })
    }

    /// Returns the command of the server, whose arguments are the priorities of its objects; it only uses their number.
    pub(crate) fn server(&self) -> Command {
        self.program("LoadServer")
    }

    /// Returns the command of the client, whose arguments are the references printed by the server.
    pub(crate) fn client(&self) -> Command {
        self.program("LoadClient")
    }

    fn program(&self, class: &str) -> Command {
        let mut command = Command::new("java");
        command.arg("-cp").arg(&self.class_path);
        // Otherwise, each start is logged on standard error.
        command.args(["-Djacorb.log.default.verbosity=1", class]);
        command
    }
}

fn jars() -> Result<Vec<PathBuf>> {
    let missing = |error| format!("no JacORB in {JARS} ({error}); it takes {HINT}");
    let entries = fs::read_dir(JARS).map_err(missing)?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut jars: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "jar")).collect();
    jars.sort();
    match jars.is_empty() {
        true => Err(format!("no jar in {JARS}; it takes {HINT}").into()),
        false => Ok(jars),
    }
}

fn compile(directory: &Path, jars: &[PathBuf]) -> Result {
    let class_path = join(jars.iter().cloned())?;
    let class_path = class_path.to_str().ok_or("the path of JacORB's jars is no UTF-8")?;
    let idl = ["-cp", class_path, "org.jacorb.idl.parser", "-d", "generated", "load.idl"];
    run(directory, "java", &idl, HINT)?;
    let generated = directory.join("generated").join("oxbench");
    let mut sources = vec!["LoadServer.java".to_owned(), "LoadClient.java".to_owned()];
    for entry in fs::read_dir(&generated)? {
        sources.push(entry?.path().to_string_lossy().into_owned());
    }
    let options = ["-nowarn", "-encoding", "UTF-8", "-cp", class_path, "-d", "classes"];
    let sources = sources.iter().map(String::as_str);
    let arguments: Vec<&str> = options.into_iter().chain(sources).collect();
    run(directory, "javac", &arguments, HINT)
}

fn join(paths: impl Iterator<Item = PathBuf>) -> Result<OsString> {
    Ok(std::env::join_paths(paths)?)
}
