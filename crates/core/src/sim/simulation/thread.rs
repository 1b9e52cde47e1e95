//! Threads of a world.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use oxorb_sys::sync::Mutex;

pub(crate) use std::thread::Result;

use super::caught;
use super::world::{Here, here};

pub(crate) struct JoinHandle<T> {
    id: u64,
    result: Arc<Mutex<Option<Result<T>>>>,
}

impl<T> JoinHandle<T> {
    pub(crate) fn join(self) -> Result<T> {
        place().join(self.id);
        let mut result = self.result.lock();
        result.take().expect("the thread has ended")
    }
}

#[derive(Clone)]
pub(crate) struct Thread(Here);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ThreadId(u64);

impl Thread {
    pub(crate) fn id(&self) -> ThreadId {
        ThreadId(self.0.id)
    }

    pub(crate) fn unpark(&self) {
        self.0.unpark();
    }
}

pub(crate) fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    named("thread", work).expect("a thread of a simulation")
}

/// Starts a named thread.
pub(crate) fn named<T: Send + 'static>(
    name: impl Into<String>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let result = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&result);
    let here = place();
    let id = here.world.start(name.into(), move || {
        let ended = caught(work);
        *kept.lock() = Some(ended);
    });
    here.step();
    Ok(JoinHandle { id, result })
}

pub(crate) fn current() -> Thread {
    Thread(place())
}

pub(crate) fn park() {
    place().park(None);
}

pub(crate) fn park_timeout(limit: Duration) {
    let here = place();
    here.park(here.after(limit));
}

pub(crate) fn sleep(time: Duration) {
    let here = place();
    let until = here.after(time);
    here.wait(until);
}

pub(crate) fn yield_now() {
    place().give_way();
}

fn place() -> Here {
    here().expect("a thread of a simulation")
}
