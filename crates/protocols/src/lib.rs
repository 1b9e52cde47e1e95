//! Protocols in addition to IIOP. Each combines a transport, messages and a profile of references,
//! and is a feature:
//!
//! | feature | module | endpoints | what it is |
//! |---|---|---|---|
//! | `unix` | [`unix`] | `uiop://` | GIOP over UNIX sockets, compatible with TAO |
//! | `memory` | [`shm`] | `shm://` | GIOP over shared memory |
//! | `datagrams` | [`datagram`] | `diop://`, `miop://` | GIOP over UDP, compatible with TAO; oneways to groups |
//! | `tls`, with `ring` or `aws-lc-rs` | [`tls`] | `iiops://` | GIOP over TLS (SSLIOP) |
//!
//! No protocol affects the requests of another, and no application uses this crate: the facade
//! `oxorb` adds the protocols that its own features name.
#![forbid(unsafe_code)]
#![allow(unexpected_cfgs, reason = "loom is asked for by RUSTFLAGS alone")]

#[cfg(feature = "datagrams")]
pub mod datagram;
#[cfg(feature = "memory")]
pub mod shm;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(feature = "unix")]
pub mod unix;
