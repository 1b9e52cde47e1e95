//! TLS of HTTP connections.

#[cfg(feature = "tls")]
pub(super) use with_tls::Tls;
#[cfg(not(feature = "tls"))]
pub(super) use without_tls::Tls;

#[cfg(feature = "tls")]
mod with_tls {
    use std::fmt::Display;
    use std::path::Path;
    use std::sync::Arc;

    use tokio::net::TcpStream;
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::pem::PemObject as _;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio_rustls::server::TlsStream;

    use crate::gateway::http::tokens::private;
    use oxorb_terminal::output::{Failed, because};

    /// Server side of TLS handshakes.
    #[derive(Clone)]
    pub(in crate::gateway::http) struct Tls(TlsAcceptor);

    impl Tls {
        /// Reads a chain of certificates and its key, both in PEM.
        pub(in crate::gateway::http) fn new(certificate: &Path, key: &Path) -> Result<Tls, Failed> {
            let at = |path: &Path, why: &dyn Display| because(format!("{}: {why}", path.display()));
            private(key, "the key")?;
            let chain = CertificateDer::pem_file_iter(certificate)
                .and_then(|chain| chain.collect::<Result<Vec<_>, _>>())
                .map_err(|error| at(certificate, &error))?;
            let own = PrivateKeyDer::from_pem_file(key).map_err(|error| at(key, &error))?;
            let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()?
                .with_no_client_auth()
                .with_single_cert(chain, own);
            let mut config = config.map_err(|error| at(certificate, &error))?;
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            Ok(Tls(TlsAcceptor::from(Arc::new(config))))
        }

        /// Completes a handshake; `None` if it failed.
        pub(in crate::gateway::http) async fn accept(
            &self,
            stream: TcpStream,
        ) -> Option<TlsStream<TcpStream>> {
            self.0.accept(stream).await.ok()
        }
    }
}

#[cfg(not(feature = "tls"))]
mod without_tls {
    use tokio::net::TcpStream;

    /// TLS that this build lacks.
    #[derive(Clone)]
    pub(in crate::gateway::http) enum Tls {}

    impl Tls {
        /// Returns the stream of a handshake.
        pub(in crate::gateway::http) async fn accept(&self, _: TcpStream) -> Option<TcpStream> {
            match *self {}
        }
    }
}
