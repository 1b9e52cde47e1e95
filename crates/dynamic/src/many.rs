//! Several requests at once.

use std::time::Duration;

use oxorb_giop::SystemException;

use crate::request::NOT_SENT;
use crate::{Exception, Request};

/// How long [`next_response`] sleeps between two looks.
const PAUSE: Duration = Duration::from_micros(200);

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
    let mut any = false;
    for (at, request) in requests.iter_mut().enumerate() {
        if request.is_pending() {
            any = true;
            if request.poll_response()? {
                return Ok(Some(at));
            }
        }
    }
    if any { Ok(None) } else { Err(NOT_SENT) }
}

/// Waits until one of the answers is there (`get_next_response`), and says whose; take it with
/// [`Request::get_response`].
///
/// Looks at all of them several thousand times a second. `BAD_INV_ORDER` 11 when no answer is to come.
pub fn next_response(requests: &mut [Request]) -> Result<usize, SystemException> {
    loop {
        if let Some(at) = poll_next_response(requests)? {
            return Ok(at);
        }
        std::thread::sleep(PAUSE);
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
