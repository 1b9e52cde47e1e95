//! `oxorb deploy static`: `tests/assembly` compiles and runs its output, which these tests keep up to date.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{Folder, text};

const PLANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/tests/plans");
const ASSEMBLY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/assembly");

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.args(["deploy", "static"]).args(args).current_dir(PLANS).stdin(Stdio::null());
    command.output().expect("the command starts")
}

fn written(args: &[&str], folder: &Folder) -> (String, String) {
    let out = folder.path("out");
    let output = run(&[args, &["--out", &out]].concat());
    assert_eq!(text(&output.stderr), "", "{args:?}");
    assert_eq!(output.status.code(), Some(0), "{args:?}");
    let read = |name: &str| std::fs::read_to_string(Path::new(&out).join(name)).unwrap();
    (read("src/main.rs"), read("Cargo.toml"))
}

fn refused(plan: &str) -> String {
    let folder = Folder::new("static-refused");
    let (plan, out) = (folder.file("plan.toml", plan), folder.path("out"));
    let output = run(&[&plan, "--out", &out]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(!Path::new(&out).exists(), "nothing is written");
    text(&output.stderr)
}

/// Compares with the files that `tests/assembly` compiles, or writes them if BLESS is set.
fn golden(name: &str, args: &[&str]) {
    let folder = Folder::new(&format!("static-{name}"));
    let crates = ["--crate", "oxorb=../../../../crates/orb", "--crate", "avionics=../.."];
    let (main, manifest) = written(&[args, &crates].concat(), &folder);
    let place = Path::new(ASSEMBLY).join("golden").join(name);
    for (file, text) in [("src/main.rs", &main), ("Cargo.golden.toml", &manifest)] {
        let file = place.join(file);
        if std::env::var_os("BLESS").is_some() {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
        }
        let known = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            *text == known,
            "{} is out of date; BLESS=1 writes it. It should be\n{text}",
            file.display()
        );
    }
    let _: toml::Table = manifest.parse().expect("a manifest is TOML");
}

#[test]
fn the_avionics_display() {
    golden("avionics", &["avionics.toml", "--idl", "avionics.idl"]);
}

#[test]
fn two_subsystems_with_their_policies() {
    let args = ["collision.toml", "--idl", "avionics.idl", "--rt", "collision-rt.toml"];
    golden("collision", &args);
}

#[test]
fn events_through_a_channel() {
    let rt = format!("{ASSEMBLY}/plans/channel-rt.toml");
    golden("channel", &["avionics.toml", "--idl", "avionics.idl", "--rt", &rt]);
}

