//! Schedules: results of the analysis, and their enforcement ([`RunTimeScheduler`]).

#[doc(inline)]
pub use oxorb_core::{CallsBetween, Measurement, Measurements, Modules, RunTimeScheduler};
#[doc(inline)]
pub use oxorb_rt::dispatch::{Counts, Module, Plan, StartError, Storage, Threads};
pub use oxorb_sched::*;
