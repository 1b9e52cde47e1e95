//! Service of a thread's connection while the thread waits for something else.
//!
//! A thread that serves a connection registers its serving part here. Other threads register nothing, so that the calls
//! of a pure client cost one access to a thread-local variable.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use oxorb_transport::Link;

use super::turn::{CancelWatch, NestedCall};

/// Server's part of a wait, for the connection that the current thread serves.
pub(crate) struct BlockingHooks {
    /// Hands the connection to another thread for reading.
    pub(crate) step_aside: fn(),
    /// Hands the connection to another thread if an answer is awaited over it; see [`step_aside_for_answer`].
    pub(crate) step_aside_for_answer: fn() -> bool,
    /// Waits for the reply and for the connection; see [`wait_beside`].
    pub(crate) wait: fn(&dyn Link, Option<Duration>) -> bool,
    /// Registers a call to be cancelled with the request that the thread serves; see [`watch_for_cancel`].
    pub(crate) watch: fn(Arc<dyn NestedCall>) -> Option<CancelWatch>,
}

crate::threads::sync::thread_local! {
    static HOOKS: Cell<Option<&'static BlockingHooks>> = const { Cell::new(None) };
}

/// Registers the serving part of this thread, for the life of the thread.
pub(crate) fn serve_beside(hooks: &'static BlockingHooks) {
    HOOKS.with(|mine| mine.set(Some(hooks)));
}

/// Hands the connection that this thread serves, if any, to another thread for reading, because this thread is about to
/// block for something other than a reply on its own link.
pub(crate) fn step_aside() {
    if let Some(hooks) = HOOKS.with(Cell::get) {
        (hooks.step_aside)();
    }
}

/// Does what [`step_aside`] does, if a call of this side over the served connection waits for its answer: no other
/// request of the connection is read before. Returns false if this thread still has the connection, so that it has to
/// ask again.
pub(crate) fn step_aside_for_answer() -> bool {
    HOOKS.with(Cell::get).is_none_or(|hooks| (hooks.step_aside_for_answer)())
}

/// Reports whether this thread serves a connection.
#[inline(always)]
pub(crate) fn serves_beside() -> bool {
    HOOKS.with(Cell::get).is_some()
}

/// Waits, in a thread that serves a connection, until `reply` has input or `limit` has passed; if input arrives on the
/// served connection meanwhile, another thread takes the connection over. Returns whether it waited at all.
#[inline]
pub(crate) fn wait_beside(reply: &dyn Link, limit: Option<Duration>) -> bool {
    HOOKS.with(Cell::get).is_some_and(|hooks| (hooks.wait)(reply, limit))
}

/// Registers a call to be cancelled with the request that this thread serves, until the guard is dropped. `None` if the
/// thread serves no request that came over a connection.
pub(crate) fn watch_for_cancel(call: Arc<dyn NestedCall>) -> Option<CancelWatch> {
    HOOKS.with(Cell::get).and_then(|hooks| (hooks.watch)(call))
}
