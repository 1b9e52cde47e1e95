//! TLS of HTTP connections.

#[cfg(feature = "tls")]
pub(super) use with_tls::{Files, Tls, TlsConnection, caller};
#[cfg(not(feature = "tls"))]
pub(super) use without_tls::{Tls, TlsConnection, caller};

#[cfg(feature = "tls")]
mod with_tls {
    use std::io;
    use std::net::SocketAddr;
    use std::path::PathBuf;
    use std::sync::Arc;

    use oxorb::tls::{ServerFiles, refusal, subject_of};
    use oxorb::transport::{ClientCertificates, PeerId, Security, SecurityError};
    use tokio::net::TcpStream;
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::{Error, PeerIncompatible};
    use tokio_rustls::server::TlsStream;

    use crate::gateway::http::caller::Caller;
    use crate::input;
    use oxorb_terminal::output::{Done, Failed, because, error};

    /// Connection after its handshake.
    pub(in crate::gateway::http) type TlsConnection = TlsStream<TcpStream>;

    /// Server side of TLS handshakes.
    pub(in crate::gateway::http) struct Tls {
        key: PathBuf,
        server: ServerFiles,
    }

    /// Files of certificates, all in PEM.
    pub(in crate::gateway::http) struct Files {
        /// Own certificate, followed by those of its issuers.
        pub(in crate::gateway::http) certificate: PathBuf,
        pub(in crate::gateway::http) key: PathBuf,
        /// Authorities of clients; `None` if clients are not asked for certificates.
        pub(in crate::gateway::http) client_ca: Option<PathBuf>,
        /// Lists of revoked certificates of clients; `None` if revocation is not checked.
        pub(in crate::gateway::http) client_crl: Option<PathBuf>,
        /// Whether clients without a certificate are admitted.
        pub(in crate::gateway::http) admits_others: bool,
    }

    impl Tls {
        /// Reads the files.
        ///
        /// # Errors
        /// A file cannot be read, or its contents cannot be used.
        pub(in crate::gateway::http) fn new(files: Files) -> Result<Tls, Failed> {
            check(&files.key)?;
            let security = Security {
                certificate: Some(files.certificate),
                key: Some(files.key.clone()),
                clients: match (&files.client_ca, files.admits_others) {
                    (None, _) => ClientCertificates::Ignored,
                    (Some(_), true) => ClientCertificates::Asked,
                    (Some(_), false) => ClientCertificates::Required,
                },
                roots: files.client_ca,
                revoked: files.client_crl,
                // Clients of HTTP are programs of any age.
                old: true,
                ..Security::default()
            };
            let server = ServerFiles::new(&security).map_err(|error| unusable(&error))?;
            Ok(Tls { key: files.key, server })
        }

        /// Reads the files again, for later handshakes. If that fails, the known certificates stay in use.
        ///
        /// # Errors
        /// Those of [`new`](Self::new).
        pub(in crate::gateway::http) fn reload(&self) -> Done {
            check(&self.key)?;
            self.server.reload().map_err(|error| unusable(&error))
        }

        /// Completes a handshake.
        ///
        /// # Errors
        /// The reason why the handshake failed, as the rest of a sentence, and the connection, on which the reason was
        /// sent.
        pub(in crate::gateway::http) async fn accept(
            &self,
            stream: TcpStream,
        ) -> Result<TlsConnection, (String, TcpStream)> {
            let config = self.server.config();
            if let Some(why) = self.server.complaint() {
                error(&in_options(&why));
            }
            let mut config = match config {
                Ok(config) => (*config).clone(),
                Err(why) => return Err((why, stream)),
            };
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            let accepted = TlsAcceptor::from(Arc::new(config)).accept(stream).into_fallible().await;
            accepted.map_err(|(error, stream)| (reason(&error), stream))
        }
    }

    /// Checks that only its owner can read the key.
    fn check(key: &std::path::Path) -> Done {
        input::private(key, "the key").map(drop).map_err(because)
    }

    fn unusable(error: &SecurityError) -> Failed {
        because(in_options(&error.to_string()))
    }

    /// Options of the gateway by the beginnings of errors about settings of an ORB.
    const OPTIONS: [(&str, &str); 4] = [
        ("-ORBTlsCertificate", "--certificate"),
        ("-ORBTlsKey", "--key"),
        ("-ORBTlsRoots", "--tls-client-ca"),
        ("-ORBTlsRevoked", "--tls-client-crl"),
    ];

    /// Returns an error about a file with the option of the gateway instead of the setting of an ORB.
    fn in_options(text: &str) -> String {
        OPTIONS
            .iter()
            .fold(text.to_owned(), |text, (setting, option)| text.replace(setting, option))
    }

    /// Returns the reason why a handshake failed, as the rest of a sentence.
    fn reason(error: &io::Error) -> String {
        let of_tls = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
        match of_tls {
            Some(Error::NoCertificatesPresented) => {
                "the client showed no certificate, but one is required, or a token \
                 (--tls-client-ca, --tokens)"
                    .to_owned()
            }
            Some(Error::PeerIncompatible(
                PeerIncompatible::SupportedVersionsExtensionRequired
                | PeerIncompatible::SignatureAlgorithmsExtensionRequired
                | PeerIncompatible::Tls12NotOfferedOrEnabled,
            )) => "the client supports neither TLS 1.2 nor TLS 1.3".to_owned(),
            Some(error @ Error::InvalidCertificate(_)) => in_options(&refusal(error)),
            Some(error) => refusal(error),
            None if error.kind() == io::ErrorKind::UnexpectedEof => {
                "the client closed the connection in the middle of the handshake".to_owned()
            }
            None => format!("the connection to the client was lost: {error}"),
        }
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
        pub(in crate::gateway::http) async fn accept(
            &self,
            _: TcpStream,
        ) -> Result<TlsConnection, (String, TcpStream)> {
            match *self {}
        }
    }

    /// Returns the client of a connection.
    pub(in crate::gateway::http) fn caller(_: &TlsConnection, address: SocketAddr) -> Caller {
        Caller::plain(address)
    }
}
