//! Contract of transports.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

use crate::endpoint::Part;
use crate::{
    Acceptor, Address, Endpoint, EndpointError, Facts, Link, ListenError, Multicast, PeerId,
    Publish, Scheme, Security, SecurityError,
};

/// Transport: listens, connects, and defines its own addresses and endpoints.
///
/// One value serves any number of ORBs. Nothing here is on the request path; that part is in
/// [`Link`].
///
/// # Obligations of an implementation
///
/// The suite `transport!` of the crate `oxorb-conformance` checks each.
///
/// 1. The text of an endpoint that it made parses to an equal endpoint.
/// 2. After [`listen`](Self::listen), [`own_address`](Self::own_address) of the acceptor's endpoint
///    is the address by which this process reaches it, and [`published`](Self::published) is not
///    empty.
/// 3. Addresses are canonical: different notations of a place result in the same address.
/// 4. Neither [`start`](Self::start) nor [`Connecting::advance`] blocks; names that require a
///    lookup are left to [`resolve`](Self::resolve).
/// 5. Connecting to a place without a listener fails at once.
pub trait Transport: Send + Sync + fmt::Debug {
    /// Returns the word before the colon of its addresses.
    fn scheme(&self) -> Scheme;

    /// Returns the properties of its links. Read once, when a protocol is constructed.
    fn facts(&self) -> Facts;

