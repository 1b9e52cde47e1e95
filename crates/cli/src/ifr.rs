//! `oxorb ifr`: the Interface Repository.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use oxorb::{Interface as _, Orb};
use oxorb_ifr::corba::DefinitionKind;
use oxorb_ifr::{Entry, EntryId, INITIAL_NAME, Kind, Repository, Served, Store, Unit};
use serde_json::json;

use crate::idl::{Reading, tell};
use crate::orb::{tell_incidents, with_args};
use crate::output::{Done, FAINT, Failed, Format, STRONG, because, print, print_json};

/// Verbs of `oxorb ifr`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Put IDL files into the repository, or in the place of what was loaded from them before
    #[command(
        after_help = "Where two files declare the same name, the one loaded last counts.\n\n\
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
    /// Take IDL files out of the repository
    Unload {
        /// IDL files, as they were loaded
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        place: Place,
    },
    /// List what is in the repository
    #[command(visible_alias = "list")]
    Ls {
        /// Only what stands in this module, interface or type: repository id or scoped name
        name: Option<String>,
        #[command(flatten)]
        place: Place,
        /// For whom the output is
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Show one definition
    Show {
        /// Repository id or scoped name
        name: String,
        #[command(flatten)]
        place: Place,
        /// For whom the output is
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Serve the repository as CORBA objects
    #[command(
        after_help = "Other programs find it with -ORBInitRef InterfaceRepository=corbaloc::HOST:PORT/InterfaceRepository"
    )]
    Serve {
        #[command(flatten)]
        place: Place,
        /// Where to listen; references outlive the process if it is always the same
        #[arg(long, default_value_t = 2810)]
        port: u16,
        /// Address to listen at; all there are unless given
        #[arg(long, default_value = "")]
        host: String,
        /// Also write the reference to FILE
        #[arg(long, value_name = "FILE")]
        ior_file: Option<PathBuf>,
        /// Milliseconds between looks at whether something was loaded or unloaded; 0 never looks
        #[arg(long, default_value_t = 1000, value_name = "MS")]
        watch: u64,
    },
}

/// Where the repository is kept.
#[derive(clap::Args)]
pub(crate) struct Place {
    /// File the repository is kept in
    #[arg(long, value_name = "FILE", default_value = "oxorb-ifr.redb")]
    store: PathBuf,
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    match command {
        Command::Load {
            files,
            reading,
            place,
        } => load(&files, &reading, &place),
        Command::Unload { files, place } => unload(&files, &place),
        Command::Ls {
            name,
            place,
            format,
        } => list(name.as_deref(), &place, format),
        Command::Show {
            name,
            place,
            format,
        } => show(&name, &place, format),
        Command::Serve {
            place,
            port,
            host,
            ior_file,
            watch,
        } => serve(&place, &host, port, ior_file, watch),
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
            return Err(because(format!("{} was not loaded", file.display())));
        }
        print(format_args!("unloaded {}\n", file.display()))?;
    }
    Ok(())
}

fn list(name: Option<&str>, place: &Place, format: Format) -> Done {
    let repository = place.repository()?;
    let root = match name {
        Some(name) => find(&repository, name)?,
        None => Repository::ROOT,
    };
    let mut found = Vec::new();
    below(&repository, root, 0, &mut found);
    if format == Format::Json {
        let rows = found.iter().map(|(_, id)| summary(repository.entry(*id)));
        return print_json(&rows.collect::<Vec<_>>());
    }
    let mut text = String::new();
    for (depth, id) in found {
        let entry = repository.entry(id);
        let (word, name) = (word(&entry.kind), entry.name());
        let _ = writeln!(
            text,
            "{:indent$}{FAINT}{word}{FAINT:#} {STRONG}{name}{STRONG:#}  {FAINT}{}{FAINT:#}",
            "",
            entry.repository_id(),
            indent = depth * 2,
        );
    }
    print(text)
}

