//! Acceptor of TCP.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use oxorb_sys::socket::{self, Listen, Shutdown};
use oxorb_sys::steering;
use oxorb_sys::sync::Mutex;

use super::{Place, TcpLink};
use crate::{Acceptor, Endpoint, Link, ListenError};

/// Maximum number of clients that wait to be accepted: Linux's own default (`net.core.somaxconn`).
const BACKLOG: i32 = 4096;

/// Listening TCP socket.
#[derive(Debug)]
pub struct TcpAcceptor {
    socket: OwnedFd,
    endpoint: Endpoint,
    closed: AtomicBool,
    /// Clients that connected before the acceptor was closed, and that `accept` has not returned yet, in the order of
    /// their connecting.
    late: Mutex<VecDeque<OwnedFd>>,
}

impl TcpAcceptor {
    /// Listens on the first available address of `endpoint`. Resolves its host.
    ///
    /// # Errors
    /// [`ListenError`] for the first address that failed, if none is available.
    pub fn listen(endpoint: &Endpoint) -> Result<Self, ListenError> {
        Self::listen_by(endpoint, socket::listen)
    }

    /// Listens as one of a group, on the first available address of `endpoint`: see
    /// [`listen_in_group`](crate::Transport::listen_in_group).
    ///
    /// # Errors
    /// [`ListenError`] for the first address that failed, if none is available.
    pub fn listen_in_group(
        endpoint: &Endpoint,
        first: bool,
        cpu: Option<usize>,
    ) -> Result<Self, ListenError> {
        Self::listen_by(endpoint, |address, how| {
            // The kernel lets any process of this user join the group, so joining would succeed even if another process
            // has the port. Listening there without a group shows whether the port is free.
            if first && address.port() != 0 && !steering::is_free(address, how)? {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            steering::listen_shared(address, how, cpu)
        })
    }

    fn listen_by(
        endpoint: &Endpoint,
        open: impl Fn(SocketAddr, Listen) -> io::Result<OwnedFd>,
    ) -> Result<Self, ListenError> {
        let place = Place::of(endpoint);
        let failed = |address: String, error: io::Error| ListenError {
            endpoint: Box::new(endpoint.clone()),
            address,
            advice: advice(&error),
            error,
        };
        let named = || place.to_string();
        let candidates = candidates(&place).map_err(|error| failed(named(), error))?;
        let mut failure: Option<ListenError> = None;
        for (address, dual_stack) in candidates {
            let how = Listen { reuse_address: place.reuse_address, dual_stack, backlog: BACKLOG };
            match open(address, how).and_then(|socket| Self::new(socket, endpoint)) {
                Ok(acceptor) => return Ok(acceptor),
                // The first failure is reported. If it only shows that the kernel does not support IPv6, a later
                // failure replaces it.
                Err(error)
                    if failure
                        .as_ref()
                        .is_none_or(|first| socket::is_unknown_family(&first.error)) =>
                {
                    failure = Some(failed(address.to_string(), error));
                }
                Err(_) => {}
            }
        }
        Err(failure.unwrap_or_else(|| failed(named(), io::ErrorKind::NotFound.into())))
    }

    fn new(socket: OwnedFd, endpoint: &Endpoint) -> io::Result<Self> {
        let port = socket::local_address(&socket)?.port();
        Ok(Self {
            socket,
            endpoint: Place { port, ..Place::of(endpoint) }.endpoint(endpoint),
            closed: AtomicBool::new(false),
            late: Mutex::default(),
        })
    }
}

/// Listening socket, readable when a client waits.
impl AsFd for TcpAcceptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl TcpAcceptor {
    /// Accepts a client as [`Acceptor::accept`] does, as a TCP link.
    ///
    /// # Errors
    /// Those of [`Acceptor::accept`]; [`io::ErrorKind::WouldBlock`] if no client waits and the
    /// socket is non-blocking.
    pub fn accept_link(&self) -> io::Result<TcpLink> {
        loop {
            if self.closed.load(Ordering::Acquire) {
                // Clients that connected before the close are still returned, so that the caller can notify them that
                // their requests did not run. A client that has disconnected since has no address; the next one may.
                let late = self.late.lock().pop_front().ok_or(io::ErrorKind::NotConnected)?;
                match TcpLink::new(late) {
                    Ok(link) => return Ok(link),
                    Err(_) => continue,
                }
            }
            match socket::accept(&self.socket).and_then(TcpLink::new) {
                Ok(link) => return Ok(link),
                // A signal arrived, or the peer has already disconnected: wait for the next client.
                Err(error) if is_about_peer(&error) => {}
                // `close` has ended the wait with an error. The next iteration returns the remaining clients.
                Err(_) if self.closed.load(Ordering::Acquire) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Acceptor for TcpAcceptor {
    fn accept(&self) -> io::Result<Box<dyn Link>> {
        Ok(Box::new(self.accept_link()?))
    }

    fn close(&self) {
        // A thread in `accept_link` that observes `closed` waits for this lock, until the waiting clients are
        // collected.
        let mut late = self.late.lock();
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        // Waiting clients are accepted here, because the kernel resets their connections when the socket is shut down.
        if socket::set_blocking(&self.socket, false).is_ok() {
            let waiting = (0..BACKLOG).map_while(|_| socket::accept(&self.socket).ok());
            late.extend(waiting);
        }
        let _ = socket::shutdown(&self.socket, Shutdown::Both);
    }

    fn steer_by_mark(&self, marks: &[(u8, u32)], otherwise: u32) -> io::Result<()> {
        steering::by_mark(&self.socket, marks, otherwise)
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

/// Returns the addresses to try in turn, each with whether it serves both IPv4 and IPv6.
fn candidates(place: &Place) -> io::Result<Vec<(SocketAddr, bool)>> {
    let hosts: Vec<(IpAddr, bool)> = match (place.is_wildcard(), place.wildcard_families()) {
        (true, (true, true)) => vec![
            (Ipv6Addr::UNSPECIFIED.into(), true),
            (Ipv4Addr::UNSPECIFIED.into(), false), // for a kernel without IPv6
        ],
        _ => (place.host.as_str(), 0)
            .to_socket_addrs()?
            .map(|address| (address.ip(), false))
            .collect(),
    };
    let span = if place.port == 0 { 1 } else { place.port_span };
    let ports = (0..span).filter_map(|offset| place.port.checked_add(offset));
    Ok(ports
        .flat_map(|port| {
            let at = move |&(host, dual)| (SocketAddr::new(host, port), dual);
            hosts.iter().map(at).collect::<Vec<_>>()
        })
        .collect())
}

/// Returns advice to the user about an unavailable port.
fn advice(error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another process listens there: stop it, or choose another port (0 lets the system choose)"
        }
        io::ErrorKind::AddrNotAvailable => {
            "no interface of this host has that address: choose an address of this host, or leave the host empty for \
             all"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need a privilege (CAP_NET_BIND_SERVICE): choose a higher port"
        }
        _ => return None,
    })
}

fn is_about_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionReset, Interrupted, NotConnected};
    matches!(error.kind(), ConnectionReset | Interrupted | NotConnected)
}
