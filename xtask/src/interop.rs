//! `cargo xtask interop`: calls between OxORB, omniORB and JacORB.
//!
//! Every ORB has a server and a client program for the same IDL (`tests/interop`); a client runs every check by name
//! against any server and prints one line for each. This module builds the programs, runs every pair in every column
//! (GIOP version, code set, byte order), has tshark decode OxORB's messages, and writes the result to INTEROP.md.
//!
//! It installs nothing: `tests/interop/install-peers.sh` does.

mod apart;
mod build;
mod capture;
mod checks;
mod components;
mod matrix;
mod naming;
mod orb;
mod ports;
mod process;
mod reference;
mod report;
mod run;

use std::path::{Path, PathBuf};

use capture::Decoded;
use matrix::{Cell, Column};
use orb::Orb;
use run::Outcome;

const USAGE: &str = "\
Usage: cargo xtask interop [options]

  --orbs A,B        only these ORBs (oxorb, omniorb, jacorb)
  --column C        only this column (1.0, 1.1, 1.2, utf-8, latin-1, big-endian, fragments,
                    strategies, lanes, bidirectional, unix, tls, s390x)
  --jobs N          pairs that run at the same time (2)
  --write           write the result to INTEROP.md
  --check           fail when INTEROP.md says something else
  --only PART       calls (the matrix of the programs), naming (the name servers) or components
  --no-capture      do not have tshark decode what OxORB sends
  --format json     print the result as JSON";

/// Heading of the part of INTEROP.md that the tests of oxorb-notify write and check.
const EVENTS: &str = "\n## Notification services\n";

/// Options of the command line.
struct Options {
    orbs: Vec<Orb>,
    column: Option<String>,
    jobs: usize,
    write: bool,
    check: bool,
    capture: bool,
    json: bool,
    /// Whether to run the matrix of the programs.
    calls: bool,
    /// Whether to run the name servers.
    naming: bool,
    /// Whether to run clients of OxORB's components.
    components: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self {
            orbs: Orb::ALL.to_vec(),
            column: None,
            jobs: 2,
            write: false,
            check: false,
            capture: true,
            json: false,
            calls: true,
            naming: true,
            components: true,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value =
                || args.next().cloned().ok_or(format!("{arg} needs a value\n\n{USAGE}"));
            match arg.as_str() {
                "--orbs" => {
                    options.orbs = value()?.split(',').map(Orb::named).collect::<Result<_, _>>()?
                }
                "--column" => options.column = Some(value()?),
                "--jobs" => {
                    options.jobs =
                        value()?.parse().map_err(|_| "--jobs needs a number".to_owned())?
                }
                "--only" => {
                    let part = value()?;
                    if !["calls", "naming", "components"].contains(&part.as_str()) {
                        return Err(format!("--only {part}: calls, naming or components"));
                    }
                    options.calls = part == "calls";
                    options.naming = part == "naming";
                    options.components = part == "components";
                }
                "--format" if value()? == "json" => options.json = true,
                "--write" => options.write = true,
                "--check" => options.check = true,
                "--no-capture" => options.capture = false,
                _ => return Err(format!("unknown argument {arg}\n\n{USAGE}")),
            }
        }
        Ok(options)
    }
}

/// Result of one pair in one column.
struct CellResult {
    cell: Cell,
    outcome: Outcome,
    decoded: Option<Decoded>,
}

/// Runs the command.
pub(crate) fn main(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let places = Places::find()?;
    let foreign =
        options.calls && options.column.as_ref().is_none_or(|it| it == Column::S390x.name());
    let programs = build::build(&places, &options.orbs, foreign)?;
    let mut results = Vec::new();
    if options.calls {
        let cells = matrix::cells(&options.orbs, options.column.as_deref());
        results = run::all(&places, &programs, cells, options.jobs, options.capture)?;
    }
    // `--column` selects a column of the matrix, which does not include the name servers.
    let names = match options.naming && options.column.is_none() {
        true => Some(naming::all(&places, &programs, &options.orbs)?),
        false => None,
    };
    let components = match options.components && options.column.is_none() {
        true if options.orbs.contains(&Orb::Ox) => {
            let server = programs.oxorb.join("interop-components").into();
            let clients = component_clients(&programs, &options.orbs);
            Some(components::all(&places.work.join("components"), server, &clients)?)
        }
        true => None,
        false => None,
    };
    match (options.json, options.calls) {
        (true, _) => {
            let names = names.as_deref().map(naming::json);
            println!(
                "{}",
                serde_json::json!({
                    "calls": report::json(&results),
                    "naming": names,
                    "components": components.as_deref().map(components::json),
                })
            );
        }
        (false, true) => print!("{}", report::table(&results)),
        (false, false) => {}
    }
    let before = std::fs::read_to_string(&places.markdown).unwrap_or_default();
    let part = |text: &str, heading| text.find(heading).unwrap_or(text.len());
    // The tests of oxorb-notify write and check this part.
    let (before_events, events) = before.split_at(part(&before, EVENTS));
    let (calls_before, names_before) = before_events.split_at(part(before_events, naming::HEADING));
    let (names_before, components_before) =
        names_before.split_at(part(names_before, components::HEADING));
    let calls = match options.calls {
        true => report::markdown(&results),
        false => calls_before.to_owned(),
    };
    let names_now = names.as_deref().map(naming::markdown);
    let components_now = components.as_deref().map(components::markdown);
    let markdown = [
        &calls,
        names_now.as_deref().unwrap_or(names_before),
        components_now.as_deref().unwrap_or(components_before),
        events,
    ];
    let markdown = markdown.concat();
    if options.write {
        std::fs::write(&places.markdown, &markdown)
            .map_err(|e| format!("{}: {e}", places.markdown.display()))?;
    }
    let mut complaints = report::complaints(&results);
    complaints.extend(names.iter().flat_map(|names| naming::complaints(names)));
    complaints.extend(components.iter().flat_map(|rows| components::complaints(rows)));
    if options.check && before != markdown {
        complaints.push("INTEROP.md says something else: cargo xtask interop --write".to_owned());
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n")) }
}

/// Returns the other ORBs' clients of components.
fn component_clients(programs: &build::Programs, orbs: &[Orb]) -> Vec<components::Client> {
    let peers = orbs.iter().filter(|orb| **orb != Orb::Ox);
    let clients = peers.map(|orb| match orb {
        Orb::Jac => components::Client {
            name: orb.name(),
            program: "java".into(),
            args: vec![
                "-cp".into(),
                programs.java_class_path.clone(),
                "-XX:TieredStopAtLevel=1".into(),
                "-Djavax.rmi.CORBA.UtilClass=peers.RmiUtil".into(),
                "peers.ComponentClient".into(),
            ],
        },
        _ => components::Client {
            name: orb.name(),
            program: programs.omniorb.join("interop-components").into(),
            args: Vec::new(),
        },
    });
    clients.collect()
}

/// Directories and files of the test.
struct Places {
    root: PathBuf,
    sources: PathBuf,
    work: PathBuf,
    markdown: PathBuf,
}

impl Places {
    fn find() -> Result<Self, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .ok_or("xtask has no parent directory")?
            .to_owned();
        let work = root.join("target/interop");
        std::fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
        Ok(Self {
            sources: root.join("tests/interop"),
            markdown: root.join("INTEROP.md"),
            work,
            root,
        })
    }
}
