//! Streams of events to clients (server-sent events), each with a bounded queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::activity::Running;
use super::limits::PULSE;

/// Sending end of a client's queue.
pub(super) struct Listener {
    to: Sender<Bytes>,
    /// Number of events that were dropped since the client was last told.
    dropped: Arc<AtomicU64>,
}

/// Receiving end of a client's queue.
pub(super) struct Queue {
    events: Receiver<Bytes>,
    dropped: Arc<AtomicU64>,
}

/// Returns the two ends of a queue.
pub(super) fn queue(length: usize) -> (Listener, Queue) {
    let (to, events) = channel(length);
    let dropped = Arc::<AtomicU64>::default();
    (Listener { to, dropped: Arc::clone(&dropped) }, Queue { events, dropped })
}

impl Listener {
    /// Appends a message to the queue, or drops and counts it if the queue is full. Never waits.
    pub(super) fn send(&self, message: &Bytes) {
        let before = self.dropped.swap(0, Ordering::Relaxed);
        // The number of earlier drops precedes the message, so that the client sees where events are missing.
        if before > 0 && self.to.try_send(dropped(before)).is_err() {
            self.dropped.fetch_add(before + 1, Ordering::Relaxed);
            return;
        }
        if self.to.try_send(message.clone()).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Reports whether the client has left.
    pub(super) fn has_left(&self) -> bool {
        self.to.is_closed()
    }
}

/// Body of an answer that contains events as they arrive.
pub(super) struct EventStream {
    queue: Queue,
    /// Signs of life, which also detect clients that have left.
    pulse: Interval,
    _admitted: OwnedSemaphorePermit,
    _running: Running,
}

impl EventStream {
    /// Creates the body. Must be called in the runtime.
    pub(super) fn new(queue: Queue, admitted: OwnedSemaphorePermit, running: Running) -> Self {
        let mut pulse = interval(PULSE);
        pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
        EventStream { queue, pulse, _admitted: admitted, _running: running }
    }

    /// Returns the next message; `None` after the last one.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Poll::Ready(next) = self.queue.events.poll_recv(cx) {
            return Poll::Ready(next);
        }
        let before = self.queue.dropped.swap(0, Ordering::Relaxed);
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

    #[test]
    fn dropped_events_are_counted_where_they_are_missing() {
        let (listener, mut queue) = queue(2);
        for number in 0..5 {
            listener.send(&format!("{number}").into());
        }
        let mut next = || queue.events.try_recv().ok();
        assert_eq!(next().as_deref(), Some(&b"0"[..]));
        assert_eq!(next().as_deref(), Some(&b"1"[..]));
        listener.send(&"5".into());
        assert_eq!(next(), Some(dropped(3)));
        assert_eq!(next().as_deref(), Some(&b"5"[..]));
        assert_eq!(next(), None);
        assert!(!listener.has_left());
        drop(queue);
        assert!(listener.has_left());
    }
}
