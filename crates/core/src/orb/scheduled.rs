//! The run-time scheduler of an ORB.

use crate::server::DispatchingModules;
use crate::{CallsBetween, Measurement, Orb, Scheduled, Servant, SetupError};

impl Orb {
    /// Starts the dispatching modules, if not started yet.
    pub(super) fn start_modules(&self) -> Result<(), SetupError> {
        if self.inner.modules.get().is_none() {
            let started = DispatchingModules::start(self.shared()).map_err(SetupError::Threads)?;
            // If another thread was faster, the modules that this thread started end unused.
            let _ = self.inner.modules.set(started);
        }
        Ok(())
    }

    /// Returns the rows of the run-time scheduler's table for the operations of a servant; `None` if it has none, or
    /// there is no table. For the object adapter, when an object is activated: takes time in proportion to the table,
    /// and allocates.
    pub fn scheduled(&self, servant: &dyn Servant) -> Option<Scheduled> {
        self.enforcer()?.interface(servant.repository_id(), |id| servant.is_a(id))
    }

    /// Returns the times that the requests of every operation of the table have taken so far, in the order of the
    /// table; `None` if nothing is [measured](crate::RunTimeScheduler::measure). Allocates; requests continue
    /// meanwhile.
    pub fn measurements(&self) -> Option<Vec<Measurement>> {
        self.enforcer()?.measurements()
    }

    /// Returns which operations of the table called which others, if both are in the table and the caller runs in this
    /// process; empty if nothing is measured. Allocates, and takes a lock that measured calls take, too.
    pub fn calls_between(&self) -> Vec<CallsBetween> {
        let calls = self.enforcer().map(|enforcer| enforcer.calls_between());
        calls.unwrap_or_default()
    }

    /// Discards the measurements so far.
    pub fn reset_measurements(&self) {
        if let Some(enforcer) = self.enforcer() {
            enforcer.reset_measurements();
        }
    }
}
