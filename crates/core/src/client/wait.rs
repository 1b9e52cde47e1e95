//! Waits for futures.

use std::sync::Arc;
use std::task::{Context, Poll};

use crate::sync::thread;

/// Blocks this thread until `poll` is ready. It is asked again whenever the task it was given is woken: by the answer of
/// an [`InFlight`](crate::InFlight), say.
///
/// Unlike an executor's way of blocking, it may be used by a servant: requests that come over its connection meanwhile
/// are served by another thread. Allocates once.
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
