//! `oxorb deploy serve`, and the lookup of an execution manager and of nodes by other commands.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use oxorb::deployment::idl::deployment::{
    ExecutionManagerRef, NodeManagerRef, RepositoryManagerRef,
};
use oxorb::deployment::{
    EXECUTION_MANAGER, ExecutionManager, ExecutionSettings, FetchSource, NodeEvent,
    PackageRepository, Plans, REPOSITORY_MANAGER, RepositorySettings, RestartPolicy,
};
use oxorb::rt::ThreadPurpose;
use oxorb::{Interface, Orb};
use serde_json::json;

use crate::listening::{Callers, ManagerListening, urls};
use crate::node::{at_least_one, limit};
use oxorb_terminal::duration;
use oxorb_terminal::orb::{heed_signals, with_args};
use oxorb_terminal::output::{Done, Failed, Format, because, print, print_line};

/// Default port of execution managers that listen over TCP.
const PORT: u16 = 2810;

/// Arguments of `oxorb deploy serve`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) serving: Serving,
    #[command(flatten)]
    pub(super) nodes: Nodes,
    /// Output format; JSON writes one line when serving starts, and one for each incident
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Address and limits of an execution manager.
#[derive(clap::Args)]
pub(super) struct Serving {
    #[command(flatten)]
    pub(super) listening: ManagerListening,
    /// Write the reference of the execution manager to FILE, too
    #[arg(long, value_name = "FILE")]
    ior_file: Option<PathBuf>,
    /// Maximum number of concurrent plans
    #[arg(long, value_name = "N", default_value_t = ExecutionSettings::default().max_plans, value_parser = at_least_one)]
    max_plans: usize,
    /// Time limit of each call to a node manager, such as a call that starts the processes of a plan. For example 5s; a
    /// bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = duration::text(ExecutionSettings::default().node_timeout), value_parser = limit())]
    node_timeout: Duration,
    /// Duration of leases: nodes stop a plan whose lease was not renewed for this time, and a node that did not answer
    /// for this time counts as lost. For example 5s; a bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = duration::text(ExecutionSettings::default().lease), value_parser = limit())]
    lease: Duration,
    /// Restart policy for processes that end unexpectedly: never, or on-failure[:LIMIT[:MILLISECONDS]]
    #[arg(long, value_name = "POLICY", default_value_t)]
    pub(super) restart: RestartPolicy,
    #[command(flatten)]
    packages: Packages,
}

/// Packages of an execution manager.
#[derive(clap::Args)]
struct Packages {
    /// Folder in which the manager keeps packages; it is created if it is missing. Clients list, find and delete them.
    /// Other users must not be able to change the folder
    #[arg(long, value_name = "DIR")]
    packages: Option<PathBuf>,
    /// Folder of the archives that clients may install as packages; without it, they install no files of this machine.
    /// Other users must not be able to change it or its contents
    #[arg(long, value_name = "DIR", requires = "packages")]
    install_from: Option<PathBuf>,
    /// Server whose archives clients may install as packages: http://HOST:PORT/FOLDER, https://HOST:PORT/FOLDER (with
    /// -ORBTlsRoots), or corbaloc::HOST:PORT/RepositoryManager; may be repeated
    #[arg(long, value_name = "URL", requires = "packages")]
    install_url: Vec<FetchSource>,
    /// Time limit for fetching an archive from a server. For example 5s; a bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = duration::text(RepositorySettings::FETCH_TIMEOUT), value_parser = limit())]
    install_timeout: Duration,
    /// Maximum number of packages
    #[arg(long, value_name = "N", default_value_t = RepositorySettings::MAX_PACKAGES, value_parser = at_least_one)]
    max_packages: usize,
    /// Maximum size in octets of a package
    #[arg(long, value_name = "OCTETS", default_value_t = RepositorySettings::MAX_PACKAGE_OCTETS, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    max_package_octets: u64,
}

impl Packages {
    /// Opens the folder of packages, and warns of archives in it that are no packages.
    fn open(&self) -> Result<Option<Arc<PackageRepository>>, Failed> {
        let Some(folder) = &self.packages else {
            return Ok(None);
        };
        let repository = PackageRepository::open(RepositorySettings {
            sources: self.install_from.clone(),
            urls: self.install_url.clone(),
            fetch_timeout: self.install_timeout,
            max_packages: self.max_packages,
            max_package_octets: self.max_package_octets,
            ..RepositorySettings::new(folder)
        });
        let repository = repository.map_err(because)?;
        for what in repository.unreadable() {
            oxorb_terminal::output::warning(what);
        }
        Ok(Some(Arc::new(repository)))
    }
}

