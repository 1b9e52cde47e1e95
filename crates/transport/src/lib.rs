//! Transports and their links: TCP, memory, and wrappers for tests.
//!
//! A [`Link`] is a connected pipe of octets, an [`Acceptor`] returns one for each peer that
//! connects, and a [`Transport`] makes both: it parses the text of an [`Endpoint`] to listen on,
//! and connects to an [`Address`]. [`connect_first`] connects to the first of several addresses
//! that answers, over any transports. Each trait lists its obligations; the crate
//! `oxorb-conformance` tests them for every implementation, and a new implementation instantiates
//! each suite with one line.
//!
//! ```
//! use std::{io::IoSlice, time::Duration};
//! use oxorb_transport::{Transport, tcp::{Place, Tcp}};
//!
//! let acceptor = Tcp.listen(&Place::new("127.0.0.1", 0).into())?;
//! let address = Tcp.own_address(acceptor.endpoint());
//! let client = oxorb_transport::connect(&Tcp, &address, Duration::from_secs(5))?;
//! let server = acceptor.accept()?;
//!
//! client.write(&mut [IoSlice::new(b"GI"), IoSlice::new(b"OP")])?;
//! let mut buffer = Vec::new();
//! server.read(&mut buffer, 4096)?;
//! assert_eq!(buffer, b"GIOP");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate does *not* know what the octets mean: `oxorb-giop` finds the ends of messages, and
//! only `oxorb-core` joins the two. It starts no threads except for looking up names, and needs no
//! runtime.
#![forbid(unsafe_code)]

mod acceptor;
mod access;
mod address;
mod endpoint;
pub mod faulty;
mod identity;
mod link;
pub mod mem;
mod multicast;
mod properties;
mod race;
pub mod recorded;
mod refused;
mod security;
pub mod stream;
pub mod tcp;
mod transport;

pub use acceptor::{Acceptor, ListenError};
pub use access::{Access, AccessError};
pub use address::{Address, AddressError, Scheme};
pub use endpoint::{Endpoint, EndpointError, Part};
pub use identity::{PeerId, Subject, SubjectName};
pub use link::{Facts, Lender, Link, Rooms, WriteError};
pub use multicast::Multicast;
pub use oxorb_lend::{LARGE, Lease, Room, RoomPlace};
pub use properties::{Pages, Properties};
pub use race::{
    AddressAttempt, ConnectError, ConnectTarget, Surroundings, connect, connect_first,
    connect_first_with,
};
pub use refused::{Oversized, RefusedConnection, Unanswered};
pub use security::{ClientCertificates, Security, SecurityError, ServerName};
pub use tcp::Publish;
pub use transport::{Connecting, LookUp, Notation, Resolve, Start, Transport};
