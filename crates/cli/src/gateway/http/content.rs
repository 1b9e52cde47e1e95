//! Bodies of answers, and the answers of routes.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

use super::listener::EventStream;
use super::problem::Problem;

/// Body of an answer.
pub(super) enum Content {
    /// Octets that are known; `None` once they are sent.
    Whole(Option<Bytes>),
    /// Events as they arrive.
    Events(Box<EventStream>),
}

/// Answer of a route.
pub(super) type Answer = Response<Content>;

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Content::Whole(octets) => Poll::Ready(octets.take()),
            Content::Events(stream) => stream.poll_next(cx),
        };
        next.map(|octets| octets.map(|octets| Ok(Frame::data(octets))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Content::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Content::Whole(Some(octets)) => SizeHint::with_exact(octets.len() as u64),
            Content::Whole(None) => SizeHint::with_exact(0),
            Content::Events(_) => SizeHint::default(),
        }
    }
}

/// Returns an answer without a body.
pub(super) fn empty(status: StatusCode) -> Answer {
    answer(status, Content::Whole(None))
}

/// Returns an answer with a body of a media type.
pub(super) fn typed(status: StatusCode, media_type: &'static str, octets: Bytes) -> Answer {
    let mut answer = answer(status, Content::Whole(Some(octets)));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}

/// Returns an answer with a value as JSON.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Result<Answer, Problem> {
    match serde_json::to_vec(value) {
        Ok(octets) => Ok(typed(status, "application/json", octets.into())),
        Err(error) => Err(Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("the result cannot be written as JSON: {error}"),
        )),
    }
}

/// Returns an answer with events.
pub(super) fn events(stream: EventStream) -> Answer {
    let mut answer = answer(StatusCode::OK, Content::Events(Box::new(stream)));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer
}

fn answer(status: StatusCode, content: Content) -> Answer {
    let mut answer = Response::new(content);
    *answer.status_mut() = status;
    answer
}
