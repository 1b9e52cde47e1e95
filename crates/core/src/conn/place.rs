//! Places at which threads wait for connections, as the list of threads shows them.

use std::net::SocketAddr;

/// Returns the address of a server at one end of a connection, with the transport in front. Allocates.
pub(crate) fn place(address: String) -> String {
    // Addresses of other transports than TCP have it already.
    match address.parse::<SocketAddr>() {
        Ok(_) => format!("tcp:{address}"),
        Err(_) => address,
    }
}
