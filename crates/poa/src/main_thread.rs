//! Requests that only the main thread may run.

use std::sync::Arc;
use std::time::Instant;

use oxorb_core::{Adapter as _, Outcome, Upcall};

use crate::adapter::RootAdapter;
use crate::refusal::DISCARDED;

impl RootAdapter {
    /// Runs a request in the main thread, and sends its reply. Replies TRANSIENT if too many
    /// requests already wait for the main thread, or if this one has not begun by `until`.
    pub(crate) fn serve_on_main(self: &Arc<Self>, upcall: Upcall<'_>, until: Instant) -> Outcome {
        let (adapter, orb) = (Arc::clone(self), upcall.orb());
        upcall.serve_elsewhere(
            until,
            DISCARDED,
            |job| orb.run_on_main(job, self.limits.max_held),
            move |upcall| adapter.dispatch(upcall),
        )
    }
}
