//! Tests of the protocols and their transports, a module for each.

#[cfg(feature = "datagrams")]
mod datagram;
#[cfg(feature = "memory")]
mod shm;
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
mod tls;
#[cfg(feature = "unix")]
mod unix;
