//! TLS of HTTP connections.

#[cfg(feature = "tls")]
pub(super) use with_tls::{Tls, TlsConnection};
#[cfg(not(feature = "tls"))]
pub(super) use without_tls::{Tls, TlsConnection};

#[cfg(feature = "tls")]
mod with_tls {
    use std::fmt::Display;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use oxorb_sys::sync::Mutex;
    use tokio::net::TcpStream;
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::pem::PemObject as _;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio_rustls::server::TlsStream;

    use crate::input;
    use oxorb_terminal::output::{Failed, because};

    /// Connection after its handshake.
    pub(in crate::gateway::http) type TlsConnection = TlsStream<TcpStream>;

    /// Server side of TLS handshakes.
    pub(in crate::gateway::http) struct Tls {
        certificate: PathBuf,
        key: PathBuf,
        acceptor: Mutex<TlsAcceptor>,
    }

    impl Tls {
        /// Reads a chain of certificates and its key, both in PEM.
        pub(in crate::gateway::http) fn new(certificate: &Path, key: &Path) -> Result<Tls, Failed> {
            let acceptor = Mutex::new(acceptor(certificate, key)?);
            let (certificate, key) = (certificate.to_owned(), key.to_owned());
            Ok(Tls { certificate, key, acceptor })
        }

        /// Reads the files again, for later handshakes. If that fails, the known certificate stays in use.
        ///
        /// # Errors
        /// A file cannot be read, or its contents cannot be used.
        pub(in crate::gateway::http) fn reload(&self) -> Result<(), Failed> {
            let acceptor = acceptor(&self.certificate, &self.key)?;
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

    fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, Failed> {
        let at = |path: &Path, why: &dyn Display| because(format!("{}: {why}", path.display()));
        let secret = input::private(key, "the key").map_err(because)?;
        let secret = input::octets_of(secret, "a key").map_err(|error| at(key, &error))?;
        let own = PrivateKeyDer::from_pem_slice(&secret).map_err(|error| at(key, &error))?;
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(|chain| chain.collect::<Result<Vec<_>, _>>())
            .map_err(|error| at(certificate, &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, own);
        let mut config = config.map_err(|error| at(certificate, &error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

#[cfg(not(feature = "tls"))]
mod without_tls {
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
}
