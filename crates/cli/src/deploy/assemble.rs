//! `oxorb deploy assemble`: makes a plan from a package and its assemblies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use oxorb::deployment::idl::ox_deployment::RepositoryManagerRef;
use oxorb::deployment::{artifact_location, package_file, read_archive};
use oxorb_deploy::check::Components;
use oxorb_deploy::plan::Plan;
use oxorb_deploy::{Archive, ArchiveLimits, Assembly, Document};
use oxorb_idl::source::{Memory, SourceMap};

use super::execution::ManagerArgs;
use super::files::{self, Form};
use super::{components, package};
use crate::idl::Reading;
use oxorb_terminal::output::{Done, Failed, because, counted, print, warning};

/// Arguments of `oxorb deploy assemble`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Package: an archive (.cpk), or a folder with its descriptors and artifacts; with --packages or --repository, its
    /// name
    #[arg(value_name = "PACKAGE", value_hint = clap::ValueHint::AnyPath)]
    from: PathBuf,
    /// Folder of packages of an execution manager (--packages of `oxorb deploy serve`) that contains the package
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    packages: Option<PathBuf>,
    /// Take the package from the repository of an execution manager, which --at names. Artifacts of the plan then have
    /// locations in the repository, from which node managers with --fetch-from fetch them
    #[arg(long, conflicts_with = "packages")]
    repository: bool,
    #[command(flatten)]
    manager: ManagerArgs,
    /// Plan to write; - writes to standard output
    #[arg(value_name = "PLAN", value_hint = clap::ValueHint::FilePath)]
    plan: PathBuf,
    /// Top-level descriptor within the package; default: the only one to which no other descriptor refers
    #[arg(long, value_name = "DESCRIPTOR")]
    package: Option<String>,
    /// Node for all instances without a node in --place
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// Node for one instance, or for all instances of a part; may be repeated
    #[arg(long, value_name = "PART=NODE", value_parser = placed)]
    place: Vec<(String, String)>,
    /// Value of a property of an instance, or of an external property of an assembly in the package. It overrides the
    /// values of the package and of its assemblies, and has the type that the IDL, the .ccd or the overridden value
    /// declares; may be repeated
    #[arg(long, value_name = "INSTANCE.PROPERTY=VALUE", value_parser = set)]
    set: Vec<(String, String)>,
    /// IDL file of the components, with the kinds of their ports and the types of their attributes [default: the IDL
    /// files of the package, which can include no files outside of the package, not even with -I]; may be repeated
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    idl: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Format of the plan [default: that of its file name extension]
    #[arg(long, value_enum)]
    to: Option<Form>,
}

fn placed(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((part, node)) if !part.is_empty() && !node.is_empty() => {
            Ok((part.to_owned(), node.to_owned()))
        }
        _ => Err("write PART=NODE, such as radar=tail".to_owned()),
    }
}

fn set(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((target, value)) if target.contains('.') => Ok((target.to_owned(), value.to_owned())),
        _ => Err("write INSTANCE.PROPERTY=VALUE, such as radar/timer.hertz=5".to_owned()),
    }
}

/// Returns the components of the IDL files of a package, or the report on files that cannot be compiled or exceed a
/// limit. The files can include only each other and the files built into OxORB, because a package is untrusted input.
fn packaged(archive: &Archive, reading: &Reading) -> Result<Components, String> {
    let is_idl = |path: &str| path.ends_with(".idl");
    let paths: Vec<&String> = archive.files.keys().filter(|path| is_idl(path)).collect();
    if paths.is_empty() {
        return Ok(Components::new());
    }
    let files = archive.files.iter().filter(|(path, _)| is_idl(path));
    let files = files.map(|(path, content)| (PathBuf::from(path), content.clone())).collect();
    let sources = SourceMap::new(Memory(files));
    match oxorb_idl::compile_from(sources, &paths, &reading.options()) {
        Ok(compiled) => components::of(&compiled.model),
        Err(failed) => Err(failed.report.text(false)),
    }
}

/// Returns the archive of a package in the folder of a repository.
fn installed(folder: &Path, name: &Path) -> Result<PathBuf, Failed> {
    let Some(name) = name.to_str() else {
        return Err(because(format!("{}: the name of a package must be UTF-8", name.display())));
    };
    let file = package_file(folder, name).map_err(because)?;
    match file.is_file() {
        true => Ok(file),
        false => Err(because(format!(
            "the folder {} has no package {name:?}: {} is missing; `oxorb deploy repository list` prints the names of \
             all packages",
            folder.display(),
            file.display()
        ))),
    }
}

