//! Verification of servers by clients.

use std::fmt;
use std::sync::Arc;

use oxorb_transport::ServerName as Wanted;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};

use crate::tls::provider::{provider, sha256};

/// Verifier of chain, revocation, name and pinned key of a server, in this order.
#[derive(Debug)]
pub(crate) struct Verifier {
    /// Chain, revocation and name; `None`: only the pinned keys are checked.
    pub(crate) chain: Option<Arc<WebPkiServerVerifier>>,
    pub(crate) pins: Vec<[u8; 32]>,
    pub(crate) wanted: Wanted,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(chain) = &self.chain {
            match chain.verify_server_cert(certificate, between, name, ocsp, now) {
                Ok(_) => {}
                // The name is verified last, so everything else is valid, and this setting accepts any name.
                Err(Error::InvalidCertificate(
                    CertificateError::NotValidForName
                    | CertificateError::NotValidForNameContext { .. },
                )) if self.wanted == Wanted::Any => {}
                Err(error) => return Err(error),
            }
        }
        if !self.pins.is_empty() {
            let parsed = ParsedCertificate::try_from(certificate)?;
            let own = sha256(parsed.subject_public_key_info().as_ref());
            if !self.pins.contains(&own) {
                let other = OtherError(Arc::new(NotPinned(own)));
                return Err(Error::InvalidCertificate(CertificateError::Other(other)));
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &provider().signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Error for a key that is not pinned.
struct NotPinned([u8; 32]);

impl fmt::Display for NotPinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its key is not pinned (-ORBTlsPins); its SHA-256 is ")?;
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for NotPinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for NotPinned {}
