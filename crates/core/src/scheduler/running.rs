//! One request of a scheduled operation while it runs.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use oxorb_object::SystemException;
use oxorb_sys::clock;

use super::Enforcer;
use crate::{Incident, Orb, Raised};

thread_local! {
    /// What this thread runs: the table, and the row in it.
    static CURRENT: Cell<Option<(usize, u16)>> = const { Cell::new(None) };
    /// When the request that this thread is about to serve was read, in nanoseconds of the monotonic clock; 0: just now.
    static ARRIVED: Cell<u64> = const { Cell::new(0) };
    /// Processor time of the measured requests within the one that this thread runs.
    static WITHIN: Cell<u64> = const { Cell::new(0) };
}

/// The row of the request that this thread runs, if it is one of this table.
pub(super) fn current(enforcer: &Arc<Enforcer>) -> Option<u16> {
    let (table, row) = CURRENT.get()?;
    (table == Arc::as_ptr(enforcer).addr()).then_some(row)
}

/// Serves a request that was read at this moment and has waited since.
pub(crate) fn arrived_at<R>(moment: u64, serve: impl FnOnce() -> R) -> R {
    ARRIVED.set(moment);
    let served = serve();
    ARRIVED.set(0);
    served
}

/// A request that runs under the rules of its row, until this is dropped. For its thread alone.
#[must_use = "the priority goes with it"]
pub struct Running {
    raised: Option<Raised>,
    before: Option<(usize, u16)>,
    meter: Option<Meter>,
}

/// Looks at clocks at the beginning and the end.
struct Meter {
    enforcer: Arc<Enforcer>,
    orb: Orb,
    row: u16,
    arrived: u64,
    cpu: Duration,
    /// Of the request around this one, so far.
    within: u64,
}

impl Running {
    pub(super) fn begin(
        enforcer: &Arc<Enforcer>,
        row: u16,
        orb: &Orb,
    ) -> Result<Running, SystemException> {
        let raised = match enforcer.row(row).0.priority {
            Some(priority) if !enforcer.reserves() => Some(orb.raise_thread(priority)?),
            _ => None,
        };
        let table = Arc::as_ptr(enforcer).addr();
        let before = CURRENT.replace(Some((table, row)));
        let meter = enforcer.plan.measure.then(|| Meter {
            enforcer: Arc::clone(enforcer),
            orb: orb.clone(),
            row,
            // Of a call within this one it is not known.
            arrived: match ARRIVED.replace(0) {
                0 => clock::monotonic_nanoseconds(),
                arrived => arrived,
            },
            within: WITHIN.replace(0),
            cpu: clock::thread_cpu(),
        });
        Ok(Running {
            raised,
            before,
            meter,
        })
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

impl Meter {
    fn read(&self) {
        let cpu = clock::thread_cpu().saturating_sub(self.cpu).as_nanos() as u64;
        let response = clock::monotonic_nanoseconds().saturating_sub(self.arrived);
        // What it called in this thread counts for itself, as in the analysis.
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
