//! Record of whether a thread serves requests.

use std::cell::Cell;

crate::threads::sync::thread_local! {
    /// Nesting depth of calls to objects of this process in this thread.
    static LOCAL_DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Whether the thread serves requests received over connections.
    static SERVER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Reports whether the calling thread serves requests, or is in a call to an object of its process.
pub(crate) fn within_request() -> bool {
    SERVER_THREAD.with(Cell::get) || LOCAL_DEPTH.with(Cell::get) > 0
}

/// Reports whether the calling thread is in a call to an object of its process.
pub(crate) fn within_local() -> bool {
    LOCAL_DEPTH.with(Cell::get) > 0
}

/// Marks the calling thread, once at its beginning, as one that serves requests.
pub(crate) fn mark_server_thread() {
    SERVER_THREAD.with(|here| here.set(true));
}

/// Records that the calling thread enters an object of its process.
pub(crate) fn enter_local() {
    LOCAL_DEPTH.with(|depth| depth.set(depth.get() + 1));
}

/// Records that the calling thread has left an object of its process.
pub(crate) fn leave_local() {
    LOCAL_DEPTH.with(|depth| depth.set(depth.get() - 1));
}
