//! `oxbench handshakes`: TLS handshakes per second of an OxORB server, compared with a server that uses rustls only.
//!
//! Both use the same library, cryptography and certificates, and the same client: rustls with several simultaneous
//! connections, each of which is closed as soon as the server's ticket has been read. They differ only in threads,
//! system calls, and the ORB's work for a connection.

use std::fmt;
use std::io::{ErrorKind, Read as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use oxorb::{Orb, Servant};
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::NoServerSessionStorage;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore, ServerConfig};
use rustls::{ServerConnection, StreamOwned};
use serde::Serialize;

use crate::Result;
use crate::machine::Machine;
use crate::placement::{Cpus, Role};
use crate::process::Process;
use crate::table::Table;

/// Options of `oxbench handshakes`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of handshakes of each row in each round
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    handshakes: u32,

    /// Number of simultaneous connections in the rows with many connections
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    clients: u32,

    /// Number of rounds of each server; servers take turns
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    #[command(flatten)]
    placement: Cpus,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Run as a server, with the certificates in a folder
    #[arg(long, hide = true, num_args = 2, value_names = ["SERVER", "FOLDER"])]
    serve: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Server {
    /// Threads that accept, make the handshake, and read until the client has closed.
    Rustls,
    #[value(name = "oxorb")]
    OxOrb,
}

impl Server {
    fn word(self) -> &'static str {
        match self {
            Self::Rustls => "rustls",
            Self::OxOrb => "oxorb",
        }
    }
}

const SERVERS: [Server; 2] = [Server::Rustls, Server::OxOrb];

/// Result of one server in one row, in its best round.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Rate {
    /// Handshakes per second.
    each_second: f64,
    /// Server's processor time per handshake, in microseconds.
    server_us: f64,
}

#[derive(Debug, Serialize)]
struct Row {
    resumed: bool,
    /// Number of simultaneous connections.
    clients: u32,
    rustls: Rate,
    oxorb: Rate,
}

#[derive(Serialize)]
struct Report {
    machine: Machine,
    placement: String,
    handshakes: u32,
    rounds: u32,
    rows: Vec<Row>,
}

/// Measures and reports; or runs as one of the servers.
pub(crate) fn run(options: &Options) -> Result {
    if let Some(serve) = &options.serve {
        let [server, folder] = &serve[..] else {
            return Err("expected SERVER FOLDER".into());
        };
        let folder = Path::new(folder);
        return match Server::from_str(server, false)? {
            Server::Rustls => serve_by_rustls(folder),
            Server::OxOrb => serve_by_oxorb(folder),
        };
    }
    let folder = Certificates::new()?;
    let mut rows = Vec::new();
    for resumed in [false, true] {
        for clients in [1, options.clients] {
            rows.push(Row { resumed, clients, rustls: Rate::default(), oxorb: Rate::default() });
        }
    }
    for round in 0..options.rounds {
        eprintln!("round {} of {} ...", round + 1, options.rounds);
        for server in SERVERS {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["handshakes", "--serve", server.word()]);
            command.arg(&folder.0);
            let placement = options.placement.cpus;
            let name = server.word().to_owned();
            let mut running = Process::start(name, placement, Role::Server, &mut command)?;
            let address = running.hear()?;
            for row in &mut rows {
                let client = Client::new(&folder.0, &address, row.resumed)?;
                let rate = client.measure(&running, row.clients, options.handshakes)?;
                let best = match server {
                    Server::Rustls => &mut row.rustls,
                    Server::OxOrb => &mut row.oxorb,
                };
                if rate.each_second > best.each_second {
                    *best = rate;
                }
            }
            running.finish()?;
        }
    }
    let report = Report {
        machine: Machine::this(),
        placement: options.placement.cpus.to_string(),
        handshakes: options.handshakes,
        rounds: options.rounds,
        rows,
    };
    match options.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{report}"),
    }
    Ok(())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}; {}", self.machine, self.placement)?;
        writeln!(
            f,
            "{} handshakes in each row, best of {} rounds: a second, and processor time of the server for one",
            self.handshakes, self.rounds
        )?;
        let each_second = |rate: &Rate| format!("{:.0}", rate.each_second);
        let server = |rate: &Rate| format!("{:.0} us", rate.server_us);
        let table = Table::of(&self.rows)
            .left(["handshake"], |row| [if row.resumed { "resumed" } else { "full" }])
            .right(["at a time"], |row| [row.clients])
            .right(["rustls", ""], |row| [each_second(&row.rustls), server(&row.rustls)])
            .right(["OxORB", ""], |row| [each_second(&row.oxorb), server(&row.oxorb)])
            .fixed(["OxORB : rustls", ""], 2, |Row { oxorb, rustls, .. }| {
                [oxorb.each_second / rustls.each_second, oxorb.server_us / rustls.server_us]
            });
        table.fmt(f)
    }
}

/// Folder with certificates, removed on drop.
struct Certificates(PathBuf);

