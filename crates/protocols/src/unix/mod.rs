//! GIOP over UNIX sockets: the transport, and the profile by which references name it (TAO's UIOP).
//!
//! Connections within a host without a network stack: less work for each message than TCP over
//! loopback, file permissions decide who may connect, and the kernel reports who did.
//!
//! ```
//! use std::io::IoSlice;
//! use oxorb_transport::{Notation, Part, Start, Transport};
//!
//! let endpoint = oxorb_protocols::unix::Unix.endpoints(Notation::Url, Part::new(""))?.remove(0);
//! let acceptor = oxorb_protocols::unix::Unix.listen(&endpoint)?; // a temporary name
//! let address = oxorb_protocols::unix::Unix.own_address(acceptor.endpoint());
//! let Start::Done(client) = oxorb_protocols::unix::Unix.start(&address)? else { unreachable!("nobody else waits") };
//! let server = acceptor.accept()?;
//! client.write(&mut [IoSlice::new(b"GIOP")])?;
//! let mut buffer = Vec::new();
//! server.read(&mut buffer, 4096)?;
//! assert_eq!(buffer, b"GIOP");
//! println!("a request of {}", server.identity()); // uid 1000, gid 100, pid 4711
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::Arc;

use oxorb_core::protocol::ProtocolStack;
use oxorb_transport::Scheme;

#[doc(hidden)]
pub mod fuzz;

mod accept;
mod file;
mod known;
mod link;
mod offer;
mod place;
mod profile;
mod transport;

pub use accept::{Listening, UnixAcceptor};
pub use known::Known;
pub use link::UnixLink;
pub use offer::{Offered, verify_offer};
pub use place::{Name, OwnOption, Place, read_urls};
pub use profile::Uiop;
pub use transport::{Unix, connect};

/// Scheme of addresses of UNIX sockets: `unix:/run/bank`, `unix:@abstract`.
pub const SCHEME: Scheme = Scheme::new("unix");

/// Returns the protocol: GIOP over UNIX sockets, under the name `uiop`.
pub fn protocol() -> ProtocolStack {
    let protocol = ProtocolStack::new("uiop", Uiop, None, Arc::new(Unix));
    protocol.expect("UNIX sockets are reliable streams")
}
