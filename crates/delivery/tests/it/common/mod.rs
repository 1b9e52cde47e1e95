//! Sinks that record, block and fail.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb_delivery::{Attributes, Cause, Outcome, Release, Sink};

/// Time limit of tests, which ends a test that hangs. No test reaches it on any machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) const PLAIN: Attributes =
    Attributes { priority: 0, deadline: None, start: None, expiry: None, source: 0, octets: 1 };

type Answer = dyn Fn(&[u64]) -> Outcome + Send + Sync;

/// A sink that sends each batch to the test and answers as configured.
pub(crate) struct Recorder {
    batches: Mutex<Sender<Vec<u64>>>,
    answer: Box<Answer>,
    pub dropped: Mutex<Vec<(Cause, u64)>>,
    pub released: Mutex<Vec<Release>>,
}

impl Recorder {
    pub(crate) fn new() -> (Arc<Recorder>, Receiver<Vec<u64>>) {
        Recorder::answering(|_| Outcome::Delivered)
    }

    pub(crate) fn answering(
        answer: impl Fn(&[u64]) -> Outcome + Send + Sync + 'static,
    ) -> (Arc<Recorder>, Receiver<Vec<u64>>) {
        let (tell, told) = mpsc::channel();
        let recorder = Recorder {
            batches: Mutex::new(tell),
            answer: Box::new(answer),
            dropped: Mutex::default(),
            released: Mutex::default(),
        };
        (Arc::new(recorder), told)
    }

    /// Creates a sink that blocks each delivery until the sender sends a message or is dropped.
    pub(crate) fn blocking() -> (Arc<Recorder>, Receiver<Vec<u64>>, Sender<()>) {
        let (release, released) = mpsc::channel::<()>();
        let released = Mutex::new(released);
        let (recorder, told) = Recorder::answering(move |_| {
            let _ = released.lock().unwrap().recv();
            Outcome::Delivered
        });
        (recorder, told, release)
    }

    pub(crate) fn dropped(&self) -> Vec<(Cause, u64)> {
        self.dropped.lock().unwrap().clone()
    }
}

impl Sink<u64> for Recorder {
    fn deliver(&self, events: &[u64]) -> Outcome {
        // Ignore the error: `send` fails only if the test has already dropped the receiver.
        let _ = self.batches.lock().unwrap().send(events.to_vec());
        (self.answer)(events)
    }

    fn released(&self, why: Release) {
        self.released.lock().unwrap().push(why);
    }

    fn dropped(&self, cause: Cause, event: &u64) {
        self.dropped.lock().unwrap().push((cause, *event));
    }
}

/// Returns the next events, in one vector.
pub(crate) fn receive(told: &Receiver<Vec<u64>>, events: usize) -> Vec<u64> {
    let mut all = Vec::new();
    while all.len() < events {
        all.extend(told.recv_timeout(LONG).expect("an event"));
    }
    all
}
