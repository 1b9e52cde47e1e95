//! GIOP over TLS: the transport, and the components by which IIOP's references name it (SSLIOP, CSIv2).
//!
//! TLS is [rustls](https://docs.rs/rustls)', driven by the threads that serve and call: there is no runtime. A connection is a
//! TCP connection whose octets nobody on the way reads or changes, to a server that proved who it is; the client may prove
//! it, too, and then is a [`PeerId::Subject`](oxorb_transport::PeerId::Subject) to access rules, filters, servants and logs.
//!
//! - Handshakes: [`Tls::start`](oxorb_transport::Transport::start) makes one as a further step of connecting, an acceptor
//!   makes all that are under way in steps that never wait, and hands out links whose peer is known. No thread of a
//!   lane or of a connection ever makes one.
//! - Certificates, keys and lists of revoked certificates are PEM files ([`Security`](oxorb_transport::Security)), which are
//!   read again when they change.
//! - References: TAG_SSL_SEC_TRANS and the TLS addresses of CSIv2 in IIOP profiles, whose port is 0 where there is no plain
//!   one. omniORB, JacORB and TAO read the same.

use std::sync::Arc;

use oxorb_core::protocol::Protocol;
use oxorb_transport::Scheme;

#[doc(hidden)]
pub mod fuzz;

mod accept;
mod certificate;
mod files;
mod handshake;
mod link;
#[cfg(feature = "certificates")]
mod make;
mod profile;
mod provider;
mod transport;
mod verify;
mod words;

pub use accept::TlsAcceptor;
pub use certificate::subject_of;
pub use link::TlsLink;
#[cfg(feature = "certificates")]
pub use make::{Made, Wanted, make};
pub use profile::{Ssliop, TAG};
pub use provider::{PROVIDER, provider};
pub use transport::Tls;

/// The scheme of addresses over TLS: `ssl:bank.example:2810`. The word is omniORB's, as in `giop:ssl:HOST:PORT`.
pub const SCHEME: Scheme = Scheme::new("ssl");

/// Returns the protocol: GIOP over TLS, under the name `iiops`. Each call makes one of its own, for one ORB: it holds that
/// ORB's certificates.
pub fn protocol() -> Protocol {
    let transport = Tls::new();
    let profile = Ssliop::new(&transport);
    let protocol = Protocol::new("iiops", profile, None, Arc::new(transport));
    protocol.expect("TLS is a reliable stream")
}
