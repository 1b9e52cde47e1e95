//! `oxorb gateway http`: offers objects as JSON over HTTP/1.1 and HTTP/2.

mod activity;
mod caller;
mod calls;
mod connection;
mod content;
mod counts;
mod deadline;
mod description;
mod event_filter;
mod event_source;
mod events;
mod guard;
mod handshakes;
mod history;
mod intake;
mod interfaces;
mod limits;
mod listener;
mod log;
mod memory;
mod objects;
mod openapi;
mod page;
mod parsed;
mod path;
mod peers;
mod problem;
mod reload;
mod rights;
mod routes;
mod schema;
mod serving;
mod settings;
mod shares;
mod state;
mod tls;
mod tokens;

use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use oxorb::{Builder, Orb};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::types::IdlArgs;
use oxorb_terminal::orb::with_args;
use oxorb_terminal::output::{Done, Failed, Format, because, print, print_line, warning};

use calls::Workers;
use counts::Counts;
use events::Channel;
use guard::Guard;
use interfaces::Interfaces;
use limits::{DRAIN, LimitArgs, MAX_TEXT, lower};
use log::Log;
use memory::Memory;
use objects::Objects;
use peers::Peers;
use rights::Rights;
use serving::Serving;
use settings::Settings;
use state::Gateway;
use tls::Tls;
use tokens::Tokens;

/// Arguments of `oxorb gateway http`.
#[derive(clap::Args)]
#[command(after_help = "\
POST /objects/NAME/OPERATION calls an operation, with its in and inout arguments as a JSON object; GET and PUT \
/objects/NAME/ATTRIBUTE read and write an attribute; GET /events/NAME receives the events of a channel; GET \
/openapi.json describes all objects; GET / returns a page to try them. Values are JSON as in docs/json.md, and errors \
are problem details (RFC 9457). docs/gateway-http.md describes all routes, errors and limits.

Types come from --idl, or else from an Interface Repository: that of --ifr, that of -ORBInitRef \
InterfaceRepository=..., or the one that each object names (_interface).

Addresses other than loopback require --tokens, --no-tokens or, in a command with TLS, --tls-client-ca. On SIGINT \
(Ctrl-C) or SIGTERM the gateway answers running requests, and ends; a second signal ends it at once. SIGHUP reads \
tokens, access rules, certificates and certificate revocation lists again.

Examples:
  oxorb gateway http --idl bank.idl --object Account=file:account.ior
  oxorb gateway http --listen 0.0.0.0:8080 --tokens tokens.txt --idl bank.idl objects.toml
  oxorb gateway http --tokens tokens.txt --access-rules rules.toml --idl bank.idl objects.toml
  oxorb gateway http --naming --events plant=corbaloc::host:2811/NotifyChannel
  curl -d '{\"amount\": 10}' -H 'Content-Type: application/json' \\
    http://localhost:8080/objects/Account/withdraw")]
pub(crate) struct Args {
    /// Objects and event channels (TOML, tables [objects], [events] and [realtime_events])
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Address to listen on; port 0 lets the system choose
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "HOST:PORT")]
    listen: String,
    /// Object to offer: IOR:, corbaloc:, corbaname: or file:. May be repeated
    #[arg(long = "object", value_name = "NAME=REFERENCE")]
    objects: Vec<String>,
    /// Event channel of the Event or Notification Service to offer. May be repeated
    #[arg(long, value_name = "NAME=REFERENCE")]
    events: Vec<String>,
    /// Real-time event channel to offer. May be repeated
    #[arg(long, value_name = "NAME=REFERENCE")]
    realtime_events: Vec<String>,
    /// Address on which event channels reach the gateway
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    events_host: String,
    /// Offer all objects of the Naming Service (-ORBInitRef NameService=URL), too
    #[arg(long)]
    naming: bool,
    /// Let clients name references, at /ior/REFERENCE: they can make the gateway connect to any address
    #[arg(long)]
    any_reference: bool,
    #[command(flatten)]
    idl: IdlArgs,
    /// Interface Repository to take the types from: IOR:, corbaloc:, corbaname: or file:
    #[arg(long, value_name = "URL", conflicts_with = "files")]
    ifr: Option<String>,
    /// Make omitted arguments and members zero, empty or nil, unless the IDL has a @default for them
    #[arg(long)]
    defaults: bool,
    #[command(flatten)]
    doors: DoorArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Write a line of JSON to standard error for each request
    #[arg(long)]
    log: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Options that decide who may use the gateway.
