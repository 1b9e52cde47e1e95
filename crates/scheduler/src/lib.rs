//! The scheduling service as CORBA objects: `RtecScheduler::Scheduler`, as clients of TAO's service know it.
//!
//! ```text
//! oxorb_sched::Service --Scheduling--> [State (redb)]
//!                          |  serve
//!                          +--> CORBA objects <--Remote-- this ORB and any other
//! ```
//!
//! * [`Scheduling`] is a service that threads share, and that may outlive the process: a configuration run, which computes,
//!   or the face of run time, which looks up and checks.
//! * [`serve`] makes any server a scheduling service: it answers at `corbaloc::host:port/ScheduleService`.
//! * [`Remote`] fills and reads this or any other ORB's service; [`rtec_scheduler`] holds the interface as it is in IDL.
//!
//! `oxorb sched serve` is a scheduling service of its own. `docs/scheduling-service.md` tells how to use all of it. Times have units
//! of 100 ns on the wire and are whole nanoseconds inside: what does not fit is rounded to the side that is safe, execution
//! times up and periods down.
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
/// `OxORB::ScheduleFaces`, the numbers of a schedule and the faces of each RT_Info.
pub use faces_idl::ox_orb as schedule_faces;
pub use idl::{rtec_base, rtec_scheduler};
pub use refusal::Refusal;
pub use remote::{Loaded, Remote, RemoteError};
pub use scheduling::{Limits, Scheduling};
pub use serve::{POA_NAME, Served, serve, serve_read_only};

/// The name under which TAO's clients look for the service in the Naming Service, and its key in `corbaloc:` references.
pub const INITIAL_NAME: &str = "ScheduleService";

/// The key of the application section: the same service for those who may declare operations and not compute.
pub const APPLICATION_KEY: &str = "ScheduleService/application";

/// The key of the object that counts operations and threads, and shows each RT_Info by its faces
/// ([`schedule_faces`]).
pub const FACES_KEY: &str = "ScheduleService/faces";

/// The examples of the page are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/scheduling-service.md")]
struct Page;
