//! `oxorb name`: a name server, and all operations on it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use oxorb_testkit::process::Process;
use serde_json::Value;

const START: Duration = Duration::from_secs(30);

fn oxorb() -> Command {
    Command::new(env!("CARGO_BIN_EXE_oxorb"))
}

/// Name server in its own process.
struct Server {
    process: Process,
    url: String,
    /// JSON line printed when serving started.
    said: Value,
}

impl Server {
    fn start(args: &[&str]) -> Server {
        let mut command = oxorb();
        command
            .args(["name", "serve", "--listen", "iiop://127.0.0.1:0"])
            .args(["--format", "json"])
            .args(args);
        let mut process = Process::spawn(command);
        let line = process.wait_for_line("serving", START);
        let said: Value = serde_json::from_str(&line).expect("one line of JSON");
        let url = said["corbaloc"][0].as_str().expect("it has an address").to_owned();
        Server { process, url, said }
    }

    fn name(&self, args: &[&str]) -> Output {
        oxorb()
            .arg("name")
            .args(args)
            .args(["--at", &self.url])
            .stdin(Stdio::null())
            .output()
            .expect("the command starts")
    }

    fn good(&self, args: &[&str]) -> String {
        let output = self.name(args);
        let why = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {why}");
        String::from_utf8(output.stdout).expect("the command prints UTF-8")
    }

