//! IOR of a reference, and the IORs that replaced it after permanent forwards.

use std::sync::{Arc, OnceLock};

use oxorb_object::{Ior, SystemException};

use super::route::Route;

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

    /// Adds the target of a permanent forward as the last home, unless the last home already is this target. If several
    /// threads add targets at the same time, all targets are added, one after the other. Returns `false` if the
    /// reference already has the maximum number of homes, and the last home is not this target.
    pub(super) fn move_to(&self, ior: &Ior, route: &Arc<Route>) -> bool {
        let mut home = self;
        for _ in 0..MAX_MOVES {
            match home.moved.get() {
                Some(next) => home = next,
                None if home.ior == *ior => return true,
                None => {
                    let mut is_added = false;
                    let next = home.moved.get_or_init(|| {
                        is_added = true;
                        let route = OnceLock::from(Ok(Arc::clone(route)));
                        Box::new(Home { ior: ior.clone(), route, moved: OnceLock::new() })
                    });
                    if is_added {
                        return true;
                    }
                    // Another thread has added its target first, so this target is added after that one.
                    home = next;
                }
            }
        }
        home.ior == *ior
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use oxorb_object::Ior;

    use super::{Home, MAX_MOVES};
    use crate::{Interface as _, Options, Orb, Ref};

    /// Number of references that all threads forward.
    const REFERENCES: usize = 2_000;

    fn ior(client: &Orb, port: u16) -> Ior {
        let object = format!("corbaloc::127.0.0.1:{port}/object");
        let object = client.string_to_object(&object).unwrap();
        object.reference().ior().clone()
    }

    /// Threads call through one reference, and several servers reply with forwards at the same time.
    #[test]
    fn ior_and_address_are_those_of_the_same_permanent_forward() {
        let orb = Orb::new(Options::default());
        let first = ior(&orb, 1);
        let references = (0..REFERENCES).map(|_| Ref::new(&orb, first.clone()));
        let references = &references.collect::<Vec<Ref>>();
        let targets = [ior(&orb, 2), ior(&orb, 3), ior(&orb, 4)];
        thread::scope(|scope| {
            for target in &targets {
                scope.spawn(move || {
                    for reference in references {
                        reference.forward_to(target.clone(), true).unwrap();
                    }
                });
            }
        });
        for reference in references {
            assert!(targets.contains(reference.ior()), "{reference}");
            assert_eq!(reference.route().unwrap().ior(), reference.ior());
            assert_eq!(reference.effective().ior(), reference.ior());
        }
    }

    #[test]
    fn each_target_that_is_added_to_the_first_home_becomes_the_last_home() {
        let orb = Orb::new(Options::default());
        let first = Home::new(ior(&orb, 1));
        for port in [2, 3, 3] {
            let target = Ref::new(&orb, ior(&orb, port));
            let route = target.route().unwrap();
            assert!(first.move_to(target.ior(), &route));
            assert_eq!(first.now().ior, *target.ior());
            assert_eq!(first.now().route.get().unwrap().as_ref().unwrap().ior(), target.ior());
        }
    }

    #[test]
    fn the_last_home_within_the_limit_may_be_forwarded_to_again() {
        let orb = Orb::new(Options::default());
        let first = Home::new(ior(&orb, 1));
        let last = u16::try_from(MAX_MOVES).unwrap() + 1;
        let add = |port| {
            let target = Ref::new(&orb, ior(&orb, port));
            first.move_to(target.ior(), &target.route().unwrap())
        };
        assert!((2..=last).all(add));
        assert!(add(last));
        assert!(!add(last + 1));
        assert_eq!(first.now().ior, ior(&orb, last));
    }

    #[test]
    fn forwards_beyond_the_limit_are_followed() {
        let orb = Orb::new(Options::default());
        let reference = Ref::new(&orb, ior(&orb, 1));
        let last = u16::try_from(MAX_MOVES).unwrap() + 2;
        for port in 2..=last {
            reference.forward_to(ior(&orb, port), true).unwrap();
        }
        assert_eq!(*reference.ior(), ior(&orb, last - 1));
        assert_eq!(*reference.effective().ior(), ior(&orb, last));
    }
}
