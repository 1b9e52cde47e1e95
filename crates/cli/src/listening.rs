//! Addresses and access rules of a service: `--host` and `--listen`, and the summary at the start.

use oxorb::transport::Endpoint;
use oxorb::{Builder, Ior, Orb, Ref};
use oxorb_naming::Federation;
use serde_json::{Value, json};

use oxorb_terminal::output::{Done, Failed, print};

/// Options of the address to listen on, beside `--port`.
#[derive(clap::Args)]
pub(crate) struct Listening {
    /// Address to listen at; this machine alone reaches the default. 0.0.0.0 or [::]: all addresses of one kind
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Endpoint to listen on instead, as iiop://HOST:PORT, or of another protocol; several may be given. Without HOST: all
    /// addresses
    #[arg(long, value_name = "ENDPOINT", conflicts_with_all = ["port", "host"])]
    listen: Vec<String>,
}

impl Listening {
    /// Lets an ORB listen.
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

/// Options of the address of a manager of deployment. Whoever calls one starts programs as its user, so it listens for that
/// user alone unless it is told otherwise.
#[derive(clap::Args)]
pub(crate) struct ManagerListening {
    /// Port to listen on over TCP; the reference outlives the process if it is always the same. 0: the system chooses.
    /// Unless --port, --host or --listen is given, it listens on a UNIX socket that this user alone reaches
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Address to listen at over TCP: 127.0.0.1, which every user of this machine reaches, unless given. 0.0.0.0 or [::]: all
    /// addresses of one kind
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Endpoint to listen on instead, as iiop://HOST:PORT, or of another protocol; several may be given. Without HOST: all
    /// addresses
    #[arg(long, value_name = "ENDPOINT", conflicts_with_all = ["port", "host"])]
    listen: Vec<String>,
}

impl ManagerListening {
    /// Lets an ORB listen: on the socket of this name, or over TCP at `port` where an address alone is given.
    ///
    /// # Errors
    /// No place for a socket that this user alone reaches.
    pub(crate) fn at(&self, builder: Builder, port: u16, socket: &str) -> Result<Builder, Failed> {
        if self.listen.is_empty() && self.port.is_none() && self.host.is_none() {
            return Ok(builder.listen(&crate::own::endpoint(socket)?));
        }
        let host = self.host.clone().unwrap_or_else(|| "127.0.0.1".to_owned());
        let tcp = Listening { host, listen: self.listen.clone() };
        Ok(tcp.at(builder, self.port.unwrap_or(port)))
    }
}

/// Reach of an ORB: who can connect to it, its access rules aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Callers {
    /// The user of the process, and root.
    User,
    /// Every user of this machine.
    Machine,
    /// Everybody on other machines, too.
    Network,
}

impl Callers {
    /// Returns those who can connect to the endpoints of an ORB.
    pub(crate) fn of(orb: &Orb) -> Callers {
        let options = orb.options();
        let of_one = |endpoint: &Endpoint| {
            let is_own = endpoint.protocol == "uiop"
                && endpoint.option("mode").is_some_and(|mode| mode.ends_with("00"));
            let protocol = options.protocols.named(&endpoint.protocol);
            let is_local = protocol.is_some_and(|it| it.transport().is_local(endpoint));
            match (is_own, is_local) {
                (true, _) => Callers::User,
                (false, true) => Callers::Machine,
                (false, false) => Callers::Network,
            }
        };
        options.listen.iter().map(of_one).max().unwrap_or(Callers::Network)
    }

    /// Returns a word for programs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Callers::User => "user",
            Callers::Machine => "machine",
            Callers::Network => "network",
        }
    }

    /// Returns what it means that they can connect to a manager of `orb`, where that is others than its user: `may` is what
    /// whoever calls it can do.
    pub(crate) fn warning(self, orb: &Orb, may: &str) -> Option<String> {
        let who = match self {
            Callers::User => return None,
            Callers::Machine => "every user of this machine",
            Callers::Network => "whoever reaches this machine",
        };
        let rules = &orb.options().access;
        let rules = match rules.is_open() {
            true => "-ORBAccess says who may connect".to_owned(),
            false => format!("-ORBAccess lets in: {rules}"),
        };
        let endpoints = orb.options().listen.iter().map(ToString::to_string);
        let endpoints = endpoints.collect::<Vec<_>>().join(" ");
        Some(format!(
            "{who} can connect to {endpoints} and {may}; nobody is asked who he is. {rules}"
        ))
    }
}

/// Returns the URLs of an object that its ORB knows by name: of its addresses for IIOP, which every ORB reads,
/// then of those
/// for other protocols.
pub(crate) fn urls(object: &Ref, name: &str) -> Vec<String> {
    let ior = object.ior();
    let iiop = ior
        .iiop_profiles()
        .flat_map(|profile| profile.endpoints())
        .map(|endpoint| format!("corbaloc::{endpoint}/{name}"));
    let protocols = &object.orb().options().protocols;
    let others = ior.profiles.iter().filter_map(|tagged| {
        let protocol = protocols.tagged(tagged.tag)?;
        if protocol.name() == "iiop" {
            return None;
        }
        let mut profile = protocol.profile().read(tagged).ok()?;
        profile.key = name.as_bytes().to_vec();
        protocols.url_of(&Ior {
            type_id: String::new(),
            profiles: vec![protocol.profile().write(&profile)],
        })
    });
    iiop.chain(others).collect()
}

/// Access to a service that has started.
pub(crate) struct Access<'a> {
    orb: &'a Orb,
    /// Whether clients may not change what it keeps.
    read_only: bool,
    /// Whether its command has `--read-only`.
    has_read_only: bool,
    /// Servers that it calls; `None` where it calls none by its nature.
    federation: Option<String>,
}

impl<'a> Access<'a> {
    pub(crate) fn of(orb: &'a Orb, read_only: bool) -> Access<'a> {
        Access { orb, read_only, has_read_only: true, federation: None }
    }

    /// Returns the access to a service that has to be changed to be used, so that its command has no `--read-only`.
    pub(crate) fn open(orb: &'a Orb) -> Access<'a> {
        Access { has_read_only: false, ..Access::of(orb, false) }
    }

    /// Adds the servers to which names are followed.
    pub(crate) fn following(mut self, federation: &Federation) -> Self {
        self.federation = Some(federation.to_string());
        self
    }

    /// Whether only this machine reaches every endpoint.
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
            (true, true) => "this machine alone".to_owned(),
            (true, false) => format!("this machine, {rules}"),
            (false, true) => {
                "every address that its endpoints do not refuse (-ORBAccess narrows it)".to_owned()
            }
            (false, false) => rules.to_string(),
        };
        print(format_args!("  connections: {from}; at {}\n", self.endpoints().join(" ")))?;
        print(format_args!(
            "  changes: {}\n",
            match (self.read_only, self.has_read_only) {
                (true, _) => "none",
                (false, true) => "by whoever connects (--read-only refuses them)",
                (false, false) => "by whoever connects",
            }
        ))?;
        match self.federation.as_deref() {
            None => Ok(()),
            Some("none") => print(format_args!(
                "  other servers: names are followed to none (--federate allows it)\n"
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
            "read_only": self.read_only,
            "federation": self.federation,
        })
    }
}
