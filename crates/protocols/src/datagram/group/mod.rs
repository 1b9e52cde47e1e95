//! MIOP 1.0: oneways to all members of a group, over UDP multicast.
//!
//! A message is divided into packets, each with a [header](packet), and reassembled by its
//! receivers ([`Reassembly`], which has no socket and no clock). References name a group and its
//! address in a profile of their own ([`Uipmc`]); URLs are
//! `corbaloc:miop:1.0@1.0-DOMAIN-GROUP[-VERSION]/ADDRESS:PORT`, endpoints `miop://ADDRESS:PORT`.
//!
//! | | requests |
//! |---|---|
//! | a packet lost | not run by the members that lack it |
//! | a packet or message duplicated | run once: the member remembers [`REMEMBERED`] messages of a source |
//! | packets reordered | reassembled nevertheless |
//! | messages reordered | run in the order of their completion |
//! | malformed, contradictory, with answers expected | not run, and counted |

mod acceptor;
pub mod fuzz;
mod hear;
pub mod packet;
mod place;
mod profile;
mod reassembly;
mod send;
#[cfg(test)]
mod tests;
mod transport;

use std::sync::Arc;

use oxorb_core::protocol::ProtocolStack;
use oxorb_transport::Scheme;

pub use profile::Uipmc;
pub use reassembly::{
    Counts, Limits, MOST_COLLECTIONS, MOST_OF_SOURCE, MOST_PACKETS, REMEMBERED, Reassembly,
    USUAL_KEPT, USUAL_TIMEOUT,
};
pub use send::MOST_MESSAGE;
pub use transport::Groups;

/// Scheme of addresses of groups.
pub const SCHEME: Scheme = Scheme::new("miop");

/// Returns the protocol: GIOP over UDP multicast, under the name `miop`.
pub fn protocol() -> ProtocolStack {
    ProtocolStack::over_datagrams("miop", Uipmc, Arc::new(Groups::default()))
        .expect("a name of letters")
}
