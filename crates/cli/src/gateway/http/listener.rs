//! Streams of events to clients (server-sent events), each with a bounded queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::limits::PULSE;
use super::peers::PeerPlace;

/// Sending end of a client's queue.
pub(super) struct Listener {
    to: Sender<Bytes>,
    /// Maximum number of octets in the queue, unless a single message is larger.
    most_octets: usize,
    counts: Arc<Counts>,
}

/// Receiving end of a client's queue.
pub(super) struct Queue {
    events: Receiver<Bytes>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    /// Number of events that were dropped since the client was last told.
    dropped: AtomicU64,
    /// Number of octets in the queue.
    octets: AtomicUsize,
}

/// Returns the two ends of a queue with limits of messages and octets.
pub(super) fn queue(length: usize, most_octets: usize) -> (Listener, Queue) {
    let (to, events) = channel(length);
    let counts = Arc::<Counts>::default();
    (Listener { to, most_octets, counts: Arc::clone(&counts) }, Queue { events, counts })
}

impl Listener {
    /// Appends a message to the queue, or drops and counts it if the queue is full. Never waits.
    pub(super) fn send(&self, message: &Bytes) {
        let before = self.counts.dropped.swap(0, Ordering::Relaxed);
        // The number of earlier drops precedes the message, so that the client sees where events are missing.
        if before > 0 && !self.append(dropped(before)) {
            self.counts.dropped.fetch_add(before + 1, Ordering::Relaxed);
            return;
        }
        if !self.append(message.clone()) {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts an event as dropped.
    pub(super) fn miss(&self) {
        self.counts.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// Appends a message, unless too many messages or octets wait. A single message may be larger.
    fn append(&self, message: Bytes) -> bool {
        let (octets, length) = (&self.counts.octets, message.len());
        let before = octets.fetch_add(length, Ordering::Relaxed);
        let is_full = before > 0 && before + length > self.most_octets;
        let is_sent = !is_full && self.to.try_send(message).is_ok();
        if !is_sent {
            octets.fetch_sub(length, Ordering::Relaxed);
        }
        is_sent
    }

    /// Reports whether the client has left.
    pub(super) fn has_left(&self) -> bool {
        self.to.is_closed()
    }
}

impl Queue {
    /// Returns the next message.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let next = self.events.poll_recv(cx);
        if let Poll::Ready(Some(message)) = &next {
            self.counts.octets.fetch_sub(message.len(), Ordering::Relaxed);
        }
        next
    }
}

/// Body of an answer that contains events as they arrive.
pub(super) struct EventStream {
    queue: Queue,
    /// Signs of life, which also detect clients that have left.
    pulse: Interval,
    _admitted: (OwnedSemaphorePermit, PeerPlace),
}

impl EventStream {
    /// Creates the body, which keeps its place among all streams and among those of its client. Must be called in the
    /// runtime.
    pub(super) fn new(queue: Queue, admitted: (OwnedSemaphorePermit, PeerPlace)) -> Self {
        let mut pulse = interval(PULSE);
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        EventStream { queue, pulse, _admitted: admitted }
    }

    /// Returns the next message; `None` after the last one.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Poll::Ready(next) = self.queue.poll(cx) {
            return Poll::Ready(next);
        }
        let before = self.queue.counts.dropped.swap(0, Ordering::Relaxed);
        if before > 0 {
            return Poll::Ready(Some(dropped(before)));
        }
        // The first tick is immediate, so that the client gets the headers at once.
        self.pulse.poll_tick(cx).map(|_| Some(Bytes::from_static(b":\n\n")))
    }
}

/// Returns a message of a kind.
pub(super) fn message(kind: &str, data: &Value) -> Bytes {
    format!("event: {kind}\ndata: {data}\n\n").into()
}

fn dropped(count: u64) -> Bytes {
    message("dropped", &json!({ "events": count }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::http::limits::EVENTS_OCTETS;

    fn next(queue: &mut Queue) -> Option<Bytes> {
        match queue.poll(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(next) => next,
            Poll::Pending => None,
        }
    }

    #[test]
    fn the_octets_that_wait_are_limited() {
        let (listener, mut queue) = queue(100, EVENTS_OCTETS);
        let half = Bytes::from(vec![b'x'; EVENTS_OCTETS / 2]);
        let large = Bytes::from(vec![b'x'; EVENTS_OCTETS + 1]);
        for message in [&half, &half, &half, &large] {
            listener.send(message);
        }
        assert_eq!(next(&mut queue), Some(half.clone()));
        assert_eq!(next(&mut queue), Some(half.clone()));
        assert_eq!(next(&mut queue), None);
        listener.send(&half);
        assert_eq!(next(&mut queue), Some(dropped(2)));
        assert_eq!(next(&mut queue), Some(half));
        // A large event passes if no other waits.
        listener.send(&large);
        assert_eq!(next(&mut queue), Some(large));
    }

    #[test]
    fn dropped_events_are_counted_where_they_are_missing() {
        let (listener, mut queue) = queue(2, EVENTS_OCTETS);
        for number in 0..5 {
            listener.send(&format!("{number}").into());
        }
        assert_eq!(next(&mut queue).as_deref(), Some(&b"0"[..]));
        assert_eq!(next(&mut queue).as_deref(), Some(&b"1"[..]));
        listener.send(&"5".into());
        assert_eq!(next(&mut queue), Some(dropped(3)));
        assert_eq!(next(&mut queue).as_deref(), Some(&b"5"[..]));
        assert_eq!(next(&mut queue), None);
        assert!(!listener.has_left());
        drop(queue);
        assert!(listener.has_left());
    }
}