    /// Parses the text after the name of a protocol; returns several endpoints if the grammar has
    /// lists. Their [`protocol`](Endpoint::protocol) is the scheme until the caller sets it. An
    /// empty text means the default endpoint.
    ///
    /// # Errors
    /// [`EndpointError`] with the position in the text and the fault.
    fn endpoints(&self, notation: Notation, text: Part<'_>)
    -> Result<Vec<Endpoint>, EndpointError>;

    /// Listens on an endpoint. May block.
    ///
    /// # Errors
    /// [`ListenError`] with the unavailable address, the cause and advice.
    fn listen(&self, at: &Endpoint) -> Result<Box<dyn Acceptor>, ListenError>;

    /// Listens as one of a group of acceptors at the same endpoint, each with its own queue.
    /// The acceptors of a group are numbered in the order in which they listen. `cpu` is the
    /// processor whose packets this acceptor prefers. The `first` of a group is refused if another
    /// process listens at the endpoint. May block.
    ///
    /// # Errors
    /// [`ListenError`], with [`io::ErrorKind::Unsupported`] if the transport has no groups.
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
            advice: Some("lanes can share only endpoints of TCP"),
        })
    }

    /// Returns the addresses under which clients reach an open endpoint, the likeliest first. Only
    /// transports over networks apply the `rules`.
    ///
    /// # Errors
    /// The system does not report its addresses, or none is left to publish. Groups publish
    /// nothing: their references are made separately.
    fn published(&self, at: &Endpoint, rules: &[Publish]) -> io::Result<Vec<Address>>;

    /// Returns the address by which this process reaches its own open endpoint.
    fn own_address(&self, at: &Endpoint) -> Address;

    /// Reports whether the endpoint has the same address after a restart of its server.
    fn is_fixed(&self, at: &Endpoint) -> bool;

    /// Reports whether only this host can reach the endpoint.
    fn is_local(&self, at: &Endpoint) -> bool;

    /// Returns the endpoint of the `number`th lane after the one at `at`, counted from 1, such as
    /// the endpoint with the following port; `None` if there is none.
    fn following(&self, at: &Endpoint, number: u32) -> Option<Endpoint>;

    /// Reports whether the endpoint was meant for remote clients and none of its published
    /// addresses lets them reach it.
    fn falls_short(&self, at: &Endpoint, published: &[Address]) -> bool {
        let _ = (at, published);
        false
    }

    /// Returns the addresses to connect to in order to reach `to`: `to` itself, unless it contains a name.
    ///
    /// # Errors
    /// The address is not of this transport.
    fn resolve(&self, to: &Address) -> io::Result<Resolve> {
        Ok(Resolve::Now(vec![to.clone()]))
    }

    /// Sets the options of messages to groups, before the ORB listens or connects. Other transports
    /// ignore them. A transport that serves several ORBs keeps the first options.
    ///
    /// # Errors
    /// Sentence about an unusable option, such as an interface that this host does not have.
    fn prepare_multicast(&self, multicast: &Multicast) -> Result<(), String> {
        let _ = multicast;
        Ok(())
    }

    /// Sets certificates, keys and rules about them, before the ORB listens or connects. Transports
    /// without protection ignore them. Called once for each ORB; a transport that serves several
    /// ORBs keeps the first settings.
    ///
    /// # Errors
    /// [`SecurityError`] with the unusable setting, such as a file that cannot be read.
    fn prepare(&self, security: &Security) -> Result<(), SecurityError> {
        let _ = security;
        Ok(())
    }

    /// Reloads certificates, keys and lists of revoked certificates, for later connections. If that
    /// fails, the earlier ones stay.
    ///
    /// # Errors
    /// [`SecurityError`] with the unusable setting.
    fn reload(&self) -> Result<(), SecurityError> {
        Ok(())
    }

    /// Checks that the transport can connect at all. A transport that requires trust settings cannot
    /// connect without them.
    ///
    /// # Errors
    /// Sentence about what is missing.
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    /// Reports whether links of the transport protect their octets from being read or changed in transit, and
    /// the client can identify its server: the requirement of `SecureOnly`.
    fn is_secure(&self) -> bool {
        false
    }

    /// Returns host and port of an address, by which a client that listens there offers its
    /// connection for callbacks (BI_DIR_IIOP); `None` for addresses without them.
    fn listen_point(&self, address: &Address) -> Option<(String, u16)> {
        let _ = address;
        None
    }

    /// Returns the address at a host and port that a client offers for callbacks over `link`, which
    /// it opened (bidirectional GIOP), if calls to that address may use this link; `None` for a
    /// transport without hosts and ports. No system call.
    ///
    /// # Errors
    /// Sentence about why calls may not use the link.
    fn verify_point(
        &self,
        host: &str,
        port: u16,
        link: &dyn Link,
    ) -> Result<Option<Address>, String> {
        let _ = (host, port, link);
        Ok(None)
    }

    /// Verifies an address without host and port as [`verify_point`](Self::verify_point) does;
    /// returns all addresses by which references may refer to the same place. Some system calls,
    /// none of which waits.
    ///
    /// # Errors
    /// Sentence about why calls to `address` may not go to this client.
    fn verify_offer(&self, address: &Address, client: PeerId) -> Result<Vec<Address>, String> {
        let _ = (address, client);
        Err(format!("addresses of {} cannot be offered by name", self.scheme()))
    }

    /// Begins to connect to one address, without waiting.
    ///
    /// # Errors
    /// An immediate failure.
    fn start(&self, to: &Address) -> io::Result<Start>;

    /// Begins to connect to one address as [`start`](Self::start) does, with packets that carry a
    /// DSCP from the first one on, if the transport has packets.
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
    /// TAO's notation, after `PROTOCOL://`.
    Url,
    /// omniORB's notation, after `giop:SCHEME:`.
    Colon,
}

/// Result of resolving an address.
pub enum Resolve {
    /// Addresses, to be tried in this order.
    Now(Vec<Address>),
    /// Name whose addresses must be looked up.
    LookUp {
        /// Name, for users.
        name: String,
        /// Lookup, which may block, and must run in a separate thread.
        run: LookUp,
    },
}

/// Lookup of one name.
pub type LookUp = Box<dyn FnOnce() -> io::Result<Vec<Address>> + Send>;

/// Result of beginning to connect.
pub enum Start {
    /// Connection made at once.
    Done(Box<dyn Link>),
    /// Connection in progress.
    Wait(Box<dyn Connecting>),
}

/// Connection in progress. Dropping it cancels it.
pub trait Connecting: Send {
    /// Returns the descriptor that becomes writable when the connection is made or has failed, or
    /// another step is possible. Without one, [`advance`](Self::advance) is called every few
    /// milliseconds.
    fn poll_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Reports whether the next step waits for octets of the peer, that is, for a readable
    /// descriptor.
    fn wants_input(&self) -> bool {
        false
    }

    /// Returns the link once connected; `None` before. Never blocks; not to be called again
    /// afterwards.
    ///
    /// # Errors
    /// The reason why the connection failed.
    fn advance(&mut self) -> io::Result<Option<Box<dyn Link>>>;
}
