//! Signals that shut an ORB down in order, or make it reload certificates and access rules.

use std::io;

use oxorb_core::ThreadPurpose;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use crate::Orb;

impl Orb {
    /// Shuts the ORB down on SIGINT (Ctrl-C) or SIGTERM (service managers): hooks of
    /// [`before_shutdown`](oxorb_core::Orb::before_shutdown) run, running requests finish, clients are sent
    /// CloseConnection, and [`run`](oxorb_core::Orb::run) returns. A second signal ends the process at once, with
    /// status 128 plus the signal's number.
    ///
    /// Starts one thread, which waits for signals and holds no reference to the ORB. Call it once
    /// for each ORB that signals shall shut down; the handlers stay installed for the life of the
    /// process.
    ///
    /// ```no_run
    /// let orb = oxorb::Orb::builder().args(std::env::args()).build()?;
    /// orb.shutdown_on_signal()?;
    /// // Activate objects, print references.
    /// orb.run();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The system refuses the handlers or the thread.
    pub fn shutdown_on_signal(&self) -> io::Result<()> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let orb = self.downgrade();
        let wait = move || {
            let mut came = false;
            for signal in signals.forever() {
                if came {
                    low_level::exit(128 + signal);
                }
                came = true;
                if let Some(orb) = orb.upgrade() {
                    end(orb);
                }
            }
        };
        self.start_thread(ThreadPurpose::Shutdown, "oxorb-signals", wait)
    }

    /// Reloads certificates, keys, roots and lists of revoked certificates on SIGHUP, as
    /// [`reload_security`](oxorb_core::Orb::reload_security) does, and the file of access rules (`-ORBAccessRules`).
    /// The results are logged. If the ORB's settings name none of these files, no handler is installed, and SIGHUP ends
    /// the process.
    ///
    /// Starts one thread, which waits for signals and holds no reference to the ORB.
    ///
    /// # Errors
    /// The system refuses the handler or the thread.
    pub fn reload_security_on_signal(&self) -> io::Result<()> {
        if !self.options().has_security() && self.options().access_file.is_none() {
            return Ok(());
        }
        let mut signals = Signals::new([SIGHUP])?;
        let orb = self.downgrade();
        let wait = move || {
            for _ in signals.forever() {
                if let Some(orb) = orb.upgrade() {
                    reload(&orb);
                }
            }
        };
        self.start_thread(ThreadPurpose::Watcher, "oxorb-reload", wait)
    }
}

/// Reloads the files that the settings name. The results are ignored, because each reload logs its own.
fn reload(orb: &oxorb_core::Orb) {
    if orb.options().has_security() {
        let _ = orb.reload_security();
    }
    #[cfg(feature = "files")]
    let _ = orb.options().access_file.as_ref().map(|_| crate::config::reload_access_rules(orb));
}

/// Shuts the ORB down in a separate thread, so that this thread can receive the next signal.
fn end(orb: oxorb_core::Orb) {
    let starter = orb.clone();
    let shutdown = move || {
        let _ = orb.shutdown(false);
    };
    if let Err(error) = starter.start_thread(ThreadPurpose::Shutdown, "oxorb-shutdown", shutdown) {
        eprintln!(
            "oxorb: a signal could not end the ORB: {error}; send it again to end the process"
        );
    }
}
