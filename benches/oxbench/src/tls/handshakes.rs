//! Handshakes of an OxORB server, compared with those of a server that uses rustls only.
//!
//! Both use the same library, cryptography, certificate, cipher suite and tickets, and the same client: rustls with
//! several simultaneous connections, each of which is closed as soon as the server's ticket has been read. They differ
//! only in threads, system calls, and the ORB's work for a connection.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use oxorb::{Orb, Servant};
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, ServerConfig, ServerConnection, StreamOwned,
};
use serde::Serialize;

use super::certificates;
use super::report::{self, HandshakeRow};
use crate::Result;
use crate::format::display_by_name;
use crate::peers::{Pair, own_side};
use crate::placement::{Placement, Role};
use crate::process::Process;
use crate::record::Record;
use crate::session;

/// Server of handshakes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Server {
    /// Threads that accept, make the handshake, and read until the client has closed.
    Rustls,
    /// ORB with an object.
    #[value(name = "oxorb")]
    OxOrb,
}

display_by_name!(Server);

/// All servers, in the order of the report and of their discriminants.
pub(super) const SERVERS: [Server; 2] = [Server::Rustls, Server::OxOrb];

/// Kind of a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// Handshake with the server's certificate.
    Full,
    /// Handshake by a ticket of an earlier connection.
    Resumed,
}

display_by_name!(Kind);

/// Extent of the measurement.
pub(super) struct Plan {
    pub(super) placement: Placement,
    pub(super) rounds: u32,
    /// Number of handshakes of each row in each round.
    pub(super) handshakes: u32,
    /// Number of simultaneous connections in the rows with several connections.
    pub(super) connections: u32,
}

/// Handshakes of one kind, with a number of simultaneous connections.
pub(super) struct Measured {
    pub(super) kind: Kind,
    pub(super) connections: u32,
    /// Results of each server.
    pub(super) servers: [Taken; 2],
}

/// Handshakes of one server so far.
pub(super) struct Taken {
    /// Times of the handshakes at the client, including TCP's handshake and the ticket.
    pub(super) times: Record,
    /// Duration of each round in nanoseconds, divided by the number of its handshakes.
    pub(super) paces: Vec<u64>,
    /// Processor time of the server, if the kernel reports it.
    pub(super) cpu: Option<Duration>,
}

impl Plan {
    /// Measures all servers, and returns the agreed cipher suite and the rows of the report.
    pub(super) fn measure(&self, folder: &Path) -> Result<(String, Vec<HandshakeRow>)> {
        let mut all = Vec::new();
        for kind in [Kind::Full, Kind::Resumed] {
            for connections in [1, self.connections] {
                let servers = SERVERS.map(|_| Taken::nothing());
                all.push(Measured { kind, connections, servers });
            }
        }
        let mut suites = BTreeSet::new();
        for round in 0..self.rounds {
            eprintln!("handshakes, round {} of {} ...", round + 1, self.rounds);
            let first = round as usize % SERVERS.len();
            for at in (first..SERVERS.len()).chain(0..first) {
                let mut pair = SERVERS[at].start(self.placement, folder)?;
                for measured in &mut all {
                    suites.insert(measured.add(at, &mut pair, self.handshakes)?);
                }
                pair.finish()?;
            }
        }
        let suites: Vec<String> = suites.into_iter().collect();
        let [suite] = &suites[..] else {
            let suites = suites.join(" and ");
            return Err(format!("the servers chose different cipher suites: {suites}").into());
        };
        Ok((suite.clone(), all.iter().flat_map(report::handshakes).collect()))
    }
}

