//! Clients of other ORBs at a port that lanes share. They know neither lanes nor bands: all their requests go over one
//! connection.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use oxorb_testkit::peers::{is_there, jacorb, jacorb_program};
use oxorb_testkit::unique;

use super::*;

/// Program that a test built, in a directory that is removed on drop.
struct Built {
    folder: PathBuf,
}

impl Built {
    fn new() -> Built {
        let folder = std::env::temp_dir().join(format!("oxorb-one-port-{}", unique()));
        fs::create_dir(&folder).unwrap();
        Built { folder }
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        // Unimportant; a leftover in the temporary directory is harmless.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers")
}

/// Runs a program, and returns its output.
///
/// # Panics
/// If the program fails.
#[track_caller]
fn output(command: &mut Command) -> String {
    let run = command.stdin(Stdio::null()).output();
    let run = run.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, told) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{command:?}\n{out}\n{told}");
    out.into_owned()
}

/// Makes a client call objects of several lanes, with and without priorities, and checks that each request is served by
/// the right lane although one connection carries them all.
fn check(client_program: &mut Command) {
    let (server, client) = (server(), client());
    let pool = three_lanes(&server);
    let declared = [10, 20, 30].map(|value| declared(&server, &client, pool, value));
    let propagated = propagated(&server, &client, pool);
    let plain = activate(server.root_poa(), &client, &Arc::new(Worker::default()));
    let before = server.connection_statistics().accepted;
    let mut expected = String::new();
    let mut call = |priority: &str, object: &ObjectRef, thread: &str, served: i16| {
        client_program.arg(priority).arg(object.reference().to_string());
        expected += &format!("{thread} {served}\n");
    };
    for lane in [1, 2, 0, 2, 1] {
        call("-", &declared[lane], &thread_of(pool, lane), [10, 20, 30][lane]);
    }
    // A request without a priority has the one of the object's policy.
    for (priority, lane) in [("-", 0), ("30", 2), ("10", 0), ("25", 1), ("32767", 2), ("3", 0)] {
        call(priority, &propagated, &thread_of(pool, lane), [10, 20, 30][lane]);
    }
    // A lane of the connection also serves objects in no threadpool.
    call("-", &plain, &thread_of(pool, 1), 20);
    assert_eq!(output(client_program), expected);
    assert_eq!(server.connection_statistics().accepted - before, 1);
    end(&client, &server);
}

#[test]
#[ignore = "builds a program of omniORB: .ci/full peers"]
fn omniorb_reaches_every_lane_over_one_connection() {
    common::only_over!(IIOP, "foreign ORBs speak versions of GIOP, over TCP");
    if !is_there("omniidl") || !is_there("g++") {
        return;
    }
    let _guard = watchdog(LONG * 4);
    let built = Built::new();
    let (folder, program) = (&built.folder, built.folder.join("client"));
    let mut compile = Command::new("omniidl");
    output(compile.args(["-bcxx", "-C"]).arg(folder).arg(sources().join("worker.idl")));
    let mut build = Command::new("g++");
    // Warnings in the code that omniidl generates cannot be fixed here, so -w suppresses them.
    build.args(["-std=c++17", "-w", "-pthread", "-I"]).arg(folder);
    build.arg("-o").arg(&program).arg(sources().join("worker.cc"));
    output(build.arg(folder.join("workerSK.cc")).args(["-lomniORB4", "-lomnithread"]));
    check(&mut Command::new(&program));
}

#[test]
#[ignore = "builds a program of JacORB: .ci/full peers"]
fn jacorb_reaches_every_lane_over_one_connection() {
    common::only_over!(IIOP, "foreign ORBs speak versions of GIOP, over TCP");
    let Some(jars) = jacorb() else { return };
    let _guard = watchdog(LONG * 4);
    let built = Built::new();
    let folder = &built.folder;
    let mut compile = Command::new("java");
    compile.args(["-cp", &jars, "org.jacorb.idl.parser", "-d"]).arg(folder);
    output(compile.arg(sources().join("worker.idl")));
    let mut javac = Command::new("javac");
    javac.args(["-nowarn", "-cp", &jars, "-sourcepath"]).arg(folder).arg("-d").arg(folder);
    output(javac.arg(sources().join("WorkerClient.java")));
    let class_path = format!("{}:{jars}", folder.display());
    check(&mut jacorb_program(&class_path, &[], "WorkerClient"));
}