/// Node managers, and where to find them.
#[derive(clap::Args)]
pub(super) struct Nodes {
    /// Reference of the manager of the node NAME: IOR:, corbaloc:, corbaname: or file:; may be repeated
    #[arg(long = "node", value_name = "NAME=URL", value_parser = node)]
    pub(super) known: Vec<(String, String)>,
    /// Look for managers of other nodes in the Naming Service, as NAME.NodeManager
    #[arg(long)]
    pub(super) naming: bool,
}

fn node(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, url)) if !name.is_empty() && !url.is_empty() => {
            Ok((name.to_owned(), url.to_owned()))
        }
        _ => Err(
            "write a node as NAME=URL, such as cockpit=corbaloc::10.0.0.7:2811/cockpit.NodeManager"
                .to_owned(),
        ),
    }
}

impl Nodes {
    /// Refuses two references of one node, one of which would be ignored.
    pub(super) fn check(&self) -> Result<(), Failed> {
        let mut known: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, url) in &self.known {
            if known.insert(name, url).is_some_and(|other| other != url) {
                return Err(because(format!(
                    "--node specifies two references of node {name:?}: specify only one"
                )));
            }
        }
        Ok(())
    }

    /// Returns a lookup of the managers that these arguments name, and of those in `local`.
    pub(super) fn lookup(
        &self,
        orb: &Orb,
        local: BTreeMap<String, NodeManagerRef>,
    ) -> impl Fn(&str) -> Result<NodeManagerRef, String> + Send + Sync + 'static {
        let known: BTreeMap<String, String> = self.known.iter().cloned().collect();
        let naming = self.naming;
        let orb = orb.clone();
        move |name| {
            if let Some(manager) = local.get(name) {
                return Ok(manager.clone());
            }
            if let Some(url) = known.get(name) {
                return orb.resolve(url).map_err(|error| error.to_string());
            }
            if naming {
                let names = crate::name::usual(&orb).map_err(|error| error.to_string())?;
                let found = names.resolve::<NodeManagerRef>(crate::node::name_of(name));
                return found.map_err(|error| {
                    format!("the Naming Service contains no node manager: {error}; `oxorb node serve --name {name} \
                             --bind` binds one")
                });
            }
            Err(format!(
                "the address of its node manager is unknown; specify --node {name}=URL, or --naming"
            ))
        }
    }
}

impl Serving {
    pub(super) fn orb(&self) -> Result<Orb, Failed> {
        let builder = self.listening.at(Orb::builder(), PORT, EXECUTION_MANAGER)?;
        // Listen only when the packages are read and the manager exists: until then, clients must fail to connect and
        // not receive OBJECT_NOT_EXIST.
        let orb = with_args(builder.listen_late()).build()?;
        self.listening.check(&orb, self.may())?;
        Ok(orb)
    }

    fn settings(&self) -> Result<ExecutionSettings, Failed> {
        Ok(ExecutionSettings {
            max_plans: self.max_plans,
            node_timeout: self.node_timeout,
            lease: self.lease,
            restart: self.restart,
            packages: self.packages.open()?,
            ..ExecutionSettings::default()
        })
    }

    /// Returns an option that only an execution manager uses, if one is given.
    pub(super) fn given(&self) -> Option<&'static str> {
        match &self.packages.packages {
            Some(_) => Some("--packages"),
            None => self.ior_file.as_ref().map(|_| "--ior-file"),
        }
    }

    /// Returns a description of what clients of the manager can do, for a warning.
    pub(super) fn may(&self) -> &'static str {
        match &self.packages.packages {
            Some(_) => "launch plans on its nodes, and change its packages",
            None => "launch plans on its nodes",
        }
    }

    /// Starts an execution manager, which stops its plans before the ORB shuts down.
    pub(super) fn start(
        &self,
        orb: &Orb,
        nodes: impl Fn(&str) -> Result<NodeManagerRef, String> + Send + Sync + 'static,
        format: Format,
    ) -> Result<Arc<ExecutionManager>, Failed> {
        let observe = move |event: &NodeEvent| crate::node::incident(format, event);
        let manager = ExecutionManager::start(orb.root_poa(), self.settings()?, nodes, observe)?;
        let manager = Arc::new(manager);
        let closed = Arc::clone(&manager);
        orb.before_shutdown(move |_| {
            if let Err(trouble) = closed.close() {
                oxorb_terminal::output::error(&trouble.to_string());
            }
        });
        if let Some(file) = &self.ior_file {
            std::fs::write(file, manager.reference().to_ior())
                .map_err(|error| because(format!("{}: {error}", file.display())))?;
        }
        Ok(manager)
    }
}

