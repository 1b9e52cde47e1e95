//! Reloading of the tokens, the access rules and the certificates.

use std::io::{self, Write as _};
use std::sync::Arc;

use signal_hook::consts::SIGHUP;
use signal_hook::iterator::Signals;

use super::state::Gateway;
use super::tls::Tls;
use oxorb_terminal::output::{Done, Failed, error};

/// Reads tokens, access rules and certificates again on SIGHUP, and reports the result on standard error. Without any
/// of them, no handler is installed; SIGHUP ends the process then, unless the ORB has files to reload.
pub(super) fn on_signal(gateway: &Arc<Gateway>, tls: Option<&Arc<Tls>>) -> io::Result<()> {
    if gateway.tokens.is_none() && gateway.rights.is_none() && tls.is_none() {
        return Ok(());
    }
    let mut signals = Signals::new([SIGHUP])?;
    let (gateway, tls) = (Arc::downgrade(gateway), tls.cloned());
    let wait = move || {
        for _ in signals.forever() {
            let Some(gateway) = gateway.upgrade() else {
                return;
            };
            tell("tokens", gateway.tokens.as_ref().map(|tokens| tokens.reload()));
            tell("access rules", gateway.rights.as_ref().map(|rights| rights.reload()));
            tell("certificate", tls.as_ref().map(|tls| tls.reload()));
        }
    };
    std::thread::Builder::new().name("oxorb-http-hup".to_owned()).spawn(wait).map(drop)
}

/// Reports the result of reading files again, if there are any.
fn tell(what: &str, done: Option<Done>) {
    match done {
        // If the message cannot be written, the thread goes on nevertheless: the next signal needs it.
        Some(Ok(())) => {
            let _ = writeln!(anstream::stderr().lock(), "the gateway has read the {what} again");
        }
        Some(Err(Failed::Because(why))) => {
            error(&format!("{why}; the previous contents stay in use"));
        }
        Some(Err(Failed::Told)) | None => {}
    }
}
