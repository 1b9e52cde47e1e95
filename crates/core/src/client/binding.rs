//! What a reference was bound to, where policy forbids that it leads elsewhere.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use crate::route::Route;

/// The binding of one reference (Messaging::RebindPolicy). Calls under `RebindMode::Transparent` do not touch it.
#[derive(Default)]
pub(crate) struct Binding(ArcSwapOption<Bound>);

/// To one profile, and to the connections that its server had then.
pub(crate) struct Bound {
    pub(crate) route: Arc<Route>,
    pub(crate) profile: usize,
    /// How many connections to the server had been lost.
    pub(crate) losses: u32,
}

impl Binding {
    /// What it is bound to.
    pub(crate) fn bound(&self) -> Option<Arc<Bound>> {
        self.0.load_full()
    }

    pub(crate) fn bind(&self, route: &Arc<Route>, profile: usize, losses: u32) {
        self.0.store(Some(Arc::new(Bound {
            route: Arc::clone(route),
            profile,
            losses,
        })));
    }

    pub(crate) fn release(&self) {
        self.0.store(None);
    }
}
