//! Metrics of an ORB.

use std::net::SocketAddr;
use std::panic::{self, AssertUnwindSafe};

use super::Orb;
use crate::error::SetupError;
use crate::monitoring::LogLevel;
use crate::monitoring::metrics::{Responder, Snapshot, page};
use crate::threads::sync::atomic::Ordering;

/// Last line of a page.
const END: &str = "# EOF\n";

impl Orb {
    /// Returns everything that this ORB counts, as OpenMetrics text (version 1.0) for Prometheus and other collectors:
    /// `docs/metrics.md` lists all metrics. Calls and requests are counted only if the ORB was made with an address for
    /// [metrics](crate::Options::metrics); all else is counted in any case.
    ///
    /// Allocates. Of the locks that threads which serve requests need, it takes only those of dispatching modules,
    /// which are held for a few instructions and inherit priorities.
    ///
    /// ```
    /// use oxorb_core::{Options, Orb};
    ///
    /// let orb = Orb::new(Options::default());
    /// let page = orb.metrics();
    /// assert!(page.contains("\noxorb_connections 0\n") && page.ends_with("# EOF\n"));
    /// # orb.shutdown(true)?;
    /// # Ok::<(), oxorb_object::SystemException>(())
    /// ```
    pub fn metrics(&self) -> String {
        let (shared, server) = (self.shared(), self.server());
        let snapshot = Snapshot {
            connections: self.connection_statistics(),
            handshakes: shared.watch.handshakes.load(Ordering::Relaxed),
            client_connections: self.client().open_connections(),
            unanswered: server.registry.unanswered.load(Ordering::Relaxed),
            collocated: server.registry.local_calls.load(Ordering::Relaxed),
            threads: shared.threads.registry().counts().into_iter().collect(),
            lanes: server.lane_states(),
            modules: self.modules().map(|modules| modules.counts()).unwrap_or_default(),
            operations: self.measurements().unwrap_or_default(),
            budgets: shared.budgets.as_ref().map(|ledger| ledger.sums()).unwrap_or_default(),
        };
        let mut page = page(&snapshot, shared.meter.as_deref());
        if let Some(further) = self.inner.further_metrics.get() {
            page.truncate(page.len() - END.len());
            page.push_str(&further());
            page.push_str(END);
        }
        page
    }

    /// Adds metrics to the page: complete families as OpenMetrics text, with names that no other family has. Only the
    /// first call has an effect. For gateways of other protocols than GIOP.
    #[doc(hidden)]
    pub fn add_metrics(&self, further: impl Fn() -> String + Send + Sync + 'static) {
        let _ = self.inner.further_metrics.set(Box::new(further));
    }

    /// Returns the address at which the ORB answers `GET /metrics`, with the port that the system chose; `None` if it
    /// does not.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.inner.responder.get().map(Responder::address)
    }

    /// Begins to answer `GET /metrics` at the address of the option Metrics, if that is set. For the crate that makes
    /// ORBs from their settings. Only the first call has an effect.
    ///
    /// # Errors
    /// [`SetupError::Metrics`], [`SetupError::Threads`].
    #[doc(hidden)]
    pub fn serve_metrics(&self) -> Result<(), SetupError> {
        let Some(address) = self.options().metrics.filter(|_| self.metrics_address().is_none())
        else {
            return Ok(());
        };
        let failed = |error| SetupError::Metrics { address, error };
        let listener = Responder::listen(address).map_err(failed)?;
        let orb = self.downgrade();
        let page = move || {
            let orb = orb.upgrade()?;
            // A panic must not end the thread, which would close the port.
            panic::catch_unwind(AssertUnwindSafe(|| orb.metrics())).ok()
        };
        let responder = Responder::start(listener, self.thread_factory(), page);
        let responder = responder.map_err(SetupError::Threads)?;
        self.log(LogLevel::Info, &format!("metrics at http://{}/metrics", responder.address()));
        // If another thread was faster, dropping this responder ends it.
        let _ = self.inner.responder.set(responder);
        Ok(())
    }
}
