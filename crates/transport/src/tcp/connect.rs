//! Connecting.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use oxorb_sys::socket;

use super::TcpLink;
use crate::{Link, endpoint::host_port};

/// Connects to `host` (a name, or an address without brackets), trying every address it has.
///
/// Each address gets an equal share of the time left, so that one that swallows packets does not
/// cost the others their chance. Resolving a name is the system's business and is not bounded by
/// `timeout`.
///
/// # Errors
/// [`ConnectError`]: every address tried, and what happened there.
pub fn connect(host: &str, port: u16, timeout: Duration) -> Result<Box<dyn Link>, ConnectError> {
    let failed = |attempts, error| ConnectError {
        host: host.to_owned(),
        port,
        attempts,
        error,
    };
    let addresses = match (host, port).to_socket_addrs() {
        Ok(addresses) => addresses.collect::<Vec<_>>(),
        Err(error) => return Err(failed(Vec::new(), error)),
    };
    let start = Instant::now();
    let mut attempts = Vec::new();
    for (index, &address) in addresses.iter().enumerate() {
        let untried = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
        let share = timeout.saturating_sub(start.elapsed()) / untried;
        match connect_one(address, share) {
            Ok(link) => return Ok(Box::new(link)),
            Err(error) => attempts.push(Attempt { address, error }),
        }
    }
    let kind = match attempts.last() {
        Some(attempt) => attempt.error.kind(),
        None => io::ErrorKind::NotFound,
    };
    Err(failed(attempts, kind.into()))
}

fn connect_one(address: SocketAddr, timeout: Duration) -> io::Result<TcpLink> {
    let link = TcpLink::new(socket::connect(address, timeout)?)?;
    // Where nobody listens on a port of this host, TCP may join a socket to itself.
    if link.local_address() == link.peer_address() {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(link)
}

/// A host to which no connection could be made.
#[derive(Debug)]
pub struct ConnectError {
    /// The host asked for.
    pub host: String,
    /// The port asked for.
    pub port: u16,
    /// What happened at each of its addresses; empty if it has none.
    pub attempts: Vec<Attempt>,
    /// Why the name could not be resolved or, if it could, the kind of the last failure.
    pub error: io::Error,
}

/// One address that was tried in vain.
#[derive(Debug)]
pub struct Attempt {
    /// The address.
    pub address: SocketAddr,
    /// What happened there.
    pub error: io::Error,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = host_port(&self.host, self.port);
        match self.attempts.as_slice() {
            [] => write!(f, "cannot resolve {:?}: {}", self.host, self.error),
            [only] if only.address.to_string() == target => {
                write!(f, "cannot connect to {target}: {}", only.error)
            }
            all => {
                write!(f, "cannot connect to {target}")?;
                let mut separator = ": ";
                for Attempt { address, error } in all {
                    write!(f, "{separator}{address}: {error}")?;
                    separator = "; ";
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
