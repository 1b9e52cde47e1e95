//! `oxorb name serve`: a name server.

use std::path::PathBuf;
use std::time::Duration;

use oxorb::rt::ThreadPurpose;
use oxorb::{Interface as _, Orb};
use oxorb_naming::{Federation, INITIAL_NAME, Limits, NameService, PORT, Rules, Store};
use serde_json::json;

use crate::listening::{Access, Listening, urls};
use oxorb_terminal::duration;
use oxorb_terminal::orb::{heed_signals, with_args};
use oxorb_terminal::output::{Done, Format, at_file, print, print_line, without_folder};

/// Arguments of `oxorb name serve`.
#[derive(clap::Args)]
#[command(
    after_help = "Other programs find it with -ORBInitRef NameService=corbaloc::HOST:2809/NameService. Bindings are \
    written to disk before the client gets its reply, so kill -9 or a power failure loses nothing.\n\nExamples:\n  \
    oxorb name serve\n  oxorb name serve --store /var/lib/oxorb/names.redb --host 10.0.0.7 -ORBAccess 'allow \
    10.0.0.0/8'\n  oxorb name serve --host 0.0.0.0 --read-only --federate north.example,south.example:2809\n  \
    oxorb name serve --in-memory --port 0 --ior-file /tmp/ns.ior"
)]
pub(crate) struct Args {
    /// File that stores the names; created if missing
    #[arg(long, value_name = "FILE", default_value = "oxorb-names.redb")]
    store: PathBuf,
    /// Keep the names in memory only; they are lost when the process ends
    #[arg(long, conflicts_with = "store")]
    in_memory: bool,
    /// Port to listen on; references to contexts outlive the process if the port is always the same; 0 lets the system
    /// choose
    #[arg(long, default_value_t = PORT)]
    port: u16,
    #[command(flatten)]
    listening: Listening,
    /// Reject all requests that would change the names: clients can only resolve and list
    #[arg(long)]
    read_only: bool,
    /// Name servers to which this one may forward a resolution: HOST, HOST:PORT, /PATH or @NAME of a UNIX socket, or
    /// uid:NUMBER for the sockets of a user, separated by commas; or `any`, or `none`
    #[arg(long, value_name = "SERVERS", default_value = "none")]
    federate: Federation,
    /// Write the reference of the root context to FILE, too
    #[arg(long, value_name = "FILE")]
    ior_file: Option<PathBuf>,
    /// Maximum number of bindings in one context
    #[arg(long, value_name = "N", default_value_t = Limits::default().bindings, value_parser = clap::value_parser!(u64).range(1..))]
    max_bindings: u64,
    /// Maximum number of contexts
    #[arg(long, value_name = "N", default_value_t = Limits::default().contexts, value_parser = clap::value_parser!(u64).range(1..))]
    max_contexts: u64,
    /// Maximum number of components of a name
    #[arg(long, value_name = "N", default_value_t = Limits::default().components)]
    max_components: usize,
    /// Maximum length in octets of a name
    #[arg(long, value_name = "OCTETS", default_value_t = Limits::default().name_octets)]
    max_name: usize,
    /// Maximum length in octets of a bound reference
    #[arg(long, value_name = "OCTETS", default_value_t = Limits::default().reference_octets)]
    max_reference: usize,
    /// Maximum number of open binding iterators; opening another one closes the one that was idle longest
    #[arg(long, value_name = "N", default_value_t = Limits::default().iterators)]
    max_iterators: usize,
    /// Time after which an idle binding iterator is closed. For example 5s; a bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = duration::text(Limits::default().iterator_idle), value_parser = duration::seconds())]
    iterator_idle: Duration,
    /// Output format; JSON writes one line when serving starts, and one for each failure of the store
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Time between two checks for failures of the store.
const LOOK: Duration = Duration::from_secs(1);

/// Serves until the process ends.
pub(super) fn run(args: Args) -> Done {
    let store = match args.in_memory {
        true => Store::in_memory()?,
        false => Store::open(&args.store)
            .map_err(|error| without_folder(&args.store).unwrap_or_else(|| error.into()))?,
    };
    let (contexts, bindings) = (store.contexts()?, store.bindings()?);
    // Listen only after the names are loaded: until then, clients must fail to connect and not receive
    // OBJECT_NOT_EXIST.
    let builder = args.listening.at(Orb::builder(), args.port);
    let orb = with_args(builder.listen_late()).build()?;
    let rules = Rules { read_only: args.read_only, federation: args.federate.clone() };
    let service = NameService::start_under(&orb, store, args.limits(), rules)?;
    let access = Access::of(&orb, args.read_only).following(&args.federate);
    let ior = service.root().to_ior();
    if let Some(file) = &args.ior_file {
        std::fs::write(file, &ior).map_err(|error| at_file(file, error))?;
    }
    let urls = urls(service.root().reference(), INITIAL_NAME);
    let place = match args.in_memory {
        true => "memory".to_owned(),
        false => args.store.display().to_string(),
    };
    match args.format {
        Format::Text => {
            print(format_args!(
                "serving {bindings} {} in {contexts} {} from {place} at {}\n",
                if bindings == 1 { "name" } else { "names" },
                if contexts == 1 { "context" } else { "contexts" },
                urls.join(" ")
            ))?;
            access.print()?;
        }
        Format::Json => print_line(&json!({
            "event": "serving",
            "corbaloc": urls,
            "ior": ior,
            "store": place,
            "bindings": bindings,
            "contexts": contexts,
            "access": access.json(),
        }))?,
    }
    let format = args.format;
    orb.start_thread(ThreadPurpose::Watcher, "oxorb-watch", move || {
        watch(&service, format);
    })?;
    heed_signals(&orb)?;
    orb.run();
    Ok(())
}

/// Reports failures on standard error or as JSON; clients only receive PERSIST_STORE.
fn watch(service: &NameService, format: Format) {
    loop {
        std::thread::sleep(LOOK);
        if let Some(why) = service.take_failure() {
            match format {
                Format::Text => oxorb_terminal::output::error(&why),
                Format::Json => {
                    let _ = print_line(&json!({ "event": "failure", "why": why }));
                }
            }
        }
    }
}

impl Args {
    fn limits(&self) -> Limits {
        Limits {
            contexts: self.max_contexts,
            bindings: self.max_bindings,
            components: self.max_components,
            name_octets: self.max_name,
            reference_octets: self.max_reference,
            iterators: self.max_iterators,
            iterator_idle: self.iterator_idle,
            ..Limits::default()
        }
    }
}