#[derive(clap::Args)]
struct DoorArgs {
    /// File with the bearer tokens of clients, one on each line, each with an optional name; only its owner may read it
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Admit every client that reaches the address, even if that is not a loopback address
    #[arg(long, conflicts_with = "tokens")]
    no_tokens: bool,
    /// Rules about which clients may call which operations of which objects (TOML, table [access])
    #[arg(long, value_name = "FILE")]
    access_rules: Option<PathBuf>,
    /// Host name that requests may name in addition to addresses and localhost; other names are refused. May be
    /// repeated
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Origin of pages that may use the gateway, as https://page.example. May be repeated
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Certificate for HTTPS, followed by those of its issuers (PEM)
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// Key of the certificate (PEM); only its owner may read it
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Certificates of the authorities of clients (PEM). Each client needs a certificate; with --tokens, a token
    /// suffices
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", requires = "certificate", conflicts_with = "no_tokens")]
    tls_client_ca: Option<PathBuf>,
    /// Lists of revoked certificates of clients (CRL, PEM), one for each authority. A certificate of an authority
    /// without a list is refused
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", requires = "tls_client_ca")]
    tls_client_crl: Option<PathBuf>,
}

/// Serves until a signal ends the process.
pub(crate) fn run(args: Args) -> Done {
    let settings =
        Settings::read(args.file.as_deref(), &args.objects, &args.events, &args.realtime_events)?;
    let is_empty = settings.objects.is_empty() && settings.channels().next().is_none();
    if is_empty && !args.naming && !args.any_reference {
        warning(
            "no object and no event channel is offered; name them with --object NAME=REFERENCE, --events, \
             --realtime-events, --naming or a file",
        );
    }
    let tokens = args.doors.tokens.as_deref().map(Tokens::read).transpose()?;
    let rights = args.doors.access_rules.as_deref().map(Rights::read).transpose()?;
    let tls = args.doors.tls()?.map(Arc::new);
    let listener = listen(&args.listen)?;
    let address = listener.local_addr()?;
    let guard = args.doors.guard(address)?;
    let orb = with_args(args.builder(&settings)).build()?;
    let interfaces = Interfaces::new(&orb, &args.idl, args.ifr.as_deref())?;
    for (name, target) in &settings.objects {
        if let Some(interface) = target.interface() {
            let at = |why: String| because(format!("the object {name}: {why}"));
            interfaces.check(interface).map_err(at)?;
        }
    }
    let objects = Objects::new(&orb, &settings.objects, args.naming, args.any_reference)?;
    let channels = settings.channels().map(|(kind, name, reference)| {
        (name.clone(), Channel::new(kind, reference, &orb, &interfaces.source, &args.limits))
    });
    let gateway = Arc::new(Gateway {
        channels: channels.collect(),
        interfaces,
        objects,
        guard,
        tokens,
        rights,
        has_certificates: args.doors.has_certificates(),
        workers: Workers::new(args.limits.calls(), args.limits.admitted()),
        bodies: Memory::new(args.limits.max_bodies(), args.limits.max_body()),
        parsed: Memory::new(args.limits.max_parsed(), 0),
        answers: Memory::new(args.limits.max_answers(), MAX_TEXT as usize),
        streams: Arc::new(Semaphore::new(args.limits.streams())),
        counts: Counts::new(),
        stream_clients: Peers::new(args.limits.streams_per_client()),
        log: args.log.then(Log::start).transpose()?,
        defaults: args.defaults,
        limits: args.limits,
        orb: orb.clone(),
    });
    let counted = Arc::downgrade(&gateway);
    orb.add_metrics(move || {
        counted.upgrade().map(|gateway| counts::metrics(&gateway)).unwrap_or_default()
    });
    let scheme = if tls.is_some() { "https" } else { "http" };
    // Handle signals before printing the line, because a program that reads the line may end this process at once.
    let signals = Orb::builder().build()?;
    signals.shutdown_on_signal()?;
    orb.reload_security_on_signal()?;
    reload::on_signal(&gateway, tls.as_ref())?;
    let serving = Serving::start(listener, Arc::clone(&gateway), tls)?;
    let url = format!("{scheme}://{address}");
    let told = match args.format {
        Format::Text => print(format_args!("listening at {url}\n")),
        Format::Json => print_line(&json!({
            "url": url,
            "objects": settings.objects.keys().collect::<Vec<_>>(),
            "events": settings.channels().map(|(_, name, _)| name).collect::<Vec<_>>(),
            "tokens": gateway.tokens.is_some(),
        })),
    };
    if told.is_ok() {
        signals.run();
    }
    gateway.channels.values().for_each(|channel| channel.close());
    serving.stop();
    let end = Instant::now() + DRAIN;
    gateway.channels.values().for_each(|channel| channel.wait(end));
    orb.shutdown(true)?;
    told
}

