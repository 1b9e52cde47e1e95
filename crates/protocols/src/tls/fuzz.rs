//! Entry points of fuzz targets: any input causes at worst a clear error, and memory use in
//! proportion to its size.

use std::sync::Arc;

use rustls::{Connection, ServerConfig, ServerConnection};

use crate::tls::handshake::Records;
use crate::tls::link::Side;
use crate::tls::subject_of;

/// Passes octets to a server's handshake, as from a client, in pieces of `piece` octets. Reports
/// whether the server refused them.
pub fn records(config: &Arc<ServerConfig>, octets: &[u8], piece: usize) -> bool {
    let server = ServerConnection::new(Arc::clone(config)).expect("the configuration is sound");
    let mut tls = Connection::Server(server);
    let mut records = Records::new(Side::Server);
    let mut rest = octets;
    while !rest.is_empty() && tls.is_handshaking() {
        let count = records.missing().min(piece.max(1)).min(rest.len());
        assert!(count > 0, "a record that needs nothing was not given to TLS");
        let (now, behind) = rest.split_at(count);
        records.octets.extend_from_slice(now);
        records.received += count;
        rest = behind;
        if records.give(&mut tls).is_err() {
            return true;
        }
        let mut answer = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut answer).expect("a Vec takes all");
        }
    }
    false
}

/// Parses octets as a certificate.
pub fn certificate(octets: &[u8]) {
    if let Some(subject) = subject_of(octets, None) {
        assert!(subject.name.len() <= 1024 + 3 && subject.names.len() <= 64);
        assert!(subject.is_called("*"));
        assert!(!subject.to_string().is_empty());
    }
}

/// Passes octets to a server of this process, in pieces whose size is the value of the first octet. If
/// that is 0, parses the others as a certificate.
#[cfg(feature = "certificates")]
pub fn handshakes(octets: &[u8]) {
    static CONFIG: std::sync::LazyLock<Arc<ServerConfig>> = std::sync::LazyLock::new(config);
    match octets {
        [] => {}
        [0, rest @ ..] => certificate(rest),
        [piece, rest @ ..] => {
            records(&CONFIG, rest, usize::from(*piece));
        }
    }
}

/// Returns the configuration of a server that requests client certificates.
#[cfg(feature = "certificates")]
fn config() -> Arc<ServerConfig> {
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};

    let made = crate::tls::make(&crate::tls::WantedCertificates {
        hosts: vec!["localhost".to_owned()],
        clients: Vec::new(),
        days: 2,
    });
    let made = made.expect("all of it can be");
    let content = |name: &str| {
        let mut made = made.iter().filter(|made| made.name == name);
        made.next().expect("it was made").content.as_bytes().to_vec()
    };
    let mut roots = rustls::RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(&content("ca.pem")).expect("a certificate");
    roots.add(root).expect("an authority");
    let provider = crate::tls::provider();
    let clients = rustls::server::WebPkiClientVerifier::builder_with_provider(
        Arc::new(roots),
        Arc::clone(provider),
    );
    let own = content("server.pem");
    let config = ServerConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .expect("the provider knows them")
        .with_client_cert_verifier(clients.build().expect("a root"))
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(&own).expect("a certificate")],
            PrivateKeyDer::from_pem_slice(&own).expect("a key"),
        );
    Arc::new(config.expect("they belong together"))
}
