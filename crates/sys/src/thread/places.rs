//! Places at which a thread waits: connections, and endpoints at which it accepts connections.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::sync::{Mutex, MutexGuard};

thread_local! {
    static OWN: RefCell<Arc<Places>> = RefCell::default();
}

/// Places at which one thread waits, or several threads that serve the same connections: the number
/// of places for each name. Names are added and removed when connections are opened and closed, not
/// on the path of a request.
#[derive(Debug, Default)]
pub struct Places(Mutex<BTreeMap<String, usize>>);

/// Entry in [`Places`], removed when dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    name: String,
}

impl Places {
    /// Returns the places of the calling thread.
    pub fn own() -> Arc<Places> {
        OWN.with(|own| own.borrow().clone())
    }

    /// Makes these the places of the calling thread.
    pub(super) fn take(self: Arc<Self>) {
        OWN.set(self);
    }

    /// Adds a place.
    pub fn add(self: &Arc<Self>, name: String) -> Place {
        *self.lock().entry(name.clone()).or_default() += 1;
        Place { places: Arc::clone(self), name }
    }

    /// Returns the names in alphabetical order, with the number of places for each.
    pub fn list(&self) -> Vec<(String, usize)> {
        let places = self.lock();
        let each = places.iter().map(|(name, count)| (name.clone(), *count));
        each.collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.0.lock()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = self.places.lock();
        if let Some(count) = places.get_mut(&self.name) {
            *count -= 1;
            if *count == 0 {
                places.remove(&self.name);
            }
        }
    }
}

/// Writes places as a list: `shm:/run/bank (2), tcp:10.0.0.7:2809`.
pub(super) fn write(places: &[(String, usize)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, (name, count)) in places.iter().enumerate() {
        let separator = if at == 0 { "" } else { ", " };
        write!(f, "{separator}{name}")?;
        if *count > 1 {
            write!(f, " ({count})")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_by_name_until_they_go() {
        let places = Arc::new(Places::default());
        let first = places.add("shm:/a".to_owned());
        let second = places.add("shm:/a".to_owned());
        let other = places.add("tcp:h:1".to_owned());
        let listed = |count| vec![("shm:/a".to_owned(), count), ("tcp:h:1".to_owned(), 1)];
        assert_eq!(places.list(), listed(2));
        drop(first);
        assert_eq!(places.list(), listed(1));
        drop((second, other));
        assert!(places.list().is_empty());
    }
}