    fn bad(&self, args: &[&str]) -> String {
        let output = self.name(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        String::from_utf8(output.stderr).expect("the command prints UTF-8")
    }

    fn json(&self, args: &[&str]) -> Value {
        let args: Vec<_> = args.iter().copied().chain(["--format", "json"]).collect();
        serde_json::from_str(&self.good(&args)).expect("one JSON document")
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path =
            std::env::temp_dir().join(format!("oxorb-name-{test}-{}", oxorb_testkit::unique()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).expect("a folder for temporary files");
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        Path::join(&self.0, name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Address at which no server listens.
const NOBODY: &str = "corbaloc::127.0.0.1:1/Nobody";

#[test]
fn names_are_made_shown_and_taken_away() {
    let server = Server::start(&["--in-memory"]);
    assert_eq!(
        server.good(&["bind", "bank/teller.object", NOBODY, "--parents"]),
        "bound bank/teller.object\n"
    );
    let why = server.bad(&["bind", "bank/teller.object", NOBODY]);
    assert_eq!(
        why,
        "error: cannot bind \"bank/teller.object\": the name is already bound (AlreadyBound); --rebind replaces its \
         binding\n"
    );
    let why = server.bad(&["bind", "shop/till", NOBODY]);
    assert!(why.ends_with("(NotFound); --parents makes the missing contexts\n"), "{why}");
    let why = server.bad(&["mkcontext", "bank"]);
    assert!(why.ends_with("(AlreadyBound); --parents accepts a context that exists\n"), "{why}");
    server.good(&["bind", "bank/teller.object", NOBODY, "--rebind"]);
    let ior = server.good(&["resolve", "bank/teller.object"]);
    assert!(ior.starts_with("IOR:"), "{ior}");
    let url = server.good(&["resolve", "bank/teller.object", "--corbaloc"]);
    assert_eq!(url, "corbaloc:iiop:1.0@127.0.0.1:1/Nobody\n");
    server.good(&["bind", "bank/root", &server.url, "--context"]);
    server.good(&["mkcontext", "bank/empty"]);
    let tree = "└── bank/\n    ├── empty/\n    ├── root/  see the root\n    └── teller.object\n";
    assert_eq!(server.good(&["tree"]), tree);
    assert_eq!(server.good(&["ls", "bank"]), "empty/\nroot/\nteller.object\n");
    let listed = server.json(&["ls", "bank", "--long"]);
    assert_eq!(listed[2]["id"], "teller");
    assert_eq!(listed[2]["kind"], "object");
    assert_eq!(listed[2]["type"], "object");
    assert_eq!(listed[2]["corbaloc"], "corbaloc:iiop:1.0@127.0.0.1:1/Nobody");
    let tree = server.json(&["tree"]);
    assert_eq!(tree[0]["bindings"][1]["same_as"], "");
    assert_eq!(tree[0]["bindings"][2]["name"], "bank/teller.object");
    server.good(&["unbind", "bank/root"]);
    server.good(&["unbind", "bank/empty", "--destroy"]);
    let why = server.bad(&["unbind", "bank", "--destroy"]);
    assert!(why.starts_with("error: cannot destroy bank: "), "{why}");
    server.good(&["unbind", "bank/teller.object"]);
    server.good(&["unbind", "bank", "--destroy"]);
    assert_eq!(server.good(&["tree"]), "");
}

/// U8: contexts are created and destroyed like folders.
#[test]
fn contexts_are_made_and_destroyed() {
    let server = Server::start(&["--in-memory"]);
    assert_eq!(server.good(&["mkdir", "a/b", "--parents"]), "made a/b\n");
    server.good(&["bind", "a/x", NOBODY]);
    let why = server.bad(&["rmdir", "a"]);
    let wanted = "error: cannot destroy a: the context has bindings (NotEmpty); remove them first";
    assert!(why.starts_with(wanted), "{why}");
    assert_eq!(server.good(&["rmdir", "a/b"]), "removed a/b\n");
    assert!(server.bad(&["rmdir", "a/x"]).contains("a/x"));
    assert_eq!(server.good(&["ls", "a"]), "x\n");
}

/// `corbaname:` is accepted wherever a reference is.
#[test]
fn what_has_a_name_is_reached_by_it() {
    let server = Server::start(&["--in-memory"]);
    server.good(&["bind", "bank/names.service", &server.url, "--parents"]);
    let (at, _) = server.url.split_once("/NameService").expect("its key");
    let named = |name: &str| format!("{}#{name}", at.replacen("corbaloc", "corbaname", 1));
    let run = |args: &[&str]| {
        let output = oxorb().args(args).output().expect("the command starts");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).expect("the command prints UTF-8");
        (output.status.code(), said)
    };
    let there = named("bank/names.service");
    let (status, said) = run(&["ping", "-c", "3", &there]);
    let why = "the first endpoint in the reference that answers";
    assert!(said.contains("calls go over iiop to "), "{said}");
    assert!(said.contains(why), "{said}");
    assert!(status == Some(0) && said.contains("3 calls: "), "{said}");
    let (status, said) = run(&["call", &there, "_repository_id"]);
    assert_eq!(status, Some(0), "{said}");
    assert_eq!(said, "\"IDL:omg.org/CosNaming/NamingContextExt:1.0\"\n");
    let nowhere = named("bank/nobody");
    for command in [vec!["ping", &nowhere], vec!["call", &nowhere, "_repository_id"]] {
        let (status, said) = run(&command);
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("there is no \"nobody\""), "{said}");
    }
    let (status, said) = run(&["name", "resolve", &there]);
    assert_eq!(status, Some(2));
    assert!(said.contains("a URL is not a name: "), "{said}");
}

#[test]
fn what_is_gone_is_found_and_removed() {
    let server = Server::start(&["--in-memory"]);
    let other = Server::start(&["--in-memory"]);
    for (name, url) in [
        ("a/alive", server.url.as_str()),
        ("a/gone", &server.url.replace("NameService", "Gone")),
        ("b/unreachable", NOBODY),
    ] {
        server.good(&["bind", name, url, "--parents"]);
    }
    server.good(&["bind", "b/elsewhere", &other.url, "--context"]);
    other.good(&["bind", "theirs", NOBODY]);
    server.good(&["bind", "loop", &server.url, "--context"]);

    // Without confirmation, nothing is removed.
    let output = server.name(&["prune", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let dead = |found: &Value| {
        let rows = found["dead"].as_array().unwrap().iter();
        let rows = rows.map(|row| {
            let text = |key: &str| row[key].as_str().unwrap().to_owned();
            (text("name"), text("health"), row["removed"].as_bool().unwrap())
        });
        rows.collect::<Vec<_>>()
    };
    let row = |name: &str, health: &str, removed| (name.to_owned(), health.to_owned(), removed);
    assert_eq!(
        dead(&found),
        [
            row("a/gone", "gone", false),
            row("b/elsewhere/theirs", "unreachable", false),
            row("b/unreachable", "unreachable", false),
        ]
    );
    assert_eq!(found["checked"], 8);

    let why = server.bad(&["prune"]);
    assert_eq!(
        why,
        "error: 3 names still lead to no object; --yes removes names without a question\n"
    );

    // With --gone-only, the names of objects that may come back are kept.
    let why = server.bad(&["prune", "--yes", "--gone-only"]);
    assert_eq!(why, "error: 2 names still lead to no object\n");
    assert_eq!(server.good(&["ls", "a"]), "alive\n");

    // If a name server is down, the name of its context is removed here. The names in that context are on the other
    // server.
    drop(other);
    let shown = server.good(&["prune", "--yes"]);
    assert!(shown.contains("removed b/elsewhere\nremoved b/unreachable\n"), "{shown}");
    assert_eq!(server.good(&["ls", "b"]), "");
    let shown = server.good(&["prune"]);
    assert_eq!(shown, "all 4 names lead to objects that answer\n");
}

#[test]
fn names_outlive_the_server() {
    let folder = Folder::new("outlive");
    let (store, ior_file) = (folder.file("names.redb"), folder.file("ns.ior"));
    let mut server = Server::start(&["--store", &store, "--ior-file", &ior_file]);
    assert_eq!(server.said["bindings"], 0);
    server.good(&["bind", "a/b", NOBODY, "--parents"]);
    let at = format!("file://{ior_file}");
    let listed = oxorb().args(["name", "ls", "--at", &at]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&listed.stdout), "a/\n");

    // A second server is refused the same store, with the reason.
    let second =
        oxorb().args(["name", "serve", "--port", "0", "--store", &store]).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let why = String::from_utf8_lossy(&second.stderr);
    assert!(why.contains("another process, or this one, already serves names from it"), "{why}");

    server.process.kill();
    let server = Server::start(&["--store", &store]);
    assert_eq!(server.said["bindings"], 2);
    assert_eq!(server.good(&["ls", "a"]), "b\n");
}

#[test]
fn who_is_not_there_is_named() {
    let nobody = "corbaloc::127.0.0.1:1/NameService";
    let output = oxorb().args(["name", "ls", "--at", nobody]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(why.contains("127.0.0.1:1: cannot connect"), "{why}");
    assert!(why.contains("`oxorb name serve` starts one"), "{why}");
    // Without --at, the initial reference determines the name server.
    let server = Server::start(&["--in-memory"]);
    server.good(&["bind", "x", NOBODY]);
    let listed = oxorb()
        .args(["name", "ls", "-ORBInitRef"])
        .arg(format!("NameService={}", server.url))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&listed.stdout), "x\n");
    // A name is checked before any call.
    let output = oxorb().args(["name", "resolve", "a//b"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(why.contains("an empty component"), "{why}");
}

/// The rules shown at the start are the effective ones.
#[test]
fn a_server_listens_on_loopback_and_says_who_may_what() {
    let mut command = oxorb();
    command.args(["name", "serve", "--in-memory", "--port", "0"]);
    let mut process = Process::spawn(command);
    let line = process.wait_for_line("serving", START);
    assert!(line.contains("corbaloc::127.0.0.1:"), "{line}");
    let line = process.wait_for_line("connections", START);
    assert!(line.contains("only this machine; at iiop://127.0.0.1:0"), "{line}");
    let line = process.wait_for_line("changes", START);
    assert!(line.contains("by every client that can connect"), "{line}");
    let line = process.wait_for_line("other servers", START);
    assert!(line.contains("not followed to other servers"), "{line}");

    let told = Server::start(&[
        "--in-memory",
        "--read-only",
        "--federate",
        "north.example,[::1]:2809",
        "-ORBAccess",
        "allow 127.0.0.0/8",
    ]);
    let access = &told.said["access"];
    assert_eq!(access["loopback"], true);
    assert_eq!(access["rules"], "allow 127.0.0.0/8");
    assert_eq!(access["read_only"], true);
    assert_eq!(access["federation"], "north.example, [::1]:2809");
    let why = told.bad(&["bind", "a", NOBODY]);
    assert!(why.contains("read-only"), "{why}");
    assert_eq!(told.good(&["ls"]), "");
    let wrong = oxorb().args(["name", "serve", "--federate", "http://x"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn limits_are_settings() {
    let server = Server::start(&["--in-memory", "--max-bindings", "1", "--max-name", "4"]);
    server.good(&["bind", "a", NOBODY]);
    let why = server.bad(&["bind", "b", NOBODY]);
    assert!(why.contains("has the maximum number of bindings"), "{why}");
    let why = server.bad(&["resolve", "abcde"]);
    assert!(why.contains("more components or octets"), "{why}");
}
