//! `oxorb deploy static`: generates the program of one process of a plan as Rust.

mod manifest;
mod names;
mod parts;
mod rust;
mod value;

use std::path::{Path, PathBuf};

use oxorb_deploy::check::Input;
use oxorb_deploy::plan::Plan;
use oxorb_deploy::{Error, Process, expand_extended_ports, processes};

use super::{components, files};
use crate::idl::Reading;
use oxorb_terminal::output::{Done, Failed, because, print};
use parts::Assembly;

/// Arguments of `oxorb deploy static`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Deployment plan: .cdp or .toml
    #[arg(value_name = "PLAN", value_hint = clap::ValueHint::FilePath)]
    plan: PathBuf,
    /// Real-time resources of the plan's instances: .csr or .toml
    #[arg(long, value_name = "RTCAD", value_hint = clap::ValueHint::FilePath)]
    rt: Option<PathBuf>,
    /// IDL file of the components, used to check them and to derive their Rust names; may be repeated
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    idl: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Node of the process; required if several nodes have a process of this name
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Process to write; required if the plan has several
    #[arg(long, value_name = "NAME")]
    process: Option<String>,
    /// Folder of the crate NAME (executors, or oxorb itself), relative to --out (default: ../NAME; for oxorb, the
    /// checkout that this command was built from, or else the published version); may be repeated
    #[arg(long = "crate", value_name = "NAME=FOLDER", value_parser = crate_folder)]
    crates: Vec<(String, String)>,
    /// Folder for src/main.rs and Cargo.toml; created if missing. An existing Cargo.toml is kept
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    out: PathBuf,
}

fn crate_folder(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, folder)) if names::is_package(name) && !folder.is_empty() => {
            Ok((name.to_owned(), folder.to_owned()))
        }
        _ => Err("expected NAME=FOLDER, as display=../display".to_owned()),
    }
}

/// Writes the program of one process.
pub(super) fn run(mut args: Args) -> Done {
    files::take_rt(&args.plan, &mut args.rt)?;
    if !args.crates.iter().any(|(name, _)| name == "oxorb")
        && let Some(checkout) = crate::new::checkout(None)?
    {
        let folder = checkout.join("crates/orb").display().to_string();
        args.crates.push(("oxorb".to_owned(), folder));
    }
    let args = &args;
    let wrong = |file: &Path, error: Error| files::located(file, &error);
    let mut plan =
        files::read(&args.plan)?.into_plan().map_err(|error| wrong(&args.plan, error))?;
    let resources = match &args.rt {
        Some(file) => {
            let document = files::read(file)?;
            Some(document.into_resources().map_err(|error| wrong(file, error))?)
        }
        None => None,
    };
    let components = components::read(&args.idl, &args.reading)?;
    if let Some(components) = &components {
        let expanded = expand_extended_ports(&mut plan, components);
        expanded.map_err(|error| wrong(&args.plan, error))?;
    }
    let input = Input {
        plan: &plan,
        resources: resources.as_ref(),
        domain: None,
        components: components.as_ref(),
    };
    let report = oxorb_deploy::check::check(&input);
    if !report.is_good() {
        let first = report.findings.first().map(ToString::to_string);
        return Err(because(format!(
            "nothing was written, because the plan has errors: {}: {}; oxorb deploy check reports all errors",
            args.plan.display(),
            first.unwrap_or_default()
        )));
    }
    let process = process(args, &plan)?;
    let assembly = Assembly::of(&input, &process).map_err(|findings| {
        let (rt, plan): (Vec<_>, Vec<_>) =
            findings.into_iter().partition(|finding| finding.source == oxorb_deploy::Source::Rtcad);
        match (&args.rt, plan.is_empty()) {
            (Some(file), true) => wrong(file, Error { findings: rt }),
            _ => wrong(&args.plan, Error { findings: plan }),
        }
    })?;
    let source = args.out.join("src");
    std::fs::create_dir_all(&source)
        .map_err(|error| because(format!("{}: {error}", source.display())))?;
    let main = source.join("main.rs");
    files::write(&main, &rust::main(&assembly))?;
    let manifest = args.out.join("Cargo.toml");
    let is_kept = manifest.exists();
    if !is_kept {
        files::write(&manifest, &manifest::text(&assembly, &args.crates))?;
    }
    print(format!(
        "{}: {} of process {:?} on node {:?}{}\n",
        main.display(),
        match assembly.instances.len() {
            1 => "1 instance".to_owned(),
            many => format!("{many} instances"),
        },
        process.name,
        process.node,
        match is_kept {
            true => "; the existing Cargo.toml was kept",
            false => "",
        }
    ))
}

/// Returns the process to write.
fn process(args: &Args, plan: &Plan) -> Result<Process, Failed> {
    let all = processes(plan);
    let known: Vec<String> = all
        .iter()
        .map(|process| format!("--node {:?} --process {:?}", process.node, process.name))
        .collect();
    let is_it = |process: &Process| {
        let fits = |said: &Option<String>, name: &String| said.as_ref().is_none_or(|it| it == name);
        fits(&args.process, &process.name) && fits(&args.node, &process.node)
    };
    let mut found = all.into_iter().filter(is_it);
    match (found.next(), found.next()) {
        (Some(process), None) => Ok(process),
        (None, _) => Err(because(format!(
            "the plan has no such process; its processes are {}",
            known.join(", ")
        ))),
        (Some(_), Some(_)) => Err(because(format!(
            "the plan has several processes, and each call writes one; specify which: {}",
            known.join(", ")
        ))),
    }
}
