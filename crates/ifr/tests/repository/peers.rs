//! omniORB and JacORB read the repository with stubs of their own.
//!
//! Where a peer is not installed its test says so and passes, unless `CI` is set: see
//! `tests/interop/install-peers.sh`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Folder, Served, radar, tests};

const STATION: &str = "IDL:example.com/radar/Station:1.0";

#[test]
fn omniorb_describes_an_interface() {
    let folder = Folder::new("omniorb");
    let program = folder.0.join("describe");
    let source = tests().join("peers/describe.cc");
    let headers = Command::new("g++")
        .args([
            "-E",
            "-x",
            "c++",
            "-include",
            "omniORB4/CORBA.h",
            "/dev/null",
        ])
        .output();
    match headers {
        Ok(found) if found.status.success() => {}
        Ok(_) => return missing("omniORB", "no headers"),
        Err(error) => return missing("g++", &error.to_string()),
    }
    let built = Command::new("g++")
        .arg("-o")
        .args([&program, &source])
        .args(["-lomniDynamic4", "-lomniORB4", "-lomnithread"])
        .status();
    assert!(built.expect("it was there").success());
    let served = Served::new(&[radar()]);
    let printed = output(Command::new(&program).args([&served.url, STATION]));
    let expected = std::fs::read_to_string(tests().join("peers/describe.expected")).unwrap();
    assert_eq!(printed, expected);
}

#[test]
fn jacorb_prints_its_idl() {
    let Some(jars) = jars() else {
        return missing("JacORB", "no jars in target/interop/jars");
    };
    let served = Served::new(&[radar()]);
    let printed = output(
        Command::new("java")
            .arg("-cp")
            .arg(jars)
            .arg("-Dorg.omg.CORBA.ORBClass=org.jacorb.orb.ORB")
            .arg("-Dorg.omg.CORBA.ORBSingletonClass=org.jacorb.orb.ORBSingleton")
            .arg(format!("-DORBInitRef.InterfaceRepository={}", served.url))
            .arg("org.jacorb.ir.QueryIR")
            .arg("IDL:example.com/radar:1.0"),
    );
    let lines: Vec<_> = printed.split_whitespace().collect();
    let printed = lines.join(" ");
    for line in [
        "const string NAME = \"radar\";",
        "enum Phase {climb,cruise};",
        "typedef sequence <octet> Blob;",
        "struct Hop { octet kind; long distance; string lane; };",
        "union Sensor switch (",
        "exception Lost { string why; example.com::radar::Hop at; };",
        "interface Station : IDL:example.com/radar/Base:1.0",
        "example.com::radar::Tree plan(in string name,inout example.com::radar::Hop first,out \
         example.com::radar::Sensor s) raises (example.com::radar::Lost);",
        "oneway void log(in any line);",
    ] {
        assert!(printed.contains(line), "no {line} in {printed}");
    }
}

/// Where `install-peers.sh` puts JacORB, as a class path.
fn jars() -> Option<String> {
    let root: PathBuf = tests().ancestors().nth(3)?.to_owned();
    let places = [
        std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from),
        Some(root.join("target")),
    ];
    let folders = places
        .into_iter()
        .flatten()
        .map(|place| place.join("interop/jars"));
    folders.into_iter().find_map(|folder| class_path(&folder))
}

fn class_path(folder: &Path) -> Option<String> {
    let files = std::fs::read_dir(folder).ok()?;
    let paths = files.filter_map(|file| Some(file.ok()?.path().to_string_lossy().into_owned()));
    let jars: Vec<_> = paths.filter(|path| path.ends_with(".jar")).collect();
    (!jars.is_empty()).then(|| jars.join(":"))
}

fn output(command: &mut Command) -> String {
    let run = command.stderr(Stdio::inherit()).output();
    let run = run.expect("the program of the peer runs");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stdout)
    );
    String::from_utf8(run.stdout).expect("names are ASCII")
}

/// Past the test harness, which hides what tests that pass print.
fn missing(what: &str, why: &str) {
    let message = format!("not tested, for want of {what}: {why}\n");
    assert!(std::env::var_os("CI").is_none(), "{message}");
    let _ = std::io::stderr().write_all(message.as_bytes());
}
