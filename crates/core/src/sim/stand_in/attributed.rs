//! Threads of lanes in a model or a simulation, where processor, stack size and reservation have no effect.

use std::io;

use oxorb_sys::schedule::ThreadPriority;
use oxorb_sys::thread::{ThreadPurpose, ThreadRegistry};

use crate::threads::sync::{named, thread};

/// Stand-in for `oxorb_sys::thread::Thread`.
pub(crate) type Thread<T> = thread::JoinHandle<T>;

/// Stand-in for `oxorb_sys::thread::Builder`.
pub(crate) struct Builder(String);

impl Builder {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Builder(name.into())
    }

    pub(crate) fn cpu(self, _: usize) -> Self {
        self
    }

    pub(crate) fn cpus(self, _: &[usize]) -> Self {
        self
    }

    pub(crate) fn schedule(self, _: ThreadPriority) -> Self {
        self
    }

    pub(crate) fn listed(self, _: &std::sync::Arc<ThreadRegistry>, _: ThreadPurpose) -> Self {
        self
    }

    pub(crate) fn places(self, _: &std::sync::Arc<oxorb_sys::thread::Places>) -> Self {
        self
    }

    pub(crate) fn stack_size(self, _: usize) -> Self {
        self
    }

    pub(crate) fn reserve(self, _: oxorb_sys::schedule::Reservation) -> Self {
        self
    }

    pub(crate) fn spawn<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<thread::JoinHandle<T>> {
        named(self.0, work)
    }
}
