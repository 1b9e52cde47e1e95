//! Names of the connections at which threads wait, for the list of threads.

use std::net::SocketAddr;

/// Returns the address of a server at one end of a connection, prefixed with its transport. Allocates.
pub(crate) fn place(address: String) -> String {
    // Addresses of transports other than TCP already contain the prefix.
    match address.parse::<SocketAddr>() {
        Ok(_) => format!("tcp:{address}"),
        Err(_) => address,
    }
}
