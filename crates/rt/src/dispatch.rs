//! Dispatching modules, which enforce a schedule at run time (paper 3, 3.4.6).
//!
//! A [`DispatchingModule`] is the queue of one dispatching priority and the threads that serve it. Requests
//! wait in the order of the strategy ([`oxorb_sched::queue`]). The operating system's scheduler
//! lets the threads of a more urgent module preempt the others; within one module nothing is
//! preempted. A module may serve the core of an ORB, an event channel, or any other dispatcher.
//!
//! ```
//! use std::sync::mpsc;
//!
//! use oxorb_rt::dispatch::{DispatchingModule, ModulePlan};
//! use oxorb_sched::Dispatching;
//! use oxorb_sched::queue::{Taken, Timing};
//!
//! let (tell, told) = mpsc::channel();
//! let module = DispatchingModule::start(ModulePlan::new("telemetry", Dispatching::Deadline), move |taken| {
//!     if let Taken::Due(sample) | Taken::Late(sample) = taken {
//!         let _ = tell.send(sample);
//!     }
//! })?;
//! let deadline = oxorb_sys::clock::monotonic_nanoseconds() + 1_000_000_000;
//! module.dispatch(7, Timing { deadline, ..Timing::default() }).unwrap();
//! assert_eq!(told.recv(), Ok(7));
//! # Ok::<(), oxorb_rt::dispatch::ModuleStartError>(())
//! ```

mod module;
mod plan;

pub use module::{DispatchingModule, ModuleCounts};
pub use plan::{ModulePlan, ModuleStartError, ModuleThreads, QueueStorage};