/// What stands in an entry and in what stands there, with how deep each is.
fn below(repository: &Repository, id: EntryId, depth: usize, found: &mut Vec<(usize, EntryId)>) {
    for id in repository.contents(id, DefinitionKind::DkAll, true) {
        found.push((depth, id));
        below(repository, id, depth + 1, found);
    }
}

/// The entry with a repository id or scoped name.
fn find(repository: &Repository, name: &str) -> Result<EntryId, Failed> {
    let found = repository.lookup_id(name);
    let found = found.or_else(|| repository.lookup(Repository::ROOT, name));
    found.ok_or_else(|| {
        because(format!(
            "the repository does not know {name:?}; `oxorb ifr ls` lists what it knows"
        ))
    })
}

fn show(name: &str, place: &Place, format: Format) -> Done {
    let repository = place.repository()?;
    let id = find(&repository, name)?;
    let entry = repository.entry(id);
    let contents = repository.contents(id, DefinitionKind::DkAll, false);
    if format == Format::Json {
        let rows = contents.iter().map(|id| summary(repository.entry(*id)));
        let mut all = summary(entry);
        all["contents"] = rows.collect();
        return print_json(&all);
    }
    let mut text = String::new();
    let _ = writeln!(text, "{STRONG}{}{STRONG:#}", line(&repository, entry));
    let _ = writeln!(text, "{FAINT}id{FAINT:#} {}", entry.repository_id());
    for id in contents {
        let _ = writeln!(text, "  {}", line(&repository, repository.entry(id)));
    }
    print(text)
}

fn serve(place: &Place, host: &str, port: u16, ior_file: Option<PathBuf>, watch: u64) -> Done {
    // The store is closed while the repository is served, so that IDL can be loaded meanwhile.
    let mut seen = Stamp::of(&place.store);
    let repository = place.repository()?;
    let count = repository.entries().count();
    let orb = with_args(Orb::builder().listen(&format!("iiop://{host}:{port}"))).build()?;
    tell_incidents(&orb);
    let served = oxorb_ifr::serve(&orb, repository)?;
    let root = served.reference();
    if let Some(file) = ior_file {
        std::fs::write(file, root.to_ior())?;
    }
    let ior = root.as_ref().ior();
    let address = ior.iiop_profiles().next();
    let address = address.map(|profile| profile.endpoints()[0].to_string());
    let url = format!("corbaloc::{}/{INITIAL_NAME}", address.unwrap_or_default());
    print(format_args!("serving {count} objects at {url}\n"))?;
    std::io::stdout().flush()?;
    if watch > 0 {
        let store = place.store.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(watch));
                let now = Stamp::of(&store);
                if now.is_none() || now == seen {
                    continue;
                }
                // Taken before it is read: what is loaded while it is read is seen next time.
                seen = now;
                // On an error, what was served is served on. Whether anybody reads this does not matter either.
                let _ = match reload(&store, &served) {
                    Ok(count) => writeln!(anstream::stdout(), "serving {count} objects"),
                    Err(error) => writeln!(anstream::stderr(), "not reloaded: {error}"),
                };
            }
        });
    }
    orb.run();
    Ok(())
}

/// What tells that a store was written to.
#[derive(PartialEq)]
struct Stamp(SystemTime, u64);

impl Stamp {
    fn of(store: &Path) -> Option<Self> {
        let facts = std::fs::metadata(store).ok()?;
        Some(Stamp(facts.modified().ok()?, facts.len()))
    }
}

fn reload(store: &Path, served: &Served) -> Result<usize, oxorb_ifr::Error> {
    let repository = Repository::new(&Store::read(store)?)?;
    let count = repository.entries().count();
    served.replace(repository)?;
    Ok(count)
}

impl Place {
    fn open(&self) -> Result<Store, Failed> {
        Ok(Store::open(&self.store)?)
    }

    fn repository(&self) -> Result<Repository, Failed> {
        if !self.store.exists() {
            return Err(because(format!(
                "there is no store {}; `oxorb ifr load` makes one",
                self.store.display()
            )));
        }
        let units = Store::read(&self.store)?;
        Repository::new(&units).map_err(told)
    }
}

