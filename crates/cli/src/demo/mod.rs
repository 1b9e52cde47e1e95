//! `oxorb demo`: a server process, client processes, and a live table of how
//! fast they talk.

pub(crate) mod client;
mod display;
pub(crate) mod server;

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::output::{Done, Failed, Format, because, print, print_json};
use client::{Role, Told};
use display::Display;

// The Rust that build.rs made of idl/navigation.idl.
mod navigation {
    #![allow(missing_docs, dead_code, unreachable_pub)]
    oxorb::include_idl!("navigation");
}
pub(crate) use navigation::navigation as interface;

/// Arguments of `oxorb demo`.
#[derive(clap::Args)]
#[command(
    after_help = "The server's reference is printed, so that a program of any other ORB can join in: \
    compile navigation.idl (printed by --idl) with its IDL compiler and call the object while the demo runs."
)]
pub(crate) struct Args {
    /// How many seconds the clients run
    #[arg(short, long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// How many client processes; the first asks for positions, the second sends routes, the third causes alarms, and so on
    #[arg(short, long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=64))]
    clients: u32,
    /// Where the server listens; port 0 lets the system choose
    #[arg(long, default_value = "iiop://127.0.0.1:0", value_name = "ENDPOINT")]
    listen: String,
    /// Print the IDL of the interface and end
    #[arg(long)]
    idl: bool,
    /// For whom the output is
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// How long the server may take to start, and clients to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs server and clients, shows the table, ends them.
pub(crate) fn run(args: Args) -> Done {
    if args.idl {
        return print(include_str!("../../idl/navigation.idl"));
    }
    let mut server = Process::start(&["demo-server", "--listen", &args.listen])?;
    let started = server.lines.recv_timeout(PATIENCE).map_err(|_| {
        because("the server process ended before it gave its reference; its own message is above")
    })?;
    let started: server::Started = serde_json::from_str(&started)?;

    let mut clients = Clients::start(&args, &started.ior)?;
    let mut display = Display::new(args.format, &started);
    display.begin()?;
    clients.follow(&args, |clients| display.update(clients))?;
    display.summary(&clients.told)?;

    let failed: Vec<String> = clients
        .told
        .iter()
        .filter_map(|told| told.error.clone())
        .collect();
    server.stop();
    if let Some(first) = failed.first() {
        return Err(because(format!(
            "{} of {} clients failed: {first}",
            failed.len(),
            args.clients
        )));
    }
    if args.format == Format::Json {
        print_json(&serde_json::json!({
            "ior": started.ior,
            "corbaloc": started.corbaloc,
            "clients": clients.told,
        }))?;
    }
    Ok(())
}

/// The client processes and what each last told.
struct Clients {
    processes: Vec<Process>,
    told: Vec<Told>,
}

impl Clients {
    fn start(args: &Args, ior: &str) -> Result<Self, Failed> {
        let mut clients = Clients {
            processes: Vec::new(),
            told: Vec::new(),
        };
        let seconds = args.seconds.to_string();
        for number in 0..args.clients {
            let role = Role::of(number);
            clients.told.push(Told::nothing_yet(role));
            clients.processes.push(Process::start(&[
                "demo-client",
                "--role",
                role.name(),
                "--seconds",
                &seconds,
                ior,
            ])?);
        }
        Ok(clients)
    }

    /// Reads what clients tell until all have ended or time is up.
    fn follow(&mut self, args: &Args, mut show: impl FnMut(&[Told]) -> Done) -> Done {
        let end = Instant::now() + Duration::from_secs(u64::from(args.seconds)) + PATIENCE;
        let mut next_show = Instant::now() + display::REFRESH;
        while self.told.iter().any(|told| !told.done) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
            for (process, told) in self.processes.iter_mut().zip(&mut self.told) {
                if !told.done {
                    process.read(told)?;
                }
            }
            if Instant::now() >= next_show {
                show(&self.told)?;
                next_show += display::REFRESH;
            }
        }
        for told in self.told.iter_mut().filter(|told| !told.done) {
            told.error = Some("the client did not end in time".to_owned());
        }
        Ok(())
    }
}

/// A child process of this very program, killed when dropped.
struct Process {
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    fn start(args: &[&str]) -> Result<Self, Failed> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(args)
            .args(crate::orb::args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().expect("was asked for");
        Ok(Process {
            child,
            lines: lines_of(stdout),
        })
    }

    fn read(&mut self, told: &mut Told) -> Done {
        loop {
            match self.lines.recv_timeout(Duration::ZERO) {
                Ok(line) => *told = serde_json::from_str(&line)?,
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => {
                    if !told.done {
                        told.done = true;
                        told.error = Some("the client process ended early".to_owned());
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Closing its standard input asks it to end; waits for that, a while.
    fn stop(&mut self) {
        drop(self.child.stdin.take());
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines_of(stdout: ChildStdout) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}
