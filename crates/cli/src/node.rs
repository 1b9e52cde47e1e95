//! `oxorb node`: node managers, which start the processes of plans.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use oxorb::deployment::idl::deployment::NodeManagerRef;
use oxorb::deployment::{
    Artifacts, FetchSettings, FetchSource, FetchedArtifacts, NODE_MANAGER, NodeEvent, NodeManager,
    NodeSettings, ProcessOutput,
};
use oxorb::settings::Options;
use oxorb::{Interface as _, Orb};
use oxorb_naming::Names;
use oxorb_naming::cos_naming::NameComponent;
use serde_json::json;

use crate::listening::{Callers, ManagerListening, urls};
use oxorb_terminal::duration::{self, DurationParser};
use oxorb_terminal::orb::{heed_signals, with_args};
use oxorb_terminal::output::{Done, Failed, Format, at_file, because, print, print_line};

/// Verbs of `oxorb node`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Manage a node: start, watch and end the processes of its plans
    #[command(
        after_help = "Every client that can call the manager can start the executables below --artifacts as this user. \
        Therefore the manager listens on a socket that only this user can reach. With --host or --port it listens over \
        TCP, too, at corbaloc::HOST:PORT/NAME.NodeManager, like DAnCE's manager; then -ORBAccess should admit only \
        execution managers. Files that other users may change are not started. With --fetched and --fetch-from, plans \
        may also name files of these servers, which the manager fetches. Processes of the manager listen on the same \
        kind of endpoint, get its -ORBAccess, and end with it, even if it is killed by kill -9. docs/deployment.md has \
        the details.\n\nExamples:\n  oxorb node serve --name cockpit --artifacts /opt/display\n  \
        oxorb node serve --name radar --artifacts /opt/display --host 10.0.0.8 --port 2811 \\\n    \
        -ORBAccess 'allow 10.0.0.0/8'\n  oxorb node serve --name radar --fetched /var/lib/radar \\\n    \
        --fetch-from corbaloc::10.0.0.7:2810/RepositoryManager\n  \
        oxorb node serve --name radar --artifacts /opt/display --host 10.0.0.8 --bind \\\n    \
        -ORBInitRef NameService=corbaloc::host:2809/NameService"
    )]
    Serve(Args),
}

/// Arguments of `oxorb node serve`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the node in plans
    #[arg(long, value_name = "NODE")]
    name: String,
    #[command(flatten)]
    listening: ManagerListening,
    /// Write the reference to FILE, too
    #[arg(long, value_name = "FILE")]
    ior_file: Option<PathBuf>,
    /// Bind the manager in the Naming Service as NODE.NodeManager while it runs; execution managers with --naming find
    /// it there
    #[arg(long)]
    bind: bool,
    #[command(flatten)]
    starting: Starting,
    /// Maximum number of plans with a part on this node
    #[arg(long, value_name = "N", default_value_t = NodeSettings::default().max_plans, value_parser = at_least_one)]
    max_plans: usize,
    /// Output format; JSON writes one line when serving starts, and one for each incident; the standard output of
    /// processes then goes to standard error
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Options for starting and ending processes.
#[derive(clap::Args)]
pub(crate) struct Starting {
    /// Folder of executables that plans may name; relative paths begin there. Other users must not be able to change it
    /// or its contents
    #[arg(long, value_name = "DIR")]
    artifacts: Option<PathBuf>,
    /// Let plans name any executable that this user may run
    #[arg(long)]
    any_artifact: bool,
    #[command(flatten)]
    fetching: FetchArgs,
    /// Argument to pass to each process, such as -ORBMaxMessage=1000000; overrides the arguments of the plan and of
    /// this command. May be repeated
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    process_arg: Vec<String>,
    /// Maximum number of processes on a node
    #[arg(long, value_name = "N", default_value_t = NodeSettings::default().max_processes, value_parser = at_least_one)]
    max_processes: usize,
    /// Time limit from the start of a process to its first call to this manager. For example 5s; a bare number is
    /// seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = duration::text(NodeSettings::default().start_timeout), value_parser = limit())]
    start_timeout: Duration,
    /// Time limit of each call to a process: to install, connect and start its instances. For example 5s; a bare number
    /// is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = duration::text(NodeSettings::default().call_timeout), value_parser = limit())]
    call_timeout: Duration,
    /// Time limit for a process to remove its instances, and again to end; then it is killed. For example 5s; a bare
    /// number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = duration::text(NodeSettings::default().stop_timeout), value_parser = limit())]
    stop_timeout: Duration,
}

/// Returns the parser of a time limit of managers: 1 ms to a day.
pub(crate) const fn limit() -> DurationParser {
    duration::seconds().at_least(Duration::from_millis(1)).at_most(duration::DAY)
}

