//! IOR of a reference, and the IORs that permanent forwards put in its place.

use std::sync::{Arc, OnceLock};

use oxorb_object::{Ior, SystemException};

use crate::route::Route;

/// Most permanent moves that a reference remembers; further ones are followed for the moment only.
const MAX_MOVES: usize = 16;

/// IOR of a reference, its route, and the IOR that replaced it for good (LOCATION_FORWARD_PERM).
pub(super) struct Home {
    pub(super) ior: Ior,
    /// Parsed at the first call.
    pub(super) route: OnceLock<Result<Arc<Route>, SystemException>>,
    moved: OnceLock<Box<Home>>,
}

impl Home {
    pub(super) fn new(ior: Ior) -> Home {
        Home { ior, route: OnceLock::new(), moved: OnceLock::new() }
    }

    /// Returns the home since the last move.
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
                    // Whoever was faster knows it as well as we do.
                    let _ = home.moved.set(Box::new(next));
                    return;
                }
            }
        }
    }
}
