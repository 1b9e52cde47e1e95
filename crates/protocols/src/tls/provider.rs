//! Cryptography provider chosen by the build.

use std::sync::{Arc, LazyLock};

use rustls::crypto::CryptoProvider;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::ProducesTickets;
use rustls::sign::SigningKey;

#[cfg(feature = "aws-lc-rs")]
use rustls::crypto::aws_lc_rs as chosen;
#[cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
use rustls::crypto::ring as chosen;

#[cfg(not(any(feature = "ring", feature = "aws-lc-rs")))]
compile_error!("`tls` needs one of the features ring and aws-lc-rs");

/// Name of the cryptography library: `ring` or `aws-lc-rs`.
pub const PROVIDER: &str = match cfg!(feature = "aws-lc-rs") {
    true => "aws-lc-rs",
    false => "ring",
};

static CHOSEN: LazyLock<Arc<CryptoProvider>> =
    LazyLock::new(|| Arc::new(chosen::default_provider()));

/// Returns the cryptography provider, which is the same value for the entire process.
pub fn provider() -> &'static Arc<CryptoProvider> {
    &CHOSEN
}

/// Returns the key for signatures of a private key, which is not copied in its encoded form.
///
/// # Errors
/// The provider does not support the kind of key.
pub(crate) fn signing_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, rustls::Error> {
    chosen::sign::any_supported_type(key)
}

/// Returns a generator of session tickets with fresh keys, which are replaced every few hours.
pub(crate) fn tickets() -> Result<Arc<dyn ProducesTickets>, rustls::Error> {
    chosen::Ticketer::new()
}

/// Returns the SHA-256 of octets.
pub(crate) fn sha256(octets: &[u8]) -> [u8; 32] {
    let suite = chosen::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let suite = suite.tls13().expect("it is one of TLS 1.3");
    let hash = suite.common.hash_provider.hash(octets);
    hash.as_ref().try_into().expect("SHA-256 has 32 octets")
}