/// Parses a maximum number, which is at least 1.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("the maximum must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}")),
    }
}

/// Options for fetching files of other machines.
#[derive(clap::Args)]
struct FetchArgs {
    /// Folder for files that plans name by URLs and the manager fetches; it is created if it is missing. Other users
    /// must not be able to change it
    #[arg(long, value_name = "DIR", requires = "fetch_from")]
    fetched: Option<PathBuf>,
    /// Server from which plans may let the manager fetch files: http://HOST:PORT/FOLDER, https://HOST:PORT/FOLDER (with
    /// -ORBTlsRoots), or corbaloc::HOST:PORT/RepositoryManager; may be repeated
    #[arg(long, value_name = "URL", requires = "fetched")]
    fetch_from: Vec<FetchSource>,
    /// Time limit for fetching all files of a plan. For example 5s; a bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = duration::text(FetchSettings::TIMEOUT), value_parser = limit())]
    fetch_timeout: Duration,
    /// Maximum size in octets of a fetched file, and of the archive that contains it
    #[arg(long, value_name = "OCTETS", default_value_t = FetchSettings::MAX_FILE_OCTETS, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    max_artifact_octets: u64,
    /// Maximum size in octets of all fetched files
    #[arg(long, value_name = "OCTETS", default_value_t = FetchSettings::MAX_OCTETS, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    max_fetched_octets: u64,
}

impl FetchArgs {
    /// Opens the folder of fetched files; `None` if no folder is given.
    fn open(&self) -> Result<Option<Arc<FetchedArtifacts>>, Failed> {
        let Some(folder) = &self.fetched else {
            return Ok(None);
        };
        let fetched = FetchedArtifacts::open(FetchSettings {
            from: self.fetch_from.clone(),
            timeout: self.fetch_timeout,
            max_file_octets: self.max_artifact_octets,
            max_octets: self.max_fetched_octets,
            ..FetchSettings::new(folder)
        });
        Ok(Some(Arc::new(fetched.map_err(because)?)))
    }
}

impl Starting {
    /// Returns an option that only a manager of nodes uses, if one is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            (self.artifacts.is_some(), "--artifacts"),
            (self.any_artifact, "--any-artifact"),
            (!self.process_arg.is_empty(), "--process-arg"),
            (self.fetching.fetched.is_some(), "--fetched"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }

    /// Returns the executables that plans may name. `usual` is the default folder.
    ///
    /// # Errors
    /// No folder is given and there is no default; the folder is missing, or others may change it.
    pub(crate) fn executables(&self, usual: Option<&str>) -> Result<Artifacts, Failed> {
        let folder = self.artifacts.clone().or_else(|| usual.map(PathBuf::from));
        let artifacts = match (self.any_artifact, folder) {
            // A node that only fetches files has no folder of its own.
            (false, None) if self.fetching.fetched.is_some() => Artifacts::Refused,
            (true, folder) => Artifacts::Anywhere(folder.unwrap_or_else(|| ".".into())),
            (false, Some(folder)) => Artifacts::Below(folder),
            (false, None) => {
                return Err(because(
                    "plans may start no executables. Specify with --artifacts DIR the folder of the executables that \
                     plans may start as this user; with --any-artifact, plans may name every file that this user may \
                     execute",
                ));
            }
        };
        artifacts.check().map_err(because)?;
        Ok(artifacts)
    }

    /// Returns a description of what clients of the manager can do, for a warning.
    pub(crate) fn may(&self, artifacts: &Artifacts) -> String {
        let fetched = self.fetching.fetch_from.iter().map(ToString::to_string);
        let fetched: Vec<String> = fetched.collect();
        let what = match (artifacts, fetched.as_slice()) {
            (_, []) => shown(artifacts),
            (Artifacts::Refused, from) => format!("files from {}", from.join(", ")),
            (_, from) => format!("{} and files from {}", shown(artifacts), from.join(", ")),
        };
        format!("start {what} as the user of this process")
    }

