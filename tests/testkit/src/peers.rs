//! Other ORBs that tests call.
//!
//! Where a peer is not installed its test says so and passes, unless `CI` is set: see
//! `tests/interop/install-peers.sh`.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Says, past the test harness, which hides what tests that pass print, that something could not be tested.
///
/// # Panics
/// Where `CI` is set: there everything is installed.
pub fn missing(what: &str, why: &str) {
    let message = format!("not tested, for want of {what}: {why}\n");
    assert!(env::var_os("CI").is_none(), "{message}");
    let _ = std::io::stderr().write_all(message.as_bytes());
}

/// Whether a program is there to be run; [`missing`] if it is not.
pub fn is_there(program: &str) -> bool {
    let tried = Command::new(program)
        .arg("-help")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match tried {
        Ok(_) => true,
        Err(error) => {
            missing(program, &error.to_string());
            false
        }
    }
}

/// JacORB, where `install-peers.sh` puts it, as a class path; [`missing`] if it is not there.
pub fn jacorb() -> Option<String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let places = [
        env::var_os("CARGO_TARGET_DIR").map(PathBuf::from),
        Some(workspace.join("target")),
    ];
    let mut folders = places
        .into_iter()
        .flatten()
        .map(|place| place.join("interop/jars"));
    let found = folders.find_map(|folder| class_path(&folder));
    if found.is_none() {
        missing("JacORB", "no jars in target/interop/jars");
    }
    found
}

/// A `java` that runs a class with JacORB for its ORB; arguments can be added.
pub fn jacorb_program(class_path: &str, properties: &[&str], class: &str) -> Command {
    let mut java = Command::new("java");
    java.args(["-cp", class_path])
        .arg("-Dorg.omg.CORBA.ORBClass=org.jacorb.orb.ORB")
        .arg("-Dorg.omg.CORBA.ORBSingletonClass=org.jacorb.orb.ORBSingleton")
        .args(properties.iter().map(|property| format!("-D{property}")))
        .arg(class);
    java
}

fn class_path(folder: &Path) -> Option<String> {
    let files = fs::read_dir(folder).ok()?;
    let paths = files.filter_map(|file| Some(file.ok()?.path().to_string_lossy().into_owned()));
    let jars: Vec<_> = paths.filter(|path| path.ends_with(".jar")).collect();
    (!jars.is_empty()).then(|| jars.join(":"))
}
