//! `oxorb ifr`: from IDL to a store and back.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use oxorb_testkit::process::Process;

use crate::common::{Folder, LIMIT};

fn ifr(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .arg("ifr")
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("the command starts")
}

fn stdout(output: Output) -> String {
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{why}");
    String::from_utf8(output.stdout).expect("the command prints UTF-8")
}

#[test]
fn what_is_loaded_is_shown_until_it_is_unloaded() {
    let folder = std::env::temp_dir().join(format!("oxorb-cli-ifr-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let nothing = ifr(&folder, &["ls"]);
    let why = String::from_utf8(nothing.stderr).unwrap();
    assert!(why.contains("`oxorb ifr load` creates one"), "{why}");

    let idl =
        "module m { exception E { long x; }; interface A { long f(in string s) raises (E); }; };";
    std::fs::write(folder.join("a.idl"), idl).unwrap();
    assert!(stdout(ifr(&folder, &["load", "a.idl"])).starts_with("loaded "));
    for name in ["m::A", "::m::A", "IDL:m/A:1.0"] {
        let shown = stdout(ifr(&folder, &["show", name]));
        assert!(shown.contains("long f(in string s) raises (::m::E)"), "{shown}");
    }
    let listed = stdout(ifr(&folder, &["ls", "--format", "json"]));
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed[0]["name"], "::m");
    assert_eq!(listed[0]["type"], serde_json::Value::Null);
    let within = stdout(ifr(&folder, &["list", "m::A"]));
    assert_eq!(within, "operation f  IDL:m/A/f:1.0\n");

    std::fs::write(folder.join("a.idl"), "module m { interface A { long f(").unwrap();
    assert_eq!(ifr(&folder, &["load", "a.idl"]).status.code(), Some(1));
    stdout(ifr(&folder, &["show", "m::A"]));
    let wrong = ifr(&folder, &["unload", "b.idl"]);
    let why = String::from_utf8(wrong.stderr).unwrap();
    assert_eq!(wrong.status.code(), Some(1), "{why}");
    assert!(why.contains("b.idl was not loaded; loaded: /") && why.contains("a.idl"), "{why}");
    stdout(ifr(&folder, &["unload", "a.idl"]));
    let wrong = ifr(&folder, &["unload", "a.idl"]);
    let why = String::from_utf8(wrong.stderr).unwrap();
    assert!(why.contains("a.idl was not loaded; no file is loaded"), "{why}");
    assert_eq!(ifr(&folder, &["show", "m::A"]).status.code(), Some(1));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Any damage of the file results in one error that names it, or has no effect.
#[test]
fn a_damaged_store_is_one_error() {
    let folder = std::env::temp_dir().join(format!("oxorb-cli-ifr-damaged-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.idl"), "interface A { void f(); };").unwrap();
    stdout(ifr(&folder, &["load", "--store", "whole", "a.idl"]));
    let whole = std::fs::read(folder.join("whole")).unwrap();
    let mut refused = 0;
    // Damage each page of 4 KiB near its beginning, where it describes its structure.
    for page in 0..(whole.len() / 4096).min(8) {
        for args in [&["load", "--store", "damaged", "a.idl"][..], &["ls", "--store", "damaged"]] {
            let mut octets = whole.clone();
            let damaged = octets[page * 4096 + 8..].iter_mut().take(200);
            damaged.for_each(|octet| *octet ^= 0xA5);
            std::fs::write(folder.join("damaged"), octets).unwrap();
            let output = ifr(&folder, args);
            let why = String::from_utf8_lossy(&output.stderr);
            if !output.status.success() {
                refused += 1;
                assert_eq!(output.status.code(), Some(1), "{why}");
                assert!(why.contains("damaged"), "{why}");
                assert!(!why.contains("panicked"), "{why}");
            }
        }
    }
    assert!(refused > 0);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A server polls for changes, and still has all of them after it was killed and restarted.
#[test]
fn what_is_loaded_while_it_is_served_is_there_soon() {
    const PATIENCE: Duration = Duration::from_secs(60);
    let folder = std::env::temp_dir().join(format!("oxorb-cli-ifr-live-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let load = |number: usize| {
        let (file, idl) = (
            format!("{number}.idl"),
            format!("module live {{ interface I{number} {{ void go(); }}; }};"),
        );
        std::fs::write(folder.join(&file), idl).unwrap();
        stdout(ifr(&folder, &["load", &file]));
    };
    let serve = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
        command.args(["ifr", "serve", "--host", "127.0.0.1", "--port", "0", "--watch", "20"]);
        command.current_dir(&folder);
        let mut server = Process::spawn(command);
        let line = server.wait_for_line("corbaloc", PATIENCE);
        let url = line.rsplit(' ').next().unwrap().to_owned();
        (server, url)
    };
    let knows = |url: &str, number: usize| {
        let id = format!("IDL:live/I{number}:1.0");
        let asked = Command::new(env!("CARGO_BIN_EXE_oxorb"))
            .args(["call", "--interface", "CORBA::Repository", url, "lookup_id", &id])
            .args(["--idl", concat!(env!("CARGO_MANIFEST_DIR"), "/../ifr/idl/ir.idl")])
            .output()
            .unwrap();
        stdout(asked).starts_with("\"IOR:")
    };
    load(0);
    let (mut server, url) = serve();
    assert!(knows(&url, 0) && !knows(&url, 1));
    for number in 1..4 {
        load(number);
        // The server prints the number of objects after each change of the file.
        while !knows(&url, number) {
            server.wait_for_line("serving", PATIENCE);
        }
    }
    server.kill();
    let (_server, url) = serve();
    assert!((0..4).all(|number| knows(&url, number)));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Definitions of every kind, with names that do not follow from the repository ids.
const KINDS: &str = r#"
#pragma prefix "example.com"
module store {
  const long MOST = 7;
  const string GREETING = "hello";
  exception Sold { string to; };
  enum Color { RED, GREEN };
  struct Item { string name; long price; Color shade; };
  typedef sequence<Item, 3> Items;
  typedef Items Row[2];
  typedef string<8> Brief;
  union Choice switch (Color) { case RED: long a; default: string b; };
  native Handle;
  abstract interface Thing { void go(); };
  valuetype Note string;
  abstract valuetype Touchable { void touch(); };
  valuetype Person supports Thing {
    public string name;
    private Brief motto;
    Items all(in Brief s);
    factory make(in string n);
  };
  local interface Here { void stay(); };
  interface Shop : Thing {
    struct Own { long x; };
    readonly attribute string title;
    attribute Items best;
    long add(in long a, out Item b, inout Choice c) raises (Sold);
    oneway void tell(in Object who);
    any pick(in Row pair, in Person who);
  };
  module inner { interface Desk : Shop { void close(); }; };
};"#;

/// Starts `oxorb ifr serve` in a folder; also returns the repository's URL.
fn served(folder: &Path) -> (Process, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.args(["ifr", "serve", "--host", "127.0.0.1", "--port", "0"]).current_dir(folder);
    let mut server = Process::spawn(command);
    let line = server.wait_for_line("corbaloc", LIMIT);
    let url = line.rsplit(' ').next().unwrap().to_owned();
    (server, url)
}

#[test]
fn a_running_repository_is_printed_like_its_store() {
    let folder = Folder::new("ifr-running");
    std::fs::write(folder.0.join("kinds.idl"), KINDS).unwrap();
    stdout(ifr(&folder.0, &["load", "kinds.idl"]));
    let (_server, url) = served(&folder.0);
    let alike = |args: &[&str]| {
        let stored = stdout(ifr(&folder.0, args));
        assert_eq!(stdout(ifr(&folder.0, &[args, &["--at", &url]].concat())), stored, "{args:?}");
        stored
    };
    let all = alike(&["ls"]);
    for line in [
        "module store  IDL:example.com/store:1.0\n",
        "  abstract interface Thing  IDL:example.com/store/Thing:1.0\n",
        "  module inner",
        "    interface Desk  ",
    ] {
        assert!(all.contains(&format!("\n{line}")) || all.starts_with(line), "{line}{all}");
    }
    let all: serde_json::Value = serde_json::from_str(&alike(&["ls", "--format", "json"])).unwrap();
    let names = all.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap());
    let names: Vec<&str> = names.collect();
    assert_eq!(names.len(), 32, "{names:?}");
    for name in names {
        alike(&["show", name]);
        alike(&["show", name, "--format", "json"]);
        alike(&["ls", name]);
    }
    let shown = alike(&["show", "IDL:example.com/store/inner/Desk:1.0"]);
    for line in [
        "interface Desk : ::store::Shop\n",
        "  void close()\n",
        "  long add(in long a, out ::store::Item b, inout ::store::Choice c) raises (::store::Sold)\n",
        "  void go()\n",
    ] {
        assert!(shown.contains(line), "{line}{shown}");
    }
    // The option of other commands that read a repository names it, too.
    let by_ifr = stdout(ifr(&folder.0, &["ls", "store::inner", "--ifr", &url]));
    assert_eq!(by_ifr, alike(&["ls", "store::inner"]));
    for missing in ["store::Nothing", "IDL:example.com/nothing:1.0"] {
        let output = ifr(&folder.0, &["show", missing, "--at", &url]);
        let why = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{why}");
        assert!(why.contains("does not contain") && why.contains(missing), "{why}");
    }
    let both = ifr(&folder.0, &["ls", "--at", &url, "--store", "oxorb-ifr.redb"]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn a_repository_that_does_not_answer_is_an_error() {
    let folder = Folder::new("ifr-silent");
    // Connections are accepted by the system, and never answered.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("corbaloc::{}/InterfaceRepository", silent.local_addr().unwrap());
    for args in [&["ls"][..], &["show", "A"]] {
        let output = ifr(&folder.0, &[args, &["--at", &url, "--timeout", "200ms"]].concat());
        let why = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{why}");
        assert!(why.contains("the Interface Repository") && why.contains(&url), "{why}");
    }
}

/// The contents of a foreign repository may have no end.
#[test]
fn a_module_that_contains_itself_is_an_error() {
    let folder = Folder::new("ifr-endless");
    let ir = concat!(env!("CARGO_MANIFEST_DIR"), "/../ifr/idl/ir.idl");
    let socket = format!("oxorb-endless-{}", oxorb_testkit::unique());
    let socket = oxorb_testkit::net::socket_folder().join(socket);
    let url = format!("corbaloc:uiop:{}|Endless", socket.display());
    let module = "{ name = \"m\", id = \"IDL:m:1.0\", defined_in = \"\", version = \"1.0\" }";
    let script = format!(
        "[operations.describe_contents]\nreturns = [{{ contained_object = \"{url}\", kind = \"dk_Module\", value = {{ \
         type = \"CORBA::ModuleDescription\", value = {module} }} }}]\n"
    );
    let script = folder.file("endless.toml", &script);
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.args(["serve", "--idl", ir, "--interface", "CORBA::Repository", "--defaults"]);
    command.args(["--script", &script, "--name", "Endless"]);
    command.args(["--listen", &format!("uiop://{}", socket.display())]);
    let mut server = Process::spawn(command);
    server.wait_for_line("corbaloc", LIMIT);
    let output = ifr(&folder.0, &["ls", "--at", &url, "--timeout", "60s"]);
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{why}");
    assert!(why.contains("::m::m::m") && why.contains("more than 64 deep"), "{why}");
}
