//! Service of a thread's connection while the thread waits for something else.
//!
//! A thread that serves a connection registers its serving part here. Other threads register nothing, so that the calls
//! of a pure client cost one access to a thread-local variable.

use std::cell::Cell;
use std::time::Duration;

use oxorb_transport::Link;

/// Server's part of a wait, for the connection that the current thread serves.
pub(crate) struct Beside {
    /// Hands the connection to another thread for reading.
    pub(crate) step_aside: fn(),
    /// Waits for the reply and for the connection; see [`wait_beside`].
    pub(crate) wait: fn(&dyn Link, Option<Duration>) -> bool,
}

crate::threads::sync::thread_local! {
    static BESIDE: Cell<Option<&'static Beside>> = const { Cell::new(None) };
}

/// Registers the serving part of this thread, for the life of the thread.
pub(crate) fn serve_beside(beside: &'static Beside) {
    BESIDE.with(|mine| mine.set(Some(beside)));
}

/// Hands the connection that this thread serves, if any, to another thread for reading, because this thread is about to
/// block for something other than a reply on its own link.
pub(crate) fn step_aside() {
    if let Some(beside) = BESIDE.with(Cell::get) {
        (beside.step_aside)();
    }
}

/// Reports whether this thread serves a connection.
#[inline(always)]
pub(crate) fn serves_beside() -> bool {
    BESIDE.with(Cell::get).is_some()
}

/// Waits, in a thread that serves a connection, until `reply` has input or `limit` has passed; if input arrives on the
/// served connection meanwhile, another thread takes the connection over. Returns whether it waited at all.
#[inline]
pub(crate) fn wait_beside(reply: &dyn Link, limit: Option<Duration>) -> bool {
    BESIDE.with(Cell::get).is_some_and(|beside| (beside.wait)(reply, limit))
}
