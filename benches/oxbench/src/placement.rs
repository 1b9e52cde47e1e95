//! Placement of the two processes of a pair on CPUs, and their scheduling class.

use std::fmt;
use std::process::{Child, Command};
use std::str::FromStr;

use clap::Args;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::Result;

/// CPUs of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// Choice of the kernel.
    Free,
    /// Given CPUs, which may be the same.
    Pinned {
        /// Client's CPU.
        client: usize,
        /// Server's CPU.
        server: usize,
    },
}

/// Option for the CPUs of a pair of processes.
#[derive(Args)]
pub(crate) struct Cpus {
    /// CPUs of client and server: `0,1` puts them on one each, `0` puts both on CPU 0, `free` leaves the choice to the
    /// kernel
    #[arg(long, default_value = "0,1")]
    pub(crate) cpus: Placement,
}

/// Role of one process of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Process that makes the calls.
    Client,
    /// Process that serves the calls.
    Server,
}

impl Placement {
    /// Returns the CPUs that a pair uses.
    pub(crate) fn cpus(self) -> Vec<usize> {
        self.uses().into_iter().map(|(cpu, _)| cpu).collect()
    }

    /// Returns the CPUs of a pair that run no server.
    pub(crate) fn cpus_without_server(self) -> Vec<usize> {
        let without = self.uses().into_iter().filter(|(_, serves)| !serves);
        without.map(|(cpu, _)| cpu).collect()
    }

    fn uses(self) -> Vec<(usize, bool)> {
        match self {
            Placement::Free => {
                let cpus = std::thread::available_parallelism().map_or(1, usize::from);
                (0..cpus).map(|cpu| (cpu, true)).collect()
            }
            Placement::Pinned { client, server } if client == server => vec![(server, true)],
            Placement::Pinned { client, server } => vec![(client, false), (server, true)],
        }
    }

    /// Starts `command` on the CPU of `role`. The CPU is set before the program starts, equally for every peer, and is
    /// inherited by all its threads.
    pub(crate) fn spawn(self, role: Role, command: &mut Command) -> Result<Child> {
        let cpu = match (self, role) {
            (Placement::Free, _) => None,
            (Placement::Pinned { client, .. }, Role::Client) => Some(client),
            (Placement::Pinned { server, .. }, Role::Server) => Some(server),
        };
        // Starts the command in a separate thread, so that this process keeps its CPUs.
        std::thread::scope(|scope| {
            let spawning = scope.spawn(|| {
                if let Some(cpu) = cpu {
                    pin_this_thread(cpu)?;
                }
                let program = command.get_program().to_string_lossy().into_owned();
                command.spawn().map_err(|error| format!("cannot start {program}: {error}").into())
            });
            spawning.join().expect("the starting thread does not panic")
        })
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placement::Free => f.write_str("all processes free to move"),
            Placement::Pinned { client, server } if client == server => {
                write!(f, "all processes on CPU {client}")
            }
            Placement::Pinned { client, server } => {
                write!(f, "client on CPU {client}, server on CPU {server}")
            }
        }
    }
}

impl FromStr for Placement {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let number = |text: &str| {
            text.trim().parse().map_err(|_| {
                format!("{text:?} is no CPU number; say `free`, `0`, or `0,1` for client,server")
            })
        };
        match text.split_once(',') {
            _ if text == "free" => Ok(Placement::Free),
            Some((client, server)) => {
                Ok(Placement::Pinned { client: number(client)?, server: number(server)? })
            }
            None => number(text).map(|cpu| Placement::Pinned { client: cpu, server: cpu }),
        }
    }
}

/// Restricts the calling thread to one CPU.
pub(crate) fn pin_this_thread(cpu: usize) -> Result {
    if cpu >= CpuSet::MAX_CPU {
        return Err(format!("there is no CPU {cpu}").into());
    }
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None, &cpus)
        .map_err(|error| format!("cannot run on CPU {cpu}: {error}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_read_as_written_in_the_help() {
        assert_eq!("free".parse(), Ok(Placement::Free));
        let both = Placement::Pinned { client: 0, server: 0 };
        assert_eq!("0".parse(), Ok(both));
        let apart = Placement::Pinned { client: 0, server: 1 };
        assert_eq!("0,1".parse(), Ok(apart));
        assert!("both".parse::<Placement>().is_err());
    }

    #[test]
    fn a_pinned_child_sees_one_cpu() {
        let pinned = Placement::Pinned { client: 0, server: 0 };
        let mut command = Command::new("nproc");
        command.stdout(std::process::Stdio::piped());
        let child = pinned.spawn(Role::Client, &mut command).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1");
    }
}