#[test]
fn a_carrier_of_the_executable_is_refused() {
    let folder = Folder::new("static-carrier");
    let rt =
        "document = \"ServerResources\"\n[[instance]]\nname = \"rate\"\nevents = \"executable\"\n";
    let (rt, out) = (folder.file("rt.toml", rt), folder.path("out"));
    let output = run(&["avionics.toml", "--idl", "avionics.idl", "--rt", &rt, "--out", &out]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let said = text(&output.stderr);
    assert!(said.contains("rt.toml:2:"), "{said}");
    assert!(said.contains("set events = \"channel\""), "{said}");
}

#[test]
fn a_plan_full_of_code() {
    golden("hostile", &[&format!("{ASSEMBLY}/plans/hostile.toml")]);
}

#[test]
fn idl_and_names_give_the_same_types() {
    let folder = Folder::new("static-types");
    let (with, _) = written(&["avionics.toml", "--idl", "avionics.idl"], &folder);
    let (without, _) = written(&["avionics.toml"], &folder);
    assert_eq!(with, without);
}

#[test]
fn a_manifest_that_is_there_stays() {
    let folder = Folder::new("static-manifest");
    let (_, first) = written(&["avionics.toml"], &folder);
    // Nothing is published, so the program is built with the command's own checkout.
    assert!(first.contains("/crates/orb\", default-features = false, features"), "{first}");
    let manifest = Path::new(&folder.path("out")).join("Cargo.toml");
    std::fs::write(&manifest, "# mine\n").unwrap();
    let (_, kept) = written(&["avionics.toml"], &folder);
    assert_eq!(kept, "# mine\n");
}

/// Returns a plan of one instance.
fn plan(implementation: &str, instance: &str) -> String {
    format!(
        "[[artifact]]\nname = \"avionics\"\nlocation = \"a\"\n\
         [[implementation]]\nname = \"I\"\nartifact = \"avionics\"\n{implementation}\n\
         [[instance]]\nname = \"a\"\nimplementation = \"I\"\nnode = \"n\"\n{instance}\n"
    )
}

#[test]
fn a_plan_that_names_policies_needs_the_resources() {
    for property in ["CIAO:InstancePolicy", "CIAO:ReceptaclePolicy"] {
        let factory = "[implementation.execParameter]\n\"component factory\" = \"create_A_B_Impl\"";
        let deployed = format!(
            "deployedResource = [{{ requirementName = \"CIAO\", resourceName = \"r\", \
             property = {{ \"{property}\" = \"urgent\" }} }}]"
        );
        let said = refused(&plan(factory, &deployed));
        assert!(said.contains("no real-time resources are given"), "{said}");
        assert!(said.contains("--rt"), "{said}");
    }
}

#[test]
fn rates_that_a_program_would_not_enforce_are_refused() {
    let folder = Folder::new("static-rates");
    let rt = "document = \"ServerResources\"\n[[instance]]\nname = \"gps\"\n\
              work = [{ port = \"refresh\", wcet = \"1 ms\", mostRate = \"40 Hz\", beyond = \"refuse\" }]\n";
    let (rt, out) = (folder.file("rt.toml", rt), folder.path("out"));
    let output = run(&["avionics.toml", "--idl", "avionics.idl", "--rt", &rt, "--out", &out]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    let said = text(&output.stderr);
    assert!(said.contains("rt.toml:4:9: "), "{said}");
    assert!(
        said.contains("is enforced (beyond = \"refuse\"), which this command cannot generate"),
        "{said}"
    );
}

#[test]
fn what_would_become_code_must_be_a_name() {
    let parameters = |more: &str| format!("[implementation.execParameter]\n{more}");
    let typed = "\"component type\" = \"A::B\"\n";
    for (implementation, instance, told) in [
        (
            parameters("\"component factory\" = \"f(); fn g\"\n\"component type\" = \"A::B\""),
            "",
            "plan.toml:8:1: \"f(); fn g\" is not the name of a function",
        ),
        (
            parameters(&format!("{typed}\"rust executor\" = \"a::b(); c\"")),
            "",
            "is not a Rust path",
        ),
        (
            parameters("\"component factory\" = \"f\"\n\"component type\" = \"A::B<()>\""),
            "",
            "is not a component in an IDL module",
        ),
        (
            parameters("\"component factory\" = \"f\""),
            "",
            "the component type of implementation \"I\" is unknown",
        ),
        (
            parameters(&format!(
                "{typed}\"component factory\" = \"f\"\n\"rust crate\" = \"a = 1\""
            )),
            "",
            "\"a = 1\" cannot be the name of a crate",
        ),
        (
            parameters(&format!("{typed}\"component factory\" = \"f\"")),
            "[instance.configProperty]\n\"x(); y\" = 1",
            "\"x(); y\" is not the name of an attribute",
        ),
        (
            parameters(&format!("{typed}\"component factory\" = \"f\"")),
            "[instance.configProperty]\n\"edu.vanderbilt.dre.DAnCE.RegisterNaming\" = \"a\"",
            "requires node managers",
        ),
    ] {
        let found = refused(&plan(&implementation, instance));
        assert!(found.contains(told), "{told}: {found}");
    }
}

#[test]
fn one_process_is_written_at_a_time() {
    let parameters = "[implementation.execParameter]\n\"component factory\" = \"f\"\n\"component type\" = \"A::B\"";
    let other = "[[instance]]\nname = \"b\"\nimplementation = \"I\"\nnode = \"m\"";
    let both = plan(parameters, other);
    let told = refused(&both);
    assert!(
        told.contains(
            "specify which: --node \"n\" --process \"main\", --node \"m\" --process \"main\""
        ),
        "{told}"
    );
    let folder = Folder::new("static-process");
    let file = folder.file("plan.toml", &both);
    let (main, _) = written(&[&file, "--node", "m"], &folder);
    assert!(main.contains(".install(\"b\"") && !main.contains(".install(\"a\""), "{main}");
    let joined = format!(
        "{both}\n[[connection]]\nname = \"c\"\nFacet = \"a.x\"\nSimplexReceptacle = \"b.y\"\n"
    );
    let file = folder.file("joined.toml", &joined);
    let output = run(&[&file, "--node", "m", "--out", &folder.path("out")]);
    let told = text(&output.stderr);
    assert!(
        output.status.code() == Some(1) && told.contains("leads to another process, at \"x\""),
        "{told}"
    );
}
