//! Scheduled request that the calling thread runs.

use std::cell::Cell;
use std::sync::Arc;

use super::Enforcer;

thread_local! {
    /// Operation that this thread runs: address of the table, and the row.
    pub(super) static CURRENT: Cell<Option<(usize, u16)>> = const { Cell::new(None) };
    /// Time of receipt of the request that this thread is about to serve, in nanoseconds of the monotonic clock; 0 for
    /// the current time.
    pub(super) static ARRIVED: Cell<u64> = const { Cell::new(0) };
    /// Processor time of the measured requests nested in the one that this thread runs, in ns.
    pub(super) static WITHIN: Cell<u64> = const { Cell::new(0) };
}

/// Returns the row of the request that this thread runs, if it belongs to this table.
pub(super) fn current(enforcer: &Arc<Enforcer>) -> Option<u16> {
    let (table, row) = CURRENT.get()?;
    (table == Arc::as_ptr(enforcer).addr()).then_some(row)
}

/// Serves a request that was received at `moment` and has waited since.
pub(crate) fn arrived_at<R>(moment: u64, serve: impl FnOnce() -> R) -> R {
    ARRIVED.set(moment);
    let served = serve();
    ARRIVED.set(0);
    served
}
