//! TCP transport.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use oxorb_sys::socket;

use super::endpoint::{self, host_port};
use super::publish::{Publish, published};
use super::{Place, SCHEME, TcpAcceptor, TcpLink};
use crate::transport::{Connecting, Notation, Resolve, Start};
use crate::{
    Acceptor, Address, ConnectError, Endpoint, EndpointError, Facts, Link, ListenError, Part,
    Scheme, Transport,
};

/// TCP transport over IPv4 and IPv6: listens, connects, looks up names.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tcp;

/// Returns the address of a port. `host` is a name, or an address without brackets.
pub fn address(host: &str, port: u16) -> Address {
    Address::new(SCHEME, &host_port(host, port))
}

/// Returns host, without brackets, and port of a TCP address.
///
/// ```
/// use oxorb_transport::tcp;
///
/// assert_eq!(tcp::host_and_port(&tcp::address("::1", 5)), Some(("::1", 5)));
/// assert_eq!(tcp::host_and_port(&"unix:/run/bank".parse()?), None);
/// # Ok::<(), oxorb_transport::AddressError>(())
/// ```
pub fn host_and_port(address: &Address) -> Option<(&str, u16)> {
    let (host, port) = address.of(SCHEME)?.rsplit_once(':')?;
    let inner = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    Some((inner.unwrap_or(host), port.parse().ok()?))
}

/// Connects to `host` (a name, or an address without brackets), as
/// [`connect_first`](crate::connect_first) does with one target.
///
/// # Errors
/// [`ConnectError`] with every address tried and its failure.
pub fn connect(host: &str, port: u16, timeout: Duration) -> Result<Box<dyn Link>, ConnectError> {
    crate::connect(&Tcp, &address(host, port), timeout)
}

impl Transport for Tcp {
    fn scheme(&self) -> Scheme {
        SCHEME
    }

    fn facts(&self) -> Facts {
        Facts::RELIABLE_STREAM
    }

    fn endpoints(
        &self,
        notation: Notation,
        text: Part<'_>,
    ) -> Result<Vec<Endpoint>, EndpointError> {
        match notation {
            Notation::Url => endpoint::url(text),
            Notation::Colon => Ok(vec![endpoint::colon(text)?]),
        }
    }

    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
        Ok(Box::new(TcpAcceptor::listen(at)?))
    }

    fn listen_in_group(
        &self,
        at: &Endpoint,
        first: bool,
        cpu: Option<usize>,
    ) -> Result<Box<dyn Acceptor>, ListenError> {
        Ok(Box::new(TcpAcceptor::listen_in_group(at, first, cpu)?))
    }

    fn published(&self, at: &Endpoint, rules: &[Publish]) -> io::Result<Vec<Address>> {
        published(&Place::of(at), rules)
    }

    fn own_address(&self, at: &Endpoint) -> Address {
        let place = Place::of(at);
        match place.host.as_str() {
            "::" => address("::1", place.port),
            _ if place.is_wildcard() => address("127.0.0.1", place.port),
            host => address(host, place.port),
        }
    }

    fn is_fixed(&self, at: &Endpoint) -> bool {
        Place::of(at).port != 0
    }

    fn is_local(&self, at: &Endpoint) -> bool {
        is_loopback(&Place::of(at).host)
    }

    fn following(&self, at: &Endpoint, number: u32) -> Option<Endpoint> {
        let place = Place::of(at);
        let last = u32::from(place.port) + u32::from(place.port_span.max(1)) - 1;
        let port = match place.port {
            0 => 0,
            _ => u16::try_from(last + number).ok()?,
        };
        let next = Place { port, port_span: 1, ..place };
        Some(next.endpoint(at))
    }

    fn falls_short(&self, at: &Endpoint, published: &[Address]) -> bool {
        let loopback = |address: &Address| {
            let host = host_and_port(address).map(|(host, _)| host.parse::<IpAddr>());
            matches!(host, Some(Ok(host)) if host.is_loopback())
        };
        Place::of(at).is_wildcard() && published.iter().all(loopback)
    }

    fn resolve(&self, to: &Address) -> io::Result<Resolve> {
        let (host, port) = host_and_port(to).ok_or_else(|| foreign(to))?;
        if host.parse::<IpAddr>().is_ok() {
            return Ok(Resolve::Now(vec![to.clone()]));
        }
        let name = host.to_owned();
        let asked = name.clone();
        let run = move || {
            let found = (asked.as_str(), port).to_socket_addrs()?;
            Ok(found.map(of_socket).collect())
        };
        Ok(Resolve::LookUp { name, run: Box::new(run) })
    }

    fn listen_point(&self, address: &Address) -> Option<(String, u16)> {
        let (host, port) = host_and_port(address)?;
        Some((host.to_owned(), port))
    }

    /// Accepts any address: NAT may translate addresses on the way, so that ownership cannot be
    /// verified.
    fn verify_point(
        &self,
        host: &str,
        port: u16,
        _link: &dyn Link,
    ) -> Result<Option<Address>, String> {
        Ok(Some(address(host, port)))
    }

    fn start(&self, to: &Address) -> io::Result<Start> {
        begin(to, None)
    }

    fn start_marked(&self, to: &Address, dscp: u8) -> io::Result<Start> {
        begin(to, Some(dscp))
    }
}

fn begin(to: &Address, dscp: Option<u8>) -> io::Result<Start> {
    let at: SocketAddr = match host_and_port(to) {
        Some((host, port)) => match host.parse() {
            Ok(ip) => SocketAddr::new(ip, port),
            // The resolver may have returned an IPv6 address with a zone, which parses only together with its port.
            Err(_) => to.place().parse().map_err(|_| foreign(to))?,
        },
        None => return Err(foreign(to)),
    };
    let connecting = socket::Connecting::start_marked(at, dscp)?;
    Ok(Start::Wait(Box::new(Attempt(Some(connecting)))))
}

/// Returns the address of a socket; its zone, if any, as a number.
fn of_socket(at: SocketAddr) -> Address {
    Address::new(SCHEME, &at.to_string())
}

/// Reports whether a host is this one, by name or address.
fn is_loopback(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn foreign(to: &Address) -> io::Error {
    let problem = format!("{to} is not an address of TCP");
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

/// Connection in progress in the kernel; `None` once completed.
struct Attempt(Option<socket::Connecting>);

impl Connecting for Attempt {
    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(AsFd::as_fd)
    }

    fn advance(&mut self) -> io::Result<Option<Box<dyn Link>>> {
        let Some(connecting) = self.0.take() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let link = connecting.finish().and_then(own_link)?;
        Ok(Some(Box::new(link)))
    }
}

/// Returns a link over a connected socket. Fails with [`io::ErrorKind::ConnectionRefused`] if TCP
/// connected the socket to itself, which can happen if no process listens on a port of this host.
fn own_link(socket: OwnedFd) -> io::Result<TcpLink> {
    let link = TcpLink::new(socket)?;
    if link.local_address() == link.peer_address() {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(link)
}
