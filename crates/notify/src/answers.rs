//! Waiting for the first of several concurrent calls.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use oxorb::client::wait_until;

/// Waits until one of several calls has completed, and removes it from the list. Returns the tag and the result of this
/// call, or `None` if the list is empty.
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
