//! Files of certificates, keys and revocation lists, reloaded when they change.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb_sys::sync::Mutex;
use oxorb_transport::{ClientCertificates, Security, SecurityError};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    ClientConfig, InconsistentKeys, RootCertStore, ServerConfig, SupportedProtocolVersion, version,
};
use zeroize::Zeroizing;

use crate::tls::provider::{provider, signing_key, tickets};
use crate::tls::verify::Verifier;

/// Shortest interval between two checks of the files.
const LOOK: Duration = Duration::from_secs(1);

/// Largest size of a file, in octets.
const MAX_FILE: u64 = 16 << 20;

/// Byte order mark of UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Number of servers whose sessions a client remembers.
const SESSIONS: usize = 256;

/// Certificates of an ORB, as last loaded.
#[derive(Clone)]
pub(crate) struct Loaded {
    /// Configuration for accepting; or the reason why there is none.
    pub(crate) server: Result<Arc<ServerConfig>, String>,
    /// Configuration for connecting; or the reason why there is none.
    pub(crate) client: Result<Arc<ClientConfig>, String>,
    pub(crate) security: Arc<Security>,
}

/// Files of an ORB, and their last loaded contents.
#[derive(Default)]
pub(crate) struct Files(Mutex<State>);

#[derive(Default)]
struct State {
    loaded: Option<Loaded>,
    stamps: Vec<Option<Stamp>>,
    looked: Option<Instant>,
    /// Reason why changed files could not be loaded, until reported.
    complaint: Option<String>,
}

/// Attributes that change with a file.
type Stamp = (i64, i64, u64, u64);

impl Files {
    /// Loads the files. The first call decides which.
    pub(crate) fn prepare(&self, security: &Security) -> Result<(), SecurityError> {
        let mut state = self.0.lock();
        if state.loaded.is_some() {
            return Ok(());
        }
        state.stamps = stamps(security);
        state.looked = Some(Instant::now());
        state.loaded = Some(load(&Arc::new(security.clone()))?);
        Ok(())
    }

    /// Reloads the files.
    pub(crate) fn reload(&self) -> Result<(), SecurityError> {
        let mut state = self.0.lock();
        let Some(loaded) = &state.loaded else {
            return Ok(());
        };
        let security = Arc::clone(&loaded.security);
        state.stamps = stamps(&security);
        state.loaded = Some(load(&security)?);
        Ok(())
    }

    /// Returns the loaded files, after checking them again if the last check was at least a second
    /// ago. Reloads changed files.
    pub(crate) fn current(&self) -> Loaded {
        let mut state = self.0.lock();
        let now = Instant::now();
        let Some(loaded) = &state.loaded else {
            return unprepared();
        };
        if state.looked.is_some_and(|looked| now.duration_since(looked) < LOOK) {
            return loaded.clone();
        }
        let security = Arc::clone(&loaded.security);
        let stamps = stamps(&security);
        state.looked = Some(now);
        if stamps != state.stamps {
            // The attributes are recorded even if loading fails: if a file was only half written, it will change once
            // more.
            state.stamps = stamps;
            match load(&security) {
                Ok(loaded) => state.loaded = Some(loaded),
                Err(error) => {
                    state.complaint = Some(format!("{error}; the previous contents stay in use"));
                }
            }
        }
        state.loaded.clone().unwrap_or_else(unprepared)
    }

    /// Returns the reason why changed files could not be loaded, once.
    pub(crate) fn complaint(&self) -> Option<String> {
        self.0.lock().complaint.take()
    }

    /// Returns the settings.
    pub(crate) fn security(&self) -> Arc<Security> {
        let state = self.0.lock();
        let loaded = state.loaded.as_ref();
        loaded.map_or_else(Arc::default, |loaded| Arc::clone(&loaded.security))
    }
}

fn unprepared() -> Loaded {
    Loaded {
        server: Err(NO_CERTIFICATE.to_owned()),
        client: Err(NO_ROOTS.to_owned()),
        security: Arc::default(),
    }
}

