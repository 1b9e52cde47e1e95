//! `oxorb ifr`: the Interface Repository.

mod definition;
mod list;
mod running;
mod serve;
mod stored;

use std::path::{Path, PathBuf};
use std::time::Duration;

use oxorb_ifr::{Repository, Store, Unit};

use crate::idl::{Reading, tell};
use crate::listening::Listening;
use oxorb_terminal::duration;
use oxorb_terminal::output::{Done, Failed, Format, because, print, without_folder};

/// Verbs of `oxorb ifr`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Load IDL files into the repository; replaces what an earlier load of the same files stored
    #[command(
        after_help = "If two files declare the same name, the one loaded last takes precedence.\n\n\
        Example:\n  oxorb ifr load -I idl idl/bank.idl && oxorb ifr ls bank && oxorb ifr serve"
    )]
    Load {
        /// IDL files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        reading: Reading,
        #[command(flatten)]
        place: Place,
    },
    /// Remove IDL files from the repository
    Unload {
        /// IDL files, by the names under which they were loaded
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        place: Place,
    },
    /// List the contents of a repository
    #[command(
        visible_alias = "list",
        after_help = "Examples:\n  oxorb ifr ls bank\n  \
        oxorb ifr ls --at corbaloc::host:2810/InterfaceRepository --timeout 30s"
    )]
    Ls {
        /// Module, interface or type to list instead of the whole repository: repository id or scoped name
        name: Option<String>,
        #[command(flatten)]
        from: RepositoryArgs,
        /// Output format
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Show one definition of a repository
    Show {
        /// Repository id or scoped name
        name: String,
        #[command(flatten)]
        from: RepositoryArgs,
        /// Output format
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Serve the repository as CORBA objects
    #[command(after_help = "Other programs find it with\n  \
        -ORBInitRef InterfaceRepository=corbaloc::HOST:PORT/InterfaceRepository")]
    Serve {
        #[command(flatten)]
        place: Place,
        /// Port to listen on; references outlive the process if the port is always the same
        #[arg(long, default_value_t = 2810)]
        port: u16,
        #[command(flatten)]
        listening: Listening,
        /// Write the reference to FILE, too
        #[arg(long, value_name = "FILE")]
        ior_file: Option<PathBuf>,
        /// Time between two checks for changes made by `oxorb ifr load` or `unload`; 0: no checks. For example 300ms; a
        /// bare number is milliseconds
        #[arg(long, default_value = "1s", value_name = duration::VALUE_NAME, value_parser = duration::milliseconds())]
        watch: Duration,
        /// Output format; JSON writes one line when serving starts, one for each change, and one for each change that
        /// cannot be read
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
}

/// Location of the repository.
#[derive(clap::Args)]
pub(crate) struct Place {
    /// File that stores the repository
    #[arg(long, value_name = "FILE", default_value = "oxorb-ifr.redb")]
    store: PathBuf,
}

/// Repository to read: that of a store, or a running one.
#[derive(clap::Args)]
pub(crate) struct RepositoryArgs {
    #[command(flatten)]
    place: Place,
    /// Running Interface Repository of any ORB to read instead of a store: IOR:, corbaloc:, corbaname: or file:
    #[arg(long, alias = "ifr", value_name = "URL", conflicts_with = "store")]
    at: Option<String>,
    /// Time limit for all calls to a running repository together. For example 300ms; a bare number is milliseconds
    #[arg(long, requires = "at", default_value = "10s", value_name = duration::VALUE_NAME, value_parser = duration::milliseconds().positive())]
    timeout: Duration,
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    match command {
        Command::Load { files, reading, place } => load(&files, &reading, &place),
        Command::Unload { files, place } => unload(&files, &place),
        Command::Ls { name, from, format } => list::list(name.as_deref(), &from, format),
        Command::Show { name, from, format } => list::show(&name, &from, format),
        Command::Serve { place, port, listening, ior_file, watch, format } => {
            serve::serve(&place, &listening, port, ior_file, watch, format)
        }
    }
}

fn load(files: &[PathBuf], reading: &Reading, place: &Place) -> Done {
    let mut options = reading.options();
    for folder in &mut options.include_dirs {
        *folder = std::path::absolute(&*folder)?;
    }
    let mut units = Vec::new();
    for file in files {
        let (unit, compiled) = Unit::read(file, &options).map_err(told)?;
        tell(&compiled.report);
        units.push(unit);
    }
    place.open()?.put(&units)?;
    for unit in &units {
        print(format_args!("loaded {}\n", unit.path().display()))?;
    }
    Ok(())
}

fn unload(files: &[PathBuf], place: &Place) -> Done {
    let store = place.open()?;
    for file in files {
        if !store.remove(&std::path::absolute(file)?)? {
            return Err(not_loaded(file, &store));
        }
        print(format_args!("unloaded {}\n", file.display()))?;
    }
    Ok(())
}

/// Number of loaded files that an error lists.
const LISTED: usize = 5;

/// Returns the error for a file that is not in the repository, with the files that are.
fn not_loaded(file: &Path, store: &Store) -> Failed {
    let what = format!("{} was not loaded", file.display());
    let units = match store.units() {
        Ok(units) => units,
        Err(error) => {
            return because(format!("{what}, and the loaded files cannot be listed: {error}"));
        }
    };
    let mut loaded: Vec<String> =
        units.iter().take(LISTED).map(|unit| unit.path().display().to_string()).collect();
    match units.len() {
        0 => return because(format!("{what}; no file is loaded")),
        count if count > LISTED => loaded.push(format!("{} more", count - LISTED)),
        _ => {}
    }
    because(format!("{what}; loaded: {}", loaded.join(", ")))
}

impl Place {
    fn open(&self) -> Result<Store, Failed> {
        let store = Store::open(&self.store);
        store.map_err(|error| without_folder(&self.store).unwrap_or_else(|| error.into()))
    }

    fn repository(&self) -> Result<Repository, Failed> {
        if !self.store.exists() {
            return Err(because(format!(
                "the store {} does not exist; `oxorb ifr load` creates one",
                self.store.display()
            )));
        }
        let units = Store::read(&self.store)?;
        Repository::new(&units).map_err(told)
    }
}

/// Converts an error of the front end to one that shows the lines it refers to.
fn told(error: oxorb_ifr::Error) -> Failed {
    match error {
        oxorb_ifr::Error::Idl(failed) => {
            tell(&failed.report);
            Failed::Told
        }
        error => because(error),
    }
}