/// What the front end has to say it says with the lines in question.
fn told(error: oxorb_ifr::Error) -> Failed {
    match error {
        oxorb_ifr::Error::Idl(failed) => {
            tell(&failed.report);
            Failed::Told
        }
        error => because(error),
    }
}

fn summary(entry: &Entry) -> serde_json::Value {
    let name = entry.named.as_ref().map(|named| &named.absolute_name);
    json!({
        "kind": word(&entry.kind),
        "name": name,
        "id": entry.repository_id(),
        "type": entry.ty.to_string(),
    })
}

/// An entry much as IDL declares it.
fn line(repository: &Repository, entry: &Entry) -> String {
    let name = entry.name();
    let ty = |id: EntryId| called(repository.entry(id));
    match &entry.kind {
        Kind::Attribute {
            ty: of, readonly, ..
        } => {
            let readonly = if *readonly { "readonly " } else { "" };
            format!("{readonly}attribute {} {name}", ty(*of))
        }
        Kind::Operation {
            result,
            params,
            raises,
            oneway,
            ..
        } => {
            let oneway = if *oneway { "oneway " } else { "" };
            let params = params.iter().map(|param| {
                let mode = match param.mode {
                    oxorb_ifr::corba::ParameterMode::ParamIn => "in",
                    oxorb_ifr::corba::ParameterMode::ParamOut => "out",
                    oxorb_ifr::corba::ParameterMode::ParamInout => "inout",
                };
                format!("{mode} {} {}", ty(param.ty), param.name)
            });
            let params = params.collect::<Vec<_>>().join(", ");
            let raises: Vec<_> = raises.iter().map(|id| ty(*id)).collect();
            let raises = match raises.as_slice() {
                [] => String::new(),
                raises => format!(" raises ({})", raises.join(", ")),
            };
            format!("{oneway}{} {name}({params}){raises}", ty(*result))
        }
        Kind::Interface { bases, .. } => {
            let bases: Vec<_> = bases.iter().map(|id| ty(*id)).collect();
            let bases = match bases.as_slice() {
                [] => String::new(),
                bases => format!(" : {}", bases.join(", ")),
            };
            format!("{} {name}{bases}", word(&entry.kind))
        }
        Kind::Constant { ty: of, value } => match value.dynamic() {
            Ok(value) => format!("const {} {name} = {value:?}", ty(*of)),
            Err(_) => format!("const {} {name}", ty(*of)),
        },
        Kind::ValueMember { ty: of, public } => {
            let access = if *public { "public" } else { "private" };
            format!("{access} {} {name}", ty(*of))
        }
        Kind::Alias(original) => format!("typedef {} {name}", ty(*original)),
        Kind::Module | Kind::Repository | Kind::Value(_) => format!("{} {name}", word(&entry.kind)),
        _ => entry.ty.to_string(),
    }
}

/// How a type is called where it is used.
fn called(entry: &Entry) -> String {
    match &entry.named {
        Some(named) => named.absolute_name.clone(),
        None => entry.ty.as_ref().mention().to_string(),
    }
}

fn word(kind: &Kind) -> &'static str {
    match kind.definition_kind() {
        DefinitionKind::DkRepository => "repository",
        DefinitionKind::DkModule => "module",
        DefinitionKind::DkConstant => "const",
        DefinitionKind::DkStruct => "struct",
        DefinitionKind::DkException => "exception",
        DefinitionKind::DkUnion => "union",
        DefinitionKind::DkEnum => "enum",
        DefinitionKind::DkAlias => "typedef",
        DefinitionKind::DkNative => "native",
        DefinitionKind::DkAttribute => "attribute",
        DefinitionKind::DkOperation => "operation",
        DefinitionKind::DkInterface => "interface",
        DefinitionKind::DkAbstractInterface => "abstract interface",
        DefinitionKind::DkLocalInterface => "local interface",
        DefinitionKind::DkValue | DefinitionKind::DkValueBox => "valuetype",
        DefinitionKind::DkValueMember => "state",
        _ => "type",
    }
}