const NO_CERTIFICATE: &str = "a server over TLS needs a certificate (-ORBTlsCertificate)";
const NO_ROOTS: &str =
    "calls over TLS need trusted root certificates (-ORBTlsRoots) or keys (-ORBTlsPins)";

fn stamps(security: &Security) -> Vec<Option<Stamp>> {
    let Security { certificate, key, roots, revoked, .. } = security;
    let files = [certificate, key, roots, revoked].into_iter().flatten();
    let stamp = |path| {
        let data = fs::metadata(path).ok()?;
        Some((data.mtime(), data.mtime_nsec(), data.len(), data.ino()))
    };
    files.map(stamp).collect()
}

static OLD_TOO: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];
static NEW_ALONE: &[&SupportedProtocolVersion] = &[&version::TLS13];

fn load(security: &Arc<Security>) -> Result<Loaded, SecurityError> {
    let versions = if security.old { OLD_TOO } else { NEW_ALONE };
    let roots = match &security.roots {
        Some(path) => Some(Arc::new(roots(path)?)),
        None => None,
    };
    let lists = match &security.revoked {
        Some(path) => lists(path)?,
        None => Vec::new(),
    };
    let own = match &security.certificate {
        Some(path) => Some(own(path, security.key.as_deref())?),
        None => None,
    };
    let list_fault = |error: &dyn std::fmt::Display| {
        fault("TlsRevoked", security.revoked.as_deref(), error.to_string())
    };

    let client = if roots.is_none() && security.pins.is_empty() {
        Err(NO_ROOTS.to_owned())
    } else {
        let chain = match &roots {
            Some(roots) => {
                let roots = Arc::clone(roots);
                let chain =
                    WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider()));
                let built = chain.with_crls(lists.iter().cloned()).build();
                Some(built.map_err(|error| list_fault(&error))?)
            }
            None => None,
        };
        let verifier =
            Verifier { chain, pins: security.pins.clone(), wanted: security.server_name.clone() };
        let config = ClientConfig::builder_with_provider(Arc::clone(provider()))
            .with_protocol_versions(versions)
            .expect("the provider knows these versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut config = match &own {
            Some(own) => config.with_client_cert_resolver(own.clone()),
            None => config.with_no_client_auth(),
        };
        config.resumption = Resumption::in_memory_sessions(SESSIONS);
        Ok(Arc::new(config))
    };

    let server = match &own {
        None => Err(NO_CERTIFICATE.to_owned()),
        Some(own) => {
            let clients = match (security.clients, &roots) {
                (ClientCertificates::Ignored, _) | (ClientCertificates::Asked, None) => {
                    WebPkiClientVerifier::no_client_auth()
                }
                (ClientCertificates::Required, None) => {
                    let problem = "needs root certificates to verify them by (-ORBTlsRoots)";
                    return Err(SecurityError {
                        setting: "TlsClients",
                        value: "required".to_owned(),
                        problem: problem.to_owned(),
                    });
                }
                (wanted, Some(roots)) => {
                    let roots = Arc::clone(roots);
                    let mut clients =
                        WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(provider()))
                            .with_crls(lists.iter().cloned());
                    if wanted == ClientCertificates::Asked {
                        clients = clients.allow_unauthenticated();
                    }
                    clients.build().map_err(|error| list_fault(&error))?
                }
            };
            let mut config = ServerConfig::builder_with_provider(Arc::clone(provider()))
                .with_protocol_versions(versions)
                .expect("the provider knows these versions")
                .with_client_cert_verifier(clients)
                .with_cert_resolver(own.clone());
            // Sessions are resumed by tickets, so that a client costs no memory between
            // connections. Their keys are replaced whenever files change: a client revoked
            // meanwhile cannot resume.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.ticketer = tickets().map_err(|error| {
                fault("TlsCertificate", security.certificate.as_deref(), error.to_string())
            })?;
            config.send_tls13_tickets = 1;
            Ok(Arc::new(config))
        }
    };
    Ok(Loaded { server, client, security: Arc::clone(security) })
}

