//! Objects that clients have created but never used. They are removed after the end of the connection over which they
//! were created.

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

    /// Ends the object if it is still unused.
    fn expire(&self);
}

/// Objects that clients have created, grouped by connection.
pub(crate) struct Unused {
    groups: Mutex<Vec<Group>>,
    /// Time for which unused objects are kept.
    grace: Duration,
    /// Timer of the checks. It is armed while there are objects.
    timer: OnceLock<Timer>,
}

/// Objects created over one connection.
struct Group {
    connection: ClientConnection,
    objects: Vec<Weak<dyn Usable>>,
    /// Number of objects at which those that are in use are removed from the list.
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
        let unused = Arc::new(Unused { groups: Mutex::default(), grace, timer: OnceLock::new() });
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
        let mut groups = self.groups.lock();
        let is_first = groups.is_empty();
        match groups.iter_mut().find(|group| group.connection.is_same(&connection)) {
            Some(group) => group.add(object),
            None => {
                groups.push(Group { connection, objects: vec![object], most: LEAST, ended: None });
            }
        }
        drop(groups);
        if is_first {
            self.arm();
        }
    }

    fn arm(&self) {
        if let Some(timer) = self.timer.get() {
            timer.after((self.grace / 4).clamp(PERIODS[0], PERIODS[1]));
        }
    }

    /// Ends the unused objects of connections that ended at least `grace` ago.
    fn look(&self) {
        let now = Instant::now();
        let mut groups = self.groups.lock();
        let over = groups.extract_if(.., |group| group.is_over(now, self.grace));
        let over: Vec<_> = over.collect();
        let are_left = !groups.is_empty();
        drop(groups);
        let objects = over.iter().flat_map(|group| &group.objects);
        objects.filter_map(Weak::upgrade).for_each(|object| object.expire());
        if are_left {
            self.arm();
        }
    }
}

impl Group {
    fn add(&mut self, object: Weak<dyn Usable>) {
        if self.objects.len() >= self.most {
            self.objects.retain(|one| one.upgrade().is_some_and(|one| one.is_unused()));
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
