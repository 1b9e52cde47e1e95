//! Binding of a reference to a server, for policies that forbid transparent rebinding.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use super::draft::Addressee;
use crate::reference::Route;

/// Binding of one reference (Messaging::RebindPolicy). Calls under `RebindMode::Transparent` do not use it.
#[derive(Default)]
pub(crate) struct Binding(ArcSwapOption<Bound>);

/// Profile to which a reference is bound, and the state of its server's connections at that time.
pub(crate) struct Bound {
    pub(crate) route: Arc<Route>,
    pub(crate) profile: usize,
    /// Number of connections to the server that had been lost by then.
    pub(crate) losses: u32,
}

impl Binding {
    /// Returns the profile to which the reference is bound.
    pub(crate) fn bound(&self) -> Option<Arc<Bound>> {
        self.0.load_full()
    }

    /// Binds the reference to a profile that has answered.
    pub(super) fn bind_to(&self, to: Addressee<'_>) {
        let peer = to.profile.peer.as_ref();
        self.0.store(Some(Arc::new(Bound {
            route: Arc::clone(to.route),
            profile: to.index,
            losses: peer.map_or(0, |peer| peer.losses()),
        })));
    }

    pub(crate) fn release(&self) {
        self.0.store(None);
    }
}