fn roots(path: &Path) -> Result<RootCertStore, SecurityError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates("TlsRoots", path)? {
        let added = store.add(certificate);
        added.map_err(|error| fault("TlsRoots", Some(path), error.to_string()))?;
    }
    Ok(store)
}

fn lists(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, SecurityError> {
    let octets = read("TlsRevoked", path)?;
    let all: Result<Vec<_>, _> = CertificateRevocationListDer::pem_slice_iter(&octets).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(fault("TlsRevoked", Some(path), "the file contains no X509 CRL".to_owned())),
        Err(error) => Err(fault("TlsRevoked", Some(path), error.to_string())),
    }
}

/// Reads the own certificate and its key. The text of the key and its decoded form are overwritten in memory; what the
/// provider needs for signatures stays.
fn own(path: &Path, key: Option<&Path>) -> Result<Arc<SingleCertAndKey>, SecurityError> {
    let chain = certificates("TlsCertificate", path)?;
    let at = key.unwrap_or(path);
    let octets = read("TlsKey", at)?;
    let key = PrivateKeyDer::from_pem_slice(&octets).map(Zeroizing::new).map_err(|error| {
        let text = String::from_utf8_lossy(&octets);
        let problem = if text.contains("ENCRYPTED") {
            "the key is encrypted, which OxORB does not support: decrypt it with openssl pkey -in KEY -out PLAIN, \
             readable only for the server's user"
                .to_owned()
        } else {
            format!("the file contains no private key ({error})")
        };
        fault("TlsKey", Some(at), problem)
    })?;
    let key_fault = |error: &rustls::Error| fault("TlsKey", Some(at), key_problem(error));
    let key = signing_key(&key).map_err(|error| key_fault(&error))?;
    let own = CertifiedKey::new(chain, key);
    match own.keys_match() {
        // Some kinds of keys cannot tell.
        Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => {
            Ok(Arc::new(own.into()))
        }
        Err(error) => Err(key_fault(&error)),
    }
}

fn certificates(
    setting: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, SecurityError> {
    let octets = read(setting, path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&octets).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(fault(setting, Some(path), "the file contains no CERTIFICATE".to_owned())),
        Err(error) => Err(fault(setting, Some(path), error.to_string())),
    }
}

/// Reads a file, which may contain a key.
fn read(setting: &'static str, path: &Path) -> Result<Zeroizing<Vec<u8>>, SecurityError> {
    let octets = octets(path).map_err(|error| fault(setting, Some(path), error.to_string()));
    let mut octets = octets?;
    // An editor may have added a byte order mark, which the parser would not accept.
    if octets.starts_with(MARK) {
        octets.drain(..MARK.len());
    }
    Ok(octets)
}

fn octets(path: &Path) -> io::Result<Zeroizing<Vec<u8>>> {
    let file = File::open(path)?;
    // The size of a device is 0, although it may have no end.
    let size = file.metadata()?.len().min(MAX_FILE);
    // Growing would leave copies behind.
    let mut octets = Zeroizing::new(Vec::with_capacity(size as usize + 1));
    file.take(MAX_FILE + 1).read_to_end(&mut octets)?;
    match octets.len() as u64 > MAX_FILE {
        true => Err(io::Error::other(format!("it has more than {MAX_FILE} octets"))),
        false => Ok(octets),
    }
}

fn fault(setting: &'static str, path: Option<&Path>, problem: String) -> SecurityError {
    SecurityError {
        setting,
        value: path.map_or_else(String::new, |path| path.display().to_string()),
        problem,
    }
}

fn key_problem(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => {
            "the key does not belong to the certificate (-ORBTlsCertificate)".to_owned()
        }
        other => other.to_string(),
    }
}
