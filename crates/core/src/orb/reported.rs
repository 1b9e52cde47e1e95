//! Incidents and handshakes that gateways report.

use super::Orb;
use crate::Incident;
use crate::threads::sync::atomic::Ordering;

impl Orb {
    /// Counts and logs a request of another protocol than GIOP that access rules deny. For gateways.
    #[doc(hidden)]
    pub fn note_denied(&self, peer: impl FnOnce() -> String, detail: impl FnOnce() -> String) {
        self.shared().watch.note(Incident::RequestDenied, peer, detail);
    }

    /// Counts a request of another protocol than GIOP that is beyond the limit of an access rule, and logs it if it is
    /// to be reported. For gateways.
    #[doc(hidden)]
    pub fn note_limited(
        &self,
        is_reported: bool,
        peer: impl FnOnce() -> String,
        detail: impl FnOnce() -> String,
    ) {
        match is_reported {
            true => self.shared().watch.note(Incident::RequestLimited, peer, detail),
            false => self.shared().watch.count(Incident::RequestLimited),
        }
    }

    /// Counts a finished handshake of another protocol than GIOP. For gateways.
    #[doc(hidden)]
    pub fn note_handshake(&self) {
        self.shared().watch.handshakes.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts and logs a client of another protocol than GIOP whose handshake failed. For gateways.
    #[doc(hidden)]
    pub fn note_refused_handshake(
        &self,
        peer: impl FnOnce() -> String,
        why: impl FnOnce() -> String,
    ) {
        self.shared().watch.note(Incident::HandshakeRefused, peer, why);
    }

    /// Counts and logs a request or reply that a gateway does not pass on. For gateways.
    #[doc(hidden)]
    pub fn note_not_passed(&self, peer: impl FnOnce() -> String, why: impl FnOnce() -> String) {
        self.shared().watch.note(Incident::NotPassed, peer, why);
    }
}
