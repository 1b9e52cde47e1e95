//! Plans launched over an execution manager and node managers: connected, restarted, changed, undone.

mod extended;
mod fetched;
mod launch;
mod operations;
mod packages;
mod redeploy;
mod restart;
mod scene;
mod undo;
