//! Whether a thread serves requests.

use std::cell::Cell;

crate::sync::thread_local! {
    /// Calls to objects of this process that this thread is in.
    static LOCAL_DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Flag of a thread that serves requests which came over the wire.
    static SERVER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the calling thread serves requests, or is in a call to an object of its process.
pub(crate) fn within_request() -> bool {
    SERVER_THREAD.with(Cell::get) || LOCAL_DEPTH.with(Cell::get) > 0
}

/// Returns whether the calling thread is in a call to an object of its process.
pub(crate) fn within_local() -> bool {
    LOCAL_DEPTH.with(Cell::get) > 0
}

/// Notes that the calling thread serves requests: once, at its beginning.
pub(crate) fn mark_server_thread() {
    SERVER_THREAD.with(|here| here.set(true));
}

/// Notes that the calling thread enters an object of its process.
pub(crate) fn enter_local() {
    LOCAL_DEPTH.with(|depth| depth.set(depth.get() + 1));
}

/// Notes that the calling thread has left an object of its process.
pub(crate) fn leave_local() {
    LOCAL_DEPTH.with(|depth| depth.set(depth.get() - 1));
}
