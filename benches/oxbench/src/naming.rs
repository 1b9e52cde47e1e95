//! `oxbench naming`: number of names per second that a name server binds, resolves, lists and unbinds, compared with
//! omniNames.
//!
//! Both servers have the same client, which uses OxORB with a separate connection for each thread.

use std::fmt;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Args;
use oxorb::settings::ClientConnections;
use oxorb::{Interface as _, ObjectRef, Orb};
use oxorb_naming::cos_naming::{NameComponent, NamingContextExtRef};
use oxorb_naming::{NameService, Names, Store};
use oxorb_testkit::net::free_port;
use serde::Serialize;

use crate::Result;
use crate::machine::Machine;
use crate::placement::{Placement, Role};
use crate::process::Process;
use crate::table::Table;

/// Options of `oxbench naming`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of names that each client binds, resolves and unbinds in each round
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..))]
    names: u32,

    /// Number of clients in the rows with many clients
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    clients: u32,

    /// Number of rounds of each server. Servers take turns, and each round is a new process with an empty store
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Folder of the stores, which should be on a disk; default: next to this program
    #[arg(long, value_name = "FOLDER")]
    store: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Server {
    OmniNames,
    OxOrb,
}

const SERVERS: [Server; 2] = [Server::OmniNames, Server::OxOrb];

/// Kind of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    Bind,
    Resolve,
    List,
    Unbind,
}

const WORKS: [(Work, &str); 4] = [
    (Work::Bind, "bind"),
    (Work::Resolve, "resolve"),
    (Work::List, "list, per binding"),
    (Work::Unbind, "unbind"),
];

/// Row: the work, the number of clients, and the rates.
#[derive(Serialize)]
struct Row {
    work: &'static str,
    clients: u32,
    /// Rate per second, in the best round.
    omninames: Option<f64>,
    /// Rate per second, in the best round.
    oxorb: Option<f64>,
    /// Ratio of OxORB to omniNames.
    ratio: Option<f64>,
}

#[derive(Serialize)]
struct Report {
    machine: Machine,
    names: u32,
    rounds: u32,
    rows: Vec<Row>,
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let folder = match &options.store {
        Some(folder) => folder.clone(),
        None => std::env::current_exe()?.with_file_name("oxbench-names"),
    };
    let mut rows: Vec<Row> = Vec::new();
    for clients in [1, options.clients] {
        rows.extend(WORKS.map(|(_, work)| Row {
            work,
            clients,
            omninames: None,
            oxorb: None,
            ratio: None,
        }));
    }
    for round in 0..options.rounds {
        eprintln!("round {} of {} ...", round + 1, options.rounds);
        for server in SERVERS {
            let running = match Running::start(server, &folder) {
                Ok(running) => running,
                Err(why) if server == Server::OmniNames => {
                    eprintln!("omniNames is left out: {why}");
                    continue;
                }
                Err(why) => return Err(why),
            };
            for (index, clients) in [1, options.clients].into_iter().enumerate() {
                let rates = measure(&running.url, clients, options.names)?;
                for (row, rate) in rows[index * WORKS.len()..].iter_mut().zip(rates) {
                    let best = match server {
                        Server::OmniNames => &mut row.omninames,
                        Server::OxOrb => &mut row.oxorb,
                    };
                    *best = Some(best.map_or(rate, |before: f64| before.max(rate)));
                }
            }
            running.finish()?;
        }
    }
    for row in &mut rows {
        row.ratio = row.oxorb.zip(row.omninames).map(|(ours, theirs)| ours / theirs);
    }
    let report =
        Report { machine: Machine::this(), names: options.names, rounds: options.rounds, rows };
    match options.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{report}"),
    }
    Ok(())
}

/// Name server under test. Dropping it ends it.
struct Running {
    server: Server,
    url: String,
    process: Option<Process>,
    folder: PathBuf,
}

impl Running {
    fn start(server: Server, folder: &Path) -> Result<Running> {
        let _ = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder)?;
        let port = free_port();
        let mut command = match server {
            Server::OmniNames => {
                let mut command = Command::new("omniNames");
                command.args(["-start", &port.to_string(), "-logdir"]).arg(folder);
                command.arg("-errlog").arg(folder.join("errors"));
                command
            }
            Server::OxOrb => {
                let mut command = Command::new(std::env::current_exe()?);
                command.args(["peer", "name-server", &port.to_string()]);
                command.arg(folder.join("names.redb"));
                command
            }
        };
        let name = format!("the name server {server:?}");
        let process = Process::start(name, Placement::Free, Role::Server, &mut command)?;
        let end = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > end {
                return Err(format!("{server:?} does not listen at port {port}").into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Running {
            server,
            url: format!("corbaloc::127.0.0.1:{port}/NameService"),
            process: Some(process),
            folder: folder.to_owned(),
        })
    }

