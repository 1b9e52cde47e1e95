//! Contract of transports, which move octets.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

use crate::endpoint::Part;
use crate::{
    Acceptor, Address, Endpoint, EndpointError, Facts, Link, ListenError, Multicast, PeerId,
    Publish, Scheme, Security, SecurityError,
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

    /// Listens as one of a group of acceptors at the same endpoint, each with a queue of its own. The acceptors of a group are
    /// numbered in the order in which they listen. `cpu`: the processor whose packets this one prefers. The `first` of a group
    /// is refused where somebody else listens. May block.
    ///
    /// # Errors
    /// [`ListenError`], with [`io::ErrorKind::Unsupported`] where the transport has no groups.
    fn listen_in_group(
        &self,
        at: &Endpoint,
        first: bool,
        cpu: Option<usize>,
    ) -> Result<Box<dyn Acceptor>, ListenError> {
        let _ = (first, cpu);
        Err(ListenError {
            endpoint: Box::new(at.clone()),
            address: at.place.clone(),
            error: io::ErrorKind::Unsupported.into(),
            advice: Some("lanes share endpoints of TCP alone"),
        })
    }

    /// Returns the addresses under which clients reach an endpoint that is open, the likeliest
    /// first. `rules` concern transports over networks.
    ///
    /// # Errors
    /// When the system does not tell, or nothing is left to publish. Groups publish nothing: their references are made apart.
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

    /// Takes over how messages to groups are sent, before the ORB listens or connects. Other transports ignore it. A transport
    /// that serves several ORBs keeps what came first.
    ///
    /// # Errors
    /// What cannot be used, as a sentence: an interface that this host does not have, for one.
    fn prepare_multicast(&self, multicast: &Multicast) -> Result<(), String> {
        let _ = multicast;
        Ok(())
    }

    /// Takes over certificates, keys and rules about them, before the ORB listens or connects. Transports that protect nothing
    /// ignore them. Called once for each ORB; a transport that serves several ORBs keeps what came first.
    ///
    /// # Errors
    /// The setting and what is wrong with it: a file that cannot be read, for one.
    fn prepare(&self, security: &Security) -> Result<(), SecurityError> {
        let _ = security;
        Ok(())
    }

    /// Reads certificates, keys and lists of revoked certificates again, for connections that are made from now on. Where
    /// that fails the earlier ones stay.
    ///
    /// # Errors
    /// The setting and what is wrong with it.
    fn reload(&self) -> Result<(), SecurityError> {
        Ok(())
    }

    /// Reports whether it can connect at all: one that has to know whom to trust may not have been told.
    ///
    /// # Errors
    /// What is missing, as a sentence.
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    /// Reports whether nobody on the way reads or changes what its links carry, and the client knows whom it reached: what
    /// `SecureOnly` asks for.
    fn is_secure(&self) -> bool {
        false
    }

    /// Returns host and port of an address, by which a client that listens there offers its connection (BI_DIR_IIOP);
    /// `None`: its addresses have none.
    fn listen_point(&self, address: &Address) -> Option<(String, u16)> {
        let _ = address;
        None
    }

    /// Returns the address at a host and port that a client names to be called back over `link`, which it opened
    /// (bidirectional GIOP), if calls to that address may go there; `None`: its addresses have none. No system call.
    ///
    /// # Errors
    /// The reason why they must not, as a sentence.
    fn verify_point(
        &self,
        host: &str,
        port: u16,
        link: &dyn Link,
    ) -> Result<Option<Address>, String> {
        let _ = (host, port, link);
        Ok(None)
    }

    /// Verifies an address without host and port like [`verify_point`](Self::verify_point); returns
    /// all addresses by which references may lead there. Some system calls, none of which waits.
    ///
    /// # Errors
    /// The reason why calls to `address` must not go to this client, as a sentence.
    fn verify_offer(&self, address: &Address, client: PeerId) -> Result<Vec<Address>, String> {
        let _ = (address, client);
        Err(format!("addresses of {} are not offered by name", self.scheme()))
    }

    /// Begins to connect to one address, and does not wait.
    ///
    /// # Errors
    /// When that fails at once.
    fn start(&self, to: &Address) -> io::Result<Start>;

    /// Begins to connect to one address with packets that carry a DSCP from the first one on, where the transport has packets.
    ///
    /// # Errors
    /// Those of [`start`](Self::start).
    fn start_marked(&self, to: &Address, dscp: u8) -> io::Result<Start> {
        let _ = dscp;
        self.start(to)
    }
}

/// Notation of an endpoint's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// TAO's: what stands behind `PROTOCOL://`.
    Url,
    /// omniORB's: what stands behind `giop:SCHEME:`.
    Colon,
}

/// Result of resolving an address.
pub enum Resolve {
    /// Addresses, to be tried in this order.
    Now(Vec<Address>),
    /// A name whose addresses have to be looked up.
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
    /// The connection is being made.
    Wait(Box<dyn Connecting>),
}

/// A connection that is being made. Dropping it gives up.
pub trait Connecting: Send {
    /// The descriptor that becomes writable when the connection is made or has failed, or there is another step to take.
    /// Without one, [`advance`](Self::advance) is called every few milliseconds.
    fn poll_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Reports whether the next step waits for octets of the peer: the descriptor then counts when it becomes readable.
    fn wants_input(&self) -> bool {
        false
    }

    /// Returns the link, once it is there; `None` before. Never blocks; not called again afterwards.
    ///
    /// # Errors
    /// Why there will be none.
    fn advance(&mut self) -> io::Result<Option<Box<dyn Link>>>;
}
