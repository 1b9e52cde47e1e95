//! Waiting for futures.

use std::sync::Arc;
use std::task::{Context, Poll};

use crate::threads::sync::thread;

/// Blocks this thread until `poll` is ready. `poll` is called again whenever the task of its context is woken, for
/// example by the answer of an [`InFlight`](crate::InFlight).
///
/// Unlike the blocking functions of executors, a servant may call this function: another thread serves the requests
/// that arrive on its connection meanwhile. Allocates once.
///
/// ```no_run
/// use std::task::Poll;
///
/// # fn of(mut several: Vec<oxorb_core::InFlight>) {
/// let first = oxorb_core::wait_until(|context| {
///     let ready = several.iter_mut().position(|one| one.poll_ready(context).is_ready());
///     ready.map_or(Poll::Pending, Poll::Ready)
/// });
/// # let _ = first; }
/// ```
pub fn wait_until<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    crate::conn::step_aside();
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut context = Context::from_waker(&waker);
    loop {
        match poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// Wakes a thread that waits for a future.
pub(super) struct Unpark(pub(super) thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