    /// Ends the server: ours by closing its standard input, omniNames by a signal.
    fn finish(mut self) -> Result {
        match (self.server, self.process.take()) {
            (Server::OxOrb, Some(process)) => process.finish(),
            _ => Ok(()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.process.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Measures every kind of work by `clients` simultaneous clients, each in its own context. Returns the total rates per
/// second.
fn measure(url: &str, clients: u32, names: u32) -> Result<Vec<f64>> {
    let orb = Orb::builder()
        .client_connections(ClientConnections::Private)
        .round_trip_timeout(Duration::from_secs(60))
        .build()?;
    let root: NamingContextExtRef = orb.resolve(url)?;
    let object = orb.string_to_object("corbaloc:iiop:1.2@127.0.0.1:1/measured")?;
    let mut rates = Vec::new();
    for (work, _) in WORKS {
        let begin = Instant::now();
        let outcomes: Vec<Result> = std::thread::scope(|scope| {
            let running: Vec<_> = (0..clients)
                .map(|client| {
                    let (root, object) = (&root, &object);
                    scope.spawn(move || one(work, root, object, client, names))
                })
                .collect();
            let joined = running.into_iter().map(|client| client.join());
            joined.map(|done| done.unwrap_or_else(|_| Err("a client panicked".into()))).collect()
        });
        outcomes.into_iter().collect::<Result<Vec<()>>>()?;
        let total = f64::from(clients) * f64::from(names);
        rates.push(total / begin.elapsed().as_secs_f64());
    }
    orb.shutdown(true)?;
    Ok(rates)
}

/// Performs the work of one client.
fn one(
    work: Work,
    root: &NamingContextExtRef,
    object: &ObjectRef,
    client: u32,
    names: u32,
) -> Result {
    let component = |id: String| NameComponent { id, kind: String::new() };
    let context = component(format!("client-{client}"));
    let name = |i: u32| [context.clone(), component(format!("name-{i:06}"))];
    match work {
        Work::Bind => {
            root.bind_new_context(std::slice::from_ref(&context))?;
            for i in 0..names {
                root.bind(&name(i), Some(object))?;
            }
        }
        Work::Resolve => {
            for i in 0..names {
                // Names are resolved in another order than they were bound.
                let i = (u64::from(i) * 7919 % u64::from(names)) as u32;
                root.resolve(&name(i))?.ok_or("it was bound to an object")?;
            }
        }
        Work::List => {
            let found = root.resolve(std::slice::from_ref(&context))?;
            let found = found.ok_or("it was bound to a context")?;
            let listed = Names::new(found.unchecked_narrow::<NamingContextExtRef>()).list()?;
            let count = listed.filter(|entry| entry.is_ok()).count();
            if count != names as usize {
                return Err(format!("{count} of {names} names were listed").into());
            }
        }
        Work::Unbind => {
            for i in 0..names {
                root.unbind(&name(i))?;
            }
            root.unbind(std::slice::from_ref(&context))?;
        }
    }
    Ok(())
}

/// Serves names until standard input closes.
pub(crate) fn serve(port: u16, store: &Path) -> Result {
    let orb = Orb::builder().listen(&format!("iiop://127.0.0.1:{port}")).listen_late().build()?;
    let _service = NameService::start(&orb, Store::open(store)?)?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    orb.shutdown(true)?;
    Ok(())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "{} names for each client; a second, best of {} rounds\n",
            self.names, self.rounds
        )?;
        let table = Table::of(&self.rows)
            .left([""], |row| [row.work])
            .right(["clients"], |row| [row.clients])
            .fixed(["omniNames", "OxORB"], 0, |row| [row.omninames, row.oxorb])
            .fixed(["ratio"], 2, |row| [row.ratio]);
        write!(f, "{table}")?;
        writeln!(
            f,
            "\nOxORB's changes are on disk (fsync) when the client hears of them; omniNames leaves that to the kernel."
        )
    }
}
