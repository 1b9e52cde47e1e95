//! What a way of moving octets has to offer.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

use crate::endpoint::Part;
use crate::{
    Acceptor, Address, Endpoint, EndpointError, Facts, Link, ListenError, PeerId, Publish, Scheme,
};

/// A transport: listens, connects, and knows its own addresses and endpoints.
///
/// One value serves any number of ORBs. Everything here is off the request path: what is on it is
/// in [`Link`].
///
/// # Obligations of an implementation
///
/// The suite `transport!` of the crate `oxorb-conformance` checks each.
///
/// 1. An endpoint that it made reads back from its text as the same.
/// 2. After [`listen`](Self::listen), [`own_address`](Self::own_address) of the acceptor's endpoint
///    is where this process reaches it, and [`published`](Self::published) is not empty.
/// 3. Addresses are canonical: of two ways to write a place, it makes one.
/// 4. Neither [`start`](Self::start) nor [`Connecting::advance`] blocks; a name that somebody else
///    must look up is left to [`resolve`](Self::resolve).
/// 5. Where nobody listens, connecting fails: it does not wait.
pub trait Transport: Send + Sync + fmt::Debug {
    /// The word before the colon of its addresses.
    fn scheme(&self) -> Scheme;

    /// Abilities of its links. Read once, when a protocol is put together.
    fn facts(&self) -> Facts;

    /// Reads what stands behind the name of a protocol: several endpoints where the grammar has
    /// lists. Their [`protocol`](Endpoint::protocol) is the scheme until the caller sets it. An empty
    /// text stands for the endpoint of whoever names none.
    ///
    /// # Errors
    /// [`EndpointError`]: the place in the text, and what is wrong there.
    fn endpoints(&self, notation: Notation, text: Part<'_>)
    -> Result<Vec<Endpoint>, EndpointError>;

    /// Listens. May block.
    ///
    /// # Errors
    /// [`ListenError`]: which address could not be had, why, and what may be done.
    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError>;

    /// Returns the addresses under which clients reach an endpoint that is open, the likeliest
    /// first. `rules` concern transports over networks.
    ///
    /// # Errors
    /// When the system does not tell, or nothing is left to publish.
    fn published(&self, at: &Endpoint, rules: &[Publish]) -> io::Result<Vec<Address>>;

    /// Returns the address by which this process reaches an endpoint of its own that is open.
    fn own_address(&self, at: &Endpoint) -> Address;

    /// Whether the endpoint is at the same address when its server is started again.
    fn is_fixed(&self, at: &Endpoint) -> bool;

    /// Whether only this host reaches the endpoint.
    fn is_local(&self, at: &Endpoint) -> bool;

    /// Returns the endpoint of the `number`th lane after `at`, from 1: the port that follows, for
    /// one. `None` when there is none.
    fn following(&self, at: &Endpoint, number: u32) -> Option<Endpoint>;

    /// Whether clients elsewhere were meant to reach the endpoint, and none of the addresses that
    /// are published for it lets them.
    fn falls_short(&self, at: &Endpoint, published: &[Address]) -> bool {
        let _ = (at, published);
        false
    }

    /// Returns the addresses to connect to for one: itself, unless it is a name.
    ///
    /// # Errors
    /// When the address is not of this transport.
    fn resolve(&self, to: &Address) -> io::Result<Resolve> {
        Ok(Resolve::Now(vec![to.clone()]))
    }

    /// Verifies that a client listens at `address`, which it names to be called back over the connection that it opened
    /// (bidirectional GIOP), and returns the addresses by which references may lead there. For addresses of which the transport knows whose they are: those of TCP may be translated on
    /// the way, and clients name them by BI_DIR_IIOP. Some system calls, none of which waits.
    ///
    /// # Errors
    /// The reason why calls to `address` must not go to this client, as a sentence.
    fn verify_offer(&self, address: &Address, client: PeerId) -> Result<Vec<Address>, String> {
        let _ = (address, client);
        Err(format!(
            "addresses of {} are not offered by name",
            self.scheme()
        ))
    }

    /// Begins to connect to one address, and does not wait.
    ///
    /// # Errors
    /// When that fails at once.
    fn start(&self, to: &Address) -> io::Result<Start>;
}

/// Who wrote the text of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// TAO's: what stands behind `PROTOCOL://`.
    Url,
    /// omniORB's: what stands behind `giop:SCHEME:`.
    Colon,
}

/// Where an address leads.
pub enum Resolve {
    /// To these addresses, to be tried in this order.
    Now(Vec<Address>),
    /// To those of a name.
    LookUp {
        /// The name, for people.
        name: String,
        /// Asks for it, for as long as that takes, in a thread of its own.
        run: LookUp,
    },
}

/// Looks up one name.
pub type LookUp = Box<dyn FnOnce() -> io::Result<Vec<Address>> + Send>;

/// A connection just begun.
pub enum Start {
    /// Made at once.
    Done(Box<dyn Link>),
    /// Under way.
    Wait(Box<dyn Connecting>),
}

/// A connection that is being made. Dropping it gives up.
pub trait Connecting: Send {
    /// The descriptor that becomes writable when the connection is made or has failed. Without one,
    /// [`advance`](Self::advance) is called every few milliseconds.
    fn poll_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Returns the link, once it is there; `None` before. Never blocks; not called again afterwards.
    ///
    /// # Errors
    /// Why there will be none.
    fn advance(&mut self) -> io::Result<Option<Box<dyn Link>>>;
}