/// Binds the address to listen on.
fn listen(text: &str) -> Result<TcpListener, Failed> {
    let at = |why: &dyn std::fmt::Display| because(format!("--listen {text}: {why}"));
    let addresses = text.to_socket_addrs().map_err(|error| at(&error))?;
    let addresses: Vec<SocketAddr> = addresses.collect();
    TcpListener::bind(&addresses[..]).map_err(|error| at(&error))
}

impl Args {
    /// Configures the ORB that calls the objects. It listens only if event channels call it.
    fn builder(&self, settings: &Settings) -> Builder {
        let time = self.limits.call_time();
        let builder = Orb::builder().connect_timeout(time).round_trip_timeout(time);
        let builder = builder.configure(|options| lower(&mut options.limits.cdr));
        let host = self.events_host.as_str();
        match (settings.channels().next().is_none(), host.contains(':') && !host.starts_with('[')) {
            (true, _) => builder,
            (false, true) => builder.listen(&format!("iiop://[{host}]:0")),
            (false, false) => builder.listen(&format!("iiop://{host}:0")),
        }
    }
}

impl DoorArgs {
    /// Returns the hosts and origins that requests may name.
    ///
    /// # Errors
    /// Everybody who reaches the address could use the gateway, and no option permits this.
    fn guard(&self, address: SocketAddr) -> Result<Guard, Failed> {
        let is_loopback = address.ip().to_canonical().is_loopback();
        let admits_all = self.tokens.is_none() && !self.has_certificates();
        if admits_all && !is_loopback {
            if !self.no_tokens {
                return Err(because(format!(
                    "everyone who can reach {address} could call all objects: restrict clients with --tokens FILE, in \
                     a command with TLS also with --tls-client-ca FILE, or allow this with --no-tokens"
                )));
            }
            warning(&format!("everyone who can reach {address} can call all objects"));
        }
        // Without tokens, a page of any site could reach the gateway by DNS rebinding. Certificates of clients need
        // HTTPS, where a browser detects that the gateway's certificate is not for the host.
        let is_checked = admits_all || !self.allow_host.is_empty();
        Ok(Guard {
            hosts: is_checked.then(|| self.allow_host.clone()),
            allows_addresses: admits_all && !is_loopback,
            origins: self.allow_origin.clone(),
        })
    }

    #[cfg(feature = "tls")]
    fn tls(&self) -> Result<Option<Tls>, Failed> {
        match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                let files = tls::Files {
                    certificate: certificate.clone(),
                    key: key.clone(),
                    client_ca: self.tls_client_ca.clone(),
                    client_crl: self.tls_client_crl.clone(),
                    admits_others: self.tokens.is_some(),
                };
                Tls::new(files).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Reports whether clients can show certificates.
    #[cfg(feature = "tls")]
    fn has_certificates(&self) -> bool {
        self.tls_client_ca.is_some()
    }

    #[cfg(not(feature = "tls"))]
    fn has_certificates(&self) -> bool {
        false
    }

    #[cfg(not(feature = "tls"))]
    fn tls(&self) -> Result<Option<Tls>, Failed> {
        Ok(None)
    }
}
