//! Rows of one interface.

use std::fmt;
use std::sync::Arc;

use oxorb_giop::Response;
use oxorb_perfect::PerfectHash;

use super::enforcer::{Enforcer, Row};
use super::thread;

/// Rows of the run-time scheduler's table for the operations of an interface, as returned by
/// [`Orb::scheduled`](crate::Orb::scheduled).
///
/// Lookup of an operation costs one hash and one comparison.
#[derive(Clone)]
pub struct Scheduled(Arc<Rows>);

struct Rows {
    enforcer: Arc<Enforcer>,
    names: Box<[(String, u16)]>,
    hash: PerfectHash,
}

impl Scheduled {
    pub(super) fn new(enforcer: &Arc<Enforcer>, names: Vec<(String, usize)>) -> Option<Scheduled> {
        if names.is_empty() {
            return None;
        }
        let texts: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
        let hash = PerfectHash::build(&texts).ok()?;
        let names = names.into_iter().map(|(name, place)| (name, place as u16)).collect();
        Some(Scheduled(Arc::new(Rows { enforcer: Arc::clone(enforcer), names, hash })))
    }

    /// Returns the row of an operation by its name on the wire.
    #[inline]
    pub(crate) fn find(&self, operation: &str) -> Option<u16> {
        let rows = &*self.0;
        let (name, place) = rows.names.get(rows.hash.find(operation.as_bytes())?)?;
        (name == operation).then_some(*place)
    }

    pub(super) fn enforcer(&self) -> &Arc<Enforcer> {
        &self.0.enforcer
    }

    pub(crate) fn row(&self, place: u16) -> &Row {
        self.0.enforcer.row(place).0
    }

    /// Counts a call to an operation of this interface by the request that this thread runs.
    pub(crate) fn called(&self, to: u16, response: Response) {
        let enforcer = &self.0.enforcer;
        if enforcer.plan.measure
            && let Some(from) = thread::current(enforcer)
        {
            enforcer.graph.called(from, to, response == Response::WithTarget);
        }
    }
}

impl fmt::Debug for Scheduled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.names.iter().map(|(name, place)| (name, place))).finish()
    }
}
