//! Several requests at a time.

use std::task::{Context, Poll, Waker};

use oxorb_object::SystemException;

use crate::request::NOT_SENT;
use crate::{Exception, Request};

/// Sends requests without waiting for replies (`send_multiple_requests_deferred`).
///
/// Tries all of them, and returns the first failure.
pub fn send_multiple_deferred(requests: &mut [Request]) -> Result<(), Exception> {
    each(requests, Request::send_deferred)
}

/// Sends requests without expecting replies (`send_multiple_requests_oneway`).
///
/// Tries all of them, and returns the first failure.
pub fn send_multiple_oneway(requests: &mut [Request]) -> Result<(), Exception> {
    each(requests, Request::send_oneway)
}

/// Returns the index of a request whose reply has arrived, if there is one (`poll_next_response`).
/// Never waits.
///
/// Fails with `BAD_INV_ORDER` 11 if no reply is expected.
pub fn poll_next_response(requests: &mut [Request]) -> Result<Option<usize>, SystemException> {
    let mut nobody = Context::from_waker(Waker::noop());
    match poll(requests, &mut nobody) {
        Poll::Ready(found) => found.map(Some),
        Poll::Pending => Ok(None),
    }
}

/// Waits until one of the replies has arrived (`get_next_response`), and returns the index of its
/// request; take the reply with [`Request::get_response`].
///
/// Sleeps until then. An expired request also counts as answered, with `TIMEOUT`. Fails with
/// `BAD_INV_ORDER` 11 if no reply is expected.
pub fn next_response(requests: &mut [Request]) -> Result<usize, SystemException> {
    oxorb_core::wait_until(|context| poll(requests, context))
}

/// Polls the requests in order up to the first that is ready; each of them wakes the task.
fn poll(
    requests: &mut [Request],
    context: &mut Context<'_>,
) -> Poll<Result<usize, SystemException>> {
    let mut any = false;
    for (at, request) in requests.iter_mut().enumerate() {
        match request.poll_ready(context) {
            Some(Poll::Ready(())) => return Poll::Ready(Ok(at)),
            Some(Poll::Pending) => any = true,
            None => {}
        }
    }
    match any {
        true => Poll::Pending,
        false => Poll::Ready(Err(NOT_SENT)),
    }
}

fn each(
    requests: &mut [Request],
    send: impl Fn(&mut Request) -> Result<(), Exception>,
) -> Result<(), Exception> {
    let mut all = Ok(());
    for request in requests {
        // Send each request even if an earlier one failed.
        let sent = send(request);
        all = all.and(sent);
    }
    all
}