impl Certificates {
    fn new() -> Result<Self> {
        let folder =
            std::env::temp_dir().join(format!("oxbench-handshakes-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let made = oxorb::tls::make(&oxorb::tls::Wanted {
            hosts: vec!["127.0.0.1".to_owned()],
            clients: Vec::new(),
            days: 2,
        })?;
        for one in made {
            std::fs::write(folder.join(one.name), one.content)?;
        }
        Ok(Self(folder))
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Client {
    config: Arc<ClientConfig>,
    address: String,
    kind: HandshakeKind,
}

impl Client {
    fn new(folder: &Path, address: &str, resumed: bool) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(folder.join("ca.pem"))?)?;
        let mut config = ClientConfig::builder_with_provider(Arc::clone(oxorb::tls::provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_root_certificates(roots)
            .with_no_client_auth();
        // Tickets are for single use; those of open connections have not arrived yet.
        config.resumption = match resumed {
            true => Resumption::in_memory_sessions(256),
            false => Resumption::disabled(),
        };
        Ok(Self {
            config: Arc::new(config),
            address: address.to_owned(),
            kind: if resumed { HandshakeKind::Resumed } else { HandshakeKind::Full },
        })
    }

    /// Makes a connection, and waits for the server's ticket, with which a later connection is resumed.
    fn connect(&self) -> Result<Option<HandshakeKind>> {
        let name = ServerName::try_from("127.0.0.1")?;
        let tls = ClientConnection::new(Arc::clone(&self.config), name)?;
        let tcp = TcpStream::connect(&self.address)?;
        tcp.set_nodelay(true)?;
        let mut stream = StreamOwned::new(tls, tcp);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        let mut tickets = stream.conn.tls13_tickets_received();
        while tickets == 0 {
            stream.conn.read_tls(&mut stream.sock)?;
            stream.conn.process_new_packets()?;
            tickets = stream.conn.tls13_tickets_received();
        }
        Ok(stream.conn.handshake_kind())
    }

    /// Makes handshakes, `clients` at a time.
    fn measure(&self, server: &Process, clients: u32, handshakes: u32) -> Result<Rate> {
        // Each thread begins with its own ticket.
        for _ in 0..clients {
            self.connect()?;
        }
        let cpu = server.cpu_time();
        let began = Instant::now();
        let each = handshakes.div_ceil(clients);
        thread::scope(|scope| {
            let work = || -> Result {
                for _ in 0..each {
                    let kind = self.connect()?;
                    if kind != Some(self.kind) {
                        return Err(format!("expected {:?}, and it was {kind:?}", self.kind).into());
                    }
                }
                Ok(())
            };
            let all: Vec<_> = (0..clients).map(|_| scope.spawn(work)).collect();
            let mut all = all.into_iter();
            all.try_for_each(|one| one.join().expect("clients do not panic"))
        })?;
        let (time, count) = (began.elapsed(), f64::from(each * clients));
        // Ended threads are no longer counted, so both servers keep theirs.
        let used = cpu.zip(server.cpu_time());
        let used = used.map_or(Duration::ZERO, |(before, after)| after.saturating_sub(before));
        Ok(Rate {
            each_second: count / time.as_secs_f64(),
            server_us: used.as_secs_f64() * 1e6 / count,
        })
    }
}

/// Maximum number of connections that the server serves simultaneously, each in its own thread.
const THREADS: usize = 64;

fn serve_by_rustls(folder: &Path) -> Result {
    let own = folder.join("server.pem");
    let provider = Arc::clone(oxorb::tls::provider());
    let chain: std::result::Result<Vec<_>, _> = CertificateDer::pem_file_iter(&own)?.collect();
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain?, PrivateKeyDer::from_pem_file(&own)?)?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = rustls::crypto::ring::Ticketer::new()?;
    config.send_tls13_tickets = 1;
    let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0")?);
    println!("{}", listener.local_addr()?);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Ok((tcp, _)) = listener.accept() {
                    // Errors are reported by the client.
                    let _ = serve(&config, tcp);
                }
            });
        }
        let mut nothing = String::new();
        let _ = std::io::stdin().read_line(&mut nothing);
        // Accepting threads would keep the process alive.
        std::process::exit(0)
    })
}

fn serve(config: &Arc<ServerConfig>, tcp: TcpStream) -> Result {
    tcp.set_nodelay(true)?;
    let tls = ServerConnection::new(Arc::clone(config))?;
    let mut stream = StreamOwned::new(tls, tcp);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    loop {
        match stream.read(&mut [0; 1024]) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

struct Nobody;

impl Servant for Nobody {
    fn repository_id(&self) -> &str {
        "IDL:oxbench/Nobody:1.0"
    }

    fn dispatch(&self, upcall: oxorb::Upcall<'_>) -> oxorb::Outcome {
        upcall.done()
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

fn serve_by_oxorb(folder: &Path) -> Result {
    let own = folder.join("server.pem").display().to_string();
    let orb = Orb::builder()
        .setting("TlsCertificate", &own)
        // Permanent threads, so that their processor time is counted.
        .setting("Concurrency", "leader-followers:4")
        .listen("iiops://127.0.0.1:0")
        .build()?;
    let object = orb.root_poa().activate_servant(Arc::new(Nobody))?;
    let url = oxorb::ior::corbaloc(object.ior()).ok_or("no address")?;
    let place = url.split('@').nth(1).and_then(|rest| rest.split('/').next());
    println!("{}", place.ok_or("no address")?);
    let mut nothing = String::new();
    std::io::stdin().read_line(&mut nothing)?;
    orb.shutdown(true)?;
    Ok(())
}
