//! Variables of the environment that nothing reads.
//!
//! Independent of `OXORB_TEST_TRANSPORT`: it reads the log of ORBs without objects.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use oxorb::Orb;
use oxorb::settings::SETTINGS;
use oxorb_testkit::process::{rerun, test_name};

/// Variable that is set in the process whose ORBs log.
const LOGGING: &str = "OXORB_TEST_ENVIRONMENT";

#[test]
fn two_orbs() {
    if std::env::var_os(LOGGING).is_some() {
        for _ in 0..2 {
            Orb::builder().build().unwrap().shutdown(true).unwrap();
        }
    }
}

/// Returns the lines about variables that two ORBs log in a process with these variables.
fn logged<'n>(variables: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let mut process = rerun(test_name(two_orbs));
    process.env(LOGGING, "1").stdin(Stdio::null());
    for name in variables {
        process.env(name, "confidential");
    }
    let output = process.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!text.contains("confidential"), "{text}");
    text.lines().filter(|line| line.contains("environment variable")).map(str::to_owned).collect()
}

#[test]
fn a_misspelt_variable_is_logged_once() {
    let lines = logged(["OXORB_INITREFF", "OXORB_HTTP_TOKEN", "OXORB_NAME_SERVICE_PORT"]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    for part in ["OXORB_INITREFF is ignored", "did you mean OXORB_INITREF?"] {
        assert!(lines[0].contains(part), "no {part:?} in {lines:?}");
    }
}

/// Adds the variables that a text names: in source as string literals, elsewhere as words.
fn add_variables(text: &str, is_source: bool, found: &mut BTreeSet<String>) {
    for (at, _) in text.match_indices("OXORB_") {
        let (before, behind) = text.split_at(at);
        let is_name = |c: char| c.is_ascii_uppercase() || c == '_';
        let end = behind.find(|c| !is_name(c)).unwrap_or(behind.len());
        let (name, behind) = behind.split_at(end);
        let is_literal = before.ends_with('"') && behind.starts_with('"');
        if is_literal || !is_source && !before.ends_with(is_name) {
            found.insert(name.to_owned());
        }
    }
}

fn search(folder: &Path, found: &mut BTreeSet<String>) {
    let is_script = folder.file_name().is_some_and(|name| name == ".ci");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        if path.is_dir() && !path.ends_with("target") {
            search(&path, found);
        } else if path.is_file() && (is_source || is_script) {
            // Tests of unknown variables name some.
            if !path.ends_with("environment.rs") {
                let text = std::fs::read(&path).unwrap();
                add_variables(&String::from_utf8_lossy(&text), is_source, found);
            }
        }
    }
}

#[test]
fn variables_of_tests_and_commands_are_known() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeSet::new();
    for folder in [".ci", "benches", "crates", "examples", "tests", "xtask"] {
        search(&workspace.join(folder), &mut found);
    }
    assert!(found.len() > 50, "{found:?}");
    let files = ["PERSONALITY", "CONFIGFILE", "SCHEDULE", "ACCESSRULES"];
    found.retain(|name| {
        let name = &name["OXORB_".len()..];
        !SETTINGS.iter().any(|setting| setting.name.eq_ignore_ascii_case(name))
            && !files.contains(&name)
    });
    // The process that logs is a test itself, whose behaviour these variables would change.
    found.retain(|name| !name.starts_with("OXORB_TEST"));
    let lines = logged(found.iter().map(String::as_str));
    assert!(
        lines.is_empty(),
        "add them to the table in crates/core/src/options/environment.rs: {lines:#?}"
    );
}
