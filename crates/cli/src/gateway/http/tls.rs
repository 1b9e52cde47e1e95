//! TLS of HTTP connections.

#[cfg(feature = "tls")]
pub(super) use with_tls::{Files, Tls, TlsConnection, caller};
#[cfg(not(feature = "tls"))]
pub(super) use without_tls::{Tls, TlsConnection, caller};

#[cfg(feature = "tls")]
mod with_tls {
    use std::fmt::Display;
    use std::net::SocketAddr;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use oxorb::tls::subject_of;
    use oxorb::transport::PeerId;
    use oxorb_sys::sync::Mutex;
    use tokio::net::TcpStream;
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
    use tokio_rustls::rustls::pki_types::pem::PemObject as _;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio_rustls::rustls::server::WebPkiClientVerifier;
    use tokio_rustls::rustls::server::danger::ClientCertVerifier;
    use tokio_rustls::rustls::{RootCertStore, ServerConfig};
    use tokio_rustls::server::TlsStream;

    use crate::gateway::http::caller::Caller;
    use crate::input;
    use oxorb_terminal::output::{Failed, because};

    /// Connection after its handshake.
    pub(in crate::gateway::http) type TlsConnection = TlsStream<TcpStream>;

    /// Server side of TLS handshakes.
    pub(in crate::gateway::http) struct Tls {
        files: Files,
        acceptor: Mutex<TlsAcceptor>,
    }

    /// Files of certificates, all in PEM.
    pub(in crate::gateway::http) struct Files {
        /// Own certificate, followed by those of its issuers.
        pub(in crate::gateway::http) certificate: PathBuf,
        pub(in crate::gateway::http) key: PathBuf,
        /// Authorities of clients; `None` if clients are not asked for certificates.
        pub(in crate::gateway::http) client_ca: Option<PathBuf>,
        /// Whether clients without a certificate are admitted.
        pub(in crate::gateway::http) admits_others: bool,
    }

    impl Tls {
        /// Reads the files.
        ///
        /// # Errors
        /// A file cannot be read, or its contents cannot be used.
        pub(in crate::gateway::http) fn new(files: Files) -> Result<Tls, Failed> {
            let acceptor = Mutex::new(files.acceptor()?);
            Ok(Tls { files, acceptor })
        }

        /// Reads the files again, for later handshakes. If that fails, the known certificates stay in use.
        ///
        /// # Errors
        /// Those of [`new`](Self::new).
        pub(in crate::gateway::http) fn reload(&self) -> Result<(), Failed> {
            let acceptor = self.files.acceptor()?;
            *self.acceptor.lock() = acceptor;
            Ok(())
        }

        /// Completes a handshake; `None` if it failed.
        pub(in crate::gateway::http) async fn accept(
            &self,
            stream: TcpStream,
        ) -> Option<TlsConnection> {
            let acceptor = self.acceptor.lock().clone();
            acceptor.accept(stream).await.ok()
        }
    }

    impl Files {
        fn acceptor(&self) -> Result<TlsAcceptor, Failed> {
            let secret = input::private(&self.key, "the key").map_err(because)?;
            let secret =
                input::octets_of(secret, "a key").map_err(|error| at(&self.key, &error))?;
            let own =
                PrivateKeyDer::from_pem_slice(&secret).map_err(|error| at(&self.key, &error))?;
            let chain = certificates(&self.certificate)?;
            let provider = Arc::new(ring::default_provider());
            let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
                .with_safe_default_protocol_versions()?
                .with_client_cert_verifier(self.clients(provider)?)
                .with_single_cert(chain, own);
            let mut config = config.map_err(|error| at(&self.certificate, &error))?;
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            Ok(TlsAcceptor::from(Arc::new(config)))
        }

        /// Returns the verification of clients.
        fn clients(
            &self,
            provider: Arc<CryptoProvider>,
        ) -> Result<Arc<dyn ClientCertVerifier>, Failed> {
            let Some(path) = &self.client_ca else {
                return Ok(WebPkiClientVerifier::no_client_auth());
            };
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| at(path, &error))?;
            }
            let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let clients = match self.admits_others {
                true => clients.allow_unauthenticated(),
                false => clients,
            };
            clients.build().map_err(|error| at(path, &error))
        }
    }

    fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failed> {
        CertificateDer::pem_file_iter(path)
            .and_then(|chain| chain.collect::<Result<Vec<_>, _>>())
            .map_err(|error| at(path, &error))
    }

    fn at(path: &Path, why: &dyn Display) -> Failed {
        because(format!("{}: {why}", path.display()))
    }

    /// Returns the client of a connection.
    pub(in crate::gateway::http) fn caller(
        connection: &TlsConnection,
        address: SocketAddr,
    ) -> Caller {
        let ip = address.ip().to_canonical();
        let (_, tls) = connection.get_ref();
        let certificate = tls.peer_certificates().and_then(|chain| chain.first());
        let subject = certificate.and_then(|certificate| subject_of(certificate, Some(ip)));
        let identity = subject.map_or(PeerId::Ip(ip), PeerId::Subject);
        Caller { address, identity, is_protected: true }
    }
}

#[cfg(not(feature = "tls"))]
mod without_tls {
    use std::net::SocketAddr;

    use crate::gateway::http::caller::Caller;
    use oxorb_terminal::output::Failed;
    use tokio::net::TcpStream;

    /// Connection that no handshake of this build makes.
    pub(in crate::gateway::http) type TlsConnection = TcpStream;

    /// TLS that this build lacks.
    pub(in crate::gateway::http) enum Tls {}

    impl Tls {
        /// Reads the files again.
        pub(in crate::gateway::http) fn reload(&self) -> Result<(), Failed> {
            match *self {}
        }

        /// Completes a handshake.
        pub(in crate::gateway::http) async fn accept(&self, _: TcpStream) -> Option<TlsConnection> {
            match *self {}
        }
    }

    /// Returns the client of a connection.
    pub(in crate::gateway::http) fn caller(_: &TlsConnection, address: SocketAddr) -> Caller {
        Caller::plain(address)
    }
}