impl Measured {
    /// Makes handshakes with the server at this index, and returns the agreed cipher suite.
    fn add(&mut self, at: usize, pair: &mut Pair, handshakes: u32) -> Result<String> {
        let Pair { client, server } = pair;
        client.tell(&format!("prepare {} {}", self.kind, self.connections))?;
        let suite = client.hear()?;
        let handshakes = handshakes.next_multiple_of(self.connections);
        let before = server.cpu_time();
        client.tell(&format!("run {handshakes}"))?;
        let elapsed: u64 = client.hear()?.parse()?;
        // The kernel's count omits ended threads, so both servers keep their threads.
        let used = before.zip(server.cpu_time());
        let used = used.map(|(before, after)| after.saturating_sub(before));
        let taken = &mut self.servers[at];
        taken.times.add(client.samples(handshakes)?);
        taken.paces.push(elapsed / u64::from(handshakes));
        taken.cpu = taken.cpu.zip(used).map(|(sum, used)| sum + used);
        Ok(suite)
    }
}

impl Taken {
    pub(super) fn nothing() -> Taken {
        Taken { times: Record::empty(), paces: Vec::new(), cpu: Some(Duration::ZERO) }
    }
}

impl Server {
    /// Starts the server and a client.
    fn start(self, placement: Placement, folder: &Path) -> Result<Pair> {
        let mut command = own_side("handshake-server")?;
        command.arg(self.to_string()).arg(folder);
        let name = format!("the {self} server");
        let mut server = Process::start(name, placement, Role::Server, &mut command)?;
        let address = server.hear()?;
        let mut command = own_side("handshake-client")?;
        command.arg(&address).arg(folder);
        let name = format!("the client of the {self} server");
        let mut client = Process::start(name, placement, Role::Client, &mut command)?;
        client.expect("ready")?;
        Ok(Pair { client, server })
    }
}

/// Makes handshakes as requested on standard input:
///
/// ```text
/// < ready
/// > prepare resumed 8          kind, number of simultaneous connections
/// < TLS13_AES_256_GCM_SHA384   agreed cipher suite
/// > run 1000                   number of handshakes
/// < 250417310                  nanoseconds of all
/// > samples
/// < 254120 253900 ...          nanoseconds of each
/// ```
pub(crate) fn call(address: &str, folder: &Path) -> Result {
    let mut client = None;
    let mut samples: Vec<u64> = Vec::new();
    session::answer("ready", |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["prepare", kind, connections] => {
                let kind = Kind::from_str(kind, false)?;
                let prepared = Client::new(folder, address, kind, connections.parse()?)?;
                let suite = prepared.warm_up()?;
                client = Some(prepared);
                Ok(suite)
            }
            ["run", handshakes] => {
                let prepared = client.as_ref().ok_or("nothing was prepared")?;
                let (elapsed, times) = prepared.measure(handshakes.parse()?)?;
                samples = times;
                Ok(elapsed.as_nanos().to_string())
            }
            ["samples"] => {
                let all: Vec<String> = samples.iter().map(u64::to_string).collect();
                Ok(all.join(" "))
            }
            _ => {
                let known = "prepare KIND CONNECTIONS, run HANDSHAKES and samples";
                Err(session::no_command(line, known).into())
            }
        }
    })
}

struct Client {
    config: Arc<ClientConfig>,
    address: String,
    kind: HandshakeKind,
    /// Number of simultaneous connections, each in a thread.
    connections: u32,
}

impl Client {
    fn new(folder: &Path, address: &str, kind: Kind, connections: u32) -> Result<Self> {
        let (resumption, kind) = match kind {
            Kind::Full => (Resumption::disabled(), HandshakeKind::Full),
            // Tickets are for single use; those of open connections have not arrived yet.
            Kind::Resumed => (Resumption::in_memory_sessions(256), HandshakeKind::Resumed),
        };
        let config = certificates::client(folder, resumption)?;
        Ok(Self { config, address: address.to_owned(), kind, connections })
    }

    /// Makes a connection, waits for the server's ticket, with which a later connection is resumed, and closes the
    /// connection.
    fn connect(&self) -> Result<ClientConnection> {
        self.finish(self.begin()?)
    }

    /// Takes a ticket, if there is one, for a new connection.
    fn begin(&self) -> Result<ClientConnection> {
        let name = ServerName::try_from("127.0.0.1")?;
        Ok(ClientConnection::new(Arc::clone(&self.config), name)?)
    }

