//! IOR of a reference, and the IORs that replaced it after permanent forwards.

use std::sync::{Arc, OnceLock};

use oxorb_object::{Ior, SystemException};

use crate::route::Route;

/// Maximum number of permanent forwards that a reference keeps; further ones are followed without
/// being kept.
const MAX_MOVES: usize = 16;

/// IOR of a reference, its route, and the home that replaced it (LOCATION_FORWARD_PERM).
pub(super) struct Home {
    pub(super) ior: Ior,
    /// Route, parsed at the first call.
    pub(super) route: OnceLock<Result<Arc<Route>, SystemException>>,
    moved: OnceLock<Box<Home>>,
}

impl Home {
    pub(super) fn new(ior: Ior) -> Home {
        Home { ior, route: OnceLock::new(), moved: OnceLock::new() }
    }

    /// Returns the home after the last permanent forward.
    pub(super) fn now(&self) -> &Home {
        let mut home = self;
        while let Some(next) = home.moved.get() {
            home = next;
        }
        home
    }

    pub(super) fn move_to(&self, ior: Ior, route: &Arc<Route>) {
        let mut home = self;
        for _ in 0..MAX_MOVES {
            match home.moved.get() {
                Some(next) => home = next,
                None if home.ior == ior => return,
                None => {
                    let next = Home::new(ior);
                    let _ = next.route.set(Ok(Arc::clone(route)));
                    // If another thread was faster, the home that it has set stays.
                    let _ = home.moved.set(Box::new(next));
                    return;
                }
            }
        }
    }
}
