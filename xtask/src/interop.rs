//! `cargo xtask interop`: OxORB, omniORB and JacORB call each other.
//!
//! Every ORB has a server and a client program for the same IDL
//! (`tests/interop`); a client runs every check by name against any server and
//! prints one line each. This module builds the programs, runs every pair in
//! every column (GIOP version, code set, byte order), has tshark decode what
//! OxORB sent, and writes the result to INTEROP.md.
//!
//! It installs nothing: `tests/interop/install-peers.sh` does.

mod build;
mod capture;
mod checks;
mod matrix;
mod orb;
mod process;
mod reference;
mod report;
mod run;

use std::path::{Path, PathBuf};

use capture::Decoded;
use matrix::Cell;
use orb::Orb;
use run::Outcome;

const USAGE: &str = "\
Usage: cargo xtask interop [options]

  --orbs A,B        only these ORBs (oxorb, omniorb, jacorb)
  --column C        only this column (1.0, 1.1, 1.2, utf-8, big-endian, fragments,
                    strategies)
  --jobs N          pairs that run at the same time (2)
  --write           write the result to INTEROP.md
  --check           fail when INTEROP.md says something else
  --no-capture      do not have tshark decode what OxORB sends
  --format json     print the result as JSON";

/// What the command line asks for.
struct Options {
    orbs: Vec<Orb>,
    column: Option<String>,
    jobs: usize,
    write: bool,
    check: bool,
    capture: bool,
    json: bool,
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
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || {
                args.next()
                    .cloned()
                    .ok_or(format!("{arg} needs a value\n\n{USAGE}"))
            };
            match arg.as_str() {
                "--orbs" => {
                    options.orbs = value()?
                        .split(',')
                        .map(Orb::named)
                        .collect::<Result<_, _>>()?
                }
                "--column" => options.column = Some(value()?),
                "--jobs" => {
                    options.jobs = value()?
                        .parse()
                        .map_err(|_| "--jobs needs a number".to_owned())?
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

/// One pair in one column, and how it went.
struct CellResult {
    cell: Cell,
    outcome: Outcome,
    decoded: Option<Decoded>,
}

/// Runs the command.
pub(crate) fn main(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let places = Places::find()?;
    let programs = build::build(&places, &options.orbs)?;
    let cells = matrix::cells(&options.orbs, options.column.as_deref());
    let results = run::all(&places, &programs, cells, options.jobs, options.capture)?;
    if options.json {
        println!("{}", report::json(&results));
    } else {
        print!("{}", report::table(&results));
    }
    let markdown = report::markdown(&results);
    if options.write {
        std::fs::write(&places.markdown, &markdown)
            .map_err(|e| format!("{}: {e}", places.markdown.display()))?;
    }
    let mut complaints = report::complaints(&results);
    if options.check && std::fs::read_to_string(&places.markdown).unwrap_or_default() != markdown {
        complaints.push("INTEROP.md says something else: cargo xtask interop --write".to_owned());
    }
    if complaints.is_empty() {
        Ok(())
    } else {
        Err(complaints.join("\n"))
    }
}

/// The directories and files of the test.
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
