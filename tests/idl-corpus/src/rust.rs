//! `cargo check` of the generated Rust: one crate per source, one module per file.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::generate::{self, Outcome};
use crate::progress::Progress;
use crate::report::Report;
use crate::sources::Source;

/// Compiles all crates at once. Returns a complaint for each file whose Rust does not compile.
pub(crate) fn check(
    root: &Path,
    target: &Path,
    sources: &[Source],
    outcomes: &[Vec<Outcome>],
    every_message: bool,
    report: &mut Report,
) -> Result<(), String> {
    let work = target.join("idl-corpus");
    write_workspace(root, &work, sources, outcomes)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut child = Command::new(cargo)
        .args(["check", "--workspace", "--keep-going"])
        .arg("--message-format=json")
        .current_dir(&work)
        .env("CARGO_TARGET_DIR", target)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cargo: {error}"))?;
    // Both pipes are drained, as cargo would block otherwise.
    let errors = child.stderr.take().expect("it is piped");
    let errors = std::thread::spawn(move || {
        let lines = BufReader::new(errors).lines().map_while(Result::ok);
        lines.collect::<Vec<_>>().join("\n")
    });
    let output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (progress, mut units) = (Progress::new(), 0);
    for line in output.lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        if message["reason"] == "compiler-artifact" {
            units += 1;
            progress.now("compiling: crates done:", units, units);
        }
        if message["reason"] != "compiler-message" {
            continue;
        }
        let message = &message["message"];
        let spans = message["spans"].as_array().into_iter().flatten();
        let mut files = spans.filter_map(|span| span["file_name"].as_str());
        let Some(file) = files.find(|file| Path::new(file).extension().is_some()) else {
            continue;
        };
        let text = message["rendered"].as_str().unwrap_or_default();
        found.entry(file.to_owned()).or_default().push(text.to_owned());
    }
    drop(progress);
    let status = child.wait().map_err(|error| format!("cargo: {error}"))?;
    let errors = errors.join().unwrap_or_default();
    if !status.success() && found.is_empty() {
        return Err(format!("cargo check: {status}\n{errors}"));
    }
    for (file, messages) in &found {
        let shown = if every_message { messages.len() } else { 1 };
        report.complain(format!(
            "{file}: {} messages of the Rust compiler\n{}",
            messages.len(),
            messages[..shown].concat()
        ));
        let stem = Path::new(file).file_stem().unwrap_or_default();
        report.not_compiled(Path::new(file), &stem.to_string_lossy());
    }
    report.checked = true;
    Ok(())
}

fn write_workspace(
    root: &Path,
    work: &Path,
    sources: &[Source],
    outcomes: &[Vec<Outcome>],
) -> Result<(), String> {
    let members: Vec<_> = sources.iter().map(|source| source.name).collect();
    put(
        &work.join("Cargo.toml"),
        &format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n"),
    )?;
    // Uses the same versions as all other builds, so that nothing is downloaded.
    let lock = root.join("Cargo.lock");
    let lock = std::fs::read_to_string(&lock).map_err(|e| format!("{}: {e}", lock.display()))?;
    put(&work.join("Cargo.lock"), &lock)?;
    for (source, outcomes) in sources.iter().zip(outcomes) {
        let name = source.name;
        put(
            &work.join(name).join("Cargo.toml"),
            &format!(
                "[package]\nname = \"oxorb-idl-corpus-{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
                 [dependencies]\noxorb = {{ path = {:?} }}\n",
                root.join("crates/orb")
            ),
        )?;
        let mut lib = "#![deny(warnings)]\n#![allow(non_snake_case)]\n".to_owned();
        let mut modules = Vec::new();
        for outcome in outcomes {
            if let Outcome::Rust { module, .. } = outcome {
                let _ = writeln!(lib, "pub mod {module};");
                modules.push(generate::path(work, source, module));
            }
        }
        let folder = work.join(name).join("src");
        put(&folder.join("lib.rs"), &lib)?;
        // Removes files of earlier runs that this one did not write.
        let entries = std::fs::read_dir(&folder).map_err(|e| e.to_string())?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if !modules.contains(&path) && !path.ends_with("lib.rs") {
                std::fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            }
        }
    }
    Ok(())
}

fn put(path: &Path, text: &str) -> Result<(), String> {
    let mut files = oxorb_idlgen::Files::default();
    files.insert(path, text);
    files.write().map_err(|error| error.to_string())
}
