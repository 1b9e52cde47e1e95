//! Threads and synchronization: those of the system, of a model checker, or of a simulation.
//!
//! All primitives of this crate that decide which thread runs first come from this module. In a test build with the
//! feature `model` they are shuttle's, which runs one thread at a time and chooses the next thread at each lock, wait
//! and atomic access (`attributed` threads have a processor or a stack size). The tests in `model` thus see
//! interleavings that a machine shows once in a million calls. With the feature `simulation` they are those of
//! `src/sim/simulation`, whose waits end at times of a simulated clock: hours pass in milliseconds. In all other builds
//! they are those of `std` and the locks of [`oxorb_sys::sync`]. Of thread-local variables shuttle supports only
//! `with`.
//!
//! `cargo xtask tidy` finds files of this crate that use other primitives. It permits `std`'s `Arc`, `Weak`, `OnceLock`
//! and `LazyLock`: no thread waits for a value of theirs, except while it is initialised.

/// Primitives that neither a model checker nor a simulation controls. Two uses are permitted:
///
/// - statics. They outlive the executions of a model, and a checker's primitives do not;
/// - counts on which no thread acts. Each access would be one more choice of the checker, in every request.
pub(crate) mod uncontrolled {
    pub(crate) use std::sync::atomic;

    pub(crate) use oxorb_sys::sync::Mutex;
}

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

    pub(crate) use crate::sim::simulation::network::{touch, wait_for};
    pub(crate) use crate::sim::simulation::sync::Mutex;
    pub use crate::sim::simulation::sync::{Condvar, MutexGuard};
    pub(crate) use crate::sim::simulation::thread::named;
    pub(crate) use crate::sim::simulation::{mpsc, thread};
    pub(crate) use crate::sim::stand_in::attributed;
    pub(crate) use crate::sim::stand_in::reactor::StandInReactor as OtherReactor;
}

#[cfg(all(test, feature = "model"))]
mod chosen {
    pub(crate) use shuttle::sync::atomic;
    pub(crate) use shuttle::{thread, thread_local};

    pub(crate) use crate::sim::model::sync::Mutex;
    pub use crate::sim::model::sync::{Condvar, MutexGuard};
    pub(crate) use crate::sim::model::{mpsc, named, touch, wait_for};
    pub(crate) use crate::sim::stand_in::attributed;
    pub(crate) use crate::sim::stand_in::reactor::StandInReactor as OtherReactor;
}

pub use chosen::*;
