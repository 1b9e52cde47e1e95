//! Transport of UNIX sockets.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use oxorb_sys::unix;
use oxorb_transport::{
    Acceptor, Address, Connecting, Endpoint, EndpointError, Facts, Link, ListenError, Notation,
    Part, PeerId, Publish, Scheme, Start, Transport,
};

use crate::unix::known::Known;
use crate::unix::{Name, Place, SCHEME, UnixAcceptor, UnixLink, offer, place};

/// UNIX-socket transport.
#[derive(Clone, Copy, Debug)]
pub struct Unix;

impl Transport for Unix {
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
            Notation::Url => place::url(text),
            Notation::Colon => Ok(vec![place::colon(text)?]),
        }
    }

    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
        Ok(Box::new(UnixAcceptor::listen(at)?))
    }

    /// Returns the only address, with the identity of the socket. The rules do not apply, because they concern
    /// networks.
    fn published(&self, at: &Endpoint, _rules: &[Publish]) -> io::Result<Vec<Address>> {
        let name = Place::of(at).name;
        Ok(vec![Known::own(&name).address(&name)])
    }

    fn own_address(&self, at: &Endpoint) -> Address {
        Place::of(at).name.address(SCHEME)
    }

    fn is_fixed(&self, at: &Endpoint) -> bool {
        !Place::of(at).name.is_temporary()
    }

    fn is_local(&self, _at: &Endpoint) -> bool {
        true
    }

    /// Returns an endpoint with `.NUMBER` appended to its name, or another temporary one.
    fn following(&self, at: &Endpoint, number: u32) -> Option<Endpoint> {
        let place = Place::of(at);
        let name = match place.name {
            name if name.is_temporary() => name,
            named => Name::read(&format!("{named}.{number}")).ok()?,
        };
        Some(Place { name, ..place }.endpoint(at))
    }

    fn verify_offer(&self, address: &Address, client: PeerId) -> Result<Vec<Address>, String> {
        let name = Name::read(address.name())?;
        let offered = offer::verify_offer(&name, Known::of(address)?, client)?;
        Ok(offered.addresses(address))
    }

    fn start(&self, to: &Address) -> io::Result<Start> {
        let mut attempt = Attempt::new(to)?;
        Ok(match attempt.advance()? {
            Some(link) => Start::Done(link),
            None => Start::Wait(Box::new(attempt)),
        })
    }
}

/// Attempt to connect. It takes more than one step only if too many clients wait at the server.
struct Attempt {
    name: Name,
    known: Known,
    address: Arc<str>,
}

impl Attempt {
    fn new(to: &Address) -> io::Result<Self> {
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        let (name, known) = Known::read(to).map_err(invalid)?;
        known.verify_name(&name)?;
        Ok(Self { name, known, address: to.for_people().into() })
    }
}

impl Connecting for Attempt {
    /// Returns `None`: the system does not report that fewer clients wait.
    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn advance(&mut self) -> io::Result<Option<Box<dyn Link>>> {
        let socket = connect(&self.name)?;
        let link =
            socket.map(|socket| UnixLink::connected(socket, self.address.clone(), self.known));
        Ok(match link.transpose()? {
            Some(link) => Some(Box::new(link)),
            None => None,
        })
    }
}

/// Connects to a name, without waiting. Returns `None` if the maximum number of clients waits at
/// the socket to be accepted.
///
/// # Errors
/// No process listens at the socket, or this process may not connect.
pub fn connect(name: &Name) -> io::Result<Option<OwnedFd>> {
    let name = match name {
        Name::Path(path) => unix::Name::Path(Path::new(path)),
        Name::Abstract(name) => unix::Name::Abstract(name.as_bytes()),
        Name::Temporary => return Err(io::ErrorKind::AddrNotAvailable.into()),
    };
    match unix::connect(name) {
        Ok(socket) => Ok(Some(socket)),
        Err(error) if is_full(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
