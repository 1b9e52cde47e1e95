//! `oxbench http`: requests that `oxorb gateway http` answers in a second.
//!
//! The server is an object of generated code, the gateway is the command, and the client is a load client of this
//! program. All three run on this machine.

mod check;
pub(crate) mod client;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use self::report::{Report, Row};
use crate::Result;
use crate::machine::Machine;
use crate::output::CheckedOutput;
use crate::peers::own_side;
use crate::placement::{Placement, Role};
use crate::process::Process;
use crate::record::Record;

/// Options of `oxbench http`.
#[derive(Args)]
pub(crate) struct Options {
    /// CPUs of the processes: `free` leaves the choice to the kernel; `0,1` puts the client on CPU 0, and gateway and
    /// server on CPU 1
    #[arg(long, default_value = "free")]
    cpus: Placement,

    /// Number of rounds, each with new processes
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Number of requests of each row in each round
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    requests: u32,

    /// Number of simultaneous connections of each row
    #[arg(long, default_value = "1,8,64", value_delimiter = ',', value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=256))]
    connections: Vec<u32>,

    /// Number of calls that the gateway makes simultaneously (`--calls` of the gateway)
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    calls: u32,

    /// The command `oxorb`; default: the one beside this program
    #[arg(long, value_name = "FILE")]
    oxorb: Option<PathBuf>,

    /// Make a tenth of the requests in two rounds: a quick test that everything works, with little precision
    #[arg(long)]
    quick: bool,

    #[command(flatten)]
    output: CheckedOutput,
}

/// Requests with a number of connections so far.
pub(super) struct Taken {
    connections: u32,
    times: Record,
    /// Nanoseconds of each round divided by the number of its requests.
    paces: Vec<u64>,
    /// Processor time of the gateway, if the kernel reports it.
    cpu: Option<Duration>,
}

/// Runs the experiment and reports its results.
pub(crate) fn run(options: &Options) -> Result {
    let report = measure(options)?;
    options.output.show(&report, check::verdicts, Report::drawing)
}

fn measure(options: &Options) -> Result<Report> {
    let (rounds, divisor) = if options.quick { (2, 10) } else { (options.rounds, 1) };
    let oxorb = match &options.oxorb {
        Some(file) => file.clone(),
        None => std::env::current_exe()?.with_file_name("oxorb"),
    };
    if !oxorb.exists() {
        let file = oxorb.display();
        return Err(format!("{file} does not exist: cargo build --release -p oxorb-cli").into());
    }
    let folder = Folder::new()?;
    let mut all: Vec<Taken> = options.connections.iter().map(|it| Taken::nothing(*it)).collect();
    for round in 0..rounds {
        eprintln!("round {} of {rounds} ...", round + 1);
        let mut chain = Chain::start(&oxorb, &folder.0, options)?;
        for taken in &mut all {
            taken.add(&mut chain, options.requests / divisor)?;
        }
        chain.finish()?;
    }
    Ok(Report {
        machine: Machine::this(),
        placement: options.cpus.to_string(),
        cpus: options.cpus.cpus().len(),
        rounds,
        calls: options.calls,
        rows: all.iter().map(Row::of).collect(),
    })
}

impl Taken {
    fn nothing(connections: u32) -> Taken {
        let cpu = Some(Duration::ZERO);
        Taken { connections, times: Record::empty(), paces: Vec::new(), cpu }
    }

    fn add(&mut self, chain: &mut Chain, requests: u32) -> Result {
        let requests = requests.max(1).next_multiple_of(self.connections);
        let Chain { client, gateway, .. } = chain;
        client.tell(&format!("prepare {}", self.connections))?;
        client.expect("done")?;
        let warm_up = (requests / 4).next_multiple_of(self.connections);
        client.tell(&format!("run {warm_up}"))?;
        client.hear()?;
        let before = gateway.cpu_time();
        client.tell(&format!("run {requests}"))?;
        let elapsed: u64 = client.hear()?.parse()?;
        let used = before.zip(gateway.cpu_time());
        let used = used.map(|(before, after)| after.saturating_sub(before));
        self.times.add(client.samples(requests)?);
        self.paces.push(elapsed / u64::from(requests));
        self.cpu = self.cpu.zip(used).map(|(sum, used)| sum + used);
        Ok(())
    }
}

/// Client, gateway and server.
struct Chain {
    client: Process,
    gateway: Process,
    server: Process,
}

impl Chain {
    fn start(oxorb: &Path, folder: &Path, options: &Options) -> Result<Chain> {
        let placement = options.cpus;
        let start = |name: &str, role, mut command: Command| {
            Process::start(name.to_owned(), placement, role, &mut command)
        };
        let mut server = start("the server", Role::Server, own_side("oxorb-server")?)?;
        let object = format!("Probe={}", server.hear()?);
        let idl = folder.join("probe.idl");
        fs::write(&idl, include_str!("../../idl/probe.idl"))?;
        let mut command = Command::new(oxorb);
        command.args(["gateway", "http", "--listen", "127.0.0.1:0", "--format", "json"]);
        command.args(["--calls", &options.calls.to_string(), "--connections", "512"]);
        // All connections of the benchmark come from one address.
        command.args(["--connections-per-client", "512"]);
        command.args(["--queue", "1024", "--object", &object]);
        command.arg("--idl").arg(&idl);
        let mut gateway = start("the gateway", Role::Server, command)?;
        let said: Value = serde_json::from_str(&gateway.hear()?)?;
        let url = said["url"].as_str().ok_or("the gateway has printed no URL")?;
        let address = url.strip_prefix("http://").ok_or("the gateway does not speak HTTP")?;
        let mut command = own_side("http-client")?;
        command.arg(address);
        let mut client = start("the client", Role::Client, command)?;
        client.expect("ready")?;
        Ok(Chain { client, gateway, server })
    }

    /// Ends all processes, the client first.
    fn finish(self) -> Result {
        self.client.finish()?;
        self.gateway.terminate()?;
        self.server.finish()
    }
}

/// Folder for the IDL file, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder> {
        let folder = std::env::temp_dir().join(format!("oxbench-http-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
