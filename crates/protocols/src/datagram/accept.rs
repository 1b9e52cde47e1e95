//! Acceptor of datagrams: a port, and the sources that send to it.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use oxorb_sys::datagram::{self, Came};
use oxorb_sys::random;
use oxorb_sys::socket::{self, Shutdown};
use oxorb_sys::sync::Mutex;
use oxorb_transport::{Acceptor, Endpoint, Link, ListenError, RefusedConnection};

use crate::datagram::link::{DatagramLink, canonical};
use crate::datagram::message::{Header, Kind};
use crate::datagram::place::Place;
use crate::datagram::session::{Role, Session};

/// Maximum number of datagrams collected while a source gets its socket: about as many as the
/// kernel keeps by default.
const MOST_TAKEN: usize = 512;

/// Maximum total size in octets of these datagrams.
const MOST_TAKEN_OCTETS: usize = 1 << 20;

/// Silence after which a source may lose its slot to a new one.
const SILENCE: Duration = Duration::from_secs(1);

/// Listening port. Each source that sends a request gets a socket of its own, to which the kernel
/// delivers its datagrams; so reading them needs no table, and only new sources are handled here.
pub(crate) struct DatagramAcceptor {
    socket: OwnedFd,
    own: SocketAddr,
    dual_stack: bool,
    endpoint: Endpoint,
    place: Place,
    closed: AtomicBool,
    /// State of the accepting thread.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sources: HashMap<SocketAddr, Source>,
    /// Collected datagrams, in order of arrival.
    taken: VecDeque<(Came, Vec<u8>)>,
    octets: usize,
    /// Time at which a source was last refused for lack of a slot.
    refused: Option<Instant>,
}

/// Source that has a socket while its link exists. Once the link is dropped, datagrams of the source
/// arrive at the acceptor again.
struct Source {
    link: Weak<DatagramLink>,
    /// Number of datagrams of the source at the last check, and the time since which it has not changed.
    heard: u64,
    since: Instant,
}

impl DatagramAcceptor {
    /// Listens at the first available address of `endpoint`. Resolves its host.
    pub(crate) fn listen(endpoint: &Endpoint) -> Result<Self, ListenError> {
        let place = Place::of(endpoint);
        let failed = |address: String, error: io::Error| ListenError {
            endpoint: Box::new(endpoint.clone()),
            address,
            advice: advice(&error),
            error,
        };
        let named = || place.tcp.to_string();
        let candidates = candidates(&place).map_err(|error| failed(named(), error))?;
        let mut first_failure = None;
        for (address, dual_stack) in candidates {
            match datagram::listen(address, dual_stack) {
                Ok(socket) => {
                    let own = socket::local_address(&socket);
                    let own = own.map_err(|error| failed(address.to_string(), error))?;
                    return Ok(Self {
                        endpoint: place.at_port(own.port()).endpoint(endpoint),
                        socket,
                        own,
                        dual_stack,
                        place,
                        closed: AtomicBool::new(false),
                        state: Mutex::default(),
                    });
                }
                Err(error) => {
                    first_failure.get_or_insert_with(|| failed(address.to_string(), error));
                }
            }
        }
        Err(first_failure.unwrap_or_else(|| failed(named(), io::ErrorKind::NotFound.into())))
    }

    /// Creates the socket of a source, and passes it the datagrams received so far.
    fn welcome(
        &self,
        state: &mut State,
        came: Came,
        first: &[u8],
    ) -> io::Result<Option<Arc<DatagramLink>>> {
        if !state.has_room(self.place.sources) {
            let now = Instant::now();
            let often = state.refused.is_some_and(|last| now - last < SILENCE);
            state.refused = Some(now);
            if often {
                return Ok(None);
            }
            let why = format!(
                "{} sources have sent within a second, which is the limit (option sources= of the endpoint): datagrams \
                 of other sources are dropped",
                self.place.sources
            );
            let peer = canonical(came.source).to_string();
            return Err(RefusedConnection { peer, why }.into());
        }
        let socket = datagram::connected_at(self.own, self.dual_stack, came.source, came.at)?;
        // From now on, datagrams of this source arrive at the new socket. Earlier ones are still in the queue of the
        // acceptor's socket.
        self.take_along(state);
        let nonce = u64::from_ne_bytes(random::octets()?);
        let session = Session::new(Role::Server, self.place.most, nonce);
        let link = Arc::new(DatagramLink::new(socket, session)?);
        link.came_before(first);
        let mut octets = state.octets;
        state.taken.retain(|(other, datagram)| {
            let own = other.source == came.source;
            if own {
                link.came_before(datagram);
                octets -= datagram.len();
            }
            !own
        });
        state.octets = octets;
        let source = Source { link: Arc::downgrade(&link), heard: 0, since: Instant::now() };
        state.sources.insert(came.source, source);
        Ok(Some(link))
    }

