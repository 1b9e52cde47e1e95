//! Bodies of answers, and the answers of routes.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use tokio::time::Instant;

use super::activity::Running;
use super::limits::PART;
use super::listener::EventStream;
use super::memory::Occupied;
use super::problem::Problem;

/// Media type of events.
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// Body of an answer.
pub(super) struct Content {
    octets: Octets,
    /// Request whose answer this is.
    running: Option<Running>,
    _memory: Option<Occupied>,
}

enum Octets {
    /// Octets that are known, and not yet sent.
    Known(Bytes),
    /// Events as they arrive.
    Events(Box<EventStream>),
}

/// Answer of a route.
pub(super) type Answer = Response<Content>;

impl Content {
    fn new(octets: Octets) -> Content {
        Content { octets, running: None, _memory: None }
    }

    /// Returns a body without octets.
    pub(super) fn empty() -> Content {
        Content::new(Octets::Known(Bytes::new()))
    }

    /// Returns the number of octets in memory.
    pub(super) fn length(&self) -> usize {
        match &self.octets {
            Octets::Known(octets) => octets.len(),
            Octets::Events(_) => 0,
        }
    }

    /// Returns the octets if they are known.
    #[cfg(test)]
    pub(super) fn known(self) -> Option<Bytes> {
        match self.octets {
            Octets::Known(octets) => Some(octets),
            Octets::Events(_) => None,
        }
    }

    /// Keeps the memory occupied, and the request running, until the body is sent.
    pub(super) fn hold(&mut self, mut running: Option<Running>, memory: Option<Occupied>) {
        if let Some(running) = &mut running {
            running.begin_answer(Instant::now(), matches!(self.octets, Octets::Known(_)));
        }
        (self.running, self._memory) = (running, memory);
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let content = self.get_mut();
        let next = match &mut content.octets {
            Octets::Known(octets) => {
                // Only parts leave, so that this lives until the client has received nearly all.
                let part = octets.split_to(octets.len().min(PART));
                Poll::Ready((!part.is_empty()).then_some(part))
            }
            Octets::Events(stream) => stream.poll_next(cx),
        };
        if let (Poll::Ready(part), Some(running)) = (&next, &mut content.running) {
            running.progress(Instant::now(), part.as_ref().map_or(0, Bytes::len));
        }
        next.map(|octets| octets.map(|octets| Ok(Frame::data(octets))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.octets, Octets::Known(octets) if octets.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.octets {
            Octets::Known(octets) => SizeHint::with_exact(octets.len() as u64),
            Octets::Events(_) => SizeHint::default(),
        }
    }
}

/// Returns an answer without a body.
pub(super) fn empty(status: StatusCode) -> Answer {
    answer(status, Content::empty())
}

/// Returns an answer with a body of a media type.
pub(super) fn typed(status: StatusCode, media_type: &'static str, octets: Bytes) -> Answer {
    let mut answer = answer(status, Content::new(Octets::Known(octets)));
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
    let mut answer = answer(StatusCode::OK, Content::new(Octets::Events(Box::new(stream))));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    answer
}

fn answer(status: StatusCode, content: Content) -> Answer {
    let mut answer = Response::new(content);
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::http::memory::Memory;

    fn next(content: &mut Content) -> Option<Bytes> {
        let frame =
            Pin::new(content).poll_frame(&mut Context::from_waker(std::task::Waker::noop()));
        match frame {
            Poll::Ready(Some(Ok(frame))) => frame.into_data().ok(),
            Poll::Ready(None) => None,
            _ => panic!("the octets are known"),
        }
    }

    #[test]
    fn memory_is_occupied_until_the_client_has_received_the_octets() {
        let memory = Memory::new(3 * PART as u32, 3 * PART);
        let address = std::net::IpAddr::from([127, 0, 0, 1]);
        let mut content = Content::new(Octets::Known(vec![7; 2 * PART + 1].into()));
        let occupied = memory.occupy(address, content.length()).unwrap();
        content.hold(None, Some(occupied));
        assert_eq!(next(&mut content).map(|part| part.len()), Some(PART));
        assert_eq!(next(&mut content).map(|part| part.len()), Some(PART));
        assert_eq!(content.size_hint().exact(), Some(1));
        assert!(!content.is_end_stream());
        assert!(memory.occupy(address, PART).is_err());
        assert_eq!(next(&mut content).as_deref(), Some(&[7][..]));
        assert!(content.is_end_stream());
        assert_eq!(next(&mut content), None);
        drop(content);
        assert!(memory.occupy(address, 3 * PART).is_ok());
    }
}
