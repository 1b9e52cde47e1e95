//! Server side of TLS for other protocols than GIOP, with the certificates and the verification of an ORB.

use std::sync::Arc;

use oxorb_transport::{Security, SecurityError};
use rustls::{Error, ServerConfig};

use crate::tls::files::Files;
use crate::tls::words;

/// Certificates of a server of another protocol than GIOP, such as HTTP.
///
/// The files of [`Security`] have the same meaning as for an ORB: chains and revocation of clients are verified in the
/// same way, changed files are read again, and tickets of resumed sessions end when that happens.
pub struct ServerFiles(Files);

impl ServerFiles {
    /// Loads the files. Sends and receives nothing.
    ///
    /// # Errors
    /// [`SecurityError`] with the setting whose file cannot be used.
    pub fn new(security: &Security) -> Result<ServerFiles, SecurityError> {
        let files = Files::default();
        files.prepare(security)?;
        Ok(ServerFiles(files))
    }

    /// Returns the configuration for the next handshake, without a protocol for ALPN. Looks at the files if it did so
    /// at least a second ago, and reads changed ones, so it can block on the file system.
    ///
    /// # Errors
    /// A sentence that says that the settings name no certificate.
    pub fn config(&self) -> Result<Arc<ServerConfig>, String> {
        self.0.current().server
    }

    /// Returns once why changed files could not be used. The previous contents stay in use then.
    pub fn complaint(&self) -> Option<String> {
        self.0.complaint()
    }

    /// Reads the files again. Sessions before that cannot be resumed.
    ///
    /// # Errors
    /// [`SecurityError`] with the setting whose file cannot be used; the previous contents stay in use then.
    pub fn reload(&self) -> Result<(), SecurityError> {
        self.0.reload()
    }
}

/// Returns the reason why the handshake of a client failed, as the rest of a sentence. Advice names the settings of an
/// ORB (`-ORBTlsRevoked`).
pub fn refusal(error: &Error) -> String {
    words::why(error, "client")
}
