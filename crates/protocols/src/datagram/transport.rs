//! Transport of datagrams.

use std::io;
use std::net::SocketAddr;

use oxorb_sys::datagram;
use oxorb_transport::tcp::{self, Tcp};
use oxorb_transport::{
    Acceptor, Address, Endpoint, EndpointError, Facts, ListenError, Notation, Part, Publish,
    Resolve, Scheme, Start, Transport,
};

use crate::datagram::SCHEME;
use crate::datagram::accept::DatagramAcceptor;
use crate::datagram::link::{DatagramLink, facts};
use crate::datagram::place::{self, LEAST_MOST, Place, USUAL_MOST};
use crate::datagram::session::{Role, Session};

/// UDP transport over IPv4 and IPv6: one datagram for each message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Udp;

/// Returns the address of a port that accepts datagrams of up to `most` octets.
pub(crate) fn address(host: &str, port: u16, most: usize) -> Address {
    let most = most.clamp(LEAST_MOST, datagram::MOST_OCTETS);
    of_tcp(&tcp::address(host, port), most)
}

/// Returns the datagram address of a TCP address.
fn of_tcp(address: &Address, most: usize) -> Address {
    match most {
        USUAL_MOST => Address::new(SCHEME, address.place()),
        _ => Address::new(SCHEME, &format!("{}/max={most}", address.place())),
    }
}

/// Returns the TCP address of a datagram address, and the size of the largest datagram.
pub(crate) fn to_tcp(address: &Address) -> Option<(Address, usize)> {
    let place = address.of(SCHEME)?;
    // The last `/max=` is the separator, because a host may contain any character.
    let (place, most) = match place.rsplit_once("/max=") {
        Some((place, most)) if most.bytes().all(|octet| octet.is_ascii_digit()) => {
            (place, most.parse().ok()?)
        }
        _ => (place, USUAL_MOST),
    };
    let most = most.clamp(LEAST_MOST, datagram::MOST_OCTETS);
    Some((Address::new(tcp::SCHEME, place), most))
}

fn foreign(to: &Address) -> io::Error {
    let problem = format!("{to} is not an address of datagrams");
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

impl Transport for Udp {
    fn scheme(&self) -> Scheme {
        SCHEME
    }

    fn facts(&self) -> Facts {
        facts(datagram::MOST_OCTETS)
    }

    fn endpoints(
        &self,
        notation: Notation,
        text: Part<'_>,
    ) -> Result<Vec<Endpoint>, EndpointError> {
        match notation {
            Notation::Url => place::url(text),
            Notation::Colon => Err(text.error(
                "omniORB's form of endpoints does not support datagrams: write \
                                               diop://HOST:PORT",
            )),
        }
    }

    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
        Ok(Box::new(DatagramAcceptor::listen(at)?))
    }

    fn published(&self, at: &Endpoint, rules: &[Publish]) -> io::Result<Vec<Address>> {
        let most = Place::of(at).most;
        let published = Tcp.published(at, rules)?;
        Ok(published.iter().map(|it| of_tcp(it, most)).collect())
    }

    fn own_address(&self, at: &Endpoint) -> Address {
        of_tcp(&Tcp.own_address(at), Place::of(at).most)
    }

    fn is_fixed(&self, at: &Endpoint) -> bool {
        Tcp.is_fixed(at)
    }

    fn is_local(&self, at: &Endpoint) -> bool {
        Tcp.is_local(at)
    }

    fn following(&self, at: &Endpoint, number: u32) -> Option<Endpoint> {
        let next = tcp::Place::of(&Tcp.following(at, number)?);
        Some(Place::of(at).at_port(next.port).endpoint(at))
    }

    fn falls_short(&self, at: &Endpoint, published: &[Address]) -> bool {
        let published = published.iter().filter_map(|it| Some(to_tcp(it)?.0));
        Tcp.falls_short(at, &published.collect::<Vec<_>>())
    }

    fn resolve(&self, to: &Address) -> io::Result<Resolve> {
        let (address, most) = to_tcp(to).ok_or_else(|| foreign(to))?;
        Ok(match Tcp.resolve(&address)? {
            Resolve::Now(_) => Resolve::Now(vec![to.clone()]),
            Resolve::LookUp { name, run } => Resolve::LookUp {
                name,
                run: Box::new(move || Ok(run()?.iter().map(|it| of_tcp(it, most)).collect())),
            },
        })
    }

    /// Connects at once, without sending anything: only the first answer shows whether a server
    /// listens at the address.
    fn start(&self, to: &Address) -> io::Result<Start> {
        begin(to, None)
    }

    fn start_marked(&self, to: &Address, dscp: u8) -> io::Result<Start> {
        begin(to, Some(dscp))
    }
}

fn begin(to: &Address, dscp: Option<u8>) -> io::Result<Start> {
    let (address, most) = to_tcp(to).ok_or_else(|| foreign(to))?;
    let at: SocketAddr = match tcp::host_and_port(&address) {
        Some((host, port)) => match host.parse() {
            Ok(ip) => SocketAddr::new(ip, port),
            // The resolver may have returned an IPv6 address with a zone, which parses only together with its port.
            Err(_) => address.place().parse().map_err(|_| foreign(to))?,
        },
        None => return Err(foreign(to)),
    };
    let socket = datagram::connect(at, dscp)?;
    let session = Session::new(Role::Client, most, 0);
    Ok(Start::Done(Box::new(DatagramLink::new(socket, session)?)))
}
