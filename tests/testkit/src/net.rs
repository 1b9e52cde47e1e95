//! Free ports.

use std::net::{Ipv4Addr, TcpListener};

/// A TCP port of the IPv4 loopback address on which nobody listens now.
///
/// Another process might take it before the caller does; where the server can choose its own port
/// (port 0), that is better.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free loopback port");
    listener
        .local_addr()
        .expect("a bound socket has an address")
        .port()
}
