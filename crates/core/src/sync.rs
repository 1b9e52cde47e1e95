//! Threads and what they wait for: the system's, or those of a model checker.
//!
//! Whatever decides in this crate which thread goes first is taken from here. In a test build with
//! the feature `model` that is shuttle, which runs one thread at a time and chooses at each lock,
//! wait and atomic access who is next (`attributed` threads are those with a processor or a stack size): so the tests in `model` see interleavings that a machine
//! shows once in a million calls. In all other builds these are the names of `std` and nothing
//! else. Of a thread-local shuttle knows `with` alone.

#[cfg(not(all(test, feature = "model")))]
mod chosen {
    pub(crate) use std::sync::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic,
    };
    pub(crate) use std::{thread, thread_local};

    pub(crate) use oxorb_sys::thread as attributed;
}

#[cfg(all(test, feature = "model"))]
mod chosen {
    pub(crate) use shuttle::sync::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic,
    };
    pub(crate) use shuttle::{thread, thread_local};

    pub(crate) use crate::model::attributed;
}

pub(crate) use chosen::*;