    fn finish(&self, tls: ClientConnection) -> Result<ClientConnection> {
        let tcp = TcpStream::connect(&self.address)?;
        tcp.set_nodelay(true)?;
        let mut stream = StreamOwned::new(tls, tcp);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        while stream.conn.tls13_tickets_received() == 0 {
            if stream.conn.read_tls(&mut stream.sock)? == 0 {
                return Err("the server closed the connection without a ticket".into());
            }
            stream.conn.process_new_packets()?;
        }
        let (tls, _) = stream.into_parts();
        Ok(tls)
    }

    /// Makes a handshake for each thread, so that each begins with its own ticket. Returns the cipher suite.
    ///
    /// All connections begin before the first ticket arrives, which the next connection would take otherwise.
    fn warm_up(&self) -> Result<String> {
        let mut suite = String::new();
        let begun: Vec<_> = (0..self.connections).map(|_| self.begin()).collect::<Result<_>>()?;
        for tls in begun {
            let agreed = self.finish(tls)?.negotiated_cipher_suite();
            suite = agreed.map_or_else(String::new, |agreed| format!("{:?}", agreed.suite()));
        }
        Ok(suite)
    }

    /// Makes this number of handshakes, a multiple of the number of connections. Returns the time of all of them, and
    /// the nanoseconds of each.
    fn measure(&self, handshakes: u32) -> Result<(Duration, Vec<u64>)> {
        let each = handshakes / self.connections;
        let began = Instant::now();
        let times: Vec<u64> = thread::scope(|scope| -> Result<Vec<u64>> {
            let work = || -> Result<Vec<u64>> {
                let mut times = Vec::with_capacity(each as usize);
                for _ in 0..each {
                    let began = Instant::now();
                    let kind = self.connect()?.handshake_kind();
                    times.push(began.elapsed().as_nanos() as u64);
                    if kind != Some(self.kind) {
                        return Err(format!("expected {:?}, and it was {kind:?}", self.kind).into());
                    }
                }
                Ok(times)
            };
            let threads: Vec<_> = (0..self.connections).map(|_| scope.spawn(work)).collect();
            let mut times = Vec::new();
            for one in threads {
                times.extend(one.join().expect("clients do not panic")?);
            }
            Ok(times)
        })?;
        Ok((began.elapsed(), times))
    }
}

/// Serves handshakes until standard input closes, with the certificate in a folder.
pub(crate) fn serve(server: Server, folder: &Path) -> Result {
    match server {
        Server::Rustls => serve_by_rustls(folder),
        Server::OxOrb => serve_by_oxorb(folder),
    }
}

/// Maximum number of connections that the bare server serves simultaneously, each in its own thread.
const THREADS: usize = 64;

fn serve_by_rustls(folder: &Path) -> Result {
    let config = certificates::server(folder)?;
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0")?);
    let address = listener.local_addr()?.to_string();
    for _ in 0..THREADS {
        let (config, listener) = (Arc::clone(&config), Arc::clone(&listener));
        thread::spawn(move || {
            while let Ok((tcp, _)) = listener.accept() {
                // The client reports the errors.
                let _ = answer(&config, tcp);
            }
        });
    }
    session::announce(&address)
}

fn answer(config: &Arc<ServerConfig>, tcp: TcpStream) -> Result {
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
        // The threads are permanent, so that their processor time is counted.
        .setting("Concurrency", "leader-followers:4")
        .listen("iiops://127.0.0.1:0")
        .build()?;
    let object = orb.root_poa().activate_servant(Arc::new(Nobody))?;
    let url = oxorb::ior::corbaloc(object.ior()).ok_or("no address")?;
    let place = url.split('@').nth(1).and_then(|rest| rest.split('/').next());
    session::announce(place.ok_or("no address")?)?;
    orb.shutdown(true)?;
    Ok(())
}
