//! The scheduling service as a library: know before it runs.
//!
//! Nothing here opens a socket, reads a clock or starts a thread. What an application says of its operations goes into a
//! [`Repository`]; a [`Strategy`] and a [`DispatchModel`] make a [`Schedule`] of it; [`analysis`] says whether it holds and
//! why, [`simulate`] shows how it runs, and [`queue`] has the queues that enforce it at run time.
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
//! Times are whole nanoseconds ([`time`]). Papers: paper 0 is "The Design of the TAO Real-Time Object Request Broker",
//! paper 3 "The Design and Performance of a Real-Time CORBA Scheduling Service"; A, F and E numbers are the project's
//! checklist. Where the papers contradict themselves, `docs/experiments/schedulers.md` says how it was settled.
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
