//! Certificates of a run, and the configurations of rustls for sides without an ORB.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::Result;

/// Folder with an authority's certificate (`ca.pem`) and a server's certificate and key (`server.pem`), removed on
/// drop.
pub(super) struct Certificates(PathBuf);

impl Certificates {
    /// Creates the certificates of 127.0.0.1.
    pub(super) fn new() -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("oxbench-tls-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let made = oxorb::tls::make(&oxorb::tls::WantedCertificates {
            hosts: vec!["127.0.0.1".to_owned()],
            clients: Vec::new(),
            days: 2,
        })?;
        for one in made {
            std::fs::write(folder.join(one.name), one.content)?;
        }
        Ok(Self(folder))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the configuration of a client that trusts the authority in a folder.
pub(super) fn client(folder: &Path, resumption: Resumption) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(folder.join("ca.pem"))?)?;
    let mut config = ClientConfig::builder_with_provider(Arc::clone(oxorb::tls::provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = resumption;
    Ok(Arc::new(config))
}

/// Returns the configuration of a server with the certificate in a folder: the same versions, cipher suites and tickets
/// as those of OxORB's servers.
pub(super) fn server(folder: &Path) -> Result<Arc<ServerConfig>> {
    let own = folder.join("server.pem");
    let chain: std::result::Result<Vec<_>, _> = CertificateDer::pem_file_iter(&own)?.collect();
    let mut config = ServerConfig::builder_with_provider(Arc::clone(oxorb::tls::provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain?, PrivateKeyDer::from_pem_file(&own)?)?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.ticketer = rustls::crypto::ring::Ticketer::new()?;
    config.send_tls13_tickets = 1;
    Ok(Arc::new(config))
}
