//! Access rules in force, which can be replaced while the ORB runs.
//!
//! A request loads the index of the rules, and the rules for its client, which its connection keeps. Both are atomic
//! loads. After a replacement, the next request of each connection determines the rules for its client again.

use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, Guard};
use oxorb_transport::Link;

use super::access_index::{AccessIndex, Visit};
use super::access_rules::AccessRules;
use crate::threads::lock::Mutex;

/// Access rules of one ORB.
pub(crate) struct AccessGate {
    index: ArcSwap<AccessIndex>,
    /// Index that was replaced last. Its lock admits one replacement at a time, so that generations only grow.
    // The index is kept until the next replacement. Otherwise a thread that decides a request meanwhile could be the
    // last owner of the index, and would have to free it.
    replaced: Mutex<Option<Arc<AccessIndex>>>,
}

/// Cell in which a connection keeps the rules for its peer. It is empty until the rules apply to a first request.
#[derive(Default)]
pub(crate) struct Visited(OnceLock<ArcSwap<Visit>>);

impl AccessGate {
    pub(crate) fn new(rules: &Arc<AccessRules>) -> Self {
        Self { index: ArcSwap::from_pointee(AccessIndex::new(rules)), replaced: Mutex::new(None) }
    }

    /// Replaces the rules. Requests that are being decided meanwhile may still be decided by the previous rules.
    pub(crate) fn replace(&self, rules: &Arc<AccessRules>) {
        let mut replaced = self.replaced.lock();
        *replaced = Some(self.index.swap(Arc::new(AccessIndex::new(rules))));
    }

    #[inline]
    pub(crate) fn index(&self) -> Guard<Arc<AccessIndex>> {
        self.index.load()
    }
}

impl Visited {
    /// Returns the rules of an index that concern the peer of this connection.
    #[inline]
    pub(crate) fn of(&self, index: &AccessIndex, link: &dyn Link) -> Guard<Arc<Visit>> {
        let kept = self.0.get_or_init(|| ArcSwap::from_pointee(index.visit(link)));
        let visit = kept.load();
        match visit.generation == index.generation {
            true => visit,
            false => Guard::from_inner(renewed(kept, index, link)),
        }
    }
}

/// Determines the rules for a peer again, after the rules were replaced.
#[cold]
fn renewed(kept: &ArcSwap<Visit>, index: &AccessIndex, link: &dyn Link) -> Arc<Visit> {
    let visit = Arc::new(index.visit(link));
    // A thread that has loaded the previous rules must not overwrite what another thread has stored for later ones.
    if kept.load().generation < index.generation {
        kept.store(Arc::clone(&visit));
    }
    visit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_does_not_free_the_index_that_is_replaced_meanwhile() {
        let rules = Arc::new(AccessRules { place: String::new(), allow: true, rules: Vec::new() });
        let gate = AccessGate::new(&rules);
        let first = gate.index();
        let freed = Arc::downgrade(&first);
        gate.replace(&rules);
        assert!(gate.index().generation > first.generation);
        drop(first);
        assert!(freed.upgrade().is_some(), "the index is kept until the next replacement");
        gate.replace(&rules);
        assert!(freed.upgrade().is_none());
    }
}
