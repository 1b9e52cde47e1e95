//! Scheduling at run time: the schedule that was analysed (paper 0, 4.2; paper 3, 3.3 steps 7 to 10), budgets, and
//! admission.
//!
//! ```text
//! RunTimeScheduler (plan.rs)      the configuration: the table of an analysed schedule, and how to enforce it
//!   -> Enforcer (enforcer.rs)     of one ORB: rows with CORBA priorities, counters
//!        -> Scheduled (scheduled.rs)  the rows of one interface, looked up when an object is activated or first called
//!             -> Running (running.rs) one request: its thread has the row's priority; measured, if configured
//! ```
//!
//! The measurements (measure.rs) are also a CORBA object (object.rs), for `oxorb sched calibrate` and `watch`.
//!
//! An ORB without a table skips all of this: its object adapter looks up no rows, and its references are not real-time.

pub(crate) mod admission;
pub(crate) mod budget;
mod enforcer;
mod measure;
mod object;
mod plan;
mod running;
mod scheduled;
mod thread;

pub(crate) use enforcer::Enforcer;
pub use measure::{CallsBetween, Measurement};
pub use object::Measurements;
pub use plan::{ModuleSettings, RunTimeScheduler};
pub use running::Running;
pub use scheduled::Scheduled;
pub(crate) use thread::arrived_at;
