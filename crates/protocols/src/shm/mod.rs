//! GIOP over shared memory: the transport, and the profile by which references name it.
//!
//! Connections within a host whose octets bypass the kernel. Client and server share a segment of
//! memory with a ring for each direction; while both are busy, a message costs no system call. A
//! UNIX socket connects the two processes, identifies the peer, wakes a thread that waits for many
//! connections, and reports the death of the other process at once.
//!
//! ```
//! use std::io::IoSlice;
//! use oxorb_protocols::shm::Shm;
//! use oxorb_transport::{Notation, Part, Start, Transport};
//!
//! let endpoint = Shm.endpoints(Notation::Url, Part::new(""))?.remove(0);
//! let acceptor = Shm.listen(&endpoint)?; // a temporary name
//! let address = Shm.own_address(acceptor.endpoint());
//! let Start::Done(client) = Shm.start(&address)? else { unreachable!("nobody else waits") };
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

mod accept;
mod blocks;
#[doc(hidden)]
pub mod fuzz;
mod greeting;
mod lend;
mod link;
mod page_reclaim;
mod pages;
mod place;
mod profile;
mod refused;
mod ring;
mod room;
mod segment;
mod splices;
mod state;
mod time;
mod transport;
mod watch;
mod write;

pub use accept::ShmAcceptor;
#[doc(hidden)]
pub use greeting::VERSION;
pub use link::{MAX_SPIN, ShmLink};
pub use place::{DEFAULT_BLOCKS, DEFAULT_RING, MAX_BLOCKS, MAX_RING, MIN_RING, Place};
pub use profile::ShmProfile;
pub use transport::Shm;

/// Scheme of addresses in shared memory: `shm:/run/bank`, `shm:@abstract`, `shm:1048576:/run/bank`.
pub const SCHEME: Scheme = Scheme::new("shm");

/// Returns the protocol: GIOP over shared memory, under the name `shm`.
pub fn protocol() -> ProtocolStack {
    let protocol = ProtocolStack::new("shm", ShmProfile, None, Arc::new(Shm));
    protocol.expect("shared memory is a reliable stream")
}
