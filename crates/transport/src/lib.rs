//! Links that move bytes: TCP, memory, and wrappers for tests.
//!
//! A [`Link`] is a connected pipe of octets, an [`Acceptor`] gives one for each peer that
//! connects, an [`Endpoint`] is the text form of where to listen. [`connect`] and [`listen`] make
//! them. Each trait states its obligations; `tests/conformance` proves them for every
//! implementation, and a new one inherits the whole suite with one line.
//!
//! ```
//! use std::{io::IoSlice, time::Duration};
//!
//! let acceptor = oxorb_transport::listen(&"iiop://127.0.0.1:0".parse()?)?;
//! let port = acceptor.endpoint().port;
//! let client = oxorb_transport::connect("127.0.0.1", port, Duration::from_secs(5))?;
//! let server = acceptor.accept()?;
//!
//! client.write(&mut [IoSlice::new(b"GI"), IoSlice::new(b"OP")])?;
//! let mut buffer = Vec::new();
//! server.read(&mut buffer, 4096)?;
//! assert_eq!(buffer, b"GIOP");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate does *not* know what the octets mean: where a message ends is the business of
//! `oxorb-giop`, and only `oxorb-core` joins the two. It starts no thread and needs no runtime.
#![forbid(unsafe_code)]

mod acceptor;
mod access;
mod endpoint;
pub mod faulty;
mod link;
pub mod mem;
mod publish;
pub mod recorded;
pub mod stream;
pub mod tcp;

pub use acceptor::{Acceptor, ListenError, listen};
pub use access::{Access, AccessError};
pub use endpoint::{Endpoint, EndpointError, Protocol};
pub use link::{Facts, Link, Tuning, WriteError};
pub use publish::{Publish, published, published_hosts};
pub use tcp::{ConnectError, LookUps, connect, connect_first, connect_first_with};
