//! DIOP: GIOP over UDP, as TAO has it.
//!
//! A message is a datagram, whole and with nothing around it. Oneways go to TAO's servers and come from TAO's clients;
//! between OxORB's ends two-ways have answers, too, which TAO's clients do not read. Endpoints are `diop://HOST:PORT`, URLs
//! `corbaloc:diop:HOST:PORT/KEY`.
//!
//! Datagrams are lost, come twice and overtake each other. What that means for calls is decided in [`Session`], which has no
//! socket, and tried there in any weather:
//!
//! | | requests | replies |
//! |---|---|---|
//! | lost | not run; a two-way call ends with TIMEOUT, COMPLETED_MAYBE | the same exception, and the request was run |
//! | twice | run once: the server remembers the numbers of a source, [`WINDOW`] back from the highest | passed over |
//! | overtaken | run in the order in which they come | given to the calls that wait for them |
//! | cut off, damaged | not run | passed over |
//!
//! A message that is larger than a datagram is refused with IMP_LIMIT, which names both numbers: fragments of GIOP have no
//! number of their own, and could not be put together again in order. A server sends no more octets to a source than came
//! from there, until the source has shown that it gets what is sent to its address.
//!
//! Beside it, in [`group`]: MIOP, oneways to groups over multicast.
//!
//! This crate does *not* run requests or know what is in them. Nothing of it is on the way of other protocols.

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

use oxorb_core::protocol::Protocol;
use oxorb_transport::Scheme;

pub use link::LONGEST_WAIT;
pub use place::{LEAST_MOST, MOST_SOURCES, USUAL_MOST, USUAL_SOURCES};
pub use profile::Diop;
pub use session::{Arrival, CHALLENGE, Departure, Reason, Role, Session};
pub use transport::Udp;
pub use window::{Seen, WINDOW, Window};

/// The scheme of addresses of datagrams.
pub const SCHEME: Scheme = Scheme::new("udp");

/// GIOP over UDP, under the name `diop`.
pub fn protocol() -> Protocol {
    Protocol::over_datagrams("diop", Diop, Arc::new(Udp)).expect("a name of letters")
}
