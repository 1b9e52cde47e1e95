//! The scheduling service as CORBA objects: `RtecScheduler::Scheduler`, as clients of TAO's service know it.
//!
//! ```text
//! oxorb_sched::Service --Scheduling--> [State (redb)]
//!                          |  serve
//!                          +--> CORBA objects <--Remote-- this ORB and any other
//! ```
//!
//! * [`Scheduling`] is a service that threads share and whose state may outlive the process. In configuration runs it
//!   computes a schedule; at run time it looks up and checks a computed schedule.
//! * [`serve`] makes any server a scheduling service: it answers at
//!   `corbaloc::host:port/ScheduleService`.
//! * [`Remote`] fills and reads a service of this or any other ORB; [`rtec_scheduler`] has the
//!   interface as in IDL.
//!
//! `oxorb sched serve` is a stand-alone scheduling service. `docs/scheduling-service.md` explains how to use it. Times
//! are multiples of 100 ns on the wire and nanoseconds inside. Values that are not multiples of 100 ns are rounded to
//! the safe side, execution times up and periods down.
#![forbid(unsafe_code)]

mod error;
mod faces;
mod refusal;
mod remote;
mod scheduling;
mod servant;
mod serve;
#[cfg(feature = "store")]
mod state;
mod wire;

mod idl {
    #![allow(missing_docs, reason = "the IDL says it")]
    oxorb::include_idl!("RtecScheduler");
}

mod faces_idl {
    #![allow(missing_docs, reason = "the IDL says it")]
    oxorb::include_idl!("schedule");
}

pub use error::Error;
/// `OxORB::ScheduleFaces`: counts of a schedule, and several views of each RT_Info.
pub use faces_idl::ox_orb as schedule_faces;
pub use idl::{rtec_base, rtec_scheduler};
pub use refusal::Refusal;
pub use remote::{Loaded, Remote, RemoteError};
pub use scheduling::{Limits, Scheduling};
pub use serve::{POA_NAME, Served, serve, serve_read_only};

/// Name under which TAO's clients look the service up in the Naming Service, and its key in
/// `corbaloc:` references.
pub const INITIAL_NAME: &str = "ScheduleService";

/// Key of the application section: the same service for clients that may declare operations but not
/// compute.
pub const APPLICATION_KEY: &str = "ScheduleService/application";

/// Key of the object that counts operations and threads and shows several views of each RT_Info
/// ([`schedule_faces`]).
pub const FACES_KEY: &str = "ScheduleService/faces";

/// Documentation page whose examples run as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/scheduling-service.md")]
struct Page;
