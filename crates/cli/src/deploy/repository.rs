//! `oxorb deploy repository`: packages that an execution manager keeps.

use std::fmt::Display;

use oxorb::deployment::idl::deployment::repository_manager::{
    DeletePackageError, FindPackageByNameError, InstallPackageError,
};
use oxorb::deployment::wire::package_from_wire;
use oxorb::values::Printable;
use oxorb_deploy::Document;
use serde_json::json;

use super::execution::ManagerArgs;
use super::files::Form;
use oxorb_terminal::output::{Done, Failed, Format, because, print, print_json};

/// Verbs of `oxorb deploy repository`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Install an archive (.cpk) as a package
    #[command(
        after_help = "The execution manager reads the archive itself, from the folder of its option --install-from, or \
        fetches it from a server of its option --install-url. The package is stored on disk when the command \
        returns.\n\nExamples:\n  oxorb deploy repository install gps gps-1.2.cpk\n  \
        oxorb deploy repository install gps http://127.0.0.1:8000/archives/gps-1.2.cpk\n  \
        oxorb deploy repository install gps gps-1.3.cpk --replace \\\n    \
        --at corbaloc::host:2810/ExecutionManager"
    )]
    Install(InstallArgs),
    /// List the names of the packages
    #[command(
        visible_alias = "ls",
        after_help = "Examples:\n  oxorb deploy repository list\n  \
        oxorb deploy repository list --type IDL:Avionics/Sensor:1.0 --format json"
    )]
    List(ListArgs),
    /// Write the descriptor of a package, without links to other descriptors
    #[command(after_help = "Example:\n  oxorb deploy repository show gps --to xml")]
    Show(ShowArgs),
    /// Delete a package
    #[command(after_help = "Example:\n  oxorb deploy repository delete gps")]
    Delete(DeleteArgs),
}

/// Arguments of `oxorb deploy repository install`.
#[derive(clap::Args)]
pub(crate) struct InstallArgs {
    /// Name of the package
    #[arg(value_name = "NAME")]
    name: String,
    /// Archive (.cpk): a path, or a file: URL, below the folder of --install-from of the execution manager, in which
    /// relative paths begin; or http://HOST:PORT/PATH#sha256=DIGITS, https://HOST:PORT/PATH or
    /// corbaloc::HOST:PORT/RepositoryManager#PACKAGE at a server of --install-url
    #[arg(value_name = "LOCATION")]
    location: String,
    /// Replace the package, if one of this name is installed
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    at: ManagerArgs,
}

/// Arguments of `oxorb deploy repository list`.
#[derive(clap::Args)]
pub(crate) struct ListArgs {
    /// Repository id of a type; lists only the packages whose interface has it
    #[arg(long = "type", value_name = "ID")]
    of: Option<String>,
    #[command(flatten)]
    at: ManagerArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Arguments of `oxorb deploy repository show`.
#[derive(clap::Args)]
pub(crate) struct ShowArgs {
    /// Name of the package
    #[arg(value_name = "NAME")]
    name: String,
    /// Format of the descriptor
    #[arg(long, value_enum, default_value = "toml")]
    to: Form,
    #[command(flatten)]
    at: ManagerArgs,
}

/// Arguments of `oxorb deploy repository delete`.
#[derive(clap::Args)]
pub(crate) struct DeleteArgs {
    /// Name of the package
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    at: ManagerArgs,
}

/// Runs one verb.
pub(super) fn run(command: Command) -> Done {
    match command {
        Command::Install(args) => install(&args),
        Command::List(args) => list(&args),
        Command::Show(args) => show(&args),
        Command::Delete(args) => delete(&args),
    }
}

fn install(args: &InstallArgs) -> Done {
    let (orb, repository) = args.at.repository()?;
    let installed = repository.install_package(&args.name, &args.location, args.replace);
    installed.map_err(|error| match error {
        InstallPackageError::NameExists(_) => because(format!(
            "a package {:?} is installed; replace it with --replace, or choose another name",
            args.name
        )),
        InstallPackageError::PackageError(error) => {
            because(format!("package {:?} is not installed: {}", args.name, error.reason))
        }
        InstallPackageError::System(exception) => failed(&args.name, exception),
    })?;
    orb.shutdown(true)?;
    print(format_args!("installed {}\n", Printable(&args.name)))
}

fn list(args: &ListArgs) -> Done {
    let (orb, repository) = args.at.repository()?;
    let names = match &args.of {
        Some(of) => repository.find_names_by_type(of)?,
        None => repository.get_all_names()?,
    };
    orb.shutdown(true)?;
    match args.format {
        Format::Json => print_json(&json!({ "packages": names })),
        Format::Text if names.is_empty() => print("no package is installed\n"),
        Format::Text => {
            let lines = names.iter().map(|name| format!("{}\n", Printable(name)));
            print(lines.collect::<String>())
        }
    }
}

fn show(args: &ShowArgs) -> Done {
    let (orb, repository) = args.at.repository()?;
    let found = repository.find_package_by_name(&args.name);
    let found = found.map_err(|error| match error {
        FindPackageByNameError::NoSuchName(_) => missing(&args.name),
        FindPackageByNameError::System(exception) => failed(&args.name, exception),
    })?;
    orb.shutdown(true)?;
    let package = package_from_wire(&found).map_err(|error| failed(&args.name, error))?;
    let text = Document::from(package).write(args.to.into());
    let text = text.map_err(|error| failed(&args.name, error))?;
    // The descriptor is text of whoever installed the package.
    let lines = text.lines().map(|line| format!("{}\n", Printable(line)));
    print(lines.collect::<String>())
}

fn delete(args: &DeleteArgs) -> Done {
    let (orb, repository) = args.at.repository()?;
    let deleted = repository.delete_package(&args.name);
    deleted.map_err(|error| match error {
        DeletePackageError::NoSuchName(_) => missing(&args.name),
        DeletePackageError::System(exception) => failed(&args.name, exception),
    })?;
    orb.shutdown(true)?;
    print(format_args!("deleted {}\n", Printable(&args.name)))
}

fn missing(name: &str) -> Failed {
    because(format!(
        "the repository has no package {name:?}; `oxorb deploy repository list` prints the names of the packages"
    ))
}

fn failed(name: &str, why: impl Display) -> Failed {
    because(format!("package {name:?}: {why}"))
}
