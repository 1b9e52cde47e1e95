//! Stand-ins for threads, locks, time and network in tests: under a model checker, and in a simulation.

#[cfg(all(test, feature = "model"))]
pub(crate) mod model;
#[cfg(all(test, feature = "simulation"))]
pub(crate) mod simulation;
pub(crate) mod stand_in;
