//! Real-time scheduling as a library: analysis of a schedule before the application runs.
//!
//! The crate opens no socket, reads no clock and starts no thread. An application declares its
//! operations in a [`Repository`]; a [`Strategy`] and a [`DispatchModel`] turn them into a
//! [`Schedule`]; [`analysis`] reports whether its deadlines hold and why, [`simulate`] shows how it
//! runs, and [`queue`] has the queues that enforce it at run time.
//!
//! ```
//! use oxorb_sched::repository::Characteristics;
//! use oxorb_sched::time::MILLISECOND;
//! use oxorb_sched::{DispatchModel, OsPriorities, Repository, Schedule, Strategy, analysis};
//!
//! let mut repository = Repository::new();
//! for (name, worst_case, period) in [("control", 3, 10), ("display", 8, 40)] {
//!     let handle = repository.create(name)?;
//!     let said = Characteristics {
//!         worst_case: worst_case * MILLISECOND,
//!         period: period * MILLISECOND,
//!         threads: 1,
//!         ..Characteristics::default()
//!     };
//!     repository.set(handle, said)?;
//! }
//! let priorities = OsPriorities::range(1, 99)?;
//! let schedule = Schedule::compute(&repository, &Strategy::RMS, &DispatchModel::Band, &priorities)?;
//! let report = analysis::analyse(&schedule.tasks);
//! assert!(report.is_feasible());
//! // display waits for control twice: 8 + 2 * 3 = 14 ms.
//! assert_eq!(report.verdicts[1].response, Some(14 * MILLISECOND));
//! # Ok::<(), oxorb_sched::Error>(())
//! ```
//!
//! Times are whole nanoseconds ([`time`]). Papers: paper 0 is "Architectures and Patterns for
//! Developing High-performance, Real-time ORB Endsystems", paper 3 "The Design and Performance of a
//! Real-Time CORBA Scheduling Service" (`docs/references.md`).
//! Where a paper contradicts itself, `docs/experiments/schedulers.md` explains which interpretation
//! this crate uses.
#![forbid(unsafe_code)]

pub mod admission;
pub mod analysis;
pub mod annotation;
mod anomaly;
mod arrivals;
mod burst;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod graph;
pub mod import;
pub mod level;
mod overheads;
pub mod queue;
pub mod repository;
mod schedule;
pub mod service;
pub mod simulate;
pub mod strategy;
pub mod table;
mod task;
pub mod time;

pub use anomaly::{Anomaly, Severity};
pub use burst::Burst;
pub use error::Error;
pub use graph::Cycle;
pub use overheads::{NoProgress, Overheads};
pub use repository::Repository;
pub use schedule::{Assignment, CriticalSet, Level, OsPriorities, Schedule};
pub use strategy::{DispatchModel, Dispatching, Strategy};
pub use table::DispatchTable;
pub use task::{Task, TaskSet, Utilization, WHOLE, overloads};