    /// Collects the datagrams that have arrived at the acceptor's socket, without waiting.
    fn take_along(&self, state: &mut State) {
        while state.taken.len() < MOST_TAKEN && state.octets < MOST_TAKEN_OCTETS {
            let mut datagram = Vec::new();
            let came =
                datagram::receive_from(&self.socket, &mut datagram, self.place.most + 1, false);
            let Ok(Some(came)) = came else {
                return;
            };
            if self.is_of_client(&datagram) {
                datagram.shrink_to_fit();
                state.octets += datagram.len();
                state.taken.push_back((came, datagram));
            }
        }
    }

    /// Reports whether a datagram is a valid request, so that its source gets a socket.
    fn is_of_client(&self, datagram: &[u8]) -> bool {
        Header::read(datagram).is_some_and(|header| {
            header.octets == datagram.len()
                && datagram.len() <= self.place.most
                && matches!(header.kind, Kind::Request | Kind::LocateRequest)
                && header.request_id(datagram).is_some()
        })
    }
}

impl State {
    /// Reports whether there is a slot for one more source, if need be after closing a silent one.
    fn has_room(&mut self, most: usize) -> bool {
        let now = Instant::now();
        self.sources.retain(|_, source| source.link.strong_count() > 0);
        if self.sources.len() < most {
            return true;
        }
        let silent = self.sources.iter_mut().map(|(at, source)| {
            let link = source.link.upgrade();
            let heard = link.as_ref().map_or(source.heard, |link| link.heard());
            if heard != source.heard {
                (source.heard, source.since) = (heard, now);
            }
            let silence = now.saturating_duration_since(source.since);
            let is_over = link.is_none_or(|link| link.is_over());
            (is_over, silence, *at)
        });
        let Some((is_over, silence, at)) = silent.max() else {
            return false;
        };
        if !is_over && silence < SILENCE {
            return false;
        }
        if let Some(link) = self.sources.remove(&at).and_then(|source| source.link.upgrade()) {
            link.close();
        }
        true
    }
}

impl Acceptor for DatagramAcceptor {
    fn accept(&self) -> io::Result<Box<dyn Link>> {
        let mut state = self.state.lock();
        let mut buffer = Vec::with_capacity(self.place.most + 1);
        loop {
            if self.closed.load(Ordering::Acquire) {
                return Err(io::ErrorKind::NotConnected.into());
            }
            let came = match state.taken.pop_front() {
                Some((came, datagram)) => {
                    state.octets -= datagram.len();
                    buffer = datagram;
                    came
                }
                None => {
                    buffer.clear();
                    match datagram::receive_from(
                        &self.socket,
                        &mut buffer,
                        self.place.most + 1,
                        true,
                    ) {
                        Ok(Some(came)) => came,
                        // The socket was shut down, or the error is about a datagram that was sent earlier from this
                        // port.
                        Ok(None) => continue,
                        Err(error) if is_about_peer(&error) => continue,
                        Err(_) if self.closed.load(Ordering::Acquire) => continue,
                        Err(error) => return Err(error),
                    }
                }
            };
            // If the source already has a socket, this datagram was in transit while that socket was created, and was
            // not collected then. It is dropped, as datagrams may be.
            if !self.is_of_client(&buffer) || state.is_known(&came.source) {
                continue;
            }
            if let Some(link) = self.welcome(&mut state, came, &buffer)? {
                return Ok(Box::new(link));
            }
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        // On this unconnected socket `shutdown` fails with ENOTCONN, but it wakes waiting threads.
        let _ = socket::shutdown(&self.socket, Shutdown::Both);
    }

    fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

impl State {
    /// Reports whether a source has a socket that is not closed.
    fn is_known(&mut self, source: &SocketAddr) -> bool {
        match self.sources.get(source) {
            Some(known) if known.link.strong_count() > 0 => true,
            Some(_) => {
                self.sources.remove(source);
                false
            }
            None => false,
        }
    }
}

/// Returns the addresses to try in turn, each with whether it serves both IPv4 and IPv6.
fn candidates(place: &Place) -> io::Result<Vec<(SocketAddr, bool)>> {
    let (host, port) = (place.tcp.host.as_str(), place.tcp.port);
    if host.is_empty() {
        return Ok(vec![
            (SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port), true),
            // This address is used if the kernel does not support IPv6.
            (SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port), false),
        ]);
    }
    // A host that is an address gets no dual-stack socket: `::` means all IPv6 addresses, and no IPv4 address.
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![(SocketAddr::new(ip, port), false)]);
    }
    let found = (host, port).to_socket_addrs()?;
    Ok(found.map(|address| (address, false)).collect())
}

/// Returns advice to the user about an unavailable port.
fn advice(error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another process receives datagrams there: stop it, or choose another port (0 lets the system choose)"
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
    use io::ErrorKind::{
        ConnectionRefused, ConnectionReset, HostUnreachable, Interrupted, InvalidData,
        NetworkUnreachable,
    };
    matches!(
        error.kind(),
        ConnectionRefused
            | ConnectionReset
            | HostUnreachable
            | Interrupted
            | InvalidData
            | NetworkUnreachable
    )
}
