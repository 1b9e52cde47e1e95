//! DIOP: GIOP over UDP, compatible with TAO.
//!
//! A message occupies one datagram, without further framing. Oneways work to TAO's servers and from
//! TAO's clients. Between two ORBs of this kind, two-way calls work, too; TAO's clients do not read
//! replies. Endpoints are `diop://HOST:PORT`, URLs `corbaloc:diop:HOST:PORT/KEY`.
//!
//! Datagrams may be lost, duplicated and reordered. [`Session`], which has no socket, handles the
//! consequences for calls, and is tested under all such conditions:
//!
//! | | requests | replies |
//! |---|---|---|
//! | lost | not run; a two-way call ends with TIMEOUT, COMPLETED_MAYBE | the same exception; the request ran |
//! | duplicated | run once: the server remembers the latest [`WINDOW`] request ids of a source | ignored |
//! | reordered | run in order of arrival | passed to the calls that wait for them |
//! | truncated, damaged | not run | ignored |
//!
//! A message larger than a datagram raises IMP_LIMIT, whose text names both sizes: GIOP fragments have no sequence
//! numbers, and could not be reassembled in order. A server sends no more octets to a source than it received from it,
//! until the source has proved that it receives datagrams at its address.
//!
//! [`group`] contains MIOP: oneways to groups over multicast.
//!
//! This module does *not* run requests or know their contents. It does not affect other protocols.

mod accept;
mod aside;
pub mod fuzz;
pub mod group;
mod link;
mod message;
mod place;
mod profile;
mod session;
mod transport;
mod window;

use std::sync::Arc;

use oxorb_core::protocol::ProtocolStack;
use oxorb_transport::Scheme;

pub use link::LONGEST_WAIT;
pub use place::{LEAST_MOST, MOST_SOURCES, USUAL_MOST, USUAL_SOURCES};
pub use profile::Diop;
pub use session::{Arrival, CHALLENGE, Departure, Reason, Role, Session};
pub use transport::Udp;
pub use window::{Seen, WINDOW, Window};

/// Scheme of addresses of datagrams.
pub const SCHEME: Scheme = Scheme::new("udp");

/// Returns the protocol: GIOP over UDP, under the name `diop`.
pub fn protocol() -> ProtocolStack {
    ProtocolStack::over_datagrams("diop", Diop, Arc::new(Udp)).expect("a name of letters")
}
