//! Calls that are under way at a time.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use oxorb::wait_until;

/// Waits until one of several calls is answered, and takes it out; returns what it was for, and the answer. `None`: there
/// are none.
pub(crate) fn next_answer<T, F: Future + Unpin>(calls: &mut Vec<(T, F)>) -> Option<(T, F::Output)> {
    if calls.is_empty() {
        return None;
    }
    let (at, answer) = wait_until(|context| {
        for (at, (_, call)) in calls.iter_mut().enumerate() {
            if let Poll::Ready(answer) = Pin::new(call).poll(context) {
                return Poll::Ready((at, answer));
            }
        }
        Poll::Pending
    });
    let (of, _) = calls.swap_remove(at);
    Some((of, answer))
}
