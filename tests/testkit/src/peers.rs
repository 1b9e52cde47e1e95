//! Foreign ORBs that tests call.
//!
//! If a peer is not installed, its test reports so and passes, unless `OXORB_REQUIRE_TOOLS` names it or is `all`: see
//! `tests/interop/install-peers.sh`. `.ci/full` requires all, `.ci/run` those that it installs.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Reports that something was not tested: once per process on standard error, bypassing the test harness, which hides
/// the output of passing tests, and for each test in the file that `OXORB_NOT_TESTED` names, if any.
///
/// # Panics
/// If [`is_required`].
pub fn missing(what: &str, why: &str) {
    let message = format!("not tested, for want of {what}: {}\n", why.trim());
    assert!(!is_required(what), "{message}");
    say(&message);
}

/// Prints a message once per process, because many tests may lack the same tool.
pub(crate) fn say(message: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(message.to_owned()) {
        let _ = std::io::stderr().write_all(message.as_bytes());
    }
    if let Some(path) = env::var_os("OXORB_NOT_TESTED") {
        let file = fs::OpenOptions::new().append(true).create(true).open(path);
        let _ = file.and_then(|mut file| file.write_all(message.as_bytes()));
    }
}

/// Reports whether `OXORB_REQUIRE_TOOLS` is `all` or lists `what` (comma-separated names): a test that cannot run
/// without it then fails.
pub fn is_required(what: &str) -> bool {
    let required = env::var("OXORB_REQUIRE_TOOLS").unwrap_or_default();
    required == "all" || required.split(',').any(|name| name == what)
}

/// Reports whether a program is installed; calls [`missing`] if it is not.
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

/// Reports whether omniORB's compiler, its own IDL files and a C++ compiler are installed; calls [`missing`] if one is
/// not.
pub fn omniidl_is_there() -> bool {
    const IDL: &str = "/usr/share/idl/omniORB/orb.idl";
    if !is_there("omniidl") || !is_there("g++") {
        return false;
    }
    let has_idl = Path::new(IDL).is_file();
    if !has_idl {
        missing("omniORB's IDL files", &format!("there is no {IDL} (apt install omniorb-idl)"));
    }
    has_idl
}

/// Returns the class path of JacORB as installed by `install-peers.sh`; calls [`missing`] if it is not installed.
pub fn jacorb() -> Option<String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let places =
        [env::var_os("CARGO_TARGET_DIR").map(PathBuf::from), Some(workspace.join("target"))];
    let mut folders = places.into_iter().flatten().map(|place| place.join("interop/jars"));
    let found = folders.find_map(|folder| class_path(&folder));
    if found.is_none() {
        missing("JacORB", "no jars in target/interop/jars");
    }
    found
}

/// Returns a `java` command that runs a class with JacORB as its ORB; arguments can be added.
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
