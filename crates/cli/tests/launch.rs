//! `oxorb node` and `oxorb deploy launch`, `status`, `redeploy`, `stop`: managers in processes of their own.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use oxorb_testkit::process::Process;
use serde_json::Value;

const LONG: Duration = Duration::from_secs(30);

fn oxorb() -> Command {
    Command::new(env!("CARGO_BIN_EXE_oxorb"))
}

fn run(args: &[&str]) -> Output {
    let mut command = oxorb();
    command.args(args).stdin(Stdio::null());
    command.output().expect("the command starts")
}

/// What a command says when it fails.
#[track_caller]
fn bad(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[track_caller]
fn good(args: &[&str]) -> String {
    let output = run(args);
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {why}");
    String::from_utf8(output.stdout).unwrap()
}

/// A manager that serves; returns its URL, too.
fn serve(args: &[&str]) -> (Process, String) {
    let mut command = oxorb();
    command.args(args).args(["--port", "0", "--format", "json"]);
    let mut process = Process::spawn(command);
    let line = process.wait_for_line("serving", LONG);
    let said: Value = serde_json::from_str(&line).expect("one line of JSON");
    let url = said["corbaloc"][0].as_str().expect("it has an address");
    (process, url.to_owned())
}

/// A plan of one instance whose artifact ends at once.
fn plan(test: &str, node: &str) -> PathBuf {
    let text = format!(
        "label = \"small\"\n\
         [[artifact]]\nname = \"false\"\nlocation = \"/bin/false\"\n\
         [[implementation]]\nname = \"Gps\"\nartifact = \"false\"\n\
         [[instance]]\nname = \"gps\"\nnode = {node:?}\nimplementation = \"Gps\"\n"
    );
    let name = format!("oxorb-launch-{test}-{}.toml", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_launch_that_fails_says_where_and_ends() {
    let plan = plan("local", "cockpit");
    let file = plan.to_str().unwrap();
    let args = ["deploy", "launch", file, "--local", "--port", "0"];
    let refused = bad(&args);
    assert!(refused.contains("--artifacts"), "{refused}");
    let failed = bad(&[&args[..], &["--any-artifact"]].concat());
    for part in [
        "error: gps: node cockpit: process main",
        "before it called back",
    ] {
        assert!(failed.contains(part), "{failed}");
    }
    fs::remove_file(plan).unwrap();
}

#[test]
fn processes_get_the_access_rules_of_their_node_after_the_arguments_of_the_plan() {
    let plan = plan("access", "cockpit");
    // An executable that prints its arguments.
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(&plan, text.replace("/bin/false", "/bin/echo")).unwrap();
    let resources = plan.with_extension("rt.toml");
    fs::write(
        &resources,
        "document = \"ServerResources\"\n[cmdline]\narg = [\"-ORBAccess=allow all\"]\n",
    )
    .unwrap();
    let output = run(&[
        "deploy",
        "launch",
        plan.to_str().unwrap(),
        "--rt",
        resources.to_str().unwrap(),
        "--local",
        "--any-artifact",
        "--listen",
        "iiop://127.0.0.1:0/portspan=1",
        "-ORBAccess",
        "allow 127.0.0.0/8",
    ]);
    let printed = String::from_utf8(output.stdout).unwrap();
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(
        printed.trim_end().ends_with(
            "--process main -ORBAccess=allow all -ORBListenEndpoints=iiop://127.0.0.1:0 -ORBAccess=allow 127.0.0.0/8"
        ),
        "{printed}{why}"
    );
    fs::remove_file(plan).unwrap();
    fs::remove_file(resources).unwrap();
}

#[test]
fn managers_of_other_processes_are_found_and_answer() {
    let (_node, node) = serve(&["node", "serve", "--name", "cockpit", "--any-artifact"]);
    assert!(node.ends_with("/cockpit.NodeManager"), "{node}");
    let known = format!("cockpit={node}");
    let (mut manager, at) = serve(&["deploy", "serve", "--node", &known]);
    assert!(at.ends_with("/ExecutionManager"), "{at}");
    assert_eq!(
        good(&["deploy", "status", "--at", &at]),
        "no plan is launched\n"
    );
    assert_eq!(
        good(&["deploy", "status", "--at", &at, "--format", "json"]).trim(),
        "[]"
    );

    let cockpit = plan("cockpit", "cockpit");
    let failed = bad(&["deploy", "launch", cockpit.to_str().unwrap(), "--at", &at]);
    assert!(failed.contains("node cockpit: process main"), "{failed}");
    let moon = plan("moon", "moon");
    let failed = bad(&["deploy", "launch", moon.to_str().unwrap(), "--at", &at]);
    assert!(failed.contains("--node moon=URL"), "{failed}");
    let absent = bad(&["deploy", "redeploy", moon.to_str().unwrap(), "--at", &at]);
    assert!(absent.contains("none is there"), "{absent}");
    let absent = bad(&["deploy", "stop", "small", "--at", &at]);
    assert!(
        absent.contains("small: no such plan; none is there"),
        "{absent}"
    );
    assert_eq!(good(&["deploy", "stop", "--all", "--at", &at]), "");
    assert_eq!(
        good(&["deploy", "status", "--at", &at]),
        "no plan is launched\n"
    );
    for plan in [cockpit, moon] {
        fs::remove_file(plan).unwrap();
    }

    manager.kill();
    let gone = bad(&["deploy", "status", "--at", &at]);
    assert!(gone.contains("where is the execution manager?"), "{gone}");
}

#[test]
fn mistakes_of_the_command_line_are_named() {
    let wrong = |args: &[&str], part: &str| {
        let output = run(args);
        let why = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{why}");
        assert!(why.contains(part), "{why}");
    };
    wrong(&["deploy", "serve", "--node", "cockpit"], "NAME=URL");
    wrong(
        &["deploy", "serve", "--restart", "always"],
        "on-failure[:LIMIT",
    );
    wrong(&["deploy", "stop"], "<NAME>...");
    wrong(&["node", "serve"], "--name <NODE>");
}
