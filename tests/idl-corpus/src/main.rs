//! `cargo xtask idl-corpus`: every available IDL file must compile, and so must the Rust generated from it.
//!
//! 1. Each file of each [source](sources) becomes a module of one crate per source; rejected files must be exactly
//!    those in `refused.tsv`, with omniidl's verdict as listed there.
//! 2. `cargo check` compiles the crates, warnings denied.
//! 3. Files in `idl/omg` that omniORB or JacORB also provide [are compared](peers) with theirs: repository ids,
//!    operations, and all marshalled types.
#![forbid(unsafe_code)]

mod generate;
mod peers;
mod progress;
mod refused;
mod report;
mod rust;
mod sources;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
Compiles every IDL file of Debian's omniorb-idl, of OpenJDK's ORB and of this repository, and the Rust that comes
out.

Usage: cargo xtask idl-corpus [OPTIONS]

Options:
      --source <NAME>    Only this source: omniorb, openjdk, omg, ours or tests; may be repeated
      --no-check         Do not compile the Rust
      --no-peers         Do not compare idl/omg with what omniORB and JacORB bring (it needs a JDK)
      --keep-going       Print every compiler message, not only the first of each file
      --format <FORMAT>  text or json [default: text]
  -h, --help             Print help

The foreign files come with tests/interop/install-peers.sh. What is refused must be what
tests/idl-corpus/refused.tsv lists, no more and no less. The Rust is written to idl-corpus in the
target folder. Takes about two minutes on two cores, and fails unless everything is as it should be.

Examples:
  cargo xtask idl-corpus
  cargo xtask idl-corpus --source omg --format json";

/// Options of the command line.
struct Options {
    sources: Vec<String>,
    check: bool,
    peers: bool,
    every_message: bool,
    json: bool,
}

impl Options {
    /// Parses the options; `None` if help was requested.
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Options {
            sources: Vec::new(),
            check: true,
            peers: true,
            every_message: false,
            json: false,
        };
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--source" => {
                    let name = value()?;
                    if !sources::NAMES.contains(&name.as_str()) {
                        let known = sources::NAMES.join(", ");
                        return Err(format!("no source is called `{name}`; there are: {known}"));
                    }
                    options.sources.push(name);
                }
                "--no-check" => options.check = false,
                "--no-peers" => options.peers = false,
                "--keep-going" => options.every_message = true,
                "--format" => match value()?.as_str() {
                    "json" => options.json = true,
                    "text" => options.json = false,
                    other => return Err(format!("no format is called `{other}`: text or json")),
                },
                "-h" | "--help" => return Ok(None),
                _ => return Err(format!("unknown argument `{arg}`")),
            }
        }
        Ok(Some(options))
    }
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("error: {message}\n\nFor more information, try '--help'.");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(report) => {
            match options.json {
                true => println!("{}", report.json()),
                false => print!("{}", report.text()),
            }
            match report.complaints.is_empty() {
                true => ExitCode::SUCCESS,
                false => ExitCode::FAILURE,
            }
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<report::Report, String> {
    let root = root()?;
    let work = work(&root);
    let sources = sources::all(&root, &options.sources)?;
    let mut report = report::Report::default();
    let outcomes = generate::all(&sources, &work.join("idl-corpus"))?;
    refused::verify(&root, &sources, &outcomes, &mut report)?;
    for (source, outcomes) in sources.iter().zip(&outcomes) {
        report.source(source, outcomes);
    }
    if options.check {
        rust::check(&root, &work, &sources, &outcomes, options.every_message, &mut report)?;
    }
    if options.peers && options.sources.is_empty() {
        peers::compare(&root, &mut report)?;
    }
    Ok(report)
}

/// Returns the folder of the workspace.
fn root() -> Result<PathBuf, String> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .ok_or("CARGO_MANIFEST_DIR is not set: start this with `cargo xtask idl-corpus`")?;
    let root = Path::new(&package).ancestors().nth(2);
    Ok(root.ok_or("the package has no workspace")?.to_owned())
}

/// Returns the target folder.
fn work(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), |target| root.join(target))
}
