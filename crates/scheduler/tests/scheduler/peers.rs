//! Clients of TAO's service, built with omniORB's and JacORB's stubs of the same IDL. They check
//! that types, repository ids and the order of fields match the wire format.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use oxorb_testkit::peers::{is_there, jacorb, jacorb_program};

use super::{Bench, Folder, url};

fn idl() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../idl/omg")
}

fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers")
}

/// Output of the programs for a service under RMS.
fn expected() -> String {
    std::fs::read_to_string(peers().join("client.expected")).unwrap()
}

#[test]
fn omniorb_uses_the_service() {
    if !is_there("omniidl") || !is_there("g++") {
        return;
    }
    let folder = Folder::new("omniorb");
    let folder = &folder.0;
    for file in ["TimeBase.idl", "RtecBase.idl", "RtecScheduler.idl"] {
        let mut compile = Command::new("omniidl");
        compile.args(["-bcxx", "-C"]).arg(folder);
        output(compile.arg("-I").arg(idl()).arg(idl().join(file)));
    }
    let program = folder.join("client");
    let mut build = Command::new("g++");
    // Warnings in the code that omniidl generates cannot be fixed here, so -w suppresses them.
    build.args(["-std=c++17", "-w", "-pthread", "-I"]).arg(folder);
    build.arg("-o").arg(&program).arg(peers().join("client.cc"));
    for file in ["TimeBaseSK.cc", "RtecBaseSK.cc", "RtecSchedulerSK.cc"] {
        build.arg(folder.join(file));
    }
    output(build.args(["-lomniORB4", "-lomnithread"]));
    let bench = Bench::configuration();
    let printed = output(Command::new(&program).arg(reference(&bench)));
    assert_eq!(printed, expected());
}

#[test]
fn jacorb_uses_the_service() {
    let Some(jars) = jacorb() else { return };
    let folder = Folder::new("jacorb");
    let folder = &folder.0;
    for file in ["TimeBase.idl", "RtecBase.idl", "RtecScheduler.idl"] {
        let mut compile = Command::new("java");
        compile.args(["-cp", &jars, "org.jacorb.idl.parser"]);
        compile.arg(format!("-I{}", idl().display()));
        output(compile.arg("-d").arg(folder).arg(idl().join(file)));
    }
    let mut javac = Command::new("javac");
    javac.args(["-nowarn", "-cp", &jars, "-sourcepath"]).arg(folder);
    output(javac.arg("-d").arg(folder).arg(peers().join("Client.java")));
    let bench = Bench::configuration();
    let class_path = format!("{}:{jars}", folder.display());
    let mut program = jacorb_program(&class_path, &[], "Client");
    assert_eq!(output(program.arg(reference(&bench))), expected());
}

fn reference(bench: &Bench) -> String {
    url(bench.served.scheduler(), "ScheduleService")
}

fn output(command: &mut Command) -> String {
    let run = command.stderr(Stdio::piped()).output();
    let run = run.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, told) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{command:?}\n{out}\n{told}");
    out.into_owned()
}
