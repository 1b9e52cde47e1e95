//! Service of the connection that a thread serves, before it blocks for something else.
//!
//! A thread that serves a connection keeps its serving part here. A thread without one serves none, so that the calls
//! of a mere client pay one look at a thread-local.

use std::cell::Cell;
use std::time::Duration;

use oxorb_transport::Link;

/// Server's part of waiting, for the connection that the current thread serves.
pub(crate) struct Beside {
    /// Lets another thread read the connection.
    pub(crate) step_aside: fn(),
    /// Waits for the reply and for the connection; see [`wait_beside`].
    pub(crate) wait: fn(&dyn Link, Option<Duration>) -> bool,
}

crate::sync::thread_local! {
    static BESIDE: Cell<Option<&'static Beside>> = const { Cell::new(None) };
}

/// Gives this thread a serving part, for good.
pub(crate) fn serve_beside(beside: &'static Beside) {
    BESIDE.with(|mine| mine.set(Some(beside)));
}

/// Lets another thread read the connection that this thread serves, if it serves one: it is about to block for
/// something other than a reply on a link of its own.
pub(crate) fn step_aside() {
    if let Some(beside) = BESIDE.with(Cell::get) {
        (beside.step_aside)();
    }
}

/// Returns whether this thread serves a connection.
#[inline(always)]
pub(crate) fn serves_beside() -> bool {
    BESIDE.with(Cell::get).is_some()
}

/// Waits, in a thread that serves a connection, until `reply` has something to read or `limit` has passed; another
/// thread takes the connection if anything comes there meanwhile. Returns whether it waited at all.
#[inline]
pub(crate) fn wait_beside(reply: &dyn Link, limit: Option<Duration>) -> bool {
    BESIDE.with(Cell::get).is_some_and(|beside| (beside.wait)(reply, limit))
}
