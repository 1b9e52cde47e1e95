//! Addresses and access rules of a service: `--host` and `--listen`, and the summary at start.

use oxorb::ior::{IiopProfile, Ior};
use oxorb::transport::{ClientCertificates, Endpoint};
use oxorb::{Builder, Orb, Ref};
use oxorb_naming::Federation;
use serde_json::{Value, json};

use oxorb_terminal::output::{Done, Failed, because, print};

/// Options for the listening address, in addition to `--port`.
#[derive(clap::Args)]
pub(crate) struct Listening {
    /// Address to listen on; the default can be reached from this machine only. 0.0.0.0 or [::]: all IPv4 or IPv6
    /// addresses
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Endpoint that replaces --host and --port: iiop://HOST:PORT, or one of another protocol. An empty HOST means all
    /// addresses. May be repeated
    #[arg(long, value_name = "ENDPOINT", conflicts_with_all = ["port", "host"])]
    listen: Vec<String>,
}

impl Listening {
    /// Makes an ORB listen.
    pub(crate) fn at(&self, builder: Builder, port: u16) -> Builder {
        let endpoints = match self.listen.as_slice() {
            [] => self.endpoint(port),
            listen => listen.join(";"),
        };
        builder.listen(&endpoints)
    }

    fn endpoint(&self, port: u16) -> String {
        match self.host.contains(':') && !self.host.starts_with('[') {
            true => format!("iiop://[{}]:{port}", self.host),
            false => format!("iiop://{}:{port}", self.host),
        }
    }
}

/// Options for the listening address of a deployment manager. The manager's callers start programs as its user, so by
/// default only that user can connect.
#[derive(clap::Args)]
pub(crate) struct ManagerListening {
    /// TCP port to listen on; a fixed port lets the reference outlive the process; 0 lets the system choose. Default:
    /// without --host and --listen, a UNIX socket that only this user can reach
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Address to listen on over TCP; default: 127.0.0.1, which every user of this machine can reach. 0.0.0.0 or [::]:
    /// all IPv4 or IPv6 addresses
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Endpoint that replaces --host and --port: iiop://HOST:PORT, or one of another protocol. An empty HOST means all
    /// addresses. May be repeated
    #[arg(long, value_name = "ENDPOINT", conflicts_with_all = ["port", "host"])]
    listen: Vec<String>,
    /// Let every client that can reach the manager over the network call it. Without this option, a manager that
    /// other machines can reach needs -ORBAccess or TLS with certificates of clients
    #[arg(long)]
    any_client: bool,
}

impl ManagerListening {
    /// Makes an ORB listen: on the socket of this name, or over TCP at `port` if only an address is given.
    ///
    /// # Errors
    /// There is no folder for a socket that only this user can reach.
    pub(crate) fn at(&self, builder: Builder, port: u16, socket: &str) -> Result<Builder, Failed> {
        if self.listen.is_empty() && self.port.is_none() && self.host.is_none() {
            return Ok(builder.listen(&crate::own::endpoint(socket)?));
        }
        let host = self.host.clone().unwrap_or_else(|| "127.0.0.1".to_owned());
        let tcp = Listening { host, listen: self.listen.clone() };
        Ok(tcp.at(builder, self.port.unwrap_or(port)))
    }

    /// Checks that nobody on another machine could call the manager without being chosen by its user. `may` describes
    /// what callers can do.
    ///
    /// # Errors
    /// Other machines can reach an endpoint at which neither the address of a client is checked nor its certificate,
    /// and no option permits this. Rules about requests do not suffice: the processes of a manager do not have them.
    pub(crate) fn check(&self, orb: &Orb, may: &str) -> Result<(), Failed> {
        let options = orb.options();
        if self.any_client || !options.access.is_open() {
            return Ok(());
        }
        let is_open = |endpoint: &&Endpoint| {
            Callers::at(endpoint, orb) == Callers::Network
                && endpoint.access.is_open()
                && !demands_certificates(endpoint, orb)
        };
        match options.listen.iter().find(is_open) {
            None => Ok(()),
            Some(endpoint) => Err(because(format!(
                "everyone who can reach {endpoint} could connect and {may}: restrict clients with -ORBAccess, for \
                 example -ORBAccess 'allow 10.0.0.0/8', or use iiops endpoints and -ORBTlsClients required; or permit \
                 this with --any-client"
            ))),
        }
    }
}

