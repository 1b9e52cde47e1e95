//! Calls that forward a request over a connection of their own, and end when that request is cancelled.
//!
//! The thread that waits for the reply does not read the connection of the request. Therefore the thread that reads it
//! ends the call: it sends CancelRequest, and closes the connection of the call, which wakes the waiting thread. No
//! other call is outstanding on that connection. It cannot be reused, because a server that ignores the CancelRequest
//! would run the next call only after this one. Most calls end before they are registered for that, and so take no lock
//! and no memory.

use std::io::IoSlice;
use std::sync::Arc;
use std::time::Duration;

use oxorb_giop::Short;
use oxorb_transport::Link;

use crate::conn::{CancelWatch, ConnectionEnd, NestedCall, watch_for_cancel};
use crate::threads::lock::Mutex;

/// Longest time that a CancelRequest may wait to be sent.
pub(super) const CANCEL_LIMIT: Duration = Duration::from_millis(1);

/// Longest read of a call that is not registered yet, and longest wait before it. An earlier cancellation is noticed
/// afterwards.
pub(super) const UNWATCHED: Duration = Duration::from_millis(50);

/// Cancellation of a call together with the request that its thread serves.
pub(super) enum Cancellation {
    /// The call does not end with a request.
    Ignored,
    /// The call is not registered yet.
    Unwatched,
    Watched {
        call: Arc<ExclusiveCall>,
        /// Registration; `None` if the thread serves no request.
        _watch: Option<CancelWatch>,
    },
}

/// Call over a connection that no other call uses.
pub(super) struct ExclusiveCall {
    link: Arc<dyn Link>,
    /// CancelRequest; `None` if the server is not notified.
    message: Option<Short>,
    phase: Mutex<CancelPhase>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CancelPhase {
    Waiting,
    Cancelled,
    /// The call has ended, and its connection may carry other calls.
    Ended,
}

impl Cancellation {
    /// Returns the state of a new call, which ends with the request that its thread serves if it is `forwarding` that
    /// request.
    #[inline]
    pub(super) fn of(forwarding: bool) -> Cancellation {
        match forwarding {
            true => Cancellation::Unwatched,
            false => Cancellation::Ignored,
        }
    }

    /// Reports whether the call is yet to be [registered](Self::watch).
    #[inline]
    pub(super) fn is_unwatched(&self) -> bool {
        matches!(self, Cancellation::Unwatched)
    }

    /// Registers a call that was sent over `link`, to be cancelled with the request that this thread serves.
    #[cold]
    pub(super) fn watch(link: &Arc<dyn Link>, message: Option<Short>) -> Cancellation {
        let (link, phase) = (Arc::clone(link), Mutex::new(CancelPhase::Waiting));
        let call = Arc::new(ExclusiveCall { link, message, phase });
        let watch = watch_for_cancel(Arc::clone(&call) as Arc<dyn NestedCall>);
        Cancellation::Watched { call, _watch: watch }
    }

    /// Ends the call; returns false if it was cancelled before, so that its connection is closed.
    #[inline]
    pub(super) fn end(&self) -> bool {
        match self {
            Cancellation::Watched { call, .. } => call.end(),
            Cancellation::Ignored | Cancellation::Unwatched => true,
        }
    }

    /// Ends the call because of the end of its connection, and returns the reason: the cancellation, if there was one.
    #[cold]
    pub(super) fn seen<'e>(&self, ended: &'e ConnectionEnd) -> &'e ConnectionEnd {
        match self.end() {
            true => ended,
            false => &ConnectionEnd::Cancelled,
        }
    }
}

impl ExclusiveCall {
    #[cold]
    fn end(&self) -> bool {
        let mut phase = self.phase.lock();
        if *phase == CancelPhase::Waiting {
            *phase = CancelPhase::Ended;
        }
        *phase == CancelPhase::Ended
    }
}

impl NestedCall for ExclusiveCall {
    fn cancel(&self) {
        // The lock is held until the connection is closed, so that the connection carries no other call meanwhile.
        let mut phase = self.phase.lock();
        if *phase != CancelPhase::Waiting {
            return;
        }
        *phase = CancelPhase::Cancelled;
        if let Some(message) = &self.message {
            // Ignore failures, because the close of the connection notifies the server as well.
            let _ = self.link.set_write_timeout(Some(CANCEL_LIMIT));
            let _ = self.link.write(&mut [IoSlice::new(message)]);
        }
        self.link.close();
    }
}
