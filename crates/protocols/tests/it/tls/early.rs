//! Octets that a client sends together with the end of its handshake.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use oxorb_protocols::tls::provider;
use oxorb_testkit::watchdog;
use oxorb_transport::*;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore, SupportedCipherSuite};

use crate::tls::common::{Authority, prepared, with};

const LONG: Duration = Duration::from_secs(30);

/// Returns the configuration of a client that supports one cipher suite.
fn client(suite: SupportedCipherSuite, authority: &Authority) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.roots()).unwrap()).unwrap();
    let provider = CryptoProvider { cipher_suites: vec![suite], ..(**provider()).clone() };
    let config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[suite.version()])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

/// Connects, and sends `content` in one system call with the last records of the handshake. Returns the connection
/// after an octet was read, so that the client has the server's ticket.
fn send(place: &str, config: &Arc<ClientConfig>, content: &[u8]) -> (ClientConnection, TcpStream) {
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let mut tls = ClientConnection::new(Arc::clone(config), name).unwrap();
    // TLS keeps it until it has the keys.
    tls.writer().write_all(content).unwrap();
    let mut stream = TcpStream::connect(place).unwrap();
    while tls.is_handshaking() || tls.wants_write() {
        tls.complete_io(&mut stream).unwrap();
    }
    let mut octet = [0];
    std::io::Read::read_exact(&mut rustls::Stream::new(&mut tls, &mut stream), &mut octet).unwrap();
    (tls, stream)
}

#[test]
fn they_are_read_with_every_cipher_suite() {
    let _bound = watchdog(Duration::from_secs(120));
    let authority = Authority::new("Test CA");
    let own = authority.sign("server", &["127.0.0.1"]);
    let server = prepared(Security { old: true, ..with(&authority.roots(), &own) });
    let endpoint = server.endpoints(Notation::Url, Part::new("127.0.0.1:0")).unwrap().remove(0);
    let acceptor = server.listen(&endpoint).unwrap();
    let place = acceptor.endpoint().place.clone();
    // The key of the certificate is one of elliptic curves.
    let suites = provider().cipher_suites.iter().copied();
    let suites = suites.filter(|suite| !format!("{:?}", suite.suite()).contains("_RSA_"));
    let mut tried = 0;
    for suite in suites {
        let config = client(suite, &authority);
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
            thread::scope(|scope| {
                let sent = scope.spawn(|| send(&place, &config, b"hello"));
                let link = acceptor.accept().unwrap();
                link.set_read_timeout(Some(LONG)).unwrap();
                let mut octets = Vec::new();
                while octets.len() < 5 {
                    link.read(&mut octets, 5).unwrap();
                }
                assert_eq!(octets, b"hello", "{suite:?}");
                link.write(&mut [std::io::IoSlice::new(b"x")]).unwrap();
                let (tls, _stream) = sent.join().unwrap();
                let is_resumed = tls.handshake_kind() == Some(HandshakeKind::Resumed);
                assert_eq!(is_resumed, kind == HandshakeKind::Resumed, "{suite:?}");
            });
        }
        tried += 1;
    }
    assert!(tried >= 5, "{tried} suites");
}