    /// Returns the settings of an ORB's node managers; their processes use the same listening addresses and access
    /// rules. If the command writes lines of JSON to standard output, processes write to standard error instead.
    ///
    /// # Errors
    /// The folder of fetched files cannot be opened.
    pub(crate) fn settings(
        &self,
        orb: &Orb,
        artifacts: Artifacts,
        format: Format,
    ) -> Result<NodeSettings, Failed> {
        let mut arguments = inherited(orb.options(), oxorb_terminal::orb::args());
        arguments.extend(self.process_arg.iter().cloned());
        let own = std::env::current_exe().ok();
        let own = own.map(|path| path.display().to_string());
        let library_host =
            own.map_or_else(Vec::new, |own| vec![own, "deploy".to_owned(), "host".to_owned()]);
        Ok(NodeSettings {
            artifacts,
            fetched: self.fetching.open()?,
            arguments,
            library_host,
            output: match format {
                Format::Text => ProcessOutput::Inherited,
                Format::Json => ProcessOutput::StandardError,
            },
            max_processes: self.max_processes,
            start_timeout: self.start_timeout,
            call_timeout: self.call_timeout,
            stop_timeout: self.stop_timeout,
            ..NodeSettings::default()
        })
    }
}

/// Settings that protect a server from its clients; the manager passes them on to its processes.
const PROTECTING: [&str; 14] = [
    "AcceptBiDirectionalGIOP",
    "IdleTimeout",
    "MaxConnections",
    "MaxConnectionsPerClient",
    "MaxDecoded",
    "MaxDepth",
    "MaxMessage",
    "MaxOctetsPerClient",
    "MaxPartialMessages",
    "MaxPartialOctets",
    "MaxReplyOctetsPerClient",
    "MaxRequestsPerClient",
    "MaxRequestsPerConnection",
    "StallTimeout",
];

/// Returns the arguments that processes inherit from their manager's ORB: its addresses, with ports chosen by the
/// system and temporary sockets, its access rules, and the limits among its own arguments.
fn inherited(options: &Options, own: &[String]) -> Vec<String> {
    let mut endpoints: Vec<String> = Vec::new();
    for endpoint in &options.listen {
        let mut endpoint = endpoint.clone();
        match &*endpoint.protocol {
            "iiop" => {
                let host = endpoint.place.rsplit_once(':').map(|(host, _)| host);
                endpoint.place = format!("{}:0", host.unwrap_or(&endpoint.place));
                endpoint.options.retain(|(name, _)| *name != "portspan");
            }
            // A temporary socket takes over the options of a socket with a path, such as its file mode. An abstract
            // socket has no file mode, so it is skipped.
            "uiop" if !endpoint.place.starts_with('@') => endpoint.place.clear(),
            _ => continue,
        }
        let endpoint = endpoint.to_string();
        if !endpoints.contains(&endpoint) {
            endpoints.push(endpoint);
        }
    }
    if endpoints.is_empty() {
        // Addresses of other protocols serve one process only. A process without endpoints would listen on all
        // addresses, so give it a socket that only this user can reach.
        endpoints.push("uiop://|mode=0600".to_owned());
    }
    let mut arguments = vec![format!("-ORBListenEndpoints={}", endpoints.join(";"))];
    if !options.access.is_open() {
        arguments.push(format!("-ORBAccess={}", options.access));
    }
    let mut own = own.iter();
    while let Some(argument) = own.next() {
        let body = argument.trim_start_matches("-ORB");
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (body, None),
        };
        let mut protecting = PROTECTING.iter();
        if let Some(name) = protecting.find(|known| known.eq_ignore_ascii_case(name))
            && let Some(value) = value.or_else(|| own.next().map(String::as_str))
        {
            arguments.push(format!("-ORB{name}={value}"));
        }
    }
    arguments
}

/// Runs one verb.
pub(crate) fn run(command: Command) -> Done {
    match command {
        Command::Serve(args) => serve(&args),
    }
}

/// Serves until the process is asked to end, then ends the processes that were started.
fn serve(args: &Args) -> Done {
    let artifacts = args.starting.executables(None)?;
    let key = format!("{}{NODE_MANAGER}", args.name);
    let builder = args.listening.at(Orb::builder(), 0, &key)?;
    // Listen only when the manager exists: until then, clients must fail to connect and not receive OBJECT_NOT_EXIST.
    let orb = with_args(builder.listen_late()).build()?;
    let callers = Callers::of(&orb);
    let may = args.starting.may(&artifacts);
    args.listening.check(&orb, &may)?;
    let format = args.format;
    let settings = args.starting.settings(&orb, artifacts, format)?;
    let settings = NodeSettings { max_plans: args.max_plans, ..settings };
    let observe = move |event: &NodeEvent| incident(format, event);
    let node = NodeManager::start_observed(orb.root_poa(), &args.name, settings, observe)?;
    let node = Arc::new(node);
    let ends = Arc::clone(&node);
    orb.before_shutdown(move |_| {
        if let Err(trouble) = ends.close() {
            oxorb_terminal::output::error(&trouble.to_string());
        }
    });
    heed_signals(&orb)?;
    let reference = node.reference();
    if args.bind {
        bind(&orb, &args.name, reference)?;
    }
    let ior = reference.to_ior();
    if let Some(file) = &args.ior_file {
        std::fs::write(file, &ior).map_err(|error| at_file(file, error))?;
    }
    let urls = urls(reference.reference(), &key);
    match args.format {
        Format::Text => print(format_args!("serving node {} at {}\n", args.name, urls.join(" ")))?,
        Format::Json => print_line(&json!({
            "event": "serving",
            "node": args.name,
            "corbaloc": urls,
            "ior": ior,
            "bound": args.bind.then_some(&key),
            "callers": callers.word(),
        }))?,
    }
    if let Some(warning) = callers.warning(&orb, &may) {
        oxorb_terminal::output::warning(&warning);
    }
    orb.run();
    Ok(())
}

