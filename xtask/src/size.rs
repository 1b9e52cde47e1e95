//! `cargo xtask size`: disk and memory use of the smallest programs, and of the command.

mod libraries;
mod page;
mod running;

use std::path::{Path, PathBuf};
use std::process::Command;

use running::Memory;
use serde_json::{Value, json};

const USAGE: &str = "Usage: cargo xtask size [--format table|json] [--write] [--no-command]\n\n  \
    Builds the programs of examples/smallest and the command in the profiles release and small, strips them, starts them, and\n  \
    prints their sizes in octets, their memory in KiB and their threads, beside the libraries of omniORB and TAO, if those\n  \
    are installed.\n\n  \
    --format      table (the default) or json, on standard output\n  \
    --write       docs/footprint.md anew; its history gets one line more\n  \
    --no-command  leave out the command, which takes minutes to build";

/// Page written by `--write`.
const PAGE: &str = "docs/footprint.md";

/// Package of the smallest programs.
const SMALLEST: &str = "oxorb-example-smallest";

/// Builds of the smallest programs: profile, features, and a readable name.
const BUILDS: [(&str, &str, &str); 4] = [
    ("release", "full", "release, default features"),
    ("release", "", "release, no features"),
    ("small", "full", "small, default features"),
    ("small", "", "small, no features"),
];

/// Measurements of one program in one build.
pub(crate) struct Row {
    build: String,
    program: &'static str,
    /// Size of the stripped file in octets.
    octets: u64,
    /// Memory of the running program; the command is not started.
    memory: Option<Memory>,
    /// Memory of a server for each connection, in octets.
    per_connection: Option<u64>,
}

/// Measures, prints, and writes the page if requested.
pub(crate) fn main(args: &[String]) -> Result<(), String> {
    let (mut json, mut write, mut with_command) = (false, false, true);
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        match (arg, arg == "--format") {
            ("--write", _) => write = true,
            ("--no-command", _) => with_command = false,
            (_, true) => match args.next() {
                Some("table") => json = false,
                Some("json") => json = true,
                _ => return Err(USAGE.to_owned()),
            },
            _ => return Err(USAGE.to_owned()),
        }
    }
    let workspace = crate::workspace::folder();
    let mut rows = Vec::new();
    for build in BUILDS {
        eprintln!("building: {}", build.2);
        rows.extend(smallest(&workspace, build)?);
    }
    if with_command {
        for profile in ["release", "small"] {
            eprintln!("building: the command, {profile}");
            rows.push(command(&workspace, profile)?);
        }
    }
    let libraries = libraries::installed()?;
    match json {
        true => println!("{}", as_json(&rows, &libraries)),
        false => print!("{}{}", page::table(&rows), page::libraries(&libraries)),
    }
    if write {
        page::write(&workspace.join(PAGE), &rows, &libraries)?;
        eprintln!("written {PAGE}");
    }
    Ok(())
}

/// Builds and measures the smallest programs.
fn smallest(
    workspace: &Path,
    (profile, features, name): (&str, &str, &str),
) -> Result<Vec<Row>, String> {
    let folder = build(workspace, SMALLEST, profile, features)?;
    let file = |program: &str| folder.join(program);
    let client = file("smallest-client");
    let mut rows = Vec::new();
    for program in ["smallest-client", "smallest-server", "smallest-rt-server"] {
        let octets = stripped(&file(program))?;
        let (memory, per_connection) = match program {
            "smallest-client" => (running::client(&file("smallest-server"), &client)?, None),
            _ => {
                let (memory, per_connection) = running::server(&file(program), &client)?;
                (memory, Some(per_connection))
            }
        };
        rows.push(Row {
            build: name.to_owned(),
            program,
            octets,
            memory: Some(memory),
            per_connection,
        });
    }
    Ok(rows)
}

/// Builds the command, and measures its file.
fn command(workspace: &Path, profile: &str) -> Result<Row, String> {
    let folder = build(workspace, "oxorb-cli", profile, "")?;
    Ok(Row {
        build: profile.to_owned(),
        program: "oxorb",
        octets: stripped(&folder.join("oxorb"))?,
        memory: None,
        per_connection: None,
    })
}

/// Builds a package; returns the folder of its programs.
fn build(
    workspace: &Path,
    package: &str,
    profile: &str,
    features: &str,
) -> Result<PathBuf, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut build = Command::new(cargo);
    build.current_dir(workspace);
    build.args([
        "build",
        "--locked",
        "--quiet",
        "--bins",
        "--package",
        package,
        "--profile",
        profile,
    ]);
    if !features.is_empty() {
        build.args(["--features", features]);
    }
    let status = build.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    if !status.success() {
        return Err(format!("cargo could not build {package} with the profile {profile}"));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace.join("target"), PathBuf::from);
    Ok(target.join(profile))
}

/// Returns the size in octets of a program without its symbols.
fn stripped(program: &Path) -> Result<u64, String> {
    let copy = program.with_extension("stripped");
    let run = Command::new("strip").arg("--strip-all").arg("-o").arg(&copy).arg(program).status();
    let status =
        run.map_err(|error| format!("cannot run strip, of the package binutils: {error}"))?;
    if !status.success() {
        return Err(format!("strip refused {}", program.display()));
    }
    let size = std::fs::metadata(&copy).map(|file| file.len());
    let _ = std::fs::remove_file(&copy);
    size.map_err(|error| format!("cannot look at {}: {error}", copy.display()))
}

fn as_json(rows: &[Row], libraries: &[(String, u64)]) -> Value {
    let rows = rows.iter().map(|row| {
        json!({
            "build": row.build,
            "program": row.program,
            "octets": row.octets,
            "resident_kib": row.memory.map(|memory| memory.resident),
            "own_kib": row.memory.map(|memory| memory.own),
            "threads": row.memory.map(|memory| memory.threads),
            "octets_per_connection": row.per_connection,
        })
    });
    let libraries =
        libraries.iter().map(|(library, octets)| json!({ "library": library, "octets": octets }));
    json!({ "programs": rows.collect::<Vec<_>>(), "libraries": libraries.collect::<Vec<_>>() })
}
