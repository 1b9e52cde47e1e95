//! Scheduled request that the calling thread runs.

use std::cell::Cell;
use std::sync::Arc;

use super::Enforcer;

thread_local! {
    /// Operation that this thread runs: the table, and the row in it.
    pub(super) static CURRENT: Cell<Option<(usize, u16)>> = const { Cell::new(None) };
    /// Time at which the request was read that this thread is about to serve, in nanoseconds of the
    /// monotonic clock; 0: just now.
    pub(super) static ARRIVED: Cell<u64> = const { Cell::new(0) };
    /// Processor time of the measured requests within the one that this thread runs.
    pub(super) static WITHIN: Cell<u64> = const { Cell::new(0) };
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