/// Shuts the ORB down when its execution manager has no plan any more. Other clients can launch plans at the manager,
/// too, so the ORB ends with the last plan. From then on, the manager refuses plans.
pub(super) fn end_with_last_plan(orb: &Orb, manager: &Arc<ExecutionManager>) -> Done {
    let (ending, manager) = (orb.clone(), Arc::clone(manager));
    // The thread serves no request, so the reply to the call that stopped the last plan is sent before the ORB ends.
    orb.start_thread(ThreadPurpose::Shutdown, "oxorb-end", move || {
        manager.close_after_last_plan();
        let _ = ending.shutdown(true);
    })?;
    Ok(())
}

/// Serves until the process ends.
pub(super) fn run(args: &Args) -> Done {
    args.nodes.check()?;
    let orb = args.serving.orb()?;
    let nodes = args.nodes.lookup(&orb, BTreeMap::new());
    let manager = args.serving.start(&orb, nodes, args.format)?;
    heed_signals(&orb)?;
    let urls = urls(manager.reference().reference(), EXECUTION_MANAGER);
    match args.format {
        Format::Text => {
            print(format_args!("serving an execution manager at {}\n", urls.join(" ")))?
        }
        Format::Json => print_line(&json!({
            "event": "serving",
            "corbaloc": urls,
            "ior": manager.reference().to_ior(),
            "callers": Callers::of(&orb).word(),
        }))?,
    }
    warn(&orb, args.serving.may());
    orb.run();
    Ok(())
}

/// Warns if users other than this one can call a manager.
pub(super) fn warn(orb: &Orb, may: &str) {
    if let Some(warning) = Callers::of(orb).warning(orb, may) {
        oxorb_terminal::output::warning(&warning);
    }
}

/// Execution manager to call.
#[derive(clap::Args)]
pub(super) struct ManagerArgs {
    /// Execution manager: IOR:, corbaloc:, corbaname: or file:. Default: -ORBInitRef ExecutionManager=URL, or else the
    /// one at the UNIX socket of this user
    #[arg(long, value_name = "URL")]
    pub(super) at: Option<String>,
    /// Time limit of each call to the execution manager. For example 5s; a bare number is seconds
    #[arg(long, value_name = duration::VALUE_NAME, default_value = "5m", value_parser = limit())]
    timeout: Duration,
}

impl ManagerArgs {
    /// Connects to the execution manager.
    pub(super) fn plans(&self) -> Result<(Orb, Plans), Failed> {
        let (orb, manager) = self.manager()?;
        Ok((orb, Plans::of(manager)))
    }

    /// Connects to the repository of packages of the execution manager.
    pub(super) fn repository(&self) -> Result<(Orb, RepositoryManagerRef), Failed> {
        self.repository_at().map(|(orb, _, repository)| (orb, repository))
    }

    /// Connects to the repository of packages of the execution manager, typed as `R`. Also returns its URL.
    pub(super) fn repository_at<R: Interface>(&self) -> Result<(Orb, String, R), Failed> {
        let (orb, manager) = self.manager()?;
        let urls = urls(manager.reference(), REPOSITORY_MANAGER);
        let Some(url) = urls.first() else {
            return Err(because("the reference of the execution manager contains no address"));
        };
        let repository = orb.resolve::<R>(url)?.with_timeout(self.limit());
        Ok((orb, url.clone(), repository))
    }

    /// Returns the time limit of a call.
    pub(super) fn limit(&self) -> Duration {
        self.timeout
    }

    fn manager(&self) -> Result<(Orb, ExecutionManagerRef), Failed> {
        let limit = self.limit();
        let orb = with_args(Orb::builder().round_trip_timeout(limit)).build()?;
        let lost = |error: &dyn std::fmt::Display| {
            because(format!(
                "{error}\nno execution manager was found. Specify one with --at URL; `oxorb deploy serve` and `oxorb \
                 deploy launch --local` start one"
            ))
        };
        let found = match &self.at {
            Some(url) => orb.resolve::<ExecutionManagerRef>(url),
            None => match orb.resolve(&format!("corbaloc:rir:/{EXECUTION_MANAGER}")) {
                Err(oxorb::ResolveError::UnknownName { .. }) => {
                    let url = crate::own::url(EXECUTION_MANAGER, EXECUTION_MANAGER);
                    let url = url.ok_or_else(|| {
                        lost(&"no execution manager listens on the UNIX socket of this user")
                    })?;
                    orb.resolve(&url)
                }
                found => found,
            },
        };
        let manager = found.map_err(|error| lost(&error))?;
        let manager = manager.with_timeout(limit);
        Ok((orb, manager))
    }
}
