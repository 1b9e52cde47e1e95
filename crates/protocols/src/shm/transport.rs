//! Transport of shared memory.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::unix::{Known, Unix};
use oxorb_sys::unix;
use oxorb_transport::{
    Acceptor, Address, Connecting, Endpoint, EndpointError, Facts, Link, ListenError, Notation,
    Part, PeerId, Publish, Scheme, Start, Transport,
};

use crate::shm::greeting::Greeting;
use crate::shm::{Place, SCHEME, ShmAcceptor, ShmLink, place};

/// Shared-memory transport.
#[derive(Clone, Copy, Debug)]
pub struct Shm;

impl Transport for Shm {
    fn scheme(&self) -> Scheme {
        SCHEME
    }

    fn facts(&self) -> Facts {
        Facts::RELIABLE_STREAM
    }

    fn endpoints(
        &self,
        _notation: Notation,
        text: Part<'_>,
    ) -> Result<Vec<Endpoint>, EndpointError> {
        place::url(text)
    }

    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError> {
        Ok(Box::new(ShmAcceptor::listen(at)?))
    }

    /// Returns the only address, with the identity of the socket. The rules do not apply, because they concern
    /// networks.
    fn published(&self, at: &Endpoint, _rules: &[Publish]) -> io::Result<Vec<Address>> {
        let place = Place::of(at);
        Ok(vec![Known::own(&place.name).address_at(SCHEME, place.address().place())])
    }

    fn own_address(&self, at: &Endpoint) -> Address {
        Place::of(at).address()
    }

    fn is_fixed(&self, at: &Endpoint) -> bool {
        Unix.is_fixed(at)
    }

    fn is_local(&self, _at: &Endpoint) -> bool {
        true
    }

    fn following(&self, at: &Endpoint, number: u32) -> Option<Endpoint> {
        Unix.following(at, number)
    }

    fn verify_offer(&self, address: &Address, client: PeerId) -> Result<Vec<Address>, String> {
        let place = Place::at(address)?;
        let offered = crate::unix::verify_offer(&place.name, Known::of(address)?, client)?;
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
    place: Place,
    known: Known,
    /// Created before the server is contacted, which then need not wait for it.
    greeting: Option<Greeting>,
    address: Arc<str>,
}

impl Attempt {
    fn new(to: &Address) -> io::Result<Self> {
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        let place = Place::at(to).map_err(invalid)?;
        let known = Known::of(to).map_err(invalid)?;
        known.verify_name(&place.name)?;
        Ok(Self {
            known,
            greeting: Some(Greeting::new(place.sizes())?),
            address: place.name.address(SCHEME).for_people().into(),
            place,
        })
    }
}

impl Connecting for Attempt {
    /// Returns `None`: the system does not report that fewer clients wait.
    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn advance(&mut self) -> io::Result<Option<Box<dyn Link>>> {
        let Some(socket) = crate::unix::connect(&self.place.name)? else {
            return Ok(None);
        };
        let Some(mut greeting) = self.greeting.take() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let server = unix::peer_credentials(&socket)?;
        self.known.verify_user(server)?;
        if server.uid != unix::own_credentials().uid {
            greeting.keep_rooms();
        }
        greeting.send(&socket)?;
        let link = ShmLink::connected(socket, greeting, self.address.clone())?;
        Ok(Some(Box::new(link)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server of another host or container may have the same path.
    #[test]
    fn an_address_says_which_socket_is_meant_and_another_is_not_greeted() {
        let name = format!("@oxorb-shm-known-{}|ring=64K", std::process::id());
        let endpoint = place::url(Part::new(&name)).unwrap().remove(0);
        let published = Shm.published(&endpoint, &[]).unwrap().remove(0);
        assert_eq!(published.bare(), Shm.own_address(&endpoint));
        assert!(published.leads_to(&published) && published.verified().is_some());

        let acceptor = ShmAcceptor::listen(&endpoint).unwrap();
        Attempt::new(&published).unwrap().advance().unwrap();
        acceptor.accept().unwrap();

        let mut elsewhere = published.to_string();
        let digit = elsewhere.find("|").unwrap() + 1;
        let other = if elsewhere[digit..].starts_with('0') { "1" } else { "0" };
        elsewhere.replace_range(digit..=digit, other);
        let elsewhere: Address = elsewhere.parse().unwrap();
        assert!(!elsewhere.leads_to(&published));
        assert!(Attempt::new(&elsewhere).is_err());
    }
}
