//! Transport of TLS.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

use oxorb_sys::socket;
use oxorb_transport::tcp::{self, Tcp, TcpLink};
use oxorb_transport::{
    Acceptor, Address, Connecting, Endpoint, EndpointError, Facts, Link, ListenError, Notation,
    Part, PeerId, Publish, Resolve, Scheme, Security, SecurityError, ServerName as Wanted, Start,
    Transport,
};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection};

use crate::tls::files::Files;
use crate::tls::handshake::{Half, Step};
use crate::tls::link::Side;
use crate::tls::{SCHEME, TlsAcceptor};

/// TLS over TCP: endpoints, options and addresses are those of TCP.
///
/// It belongs to one ORB and holds that ORB's certificates.
#[derive(Clone, Default)]
pub struct Tls {
    pub(crate) files: Arc<Files>,
}

impl Tls {
    /// Returns a transport without certificates, to be [prepared](Transport::prepare).
    pub fn new() -> Self {
        Self::default()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tls").field(&self.files.security()).finish()
    }
}

impl Transport for Tls {
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
        let mut endpoints = Tcp.endpoints(notation, text)?;
        for endpoint in &mut endpoints {
            endpoint.protocol = SCHEME.as_str().into();
        }
        Ok(endpoints)
    }

    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
        let files = Arc::clone(&self.files);
        Ok(Box::new(TlsAcceptor::listen(at, files)?))
    }

    fn published(&self, at: &Endpoint, rules: &[Publish]) -> io::Result<Vec<Address>> {
        let published = Tcp.published(at, rules)?;
        Ok(published.iter().map(over_tls).collect())
    }

    fn own_address(&self, at: &Endpoint) -> Address {
        over_tls(&Tcp.own_address(at))
    }

    fn is_fixed(&self, at: &Endpoint) -> bool {
        Tcp.is_fixed(at)
    }

    fn is_local(&self, at: &Endpoint) -> bool {
        Tcp.is_local(at)
    }

    fn following(&self, at: &Endpoint, number: u32) -> Option<Endpoint> {
        Tcp.following(at, number)
    }

    fn falls_short(&self, at: &Endpoint, published: &[Address]) -> bool {
        let published: Vec<_> = published.iter().filter_map(over_tcp).collect();
        Tcp.falls_short(at, &published)
    }

    fn prepare(&self, security: &Security) -> Result<(), SecurityError> {
        self.files.prepare(security)
    }

    fn reload(&self) -> Result<(), SecurityError> {
        self.files.reload()
    }

    fn ready(&self) -> Result<(), String> {
        self.files.current().client.map(drop)
    }

    fn is_secure(&self) -> bool {
        true
    }

    /// Returns addresses that carry the name required in the server's certificate, if their host
    /// differs from that of `to`.
    fn resolve(&self, to: &Address) -> io::Result<Resolve> {
        let plain = over_tcp(to).ok_or_else(|| foreign(to))?;
        Ok(match Tcp.resolve(&plain)? {
            Resolve::Now(_) => Resolve::Now(vec![to.clone()]),
            Resolve::LookUp { name, run } => {
                let host = name.clone();
                let run = move || {
                    let found = run()?.into_iter();
                    let named = found
                        .map(|at| Address::new(SCHEME, &format!("{}|name={host}", at.place())));
                    Ok(named.collect())
                };
                Resolve::LookUp { name, run: Box::new(run) }
            }
        })
    }

    fn listen_point(&self, address: &Address) -> Option<(String, u16)> {
        Tcp.listen_point(&over_tcp(address)?)
    }

    /// Accepts addresses for which the client has presented the certificate that it would need as a
    /// server there.
    fn verify_point(
        &self,
        host: &str,
        port: u16,
        link: &dyn Link,
    ) -> Result<Option<Address>, String> {
        let security = self.files.current().security;
        let named = match &security.server_name {
            Wanted::Any => matches!(link.identity(), PeerId::Subject(_)),
            Wanted::Host => link.is_certified(host),
            Wanted::Fixed(name) => link.is_certified(name),
        };
        if !security.pins.is_empty() {
            return Err(
                "only keys of servers can be pinned (-ORBTlsPins), not those of clients".into()
            );
        }
        match named {
            true => Ok(Some(over_tls(&tcp::address(host, port)))),
            false => Err(format!(
                "the client has not presented a certificate that names {host}, which a server there must have"
            )),
        }
    }

    fn start(&self, to: &Address) -> io::Result<Start> {
        self.begin(to, None)
    }

    fn start_marked(&self, to: &Address, dscp: u8) -> io::Result<Start> {
        self.begin(to, Some(dscp))
    }
}

