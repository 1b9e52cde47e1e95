//! Places at which threads wait for connections, as the list of threads shows them.

use oxorb_transport::{Link, PeerId};

/// Returns the address of a server at one end of a connection, with the transport in front. Allocates.
pub(crate) fn place(link: &dyn Link, address: String) -> String {
    // Addresses of other transports than TCP have it already.
    match link.identity() {
        PeerId::Ip(_) => format!("tcp:{address}"),
        _ => address,
    }
}
