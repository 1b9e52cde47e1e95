//! `oxorb node` and `oxorb deploy launch`, `status`, `redeploy`, `stop`: managers in separate processes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use oxorb_testkit::process::{Process, rerun, test_name};
use serde_json::Value;

use crate::common::Folder;

const LONG: Duration = Duration::from_secs(30);

fn oxorb() -> Command {
    Command::new(env!("CARGO_BIN_EXE_oxorb"))
}

fn run(args: &[&str]) -> Output {
    let mut command = oxorb();
    command.args(args).stdin(Stdio::null());
    command.output().expect("the command starts")
}

/// Returns the message of a failing command.
#[track_caller]
pub(crate) fn bad(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Returns the output of a command that succeeds.
#[track_caller]
pub(crate) fn good(args: &[&str]) -> String {
    let output = run(args);
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {why}");
    String::from_utf8(output.stdout).unwrap()
}

/// Starts a manager; also returns the manager's URL.
pub(crate) fn serve(args: &[&str]) -> (Process, String) {
    let mut command = oxorb();
    command.args(args).args(["--port", "0", "--format", "json"]);
    let mut process = Process::spawn(command);
    let line = process.wait_for_line("serving", LONG);
    let said: Value = serde_json::from_str(&line).expect("one line of JSON");
    let url = said["corbaloc"][0].as_str().expect("it has an address");
    (process, url.to_owned())
}

/// Returns a plan of one instance whose artifact ends at once.
fn plan(test: &str, node: &str) -> PathBuf {
    let text = format!(
        "label = \"small\"\n\
         [[artifact]]\nname = \"false\"\nlocation = \"/bin/false\"\n\
         [[implementation]]\nname = \"Gps\"\nartifact = \"false\"\n\
         [implementation.execParameter]\n\"component factory\" = \"create_Gps\"\n\
         [[instance]]\nname = \"gps\"\nnode = {node:?}\nimplementation = \"Gps\"\n"
    );
    let name = format!("oxorb-launch-{test}-{}.toml", oxorb_testkit::unique());
    let path = std::env::temp_dir().join(name);
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_launch_that_fails_says_where_and_ends() {
    let plan = plan("local", "cockpit");
    let file = plan.to_str().unwrap();
    let args = ["deploy", "launch", file, "--local", "--port", "0"];
    // With --port, other users can call the manager, so options must name the executables that plans may start.
    let refused = bad(&args);
    assert!(refused.contains("plans may start no executables"), "{refused}");
    let refused = bad(&[&args[..], &["--artifacts", env!("CARGO_MANIFEST_DIR")]].concat());
    assert!(refused.contains("is not below"), "{refused}");
    let failed = bad(&[&args[..], &["--any-artifact"]].concat());
    for part in ["error: gps: node cockpit: process main", "before it called back"] {
        assert!(failed.contains(part), "{failed}");
    }
    // If only this user can call the manager, plans may by default start executables below the working directory.
    let login = Login::new("local");
    let output = login.command(&["deploy", "launch", file, "--local"]).output().unwrap();
    let refused = String::from_utf8(output.stderr).unwrap();
    assert!(refused.contains("/bin/false is not below ."), "{refused}");
    fs::remove_file(plan).unwrap();
}

#[test]
fn processes_get_the_access_rules_of_their_node_after_the_arguments_of_the_plan() {
    let plan = plan("access", "cockpit");
    // The executable of the plan becomes /bin/echo, which prints its arguments.
    let text = fs::read_to_string(&plan).unwrap();
    fs::write(&plan, text.replace("/bin/false", "/bin/echo")).unwrap();
    let resources = plan.with_extension("rt.toml");
    fs::write(&resources, "document = \"ServerResources\"\n[cmdline]\narg = [\"-ORBSpin=5\"]\n")
        .unwrap();
    let args = [
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
    ];
    let output = run(&args);
    let printed = String::from_utf8(output.stdout).unwrap();
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(
        printed.trim_end().ends_with(
            "--process main -ORBSpin=5 -ORBListenEndpoints=iiop://127.0.0.1:0 -ORBAccess=allow 127.0.0.0/8"
        ),
        "{printed}{why}"
    );
    // Arguments that belong to the node are rejected in a plan.
    for argument in ["-ORBAccess=allow all", "-ORBLogFile=@HOME@/x", "-ORBListenEndpoints=iiop://"]
    {
        let line = format!("document = \"ServerResources\"\n[cmdline]\narg = [{argument:?}]\n");
        fs::write(&resources, line).unwrap();
        let refused = bad(&args);
        let name = argument.split('=').next().unwrap();
        let wanted = format!("cmdline has {name:?}, which a plan may not set");
        assert!(refused.contains(&wanted), "{refused}");
    }
    fs::remove_file(plan).unwrap();
    fs::remove_file(resources).unwrap();
}

#[test]
fn node_managers_have_to_be_told_what_they_start() {
    let refused = bad(&["node", "serve", "--name", "cockpit"]);
    assert!(refused.contains("--artifacts DIR"), "{refused}");
    let folder = Folder::new("launch-writable");
    let path = folder.path("");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let refused = bad(&["node", "serve", "--name", "cockpit", "--artifacts", &path]);
    assert!(refused.contains("chmod go-w"), "{refused}");
}

#[test]
fn managers_say_who_else_can_call_them() {
    let with = |args: &[&str]| {
        let mut command = oxorb();
        command.args(["node", "serve", "--name", "cockpit", "--any-artifact"]).args(args);
        Process::spawn(command).wait_for_line("warning", LONG)
    };
    let told = with(&["--port", "0"]);
    let wanted = "every user on this machine can connect to iiop://127.0.0.1:0 and start any program as the user of \
                  this process";
    assert!(told.contains(wanted), "{told}");
    let told = with(&["--host", "0.0.0.0", "-ORBAccess", "allow 127.0.0.0/8"]);
    assert!(
        told.contains("everyone who can reach this machine over the network can connect"),
        "{told}"
    );
    assert!(told.ends_with("-ORBAccess admits: allow 127.0.0.0/8"), "{told}");
    let told = with(&["--host", "0.0.0.0", "--any-client"]);
    assert!(told.ends_with("-ORBAccess restricts who may connect"), "{told}");
}

/// Clients of a node manager can start programs, so the user of a manager on a network has to choose its clients.
#[test]
fn managers_of_the_network_need_a_choice_of_clients() {
    let node = ["node", "serve", "--name", "cockpit", "--any-artifact"];
    for manager in [&node[..], &["deploy", "serve"]] {
        for address in [&["--host", "0.0.0.0"][..], &["--listen", "iiop://127.0.0.1:0;iiop://:0"]] {
            let refused = bad(&[manager, address].concat());
            assert!(refused.contains("everyone who can reach iiop://"), "{refused}");
            assert!(refused.contains("permit this with --any-client"), "{refused}");
        }
        for choice in [
            &["--host", "0.0.0.0", "--port", "0", "-ORBAccess", "allow 127.0.0.0/8"][..],
            &["--listen", "iiop://:0/allow=127.0.0.0/8"],
        ] {
            let mut command = oxorb();
            command.args(manager).args(choice);
            Process::spawn(command).wait_for_line("serving", LONG);
        }
    }
}

/// Environment with a private folder for the sockets of managers.
struct Login {
    folder: PathBuf,
}

impl Login {
    fn new(test: &str) -> Login {
        let name = format!("oxorb-{test}-{}", oxorb_testkit::unique());
        let folder = oxorb_testkit::net::socket_folder().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        Login { folder }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = oxorb();
        command.args(args).env("XDG_RUNTIME_DIR", &self.folder).stdin(Stdio::null());
        command
    }

    /// Starts a manager that listens at its default address.
    fn serve(&self, args: &[&str]) -> (Process, Value) {
        let mut process = Process::spawn(self.command(&[args, &["--format", "json"]].concat()));
        let line = process.wait_for_line("serving", LONG);
        (process, serde_json::from_str(&line).expect("one line of JSON"))
    }

    #[track_caller]
    fn good(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        let why = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {why}");
        assert_eq!(why, "", "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Asserts that only this user can reach a socket.
#[track_caller]
fn assert_own(socket: &std::path::Path) {
    let rights = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(rights(socket), 0o600, "{}", socket.display());
    assert_eq!(rights(socket.parent().unwrap()), 0o700);
}

/// Returns the sockets on which a process listens: paths of UNIX sockets, and the number of TCP sockets.
fn listening(pid: &Value) -> (Vec<PathBuf>, usize) {
    let folder = format!("/proc/{pid}/fd");
    let open = fs::read_dir(folder).unwrap().flatten();
    let open: Vec<String> = open
        .filter_map(|one| Some(fs::read_link(one.path()).ok()?.display().to_string()))
        .collect();
    let has = |inode: &str| open.contains(&format!("socket:[{inode}]"));
    let unix = fs::read_to_string(format!("/proc/{pid}/net/unix")).unwrap();
    let unix = unix.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Flag of a socket that accepts connections (`__SO_ACCEPTCON`).
        (fields[3] == "00010000" && has(fields[6])).then(|| PathBuf::from(fields[7]))
    });
    let tcp = ["tcp", "tcp6"].map(|kind| {
        let table = fs::read_to_string(format!("/proc/{pid}/net/{kind}")).unwrap_or_default();
        let listens = |line: &&str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields.get(3) == Some(&"0A") && fields.get(9).is_some_and(|inode| has(inode))
        };
        table.lines().filter(listens).count()
    });
    (unix.collect(), tcp.iter().sum())
}

#[test]
fn managers_and_their_processes_are_reached_by_their_user_alone() {
    let login = Login::new("login");
    let cockpit = Cockpit::new("own");
    let artifacts = cockpit.folder.path("");
    let (_node, said) =
        login.serve(&["node", "serve", "--name", "cockpit", "--artifacts", &artifacts]);
    assert_eq!(said["callers"], "user", "{said}");
    let node = login.folder.join("oxorb/cockpit.NodeManager");
    assert_own(&node);
    let urls = said["corbaloc"].as_array().unwrap();
    let [url] = urls.as_slice() else { panic!("{said}") };
    let url = url.as_str().unwrap();
    assert!(url.starts_with("corbaloc:uiop:") && url.contains(node.to_str().unwrap()), "{url}");

    let known = format!("cockpit={url}");
    let (_manager, said) = login.serve(&["deploy", "serve", "--node", &known]);
    assert_eq!(said["callers"], "user", "{said}");
    assert_own(&login.folder.join("oxorb/ExecutionManager"));

    // The other commands find the manager at its default address.
    let (file, resources) =
        (cockpit.folder.path("with-warning.toml"), cockpit.folder.path("with-warning.rt.toml"));
    login.good(&["deploy", "launch", &file, "--rt", &resources]);
    let told = login.good(&["deploy", "status", "--format", "json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    let process = &told[0]["processes"][0];
    assert_eq!(instances(process, "active").len(), 6, "{told:#}");
    // The process listens on several sockets, because its lanes have sockets of their own.
    let (sockets, over_tcp) = listening(&process["pid"]);
    assert!(sockets.len() > 1 && over_tcp == 0, "{sockets:?}, {over_tcp}");
    for socket in sockets {
        let rights = fs::metadata(&socket).unwrap().permissions().mode() & 0o777;
        assert_eq!(rights, 0o600, "{}", socket.display());
    }
    login.good(&["deploy", "stop", "--all"]);
}

#[test]
fn sockets_are_not_put_where_others_may_look() {
    let login = Login::new("open");
    let folder = login.folder.join("oxorb");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let output = login.command(&["deploy", "serve"]).output().unwrap();
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(why.contains("gives other users access; chmod go="), "{why}");
    let output = login.command(&["deploy", "status"]).output().unwrap();
    let why = String::from_utf8(output.stderr).unwrap();
    assert!(why.contains("no execution manager was found"), "{why}");
}

#[test]
fn managers_of_other_processes_are_found_and_answer() {
    let (_node, node) = serve(&["node", "serve", "--name", "cockpit", "--any-artifact"]);
    assert!(node.ends_with("/cockpit.NodeManager"), "{node}");
    let known = format!("cockpit={node}");
    let (mut manager, at) = serve(&["deploy", "serve", "--node", &known]);
    assert!(at.ends_with("/ExecutionManager"), "{at}");
    assert_eq!(good(&["deploy", "status", "--at", &at]), "no plan is launched\n");
    assert_eq!(good(&["deploy", "status", "--at", &at, "--format", "json"]).trim(), "[]");

    let cockpit = plan("cockpit", "cockpit");
    let failed = bad(&["deploy", "launch", cockpit.to_str().unwrap(), "--at", &at]);
    assert!(failed.contains("node cockpit: process main"), "{failed}");
    let moon = plan("moon", "moon");
    let failed = bad(&["deploy", "launch", moon.to_str().unwrap(), "--at", &at]);
    assert!(failed.contains("--node moon=URL"), "{failed}");
    let absent = bad(&["deploy", "redeploy", moon.to_str().unwrap(), "--at", &at]);
    assert!(absent.contains("there are none"), "{absent}");
    let absent = bad(&["deploy", "stop", "small", "--at", &at]);
    assert!(absent.contains("small: there is no such plan; there are none"), "{absent}");
    assert_eq!(good(&["deploy", "stop", "--all", "--at", &at]), "");
    assert_eq!(good(&["deploy", "status", "--at", &at]), "no plan is launched\n");
    for plan in [cockpit, moon] {
        fs::remove_file(plan).unwrap();
    }

    manager.kill();
    let gone = bad(&["deploy", "status", "--at", &at]);
    assert!(gone.contains("no execution manager was found"), "{gone}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    // Use a pipe whose reading end is closed already, so that the result does not depend on timing.
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        writer
    };
    for args in [
        &["ior", "show", "corbaloc::host:1/x", "--format", "json"][..],
        &["completions", "bash"],
        &["doctor", "--format", "json"],
        &["doctor"],
    ] {
        let mut command = oxorb();
        command.args(args).stdin(Stdio::null()).stdout(closed());
        let output = command.output().unwrap();
        let why = String::from_utf8_lossy(&output.stderr);
        assert_eq!(why, "", "{args:?}");
    }
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
    wrong(&["deploy", "serve", "--restart", "always"], "on-failure[:LIMIT");
    wrong(&["deploy", "stop"], "<NAME>...");
    wrong(&["node", "serve"], "--name <NODE>");
}

/// Environment variable with the arguments of a locality, in the process of an artifact.
const LOCALITY: &str = "OXORB_TEST_LOCALITY";

/// Runs the process of an artifact; not a test itself.
#[test]
fn locality_process() {
    let Some(arguments) = std::env::var_os(LOCALITY) else {
        return;
    };
    let arguments = arguments.into_string().unwrap();
    let arguments = arguments.lines().map(str::to_owned);
    let program = std::iter::once("display".to_owned());
    let implementations = oxorb_example_avionics_display::implementations();
    oxorb::deployment::run_locality_with_args(implementations, program.chain(arguments));
}

/// Plans of the avionics display, with this test program as artifact.
pub(crate) struct Cockpit {
    pub(crate) folder: Folder,
}

impl Cockpit {
    pub(crate) fn new(test: &str) -> Cockpit {
        let folder = Folder::new(&format!("launch-{test}"));
        let command = rerun(test_name(locality_process));
        let arguments = command.get_args().map(|it| it.to_str().unwrap());
        let script = format!(
            "#!/bin/sh\n{LOCALITY}=$(printf '%s\\n' \"$@\") exec '{}' {}\n",
            command.get_program().to_str().unwrap(),
            arguments.collect::<Vec<_>>().join(" ")
        );
        let artifact = folder.file("avionics-display", &script);
        fs::set_permissions(artifact, fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["navigation", "with-warning"] {
            for document in [format!("{name}.toml"), format!("{name}.rt.toml")] {
                let plans =
                    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/avionics-display/plans");
                fs::copy(format!("{plans}/{document}"), folder.path(&document)).unwrap();
            }
        }
        Cockpit { folder }
    }

    fn serve_node(&self) -> (Process, String) {
        let artifacts = self.folder.path("");
        serve(&["node", "serve", "--name", "cockpit", "--artifacts", &artifacts])
    }

    /// Launches or redeploys a plan.
    fn put(&self, verb: &str, plan: &str, more: &[&str]) -> String {
        let (file, resources) = (
            self.folder.path(&format!("{plan}.toml")),
            self.folder.path(&format!("{plan}.rt.toml")),
        );
        let args = ["deploy", verb, &file, "--rt", &resources];
        good(&[&args[..], more].concat())
    }
}

/// Returns the only process of the only plan, as `status` prints it.
fn process(at: &str) -> Value {
    let told = good(&["deploy", "status", "--at", at, "--format", "json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    told[0]["processes"][0].clone()
}

/// Waits until the only process satisfies `wanted`.
#[track_caller]
fn wait(at: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + LONG;
    loop {
        let found = process(at);
        if wanted(&found) {
            return found;
        }
        assert!(Instant::now() < end, "{found:#}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the names of the instances in a phase.
fn instances(process: &Value, phase: &str) -> Vec<String> {
    let all = process["instances"].as_array().unwrap().iter();
    let all = all.filter(|one| one["phase"] == phase);
    all.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

fn kill(pid: &Value) {
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(killed.unwrap().success());
}

/// Reports whether a process exists and has not ended.
fn is_alive(pid: &Value) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    !(state.is_empty() || state.starts_with(['Z', 'X']))
}

#[test]
fn a_plan_is_launched_watched_changed_and_stopped() {
    let cockpit = Cockpit::new("cockpit");
    let (mut node, url) = cockpit.serve_node();
    let known = format!("cockpit={url}");
    let (mut manager, at) = serve(&["deploy", "serve", "--node", &known, "--lease", "10"]);
    let at_manager = ["--at", &at, "--restart", "on-failure:2:20"];
    let told = cockpit.put("launch", "navigation", &at_manager);
    assert!(told.ends_with(": 3 instances in 1 process on 1 node\n"), "{told}");
    let first = process(&at);
    assert_eq!(first["state"], "running", "{first:#}");
    assert_eq!(instances(&first, "active"), ["rate", "gps", "navigation"]);
    node.wait_for_line("navigation: tick=", LONG);

    // A dry run reports what would change, and changes nothing.
    let dry = [&at_manager[..], &["--dry-run", "--format", "json"]].concat();
    let told: Value = serde_json::from_str(&cockpit.put("redeploy", "with-warning", &dry)).unwrap();
    assert_eq!(told["event"], "would-change");
    let changes = &told["changes"];
    assert_eq!(changes["added"], serde_json::json!(["radar", "slow rate", "warning"]), "{told:#}");
    assert_eq!(process(&at)["pid"], first["pid"]);
    assert_eq!(instances(&process(&at), "active").len(), 3);

    // The second subsystem is added, and no part of the first one is restarted.
    let told = cockpit.put("redeploy", "with-warning", &at_manager);
    assert!(told.contains("  + instance radar\n") && told.contains("  + connection "), "{told}");
    assert!(!told.contains("  ~ ") && !told.contains("  - "), "{told}");
    assert!(told.ends_with(": 6 instances in 1 process on 1 node\n"), "{told}");
    let second = process(&at);
    assert_eq!(second["pid"], first["pid"]);
    assert_eq!(instances(&second, "active").len(), 6, "{second:#}");
    let open = |process: &Value| {
        let all = process["connections"].as_array().unwrap();
        all.iter().any(|one| one["connected"] != true)
    };
    assert!(!open(&second), "{second:#}");
    node.wait_for_line("warning: tick=", LONG);
    let told = cockpit.put("redeploy", "with-warning", &at_manager);
    assert!(told.starts_with("changed ") && told.contains(": no changes\n"), "{told}");
    // A changed value is reported, with the instance that it recreates and its connections.
    let file = cockpit.folder.path("with-warning.toml");
    let plan = fs::read_to_string(&file).unwrap();
    fs::write(&file, plan.replace("hertz = { ulong = 20 }", "hertz = { ulong = 10 }")).unwrap();
    let told = cockpit.put("redeploy", "with-warning", &[&at_manager[..], &["--dry-run"]].concat());
    assert!(told.starts_with("would change "), "{told}");
    let wanted =
        "  ~ instance rate: its properties differ\n    property rate.hertz: 20 becomes 10\n";
    assert!(told.contains(wanted) && told.contains("  ~ connection pulse\n"), "{told}");
    fs::write(&file, plan).unwrap();

    // After a kill, the process is restarted according to --restart.
    kill(&second["pid"]);
    let third = wait(&at, |it| it["state"] == "running" && it["restarts"] == 1);
    assert_ne!(third["pid"], second["pid"]);
    manager.wait_for_line("runs again", LONG);

    // The death of a node is reported with the processes that ran there.
    node.kill();
    let lost = wait(&at, |it| it["state"] == "lost");
    assert_eq!(instances(&lost, "lost").len(), 6, "{lost:#}");
    let line = manager.wait_for_line("node cockpit is lost", LONG * 2);
    assert!(line.contains("it ran rate, gps, navigation"), "{line}");
    let end = Instant::now() + LONG;
    while is_alive(&third["pid"]) {
        assert!(Instant::now() < end, "{third:#} outlives its node manager");
        std::thread::sleep(Duration::from_millis(10));
    }

    let stopped = good(&["deploy", "stop", "--all", "--at", &at]);
    assert!(stopped.starts_with("stopped "), "{stopped}");
    assert_eq!(good(&["deploy", "status", "--at", &at]), "no plan is launched\n");
}

#[test]
fn a_launch_that_manages_its_nodes_ends_with_the_last_plan() {
    let cockpit = Cockpit::new("last");
    let (first, resources) =
        (cockpit.folder.path("navigation.toml"), cockpit.folder.path("navigation.rt.toml"));
    let text = fs::read_to_string(&first).unwrap();
    let uuid = "9b0c5a1e-6d0f-4e43-8d5c-avionics";
    assert!(text.contains(uuid), "{text}");
    cockpit.folder.file("second.toml", &text.replace(uuid, "second"));
    fs::copy(&resources, cockpit.folder.path("second.rt.toml")).unwrap();

    let artifacts = cockpit.folder.path("");
    let mut command = oxorb();
    command.args(["deploy", "launch", &first, "--rt", &resources, "--local"]);
    command.args(["--artifacts", &artifacts, "--port", "0", "--format", "json"]);
    let mut launching = Process::spawn(command);
    let line = launching.wait_for_line("\"running\"", LONG);
    let said: Value = serde_json::from_str(&line).expect("one line of JSON");
    let at = said["corbaloc"][0].as_str().expect("it has an address");
    // Another command launches its plan through the same execution manager.
    cockpit.put("launch", "second", &["--at", at]);

    good(&["deploy", "stop", uuid, "--at", at]);
    let told = good(&["deploy", "status", "--at", at, "--format", "json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told.as_array().unwrap().len(), 1, "{told:#}");
    assert_eq!(told[0]["plan"], "second", "{told:#}");
    assert_eq!(told[0]["processes"][0]["state"], "running", "{told:#}");

    good(&["deploy", "stop", "second", "--at", at]);
    let lines = launching.wait_success(LONG);
    // The artifact is this test program, which says on its standard output what it is about to run. Standard output of
    // the launch contains nothing but lines of JSON, so the artifact's is on standard error.
    let (errors, output): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.error);
    for line in output {
        let parsed = serde_json::from_str::<Value>(&line.text);
        assert!(parsed.is_ok_and(|line| line.is_object()), "{line:?}");
    }
    assert!(errors.iter().any(|line| line.text.contains("running 1 test")), "{errors:?}");
}

#[test]
fn a_launch_replaces_the_connections_of_extended_ports_if_it_has_the_idl() {
    let folder = Folder::new("launch-extended");
    let idl = folder.file("avionics.idl", crate::deploy::BUS);
    let part = |name: &str, instance: &str| {
        format!(
            "[[implementation]]\nname = {name:?}\nartifact = \"false\"\n\
             execParameter = {{ \"component factory\" = \"create_Avionics_{name}_Impl\" }}\n\
             [[instance]]\nname = {instance:?}\nnode = \"n\"\nimplementation = {name:?}\n"
        )
    };
    let text = [
        "label = \"bus\"\n[[artifact]]\nname = \"false\"\nlocation = \"/bin/false\"\n",
        &part("Left", "left"),
        &part("Wire", "wire"),
        "[[connection]]\nname = \"bus\"\nExtendedPort = \"left.link\"\nMirrorPort = \"wire.near\"\n",
    ]
    .concat();
    let plan = folder.file("plan.toml", &text);
    let args = ["deploy", "launch", &plan, "--local", "--port", "0", "--any-artifact"];
    let refused = bad(&args);
    assert!(refused.contains("which cannot be connected; specify the IDL"), "{refused}");
    // With the IDL, the plan is launched, and fails only because its artifact ends at once. The tests of managers
    // launch such a plan with components.
    let failed = bad(&[&args[..], &["--idl", &idl]].concat());
    assert!(failed.contains("before it called back"), "{failed}");
}