impl Tls {
    fn begin(&self, to: &Address, dscp: Option<u8>) -> io::Result<Start> {
        let refused = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        let loaded = self.files.current();
        let config = loaded.client.map_err(refused)?;
        let plain = over_tcp(to).ok_or_else(|| foreign(to))?;
        let (host, port) = tcp::host_and_port(&plain).ok_or_else(|| foreign(to))?;
        let named = to.verified().and_then(|it| it.strip_prefix("name="));
        let name = match &loaded.security.server_name {
            Wanted::Fixed(name) => name,
            Wanted::Host | Wanted::Any => named.unwrap_or(host),
        };
        let name = name.split('%').next().unwrap_or(name).to_owned();
        let name = ServerName::try_from(name.clone()).map_err(|_| {
            refused(format!(
                "{name:?} is not a name that a certificate could have (-ORBTlsServerName)"
            ))
        })?;
        let tls =
            ClientConnection::new(config, name).map_err(|error| refused(error.to_string()))?;
        let at: SocketAddr = match host.parse() {
            Ok(ip) => SocketAddr::new(ip, port),
            // The resolver may have returned an IPv6 address with a zone, which parses only together with its port.
            Err(_) => plain.place().parse().map_err(|_| foreign(to))?,
        };
        let connecting = socket::Connecting::start_marked(at, dscp)?;
        Ok(Start::Wait(Box::new(Attempt::Tcp(connecting, Box::new(tls)))))
    }
}

/// Returns the TLS address at the place of a TCP address.
pub(crate) fn over_tls(address: &Address) -> Address {
    Address::new(SCHEME, address.place())
}

/// Returns the TCP address at the place of a TLS address.
pub(crate) fn over_tcp(address: &Address) -> Option<Address> {
    address.of(SCHEME)?;
    Some(Address::new(tcp::SCHEME, address.name()))
}

fn foreign(to: &Address) -> io::Error {
    let problem = format!("{to} is not an address of TLS");
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

/// Connection in progress.
enum Attempt {
    Tcp(socket::Connecting, Box<ClientConnection>),
    Tls(Box<Half>, Step),
    Over,
}

impl Connecting for Attempt {
    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Tcp(connecting, _) => Some(connecting.as_fd()),
            Self::Tls(half, _) => Some(half.fd()),
            Self::Over => None,
        }
    }

    fn wants_input(&self) -> bool {
        matches!(self, Self::Tls(_, Step::Input))
    }

    fn advance(&mut self) -> io::Result<Option<Box<dyn Link>>> {
        let mut half = match std::mem::replace(self, Self::Over) {
            Self::Tcp(connecting, tls) => {
                let tcp = connecting.finish().and_then(TcpLink::new)?;
                // If no process listens on a port of this host, TCP may connect a socket to itself.
                if tcp.local_address() == tcp.peer_address() {
                    return Err(io::ErrorKind::ConnectionRefused.into());
                }
                Box::new(Half::new(tcp, Connection::Client(*tls), Side::Client))
            }
            Self::Tls(half, _) => half,
            Self::Over => return Err(io::ErrorKind::NotConnected.into()),
        };
        match half.step() {
            Ok(Step::Done) => Ok(Some(Box::new(half.into_link()))),
            Ok(step) => {
                *self = Self::Tls(half, step);
                Ok(None)
            }
            Err(why) => Err(io::Error::new(io::ErrorKind::ConnectionAborted, why)),
        }
    }
}