/// Reports whether every client at an endpoint shows a certificate that the server's authorities have signed.
fn demands_certificates(endpoint: &Endpoint, orb: &Orb) -> bool {
    let options = orb.options();
    let protocol = options.protocols.named(&endpoint.protocol);
    protocol.is_some_and(|it| it.transport().is_secure())
        && options.security.clients == ClientCertificates::Required
}

/// Callers that can connect to an ORB, regardless of its access rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Callers {
    /// User of the process, and root.
    User,
    /// Every user of this machine.
    Machine,
    /// Users of any machine in reach.
    Network,
}

impl Callers {
    /// Returns the callers that can connect to the endpoints of an ORB.
    pub(crate) fn of(orb: &Orb) -> Callers {
        let endpoints = orb.options().listen.iter();
        endpoints.map(|endpoint| Callers::at(endpoint, orb)).max().unwrap_or(Callers::Network)
    }

    /// Returns the callers that can connect to an endpoint.
    fn at(endpoint: &Endpoint, orb: &Orb) -> Callers {
        let is_own = endpoint.protocol == "uiop"
            && endpoint.option("mode").is_some_and(|mode| mode.ends_with("00"));
        let protocol = orb.options().protocols.named(&endpoint.protocol);
        let is_local = protocol.is_some_and(|it| it.transport().is_local(endpoint));
        match (is_own, is_local) {
            (true, _) => Callers::User,
            (false, true) => Callers::Machine,
            (false, false) => Callers::Network,
        }
    }

    /// Returns a machine-readable word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Callers::User => "user",
            Callers::Machine => "machine",
            Callers::Network => "network",
        }
    }

    /// Returns a warning if users other than the manager's own can connect to its ORB. `may` describes what callers can
    /// do.
    pub(crate) fn warning(self, orb: &Orb, may: &str) -> Option<String> {
        let who = match self {
            Callers::User => return None,
            Callers::Machine => "every user on this machine",
            Callers::Network => "everyone who can reach this machine over the network",
        };
        let options = orb.options();
        let all_identified =
            options.listen.iter().all(|endpoint| demands_certificates(endpoint, orb));
        let identified = match all_identified {
            true => "clients need a certificate that an authority of -ORBTlsRoots has signed",
            false => "clients are not authenticated",
        };
        let addresses = &options.access;
        let rules = match (addresses.is_open(), &options.access_rules) {
            (true, None) => "-ORBAccess restricts who may connect".to_owned(),
            (false, None) => format!("-ORBAccess admits: {addresses}"),
            (true, Some(rules)) => rules.to_string(),
            (false, Some(rules)) => format!("-ORBAccess admits: {addresses}; {rules}"),
        };
        let endpoints = options.listen.iter().map(ToString::to_string);
        let endpoints = endpoints.collect::<Vec<_>>().join(" ");
        Some(format!("{who} can connect to {endpoints} and {may}; {identified}. {rules}"))
    }
}