/// Returns the archive of a package in the repository of an execution manager, and the URL of the repository.
fn fetched(args: &Args) -> Result<(Archive, String), Failed> {
    let Some(name) = args.from.to_str() else {
        return Err(because(format!(
            "{}: the name of a package must be UTF-8",
            args.from.display()
        )));
    };
    let (orb, url, repository) = args.manager.repository_at::<RepositoryManagerRef>()?;
    let limits = ArchiveLimits::default();
    let octets = read_archive(&repository, name, limits.octets, args.manager.limit());
    let octets = octets.map_err(|why| because(format!("{url}: {why}")))?;
    orb.shutdown(true)?;
    let archive = Archive::read(&octets, &limits);
    Ok((archive.map_err(|error| files::located(&args.from, &error))?, url))
}

/// Makes the locations of a plan's artifacts those of files in a package of a repository.
fn locate(plan: &mut Plan, archive: &Archive, url: &str, package: &Path) {
    let package = package.to_string_lossy();
    let locations = plan.artifact.iter_mut().flat_map(|artifact| &mut artifact.location);
    for location in locations {
        if let Some(content) = archive.files.get(location.as_str()) {
            *location = artifact_location(url, &package, location, content);
        }
    }
}

/// Creates the plan.
pub(super) fn run(args: &Args) -> Done {
    let to = files::format(&args.plan, args.to, Some("--to"))?;
    let mut nodes = BTreeMap::new();
    for (part, node) in &args.place {
        if nodes.insert(part.clone(), node.clone()).is_some_and(|other| other != *node) {
            return Err(because(format!("--place puts {part:?} on two nodes: specify one node")));
        }
    }
    let mut values = BTreeMap::new();
    for (target, value) in &args.set {
        if values.insert(target.clone(), value.clone()).is_some_and(|other| other != *value) {
            return Err(because(format!("--set gives {target:?} two values: specify one value")));
        }
    }
    if args.manager.at.is_some() && !args.repository {
        return Err(because(
            "--at names the execution manager of --repository: add --repository, or omit --at",
        ));
    }
    let from = match &args.packages {
        Some(folder) => installed(folder, &args.from)?,
        None => args.from.clone(),
    };
    let (archive, url) = match args.repository {
        true => fetched(args).map(|(archive, url)| (archive, Some(url)))?,
        false => (package::open(&from)?, None),
    };
    let idl = match components::read(&args.idl, &args.reading)? {
        Some(components) => Ok(components),
        None => packaged(&archive, &args.reading),
    };
    // The plan may need no IDL. Errors in the IDL files of the package are therefore reported only in addition to
    // errors of the plan. Without such errors, a warning reports them.
    let (components, unread) = match idl {
        Ok(components) => (components, None),
        Err(report) => (Components::new(), Some(report)),
    };
    let assembly = Assembly {
        package: args.package.clone(),
        node: args.node.clone(),
        nodes,
        values,
        components,
        ..Assembly::default()
    };
    let mut plan =
        archive.plan(&assembly).map_err(|error| match (files::within(&from, &error), &unread) {
            (Failed::Because(why), Some(report)) => because(format!(
                "{why}\nthe IDL files of the package are not used; specify others with --idl\n{}",
                report.trim_end()
            )),
            (failed, _) => failed,
        })?;
    if let Some(url) = &url {
        locate(&mut plan, &archive, url, &args.from);
    }
    if let Some(report) = &unread {
        let first = report.lines().next().unwrap_or_default();
        warning(&format!(
            "the IDL files of the package are not used: {first}; specify others with --idl"
        ));
    }
    let told = format!(
        "{}: {}, {}\n",
        args.plan.display(),
        counted(plan.instance.len(), "instance"),
        counted(plan.connection.len(), "connection")
    );
    let text = Document::from(plan).write(to);
    files::write(&args.plan, &text.map_err(|error| files::located(&from, &error))?)?;
    match args.plan.as_os_str() == "-" {
        true => Ok(()),
        false => print(told),
    }
}
