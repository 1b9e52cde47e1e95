//! Reports of overruns to the application.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// Report of a request that has used more processor time than its [budget](crate::Budget::longest)
/// allows for one request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Overrun {
    /// Owner of the budget: `operation Radar::Track::update`, `client 10.0.0.7`.
    pub subject: String,
    /// Kernel's id of the thread that runs the request.
    pub thread: i32,
    /// Processor time that the request has used so far.
    pub used: Duration,
    /// Processor time that the request may use.
    pub allowed: Duration,
    /// Whether the request still runs. Otherwise it ended before the overrun was noticed.
    pub runs: bool,
    /// Whether the request's thread is demoted until it ends.
    pub demoted: bool,
}

/// Hook of the application for requests that overrun.
pub(crate) type OverrunHook = dyn Fn(&Overrun) + Send + Sync;

/// Application hooks that are called when a request overruns its budget: by the watching thread while the request runs,
/// or by the request's own thread after its end. Hooks should return quickly, because no other request is watched
/// meanwhile.
///
/// ```
/// let mut options = oxorb_core::Options::default();
/// options.realtime.overrun_hooks.add(|overrun| eprintln!("{} has used {:?}", overrun.subject, overrun.used));
/// ```
#[derive(Clone, Default)]
pub struct OverrunHooks(Vec<Arc<OverrunHook>>);

impl OverrunHooks {
    /// Adds a hook.
    pub fn add(&mut self, hook: impl Fn(&Overrun) + Send + Sync + 'static) {
        self.0.push(Arc::new(hook));
    }

    pub(super) fn call(&self, overrun: &Overrun) {
        for hook in &self.0 {
            // A panic in a hook of the application must not end the watching thread.
            let _ = catch_unwind(AssertUnwindSafe(|| hook(overrun)));
        }
    }
}

impl fmt::Debug for OverrunHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hooks", self.0.len())
    }
}
