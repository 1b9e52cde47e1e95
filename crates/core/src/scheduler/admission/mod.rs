//! Admission: guarantees of deadlines by a running server (paper 0, 2.2 and 3.1).
//!
//! ```text
//! Orb::admit, oxorb sched admit (object.rs)   who, and how much of the processor how often
//!   -> AdmissionDesk (desk.rs)                 of one ORB, by its plan (plan.rs)
//!        -> oxorb_sched::admission::Controller the analysis over all that are admitted, within what the kernel
//!                                              allows the process (allowed.rs)
//!        -> Ledger                             the budgets that hold each to what it was promised
//! ```

mod allowed;
mod desk;
mod object;
mod plan;

pub(crate) use allowed::allowed;
pub(crate) use desk::AdmissionDesk;
pub use desk::{AdmissionError, AdmissionRequest};
pub use object::Admission;
pub use plan::AdmissionPlan;
