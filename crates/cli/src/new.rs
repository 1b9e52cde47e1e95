//! `oxorb new`: makes a project that builds at once, from an example of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{ValueEnum, ValueHint};
use oxorb_terminal::output::{Done, because, print};

/// Arguments of `oxorb new`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    oxorb new hello\n  \
    oxorb new plant --template rt\n  \
    oxorb new cockpit --template component\n  \
    oxorb new radar --oxorb ../oxorb")]
pub(crate) struct Args {
    /// Folder to create for the project; its name becomes that of the package
    #[arg(value_name = "NAME", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
    /// Example to copy
    #[arg(long, value_enum, default_value_t)]
    template: Template,
    /// Checkout of OxORB to build with; default: the one that this command was built from, or the published version if
    /// that checkout no longer exists
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    oxorb: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Template {
    /// A server with one object, and a client
    #[default]
    Hello,
    /// A server with two lanes of different priorities, and a client that times urgent calls; also named rt
    #[value(alias = "rt")]
    Lanes,
    /// A server with one object
    Server,
    /// A client
    Client,
    /// Three components, and a plan that deploys them on two nodes
    Component,
}

/// Example of the repository as a template.
struct Files {
    /// Package of the example, and prefix of its programs' names.
    package: &'static str,
    programs: &'static str,
    texts: &'static [(&'static str, &'static str)],
    /// Features of `oxorb` that the project needs.
    features: &'static [&'static str],
    /// Command of cargo that the project is tried with first.
    first: &'static str,
}

/// Lists the files of an example by their paths in it. `templates` has links to them: cargo follows them when it packs
/// the command.
macro_rules! files {
    ($name:literal, $features:expr, $first:literal: $($path:literal),*) => {
        Files {
            package: concat!("oxorb-example-", $name),
            programs: concat!($name, "-"),
            texts: &[$(($path, include_str!(concat!("../templates/", $name, "/", $path)))),*],
            features: &$features,
            first: $first,
        }
    };
}

impl Template {
    fn files(self) -> Files {
        match self {
            Template::Hello => files!(
                "hello", [], "run --bin server":
                "build.rs", "idl/hello.idl", "src/bin/client.rs", "src/bin/server.rs", "README.md"
            ),
            Template::Lanes => files!(
                "lanes", [], "run --bin server":
                "build.rs", "idl/plant.idl", "src/bin/client.rs", "src/bin/server.rs", "README.md"
            ),
            Template::Server => files!(
                "server", [], "run": "build.rs", "idl/hello.idl", "src/main.rs", "README.md"
            ),
            Template::Client => files!(
                "client", [], "build": "build.rs", "idl/hello.idl", "src/main.rs", "README.md"
            ),
            Template::Component => files!(
                "two-nodes", ["deployment"], "build":
                "build.rs", "idl/avionics.idl", "src/main.rs", "plan.toml", "rt.toml", "README.md"
            ),
        }
    }
}

/// Creates the project.
pub(crate) fn run(args: Args) -> Done {
    let folder = &args.folder;
    let name = package_name(folder)?;
    let is_taken = fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some());
    if is_taken || folder.is_file() {
        let what = if is_taken { "is not empty" } else { "is a file" };
        return Err(because(format!(
            "{} already exists and {what}; choose another name, or remove it first",
            folder.display()
        )));
    }
    let checkout = checkout(args.oxorb)?;
    check_reserved(&name, checkout.as_deref())?;
    let Files { package, programs, texts, features, first } = args.template.files();
    write(folder, "Cargo.toml", &manifest(&name, checkout.as_deref(), features))?;
    write(folder, ".gitignore", "/target\n")?;
    for (path, text) in texts {
        let text = text.replace(&format!(" -p {package}"), "");
        let text = text.replace(&format!("--bin {programs}"), "--bin ");
        // The executable that a plan names.
        let text = text.replace("location = \"two-nodes\"", &format!("location = \"{name}\""));
        write(folder, path, &text)?;
    }
    print(format!(
        "{name} was created. Its README describes how to run it:\n  cd {} && cargo {first}\n",
        folder.display()
    ))
}

/// Returns the folder's name, if it is a valid package name.
fn package_name(folder: &Path) -> Result<String, oxorb_terminal::output::Failed> {
    let Some(name) = folder.file_name() else {
        return Err(because(format!(
            "{} does not end with the name of a new folder, which becomes the name of a package; write a name, as in \
             `oxorb new hello`",
            folder.display()
        )));
    };
    let name = name.to_string_lossy().into_owned();
    let is_fine = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    match is_fine {
        true => Ok(name),
        false => Err(because(format!(
            "`{name}` cannot be the name of a package: expected an ASCII letter, followed by ASCII letters, digits, - \
             and _"
        ))),
    }
}

/// Names of folders in `target`, which Cargo refuses as names of programs.
const OF_CARGO: [&str; 4] = ["build", "deps", "examples", "incremental"];

/// Refuses names with which Cargo would not build the project.
fn check_reserved(name: &str, checkout: Option<&Path>) -> Done {
    if OF_CARGO.contains(&name) {
        return Err(because(format!(
            "`{name}` cannot be the name of a project: Cargo has a folder of this name among its results; choose \
             another name"
        )));
    }
    // A lock file cannot distinguish two local packages of one name and version.
    let is_member = |member: &str| {
        checkout.is_some_and(|it| it.join("crates").join(member).join("Cargo.toml").is_file())
    };
    // The package in the folder orb is called oxorb.
    let member = name.strip_prefix("oxorb-").filter(|&member| member != "orb");
    if name == "oxorb" || member.is_some_and(is_member) {
        return Err(because(format!(
            "`{name}` is a package of OxORB, which the project would depend on; choose another name"
        )));
    }
    Ok(())
}

/// Returns the checkout to build with: by default the one that the command was built from; `None` for the published
/// version.
pub(crate) fn checkout(
    asked: Option<PathBuf>,
) -> Result<Option<PathBuf>, oxorb_terminal::output::Failed> {
    const OWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let is_one = |folder: &Path| folder.join("crates/orb/Cargo.toml").is_file();
    let Some(asked) = asked else {
        let own = fs::canonicalize(OWN).ok();
        return Ok(own.filter(|folder| is_one(folder)));
    };
    let found = fs::canonicalize(&asked).ok().filter(|folder| is_one(folder));
    match found {
        Some(folder) => Ok(Some(folder)),
        None => Err(because(format!(
            "{} is not a checkout of OxORB: it does not contain crates/orb/Cargo.toml",
            asked.display()
        ))),
    }
}

fn manifest(name: &str, checkout: Option<&Path>, features: &[&str]) -> String {
    let from = |member: &str, features: &[&str]| {
        let place = match checkout {
            None => format!("version = {:?}", env!("CARGO_PKG_VERSION")),
            Some(folder) => {
                let path = folder.join("crates").join(member).display().to_string();
                format!("path = {path:?}")
            }
        };
        match features {
            [] => format!("{{ {place} }}"),
            features => format!("{{ {place}, features = {features:?} }}"),
        }
    };
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\noxorb = {}\n\n\
         [build-dependencies]\noxorb-idlgen = {}\n\n\
         # Not part of any enclosing workspace.\n[workspace]\n",
        from("orb", features),
        from("idlgen", &[])
    )
}

fn write(folder: &Path, path: &str, text: &str) -> Done {
    let path = folder.join(path);
    let parent = path.parent().unwrap_or(folder);
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(&path, text))
        .map_err(|error| because(format!("cannot write {}: {error}", path.display())))
}
