//! `oxorb call` and `oxorb serve` with types from an Interface Repository, against servers of three ORBs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use oxorb_testkit::net::free_port;
use oxorb_testkit::peers::{is_there, jacorb, jacorb_program, missing};
use oxorb_testkit::process::Process;
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);

const SHOP: &str = "
module shop {
  exception Sold { string to; };
  struct Item { string name; long price; };
  interface Base {
    readonly attribute string title;
    long add(in long a, in short b);
  };
  interface Desk : Base {
    attribute Item best getraises (Sold) setraises (Sold);
    Item pick(in Item from, out any rest) raises (Sold);
  };
};";

/// Folder removed after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let name = format!("oxorb-call-ifr-{test}-{}", oxorb_testkit::unique());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("shop.idl"), SHOP).unwrap();
        Folder(path)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
        command.current_dir(&self.0).stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command().args(args).output().unwrap()
    }

    fn load(&self, idl: &Path) {
        let loaded = self.run(&["ifr", "load", &idl.to_string_lossy()]);
        assert!(loaded.status.success(), "{loaded:?}");
    }

    /// Serves a repository of the loaded IDL; also returns the repository's reference.
    fn serve_ifr(&self) -> (Process, String) {
        let mut command = self.command();
        command.args(["ifr", "serve", "--host", "127.0.0.1", "--port", "0"]);
        let mut server = Process::spawn(command);
        let line = server.wait_for_line("serving", PATIENCE);
        let url = line.rsplit(' ').next().unwrap().to_owned();
        (server, url)
    }

    /// Serves a stand-in for a Desk; also returns the stand-in's reference.
    fn serve_desk(&self, args: &[&str]) -> (Process, String) {
        let mut command = self.command();
        command.args(["serve", "--interface", "shop::Desk", "--defaults", "--name", "Desk"]);
        let mut server = Process::spawn({
            command.args(args);
            command
        });
        let line = server.wait_for_line("corbaloc", PATIENCE);
        let line: Value = serde_json::from_str(&line).unwrap();
        (server, line["corbaloc"].as_str().unwrap().to_owned())
    }

    fn good(&self, args: &[&str]) -> Value {
        let run = self.run(args);
        assert!(run.status.success(), "{args:?}: {run:?}");
        serde_json::from_slice(&run.stdout).unwrap()
    }

    fn bad(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.status.code(), Some(1), "{args:?}: {run:?}");
        String::from_utf8(run.stderr).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn init_ref(url: &str) -> String {
    format!("InterfaceRepository={url}")
}

