//! Schedules: results of the analysis, and their enforcement ([`RunTimeScheduler`]).

#[doc(inline)]
pub use oxorb_core::{CallsBetween, Measurement, Measurements, ModuleSettings, RunTimeScheduler};
#[doc(inline)]
pub use oxorb_rt::dispatch::{
    DispatchingModule, ModuleCounts, ModulePlan, ModuleStartError, ModuleThreads, QueueStorage,
};
pub use oxorb_sched::*;