/// Returns the URLs of an object under a name that its ORB knows: for IIOP first, which every ORB supports, then for
/// other protocols. Profiles of servers that listen over TLS only have no address for IIOP, so they come with the others.
pub(crate) fn urls(object: &Ref, name: &str) -> Vec<String> {
    let ior = object.ior();
    let iiop = ior
        .iiop_profiles()
        .flat_map(|profile| profile.endpoints())
        .map(|endpoint| format!("corbaloc::{endpoint}/{name}"));
    let protocols = &object.orb().options().protocols;
    let others = ior.profiles.iter().filter_map(|tagged| {
        let renamed = match IiopProfile::parse(tagged) {
            Ok(profile) if !profile.endpoints().is_empty() => return None,
            Ok(mut profile) => {
                profile.object_key = name.as_bytes().to_vec();
                profile.to_profile()
            }
            Err(_) => {
                let protocol = protocols.tagged(tagged.tag)?;
                let mut profile = protocol.profile().read(tagged).ok()?;
                profile.key = name.as_bytes().to_vec();
                protocol.profile().write(&profile)
            }
        };
        protocols.url_of(&Ior { type_id: String::new(), profiles: vec![renamed] })
    });
    iiop.chain(others).collect()
}

/// Access to a service that is running.
pub(crate) struct Access<'a> {
    orb: &'a Orb,
    /// Whether clients may not change the service's contents.
    read_only: bool,
    /// Whether the command has `--read-only`.
    has_read_only: bool,
    /// Servers that the service calls; `None` if it never calls any.
    federation: Option<String>,
}

impl<'a> Access<'a> {
    pub(crate) fn of(orb: &'a Orb, read_only: bool) -> Access<'a> {
        Access { orb, read_only, has_read_only: true, federation: None }
    }

    /// Returns the access to a service that is useless without changes, so that its command has no `--read-only`.
    pub(crate) fn open(orb: &'a Orb) -> Access<'a> {
        Access { has_read_only: false, ..Access::of(orb, false) }
    }

    /// Adds the servers that the service may call to resolve names.
    pub(crate) fn following(mut self, federation: &Federation) -> Self {
        self.federation = Some(federation.to_string());
        self
    }

    /// Reports whether every endpoint is reachable from this machine only.
    fn is_local(&self) -> bool {
        let options = self.orb.options();
        options.listen.iter().all(|endpoint| {
            let protocol = options.protocols.named(&endpoint.protocol);
            protocol.is_some_and(|protocol| protocol.transport().is_local(endpoint))
        })
    }

    fn endpoints(&self) -> Vec<String> {
        let endpoints = self.orb.options().listen.iter();
        endpoints.map(ToString::to_string).collect()
    }

    /// Prints a line for each rule.
    pub(crate) fn print(&self) -> Done {
        let rules = &self.orb.options().access;
        let from = match (self.is_local(), rules.is_open()) {
            (true, true) => "only this machine".to_owned(),
            (true, false) => format!("this machine, {rules}"),
            (false, true) => {
                "every address that can reach the endpoints (-ORBAccess restricts it)".to_owned()
            }
            (false, false) => rules.to_string(),
        };
        print(format_args!("  connections: {from}; at {}\n", self.endpoints().join(" ")))?;
        let requests = &self.orb.options().access_rules;
        if let Some(rules) = requests {
            print(format_args!("  requests: {rules}\n"))?;
        }
        let who = match requests {
            None => "by every client that can connect",
            Some(_) => "by every client whose request the access rules allow",
        };
        match (self.read_only, self.has_read_only) {
            (true, _) => print(format_args!("  changes: none\n"))?,
            (false, true) => {
                print(format_args!("  changes: {who} (--read-only rejects them)\n"))?;
            }
            (false, false) => print(format_args!("  changes: {who}\n"))?,
        }
        match self.federation.as_deref() {
            None => Ok(()),
            Some("none") => print(format_args!(
                "  other servers: names are not followed to other servers (--federate allows it)\n"
            )),
            Some(servers) => {
                print(format_args!("  other servers: names are followed to {servers}\n"))
            }
        }
    }

    /// Returns the rules as an object.
    pub(crate) fn json(&self) -> Value {
        let rules = &self.orb.options().access;
        json!({
            "listen": self.endpoints(),
            "loopback": self.is_local(),
            "rules": (!rules.is_open()).then(|| rules.to_string()),
            "request_rules": self.orb.options().access_rules.as_ref().map(|it| it.to_string()),
            "read_only": self.read_only,
            "federation": self.federation,
        })
    }
}