#[test]
fn an_oxorb_server_is_called_with_types_from_a_repository() {
    let folder = Folder::new("oxorb");
    folder.load(Path::new("shop.idl"));
    let (_ifr, ifr) = folder.serve_ifr();
    let init_ref = init_ref(&ifr);
    // The stand-in takes its types from the repository, too.
    let (_desk, desk) = folder.serve_desk(&["--ifr", &ifr, "-ORBInitRef", &init_ref]);
    let ways: [&[&str]; 3] = [
        &["--ifr", &ifr],
        &["-ORBInitRef", &init_ref],
        // Without options, the repository is found by the object's own `_interface`.
        &[],
    ];
    for way in ways {
        let call = |args: &[&str]| folder.good(&[&["call"], way, &[&desk], args].concat());
        assert_eq!(call(&["add", "1", "2"]), json!(0), "inherited");
        assert_eq!(call(&["title"]), json!(""));
        assert_eq!(call(&["best"]), json!({ "name": "", "price": 0 }));
        let picked = call(&["pick", r#"{"name": "a", "price": 5}"#]);
        assert_eq!(picked["returns"], json!({ "name": "", "price": 0 }),);
        let wrong = folder.bad(&[&["call"], way, &[&desk, "add", "1"]].concat());
        assert!(wrong.contains("2 arguments, not 1"), "{wrong}");
        let wrong = folder.bad(&[&["call"], way, &[&desk, "sell"]].concat());
        assert!(wrong.contains("shop::Desk has no operation or attribute sell"), "{wrong}");
        assert!(wrong.contains("pick"), "{wrong}");
    }
    let named = folder.good(&["call", "--ifr", &ifr, "--interface", "shop::Base", &desk, "title"]);
    assert_eq!(named, json!(""));
}

/// Neither the operation nor its result type names the derived type: only the repository id in the reply does.
#[test]
fn derived_values_are_looked_up_when_they_come() {
    let folder = Folder::new("derived");
    let idl = "module staff {
      valuetype Person { public string name; };
      valuetype Employee : truncatable Person { public long number; public Person boss; };
      valuetype Note string;
      interface Office { Person echo(in Person who); ValueBase pass(in ValueBase it); };
    };";
    std::fs::write(folder.0.join("staff.idl"), idl).unwrap();
    let script = "[operations.echo]\nreturns = \"$who\"\n[operations.pass]\nreturns = \"$it\"\n";
    std::fs::write(folder.0.join("office.toml"), script).unwrap();
    folder.load(Path::new("staff.idl"));
    let (_ifr, ifr) = folder.serve_ifr();
    let mut command = folder.command();
    command.args(["serve", "--ifr", &ifr, "--interface", "staff::Office"]);
    command.args(["--script", "office.toml", "--name", "Office"]);
    let mut server = Process::spawn(command);
    let line: Value = serde_json::from_str(&server.wait_for_line("corbaloc", PATIENCE)).unwrap();
    let office = line["corbaloc"].as_str().unwrap();
    let grace = json!({
        "$type": "IDL:staff/Employee:1.0", "name": "Grace", "number": 7,
        "boss": { "$type": "IDL:staff/Employee:1.0", "name": "Ada", "number": 1, "boss": null },
    });
    let note = json!({ "$type": "IDL:staff/Note:1.0", "$value": "so" });
    for (operation, value) in [("echo", &grace), ("pass", &grace), ("pass", &note)] {
        let back = folder.good(&["call", "--ifr", &ifr, office, operation, &value.to_string()]);
        assert_eq!(&back, value);
    }
}

#[test]
fn what_was_tried_is_told() {
    let folder = Folder::new("tried");
    folder.load(Path::new("shop.idl"));
    let (_ifr, ifr) = folder.serve_ifr();
    let other = "module other { interface Thing { void go(); }; };";
    std::fs::write(folder.0.join("other.idl"), other).unwrap();
    let mut command = folder.command();
    command.args(["serve", "--idl", "other.idl", "--name", "Thing"]);
    let mut server = Process::spawn(command);
    let line: Value = serde_json::from_str(&server.wait_for_line("corbaloc", PATIENCE)).unwrap();
    let (thing, ior) = (line["corbaloc"].as_str().unwrap(), line["ior"].as_str().unwrap());

    let told = folder.bad(&["call", ior, "go"]);
    for part in [
        "the initial reference InterfaceRepository is not set",
        "the object's _interface: INTF_REPOS",
        "--idl FILE",
        "--ifr URL",
    ] {
        assert!(told.contains(part), "no {part:?} in {told}");
    }
    for reference in [ior, thing] {
        let told = folder.bad(&["call", "--ifr", &ifr, reference, "go"]);
        let part = "IDL:other/Thing:1.0 is unknown there";
        assert!(told.contains(part), "no {part:?} in {told}");
        assert!(!told.contains("_interface"), "only what was asked for: {told}");
    }
    let nobody = format!("corbaloc::127.0.0.1:{}/InterfaceRepository", free_port());
    let told = folder.bad(&["call", "--ifr", &nobody, ior, "go"]);
    assert!(told.contains("the Interface Repository") && told.contains("refused"), "{told}");
    let told = folder.bad(&["serve", "--ifr", &ifr, "--interface", "other::Thing"]);
    assert!(told.contains("the interface other::Thing is unknown there"), "{told}");
}

#[test]
fn an_omniorb_server_is_called_with_types_from_a_repository() {
    if !is_there("omniNames") {
        return;
    }
    let folder = Folder::new("omniorb");
    let idl = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../idl/omg/CosNaming.idl");
    folder.load(&idl);
    let (_ifr, ifr) = folder.serve_ifr();
    let port = free_port().to_string();
    let mut command = Command::new("omniNames");
    command
        .args(["-always", "-start", &port, "-logdir"])
        .arg(&folder.0)
        .args(["-ORBendPoint", &format!("giop:tcp:127.0.0.1:{port}")])
        .args(["-ORBInitRef", &init_ref(&ifr)]);
    let mut names = Process::spawn(command);
    names.wait_for_line("Checkpointing Phase 2", PATIENCE);
    let root = format!("corbaloc::127.0.0.1:{port}/NameService");
    for way in [&["--ifr", ifr.as_str()] as &[_], &[]] {
        let call = |args: &[&str]| folder.run(&[&["call"], way, &[&root], args].concat());
        let good = |args: &[&str]| -> Value {
            let run = call(args);
            assert!(run.status.success(), "{args:?}: {run:?}");
            serde_json::from_slice(&run.stdout).unwrap()
        };
        let context = good(&["new_context"]);
        assert!(context.as_str().unwrap().starts_with("IOR:"), "{context}");
        let name = r#"[{"id": "x", "kind": ""}]"#;
        good(&["rebind_context", name, context.as_str().unwrap()]);
        let found = good(&["resolve", name]);
        assert_eq!(found, context);
        let nothing = call(&["resolve", r#"[{"id": "y", "kind": ""}]"#]);
        let exception: Value = serde_json::from_slice(&nothing.stdout).unwrap();
        assert_eq!(exception["members"]["why"], "missing_node");
    }
}

#[test]
fn a_jacorb_server_is_called_with_types_from_a_repository() {
    let Some(jars) = jacorb() else { return };
    let folder = Folder::new("jacorb");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/call_ifr/Desk.java");
    let mut javac = Command::new("javac");
    javac.args(["-nowarn", "-cp", &jars, "-d"]).arg(&folder.0).arg(source);
    match javac.output() {
        Ok(built) => assert!(built.status.success(), "{built:?}"),
        Err(error) => return missing("javac", &error.to_string()),
    }
    folder.load(Path::new("shop.idl"));
    let (_ifr, ifr) = folder.serve_ifr();
    let class_path = format!("{}:{jars}", folder.0.display());
    let repository = format!("ORBInitRef.InterfaceRepository={ifr}");
    let mut server = Process::spawn(jacorb_program(&class_path, &[&repository], "Desk"));
    let desk = server.wait_for_line("IOR:", PATIENCE);
    for way in [&["--ifr", ifr.as_str()] as &[_], &[]] {
        let call = |args: &[&str]| folder.good(&[&["call"], way, &[desk.trim()], args].concat());
        assert_eq!(call(&["add", "40", "2"]), json!(42));
        assert_eq!(call(&["title"]), json!("a desk in Java"));
    }
}
