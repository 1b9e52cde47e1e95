//! Plans launched over an execution manager and node managers: connected, restarted, changed, undone.

mod launch;
mod operations;
mod redeploy;
mod restart;
mod scene;
mod undo;
