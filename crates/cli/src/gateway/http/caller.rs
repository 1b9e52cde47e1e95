//! Clients, as the access rules and the log know them.

use std::net::SocketAddr;

use oxorb::transport::PeerId;

/// Client of a connection.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) address: SocketAddr,
    /// Subject of its certificate, or else its address.
    pub(super) identity: PeerId,
    /// Whether the connection is encrypted.
    pub(super) is_protected: bool,
}

/// Client of a request.
pub(super) struct Client {
    pub(super) caller: Caller,
    /// Name of its token, which is empty for a token without a name; `None` without a token.
    pub(super) token: Option<String>,
}

impl Caller {
    /// Returns the client of a connection without TLS.
    pub(super) fn plain(address: SocketAddr) -> Caller {
        let identity = PeerId::Ip(address.ip().to_canonical());
        Caller { address, identity, is_protected: false }
    }

    /// Reports whether the client has shown a certificate, whose issuer the gateway trusts.
    pub(super) fn has_certificate(&self) -> bool {
        self.identity.subject().is_some()
    }
}

impl Client {
    /// Returns the name for the log: that of the token, or else the subject of the certificate.
    pub(super) fn name(&self) -> Option<String> {
        let token = self.token.clone().filter(|name| !name.is_empty());
        token.or_else(|| self.caller.identity.subject().map(ToString::to_string))
    }
}
