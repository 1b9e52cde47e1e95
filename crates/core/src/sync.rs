//! Threads and their waits: the system's, those of a model checker, or those of a simulation.
//!
//! Whatever decides in this crate which thread goes first is taken from here. In a test build with the feature `model`
//! that is shuttle, which runs one thread at a time and chooses at each lock, wait and atomic access who is next
//! (`attributed` threads are those with a processor or a stack size): so the tests in `model` see interleavings that a
//! machine shows once in a million calls. With the feature `simulation` it is `src/simulation`, whose waits end when the
//! time of the simulated world comes: hours of it pass in milliseconds. In all other builds these are the names of `std`
//! and the locks of [`oxorb_sys::sync`]. Of a thread-local shuttle knows `with` alone.

#[cfg(all(test, feature = "model", feature = "simulation"))]
compile_error!("test either with the feature `model` or with `simulation`");

#[cfg(not(all(test, any(feature = "model", feature = "simulation"))))]
mod chosen {
    pub(crate) use std::sync::{atomic, mpsc};
    pub(crate) use std::{thread, thread_local};

    pub(crate) use oxorb_sys::sync::Mutex;
    pub use oxorb_sys::sync::{Condvar, MutexGuard};
    pub(crate) use oxorb_sys::thread as attributed;
}

#[cfg(all(test, feature = "simulation"))]
mod chosen {
    pub(crate) use std::sync::atomic;
    pub(crate) use std::thread_local;

    pub(crate) use crate::simulation::network::{touch, wait_for};
    pub(crate) use crate::simulation::sync::Mutex;
    pub use crate::simulation::sync::{Condvar, MutexGuard};
    pub(crate) use crate::simulation::thread::named;
    pub(crate) use crate::simulation::{mpsc, thread};
    pub(crate) use crate::stand_in::attributed;
    pub(crate) use crate::stand_in::reactor::StandInReactor as OtherReactor;
}

#[cfg(all(test, feature = "model"))]
mod chosen {
    pub(crate) use shuttle::sync::{atomic, mpsc};
    pub(crate) use shuttle::{thread, thread_local};

    pub(crate) use crate::model::sync::Mutex;
    pub use crate::model::sync::{Condvar, MutexGuard};
    pub(crate) use crate::model::{named, touch, wait_for};
    pub(crate) use crate::stand_in::attributed;
    pub(crate) use crate::stand_in::reactor::StandInReactor as OtherReactor;
}

pub use chosen::*;
