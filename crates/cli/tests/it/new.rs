//! `oxorb new`. `.ci/full demo` tests that its projects build and run.

use std::fs;
use std::process::{Command, Output};

use crate::common::{Folder, text};

fn new(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oxorb")).arg("new").args(args).output().unwrap()
}

#[test]
fn a_project_is_an_example_with_a_name_of_its_own() {
    let folder = Folder::new("new");
    for (template, interface, program, run) in [
        ("hello", "idl/hello.idl", "src/bin/client.rs", "cargo run --bin server"),
        ("lanes", "idl/plant.idl", "src/bin/client.rs", "cargo run --release --bin server"),
        ("rt", "idl/plant.idl", "src/bin/server.rs", "cargo run --release --bin server"),
        ("server", "idl/hello.idl", "src/main.rs", "cargo run --"),
        ("client", "idl/hello.idl", "src/main.rs", "cargo run --"),
        ("component", "idl/avionics.idl", "src/main.rs", "cargo run -- --plan plan.toml"),
    ] {
        let project = folder.path(&format!("my-{template}"));
        let made = new(&[&project, "--template", template]);
        assert!(made.status.success(), "{}", text(&made.stderr));
        let read = |path: &str| fs::read_to_string(format!("{project}/{path}")).unwrap();
        let manifest = read("Cargo.toml");
        assert!(manifest.contains(&format!("name = \"my-{template}\"")), "{manifest}");
        // The project depends on the `oxorb` of this checkout.
        assert!(manifest.contains("crates/orb\""), "{manifest}");
        assert!(read(interface).contains("interface"));
        assert!(read("build.rs").contains(interface) && read(program).contains("main"));
        let readme = read("README.md");
        assert!(readme.contains(run), "{readme}");
        assert!(!readme.contains("oxorb-example"), "{readme}");
        if template == "component" {
            assert!(manifest.contains("features = [\"deployment\"]"), "{manifest}");
            assert!(read("plan.toml").contains("location = \"my-component\""));
        }
        let again = new(&[&project]);
        assert_eq!(again.status.code(), Some(1));
        let why = text(&again.stderr);
        assert!(why.contains("already exists and is not empty; choose another name"), "{why}");
    }
}

#[test]
fn what_cannot_be_made_is_told() {
    let folder = Folder::new("new-wrong");
    let refused = |args: &[&str], why: &str| {
        let output = new(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(text(&output.stderr).contains(why), "{output:?}");
    };
    refused(&[&folder.path("7up")], "`7up` cannot be the name of a package");
    refused(&["two words"], "expected an ASCII letter, followed by ASCII letters, digits, - and _");
    for none in [".", "..", "/"] {
        refused(&[none], "does not end with the name of a new folder");
    }
    refused(&[&folder.path("deps")], "`deps` cannot be the name of a project");
    for own in ["oxorb", "oxorb-core"] {
        refused(&[&folder.path(own)], "is a package of OxORB");
    }
    refused(&[&folder.file("file", "")], "already exists and is a file");
    refused(&[&folder.path("it"), "--oxorb", &folder.path("")], "is not a checkout of OxORB");
    assert!(!fs::exists(folder.path("it")).unwrap());
}