/// Returns the executables that plans may name, as text.
fn shown(artifacts: &Artifacts) -> String {
    match artifacts {
        Artifacts::Refused => "nothing".to_owned(),
        Artifacts::Below(folder) => format!("the executables below {}", folder.display()),
        Artifacts::Anywhere(_) => "any program".to_owned(),
    }
}

/// Prints an incident on standard error or as JSON.
pub(crate) fn incident(format: Format, event: &NodeEvent) {
    let text = event.to_string();
    match format {
        Format::Text => oxorb_terminal::note!("{}", oxorb::values::Printable(&text)),
        Format::Json => {
            let _ = print_line(&json!({"event": "incident", "what": text}));
        }
    }
}

/// Returns the name of a node's manager in the Naming Service.
pub(crate) fn name_of(node: &str) -> String {
    oxorb_naming::stringify(&[NameComponent {
        id: node.to_owned(),
        kind: NODE_MANAGER.trim_start_matches('.').to_owned(),
    }])
}

fn bind(orb: &Orb, node: &str, manager: &NodeManagerRef) -> Result<(), Failed> {
    let names: Names = crate::name::usual(orb).map_err(|error| {
        because(format!(
            "{error}\nthe node manager cannot bind itself, because no name server was found. Specify one with \
             -ORBInitRef NameService=URL; `oxorb name serve` starts one"
        ))
    })?;
    Ok(names.register(orb, name_of(node), manager)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the arguments that processes inherit from a manager with `own` arguments.
    fn inherited(own: &[&str]) -> Vec<String> {
        let own: Vec<String> = own.iter().map(|&one| one.to_owned()).collect();
        let orb = Orb::builder().args(own.clone()).listen_late().build().unwrap();
        super::inherited(orb.options(), &own)
    }

    #[test]
    fn processes_listen_where_their_manager_does() {
        let endpoints = |own: &str| inherited(&["-ORBListenEndpoints", own]).concat();
        let expected = |endpoints: &str| format!("-ORBListenEndpoints={endpoints}");
        assert_eq!(
            endpoints("iiop://10.0.0.8:2811/portspan=3;iiop://[::1]:2811"),
            expected("iiop://10.0.0.8:0;iiop://[::1]:0")
        );
        assert_eq!(endpoints("iiop://:2811"), expected("iiop://:0"));
        assert_eq!(
            endpoints("iiop://10.0.0.8:2811/allow=10.0.0.0/8"),
            expected("iiop://10.0.0.8:0/allow=10.0.0.0/8")
        );
        // A client that cannot reach the manager must not reach its processes either.
        assert_eq!(inherited(&[]), [expected("uiop://|mode=0600")]);
        assert_eq!(
            endpoints("uiop:///run/n|mode=0660&allow=gid:7"),
            expected("uiop://|mode=0660&allow=gid:7")
        );
        assert_eq!(endpoints("uiop://@n|allow=uid:7"), expected("uiop://|mode=0600"));
    }

    #[test]
    fn processes_get_the_rules_and_limits_of_their_manager() {
        let own = [
            "-ORBAccess",
            "allow 10.0.0.0/8",
            "-ORBInitRef",
            "NameService=corbaloc::h/NameService",
            "-ORBMaxMessage=5000",
            "-ORBmaxconnections",
            "7",
        ];
        let got = inherited(&own);
        assert_eq!(
            got[1..],
            ["-ORBAccess=allow 10.0.0.0/8", "-ORBMaxMessage=5000", "-ORBMaxConnections=7"]
        );
        // The inherited arguments override earlier ones, such as those of a plan.
        let mut options = Options::default();
        let plan = ["-ORBAccess", "allow all", "-ORBMaxConnections=1000"].map(str::to_owned);
        options.take_args(plan.into_iter().chain(got)).unwrap();
        assert_eq!(options.access.to_string(), "allow 10.0.0.0/8");
        assert_eq!(options.max_connections, 7);
    }
}
