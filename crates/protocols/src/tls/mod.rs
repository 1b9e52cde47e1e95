//! GIOP over TLS: the transport, and the components by which IIOP's references name it (SSLIOP,
//! CSIv2).
//!
//! TLS is implemented by [rustls](https://docs.rs/rustls), driven by the serving and calling
//! threads: there is no async runtime. A connection is a TCP connection whose octets are protected
//! in transit, to an authenticated server; the client may authenticate itself, too, and then is a
//! [`PeerId::Subject`](oxorb_transport::PeerId::Subject) to access rules, filters, servants and
//! logs.
//!
//! - Handshakes: [`Tls::start`](oxorb_transport::Transport::start) performs one as a further step
//!   of connecting; an acceptor advances all handshakes in progress in steps that never wait, and
//!   returns links with known peers. No thread of a lane or of a connection ever performs one.
//! - Certificates, keys and revocation lists are PEM files
//!   ([`Security`](oxorb_transport::Security)), which are reloaded when they change.
//! - References: TAG_SSL_SEC_TRANS and the TLS addresses of CSIv2 in IIOP profiles, whose port is 0
//!   without a plain one. omniORB, JacORB and TAO read the same components.

use std::sync::Arc;

use oxorb_core::protocol::ProtocolStack;
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
mod server;
mod transport;
mod verify;
mod words;

pub use accept::TlsAcceptor;
pub use certificate::subject_of;
pub use link::TlsLink;
#[cfg(feature = "certificates")]
pub use make::{CertificateFile, WantedCertificates, make};
pub use profile::{Ssliop, TAG};
pub use provider::{PROVIDER, provider};
pub use server::{ServerFiles, refusal};
pub use transport::Tls;

/// Scheme of addresses over TLS: `ssl:bank.example:2810`. The word is omniORB's, as in
/// `giop:ssl:HOST:PORT`.
pub const SCHEME: Scheme = Scheme::new("ssl");

/// Returns the protocol: GIOP over TLS, under the name `iiops`. Each call returns a new one for one
/// ORB, whose certificates it holds.
pub fn protocol() -> ProtocolStack {
    let transport = Tls::new();
    let profile = Ssliop::new(&transport);
    let protocol = ProtocolStack::new("iiops", profile, None, Arc::new(transport));
    protocol.expect("TLS is a reliable stream")
}
