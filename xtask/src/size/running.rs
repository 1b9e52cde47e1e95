//! Memory and threads of running programs.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Number of clients connected to a measured server.
const CLIENTS: u64 = 64;

/// Memory of a process, in KiB.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    /// Resident memory, including shared libraries and the program file.
    pub(super) resident: u64,
    /// Memory that the process has written: heap, stacks, and relocations.
    pub(super) own: u64,
    pub(super) threads: u64,
}

/// Measures a client that has called once and keeps its connection.
pub(super) fn client(server: &Path, client: &Path) -> Result<Memory, String> {
    let server = Running::start(server, None)?;
    Running::start(client, Some(&server.line))?.memory()
}

/// Measures a server before any call, and the memory in octets that each of many connections adds.
pub(super) fn server(server: &Path, client: &Path) -> Result<(Memory, u64), String> {
    let server = Running::start(server, None)?;
    let idle = server.memory()?;
    // The first connection makes the server allocate the memory that all connections share.
    let _first = Running::start(client, Some(&server.line))?;
    let before = server.memory()?;
    let clients = (0..CLIENTS).map(|_| Running::start(client, Some(&server.line)));
    let _clients = clients.collect::<Result<Vec<_>, _>>()?;
    let after = server.memory()?;
    Ok((idle, after.own.saturating_sub(before.own) * 1024 / CLIENTS))
}

/// Program that runs until dropped.
struct Running {
    process: Child,
    /// First line that the process printed.
    line: String,
}

impl Running {
    fn start(program: &Path, argument: Option<&str>) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(argument).stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = command.spawn();
        let mut process =
            started.map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        let output = process.stdout.take().expect("it is piped");
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        let running = Running { process, line: line.trim_end().to_owned() };
        match read {
            Ok(octets) if octets > 0 => Ok(running),
            _ => Err(format!("{} ended before it printed a line", program.display())),
        }
    }

    fn memory(&self) -> Result<Memory, String> {
        let id = self.process.id();
        let of = |file: &str, name: &str| {
            let path = format!("/proc/{id}/{file}");
            let text = std::fs::read_to_string(&path)
                .map_err(|error| format!("cannot read {path}: {error}"))?;
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|rest| rest.split_whitespace().next());
            number
                .and_then(|number| number.parse().ok())
                .ok_or_else(|| format!("{path} has no {name}"))
        };
        Ok(Memory {
            resident: of("smaps_rollup", "Rss:")?,
            own: of("smaps_rollup", "Anonymous:")?,
            threads: of("status", "Threads:")?,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both calls fail only if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
