//! Choice of the active objects of a gateway that make room for others.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use crate::bridge::activity::ObjectActivity;
use crate::poa::ObjectId;

/// Maximum number of objects that are considered before one of them is removed.
const CONSIDERED: usize = 64;

/// Maximum size of the ids of all objects in octets, divided by the maximum number of objects. Each object takes a few
/// times the size of its id. Without this limit, a client could fill the memory of the gateway with long references.
const MEAN_SIZE: usize = 1 << 10;

/// Active objects of one POA. Those that were not used since they were last considered are removed first. An object
/// with a running request stays, because its POA would let further requests wait until the running one has ended.
#[derive(Debug)]
pub(crate) struct ActiveObjects {
    most: usize,
    /// The object to be considered next is the first.
    queue: VecDeque<(ObjectId, Weak<ObjectActivity>)>,
    /// Total size of the ids in the queue, in octets.
    octets: usize,
}

impl ActiveObjects {
    /// Creates an empty queue of at most `most` objects, and at least one.
    pub(crate) fn new(most: usize) -> ActiveObjects {
        ActiveObjects { most: most.max(1), queue: VecDeque::new(), octets: 0 }
    }

    /// Adds an object. Returns the objects that make room for it; none if too many objects have running requests.
    pub(crate) fn add(&mut self, id: ObjectId, activity: &Arc<ObjectActivity>) -> Vec<ObjectId> {
        let mut removed = Vec::new();
        self.octets += size(&id);
        while self.queue.len() >= self.most || self.is_too_large() {
            let before = self.queue.len();
            removed.extend(self.remove_one());
            if self.queue.len() == before {
                break;
            }
        }
        self.queue.push_back((id, Arc::downgrade(activity)));
        removed
    }

    /// Removes one object from the queue, unless all those that are considered have running requests. Returns the
    /// object if it is still active.
    fn remove_one(&mut self) -> Option<ObjectId> {
        let considered = self.queue.len().min(CONSIDERED);
        for _ in 0..considered {
            let (id, activity) = self.queue.pop_front()?;
            let in_use = activity.upgrade();
            let is_kept = |it: &Arc<ObjectActivity>| it.is_running() || it.take_was_used();
            if !in_use.as_ref().is_some_and(is_kept) {
                self.octets -= size(&id);
                return in_use.map(|_| id);
            }
            self.queue.push_back((id, activity));
        }
        // All of them were used. Without this choice, a client could exceed the limit by using many objects.
        let first = self.queue.len() - considered;
        let idle = (first..self.queue.len()).find(|&at| !self.is_running(at))?;
        let (id, _) = self.queue.remove(idle)?;
        self.octets -= size(&id);
        Some(id)
    }

    /// Reports whether the ids of all objects are too long, although there are others than the one to be added.
    fn is_too_large(&self) -> bool {
        !self.queue.is_empty() && self.octets > self.most.saturating_mul(MEAN_SIZE)
    }

    fn is_running(&self, at: usize) -> bool {
        let activity = self.queue.get(at).and_then(|(_, activity)| activity.upgrade());
        activity.is_some_and(|activity| activity.is_running())
    }
}

fn size(id: &ObjectId) -> usize {
    id.as_bytes().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds an object; returns it, and the ids of the objects that were removed.
    fn add(objects: &mut ActiveObjects, id: &str) -> (Arc<ObjectActivity>, Vec<ObjectId>) {
        let activity = Arc::new(ObjectActivity::default());
        let removed = objects.add(id.into(), &activity);
        (activity, removed)
    }

    #[test]
    fn objects_that_were_not_used_make_room_first() {
        let mut objects = ActiveObjects::new(2);
        let (first, removed) = add(&mut objects, "first");
        assert!(removed.is_empty());
        let (_second, removed) = add(&mut objects, "second");
        assert!(removed.is_empty());
        drop(first.enter());
        let (_third, removed) = add(&mut objects, "third");
        assert_eq!(removed, vec![ObjectId::from("second")]);
        let (_fourth, removed) = add(&mut objects, "fourth");
        assert_eq!(removed.len(), 1);
        assert_eq!(objects.queue.len(), 2);
    }

    #[test]
    fn objects_with_running_requests_stay() {
        let mut objects = ActiveObjects::new(1);
        let (first, _) = add(&mut objects, "first");
        let running = first.enter();
        let (_second, removed) = add(&mut objects, "second");
        assert!(removed.is_empty());
        let (_third, removed) = add(&mut objects, "third");
        assert_eq!(removed, vec![ObjectId::from("second")]);
        drop(running);
        let (_fourth, removed) = add(&mut objects, "fourth");
        assert_eq!(removed.len(), 2, "the limit holds again");
        assert_eq!(objects.queue.len(), 1);
    }

    #[test]
    fn the_limit_holds_although_all_objects_are_used() {
        let mut objects = ActiveObjects::new(3);
        let mut all: Vec<Arc<ObjectActivity>> = Vec::new();
        for number in 0..20 {
            let (activity, _) = add(&mut objects, &number.to_string());
            all.push(activity);
            for activity in &all {
                drop(activity.enter());
            }
            assert!(objects.queue.len() <= 3, "{number}");
        }
    }

    #[test]
    fn objects_with_long_ids_make_room_for_one_another() {
        let mut objects = ActiveObjects::new(4);
        let long = |number: usize| format!("{number}{}", "i".repeat(MEAN_SIZE));
        let all: Vec<_> = (0..20).map(|number| add(&mut objects, &long(number))).collect();
        assert_eq!(objects.queue.len(), 3, "the ids of four are longer than the limit");
        let removed: usize = all.iter().map(|(_, removed)| removed.len()).sum();
        assert_eq!(removed, 17);
        let total: usize = objects.queue.iter().map(|(id, _)| size(id)).sum();
        assert_eq!(objects.octets, total);
        let (_short, removed) = add(&mut objects, "short");
        assert!(removed.is_empty());
        // One object is kept, however long its id is.
        let (_huge, removed) = add(&mut objects, &"i".repeat(20 * MEAN_SIZE));
        assert_eq!((removed.len(), objects.queue.len()), (4, 1));
    }

    #[test]
    fn objects_that_are_gone_make_room() {
        let mut objects = ActiveObjects::new(1);
        drop(add(&mut objects, "gone"));
        let (_next, removed) = add(&mut objects, "next");
        assert!(removed.is_empty());
        assert_eq!((objects.queue.len(), objects.octets), (1, 4));
    }
}
