//! Dynamic scheduling of Real-time CORBA 2.0: distributable threads, which carry their scheduling
//! parameters from process to process, under schedulers that applications may write.
//!
//! ```text
//!  process 1                     process 2                     process 3
//!  begin_scheduling_segment
//!  account.withdraw() ---30--->  servant, at the thread's
//!                                priority; audit.note() -30->  servant, the same
//!                                                              thread.cancel()
//!  THREAD_CANCELLED   <--------  THREAD_CANCELLED  <---------  THREAD_CANCELLED
//! ```
//!
//! * [`RtScheduling`] is a [`Scheduler`] with its threads; its [`Current`] begins segments, spawns
//!   threads and finds them.
//! * [`Kokyu`] provides TAO's schedulers: [`Fp`], [`Mif`] and [`Muf`], by native priorities or one
//!   thread at a time.
//! * [`DistributableThread`] is a handle to inspect a thread, and to
//!   [cancel](DistributableThread::cancel) it wherever it is.
//! * [`upcalls`] calls servants periodically, at the priority of their lane or schedule.
//!
//! `docs/dynamic-scheduling.md` explains how to use them.
#![forbid(unsafe_code)]

mod cancel;
mod context;
mod current;
#[doc(hidden)]
pub mod fuzz;
mod id;
mod interceptor;
mod kokyu;
#[cfg(all(test, feature = "model"))]
mod model;
mod refusal;
mod resource;
mod scheduler;
mod scheduling;
mod slots;
mod spawn;
mod stack;
mod sync;
mod thread;
pub mod upcalls;

pub use context::{BadContext, DsrtQos, MAX_CONTEXT, SCHEDULING_INFO};
pub use current::{Current, SchedulingSegment};
pub use id::{Id, MAX_ID};
pub use kokyu::{
    Band, Discipline, Enforcement, Exclusive, Fp, FpParameter, Kokyu, Mif, MifParameter, Muf,
    MufParameter, Urgency,
};
pub use resource::{HeldResource, ResourceManager};
pub use scheduler::{Grant, Scheduler, Segment, SegmentError};
pub use scheduling::{Limits, RtScheduling};
pub use spawn::SpawnOptions;
pub use thread::{DistributableThread, DtState};

/// Documentation page whose examples run as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/dynamic-scheduling.md")]
struct Page;
