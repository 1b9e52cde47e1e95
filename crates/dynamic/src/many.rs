//! Several requests at once.

use std::task::{Context, Poll, Waker};

use oxorb_object::SystemException;

use crate::request::NOT_SENT;
use crate::{Exception, Request};

/// Sends requests without waiting for any of them (`send_multiple_requests_deferred`).
///
/// All are tried; gives back the first failure.
pub fn send_multiple_deferred(requests: &mut [Request]) -> Result<(), Exception> {
    each(requests, Request::send_deferred)
}

/// Sends requests that want no answer (`send_multiple_requests_oneway`).
///
/// All are tried; gives back the first failure.
pub fn send_multiple_oneway(requests: &mut [Request]) -> Result<(), Exception> {
    each(requests, Request::send_oneway)
}

/// The number of a request whose answer is there, if there is one (`poll_next_response`). Never waits.
///
/// `BAD_INV_ORDER` 11 when no answer is to come.
pub fn poll_next_response(requests: &mut [Request]) -> Result<Option<usize>, SystemException> {
    let mut nobody = Context::from_waker(Waker::noop());
    match poll(requests, &mut nobody) {
        Poll::Ready(found) => found.map(Some),
        Poll::Pending => Ok(None),
    }
}

/// Waits until one of the answers is there (`get_next_response`), and says whose; take it with
/// [`Request::get_response`].
///
/// Sleeps until then; a request whose time is over has its answer, too: `TIMEOUT`. `BAD_INV_ORDER` 11 when no answer
/// is to come.
pub fn next_response(requests: &mut [Request]) -> Result<usize, SystemException> {
    oxorb_core::wait_until(|context| poll(requests, context))
}

/// Looks at those that are not answered up to the first that is; the task is woken by any of them.
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
        // Sent whatever became of those before.
        let sent = send(request);
        all = all.and(sent);
    }
    all
}
