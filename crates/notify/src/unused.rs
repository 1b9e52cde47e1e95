//! Objects that clients have created and that are unused. They are removed after the end of the connection over which
//! they were created.

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use oxorb::servant::ClientConnection;
use oxorb_delivery::{Timer, Timers};
use oxorb_sys::sync::Mutex;

use crate::share::Maker;

/// An object that may be unused.
pub(crate) trait Usable: Send + Sync {
    /// Reports whether the object is unused and not stored.
    fn is_unused(&self) -> bool;

    /// Reports whether the object is unused, or can become unused later.
    fn may_become_unused(&self) -> bool;

    /// Returns the number of uses that have begun. Always 0 for an object that does not become unused again.
    fn uses_begun(&self) -> u64 {
        0
    }

    /// Ends the object if it is still unused.
    fn expire(&self);
}

/// Objects that clients have created, grouped by connection.
pub(crate) struct Unused {
    objects: Mutex<Objects>,
    /// Time for which unused objects are kept.
    grace: Duration,
    /// Timer of the checks. It is armed while there are objects.
    timer: OnceLock<Timer>,
}

#[derive(Default)]
struct Objects {
    groups: Vec<Group>,
    /// Objects whose connection ended at least `grace` ago, and which were in use at that time.
    orphans: Vec<Orphan>,
}

/// Object whose connection has ended.
struct Orphan {
    object: Weak<dyn Usable>,
    /// Time at which a check found that the object had become unused, and the number of uses that had begun by then.
    unused: Option<(Instant, u64)>,
}

/// Objects created over one connection.
struct Group {
    connection: ClientConnection,
    objects: Vec<Weak<dyn Usable>>,
    /// Number of objects at which those that cannot become unused are removed from the list.
    most: usize,
    /// Time at which a check found that the connection had ended.
    ended: Option<Instant>,
}

/// Minimum of `most`.
const LEAST: usize = 64;

/// Minimum and maximum interval between two checks.
const PERIODS: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(5)];

impl Unused {
    pub(crate) fn new(grace: Duration, timers: &Timers) -> Arc<Unused> {
        let unused = Arc::new(Unused { objects: Mutex::default(), grace, timer: OnceLock::new() });
        let weak = Arc::downgrade(&unused);
        let look = move |_| {
            if let Some(unused) = weak.upgrade() {
                unused.look();
            }
        };
        // Cannot fail: this is the first timer of the service.
        if let Ok(timer) = timers.add(look) {
            let _ = unused.timer.set(timer);
        }
        unused
    }

    /// Adds an object that a client has created.
    pub(crate) fn add<U: Usable + 'static>(&self, maker: Maker, object: &Arc<U>) {
        let Some(connection) = maker.connection() else {
            return;
        };
        let object: Arc<dyn Usable> = Arc::<U>::clone(object);
        let object = Arc::downgrade(&object);
        let mut objects = self.objects.lock();
        let is_first = objects.is_empty();
        let groups = &mut objects.groups;
        match groups.iter_mut().find(|group| group.connection.is_same(&connection)) {
            Some(group) => group.add(object),
            None => {
                groups.push(Group { connection, objects: vec![object], most: LEAST, ended: None });
            }
        }
        drop(objects);
        if is_first {
            self.arm();
        }
    }

    fn arm(&self) {
        if let Some(timer) = self.timer.get() {
            timer.after((self.grace / 4).clamp(PERIODS[0], PERIODS[1]));
        }
    }

    /// Ends the unused objects of connections that ended at least `grace` ago. An object that is in use at that time is
    /// ended after it has been unused for `grace`.
    fn look(&self) {
        let now = Instant::now();
        let mut objects = self.objects.lock();
        let over = objects.groups.extract_if(.., |group| group.is_over(now, self.grace));
        let over: Vec<Group> = over.collect();
        let mut orphans = std::mem::take(&mut objects.orphans);
        drop(objects);
        for object in over.into_iter().flat_map(|group| group.objects) {
            if let Some(object) = object.upgrade() {
                object.expire();
            }
            orphans.push(Orphan { object, unused: None });
        }
        orphans.retain_mut(|orphan| orphan.check(now, self.grace));
        let mut objects = self.objects.lock();
        objects.orphans.append(&mut orphans);
        let are_left = !objects.is_empty();
        drop(objects);
        if are_left {
            self.arm();
        }
    }
}

impl Objects {
    fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.orphans.is_empty()
    }
}

impl Orphan {
    /// Ends the object if it has been unused for `grace`. Reports whether further checks are needed.
    fn check(&mut self, now: Instant, grace: Duration) -> bool {
        let Some(object) = self.object.upgrade() else {
            return false;
        };
        // Read before the check for use, so that a use that begins in between is found by the next check.
        let begun = object.uses_begun();
        let without_use = self.unused.filter(|(_, before)| *before == begun);
        self.unused = match object.is_unused() {
            true => Some(without_use.unwrap_or((now, begun))),
            false => None,
        };
        if self.unused.is_some_and(|(since, _)| now.saturating_duration_since(since) >= grace) {
            object.expire();
        }
        object.may_become_unused()
    }
}

impl Group {
    fn add(&mut self, object: Weak<dyn Usable>) {
        if self.objects.len() >= self.most {
            self.objects.retain(|one| one.upgrade().is_some_and(|one| one.may_become_unused()));
            self.most = LEAST.max(2 * self.objects.len());
        }
        self.objects.push(object);
    }

    /// Reports whether the connection was found to have ended at least `grace` ago.
    fn is_over(&mut self, now: Instant, grace: Duration) -> bool {
        if self.connection.is_open() {
            return false;
        }
        let ended = *self.ended.get_or_insert(now);
        now.saturating_duration_since(ended) >= grace
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use super::*;

    /// Object whose uses the test begins and ends.
    #[derive(Default)]
    struct Used {
        is_used: AtomicBool,
        begun: AtomicU64,
        is_over: AtomicBool,
    }

    impl Used {
        fn begin(&self) {
            self.begun.fetch_add(1, Ordering::SeqCst);
            self.is_used.store(true, Ordering::SeqCst);
        }

        fn end(&self) {
            self.is_used.store(false, Ordering::SeqCst);
        }
    }

    impl Usable for Used {
        fn is_unused(&self) -> bool {
            !self.is_used.load(Ordering::SeqCst)
        }

        fn may_become_unused(&self) -> bool {
            !self.is_over.load(Ordering::SeqCst)
        }

        fn uses_begun(&self) -> u64 {
            self.begun.load(Ordering::SeqCst)
        }

        fn expire(&self) {
            self.is_over.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_use_between_two_checks_begins_the_time_again() {
        let object = Arc::new(Used::default());
        let weak: Weak<dyn Usable> = Arc::<Used>::downgrade(&object);
        let mut orphan = Orphan { object: weak, unused: None };
        let (start, grace) = (Instant::now(), Duration::from_secs(10));
        let mut check = |seconds| orphan.check(start + Duration::from_secs(seconds), grace);
        assert!(check(0));
        assert!(check(9));
        object.begin();
        object.end();
        assert!(check(10), "the object was used in the meantime");
        assert!(check(19));
        object.begin();
        assert!(check(21), "the object is in use");
        object.end();
        assert!(check(22) && check(31));
        assert!(!check(32));
        assert!(!object.may_become_unused());
    }
}
