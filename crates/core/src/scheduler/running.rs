//! Requests of scheduled operations while they run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use oxorb_object::SystemException;
use oxorb_sys::clock::thread_cpu;

use super::thread::{ARRIVED, CURRENT, WITHIN};
use super::{Enforcer, Scheduled};
use crate::threads::clock;
use crate::{Incident, Orb, RaisedPriority, Upcall};

/// Guard of a request that runs under the rules of its row. Not `Send`.
#[must_use = "the priority goes with it"]
pub struct Running {
    raised: Option<RaisedPriority>,
    before: Option<(usize, u16)>,
    meter: Option<RequestReadings>,
}

/// Clock readings of a measured request.
struct RequestReadings {
    enforcer: Arc<Enforcer>,
    orb: Orb,
    row: u16,
    arrived: u64,
    cpu: Duration,
    /// Processor time of the nested requests so far, in ns.
    within: u64,
}

impl Scheduled {
    /// Begins the service of a request: until the result is dropped, the thread has the priority of the operation's
    /// row, and the request is measured. `None` if the table has no row for it. For the object adapter.
    ///
    /// Costs a comparison if the thread has the priority already, otherwise two system calls; allocates nothing.
    ///
    /// # Errors
    /// DATA_CONVERSION: the priority of the row has no native priority.
    pub fn begin(&self, upcall: &Upcall<'_>) -> Result<Option<Running>, SystemException> {
        match self.find(upcall.operation()) {
            Some(place) => Running::begin(self.enforcer(), place, upcall).map(Some),
            None => Ok(None),
        }
    }
}

impl Running {
    fn begin(
        enforcer: &Arc<Enforcer>,
        row: u16,
        upcall: &Upcall<'_>,
    ) -> Result<Running, SystemException> {
        let raised = match enforcer.row(row).0.priority {
            Some(priority) if !enforcer.reserves() => Some(upcall.orb().raise_thread(priority)?),
            _ => None,
        };
        let table = Arc::as_ptr(enforcer).addr();
        let before = CURRENT.replace(Some((table, row)));
        let meter = enforcer.plan.measure.then(|| RequestReadings {
            enforcer: Arc::clone(enforcer),
            orb: upcall.orb().clone(),
            row,
            // The arrival time of a nested call is not recorded, so the current time is used.
            arrived: match ARRIVED.replace(0) {
                0 => clock::monotonic_nanoseconds(),
                arrived => arrived,
            },
            within: WITHIN.replace(0),
            cpu: thread_cpu(),
        });
        Ok(Running { raised, before, meter })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        CURRENT.set(self.before);
        if let Some(meter) = &self.meter {
            meter.read();
        }
    }
}

impl RequestReadings {
    fn read(&self) {
        let cpu = thread_cpu().saturating_sub(self.cpu).as_nanos() as u64;
        let response = clock::monotonic_nanoseconds().saturating_sub(self.arrived);
        // The processor time of nested calls in this thread is charged to their own rows, as in the analysis.
        let own = cpu.saturating_sub(WITHIN.replace(self.within.saturating_add(cpu)));
        let (row, said) = self.enforcer.row(self.row);
        let Some(measured) = &row.measured else {
            return;
        };
        measured.record(response, own);
        if said.deadline != 0 && response > said.deadline {
            measured.missed();
        }
        if said.worst_case != 0 && cpu > said.worst_case {
            measured.overrun();
            let operation = || said.name.clone();
            self.orb.note(Incident::Overrun, operation, || {
                format!("{cpu} ns of processor time, {} declared", said.worst_case)
            });
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("raised", &self.raised)
            .field("measured", &self.meter.is_some())
            .finish()
    }
}
