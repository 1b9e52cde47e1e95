//! Observers, which are mainly gateways. They are notified about the subscriptions of consumers and the publications of
//! suppliers. Local observers are notified in the thread that makes a change. A thread of the channel notifies remote
//! ones, so that no caller waits for them.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use oxorb::{SystemException, SystemExceptionKind};
use oxorb_sys::sync::{Mutex, MutexGuard};

use super::maker::Maker;
use super::options::ChannelOptions;
use super::refusal::ConnectError;
use crate::event_type;
use crate::filter::{Interest, Key};
use crate::rtec_event_channel_admin::{
    ConsumerQos, Dependency, Observer, ObserverRef, Publication, SupplierQos,
};
use crate::rtec_event_comm::EventHeader;

/// A local or remote observer.
#[derive(Clone)]
pub(crate) enum Watcher {
    /// A local servant.
    Local(Arc<dyn Observer>),
    /// An object.
    Object(ObserverRef),
}

/// Observers of a channel.
#[derive(Default)]
pub(super) struct Observers {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u32,
    all: BTreeMap<u32, Watched>,
    /// Whether a thread is currently notifying local observers.
    telling: bool,
}

struct Watched {
    watcher: Watcher,
    /// Pending notifications of this observer.
    due: Due,
    /// Number of consecutive rounds of notifications that did not reach the observer.
    failures: u32,
    /// Client that added the observer.
    maker: Maker,
}

/// Pending notifications, with one flag for each [`Change`].
type Due = [bool; 2];

/// The members that observers are notified about: all consumers and suppliers that are not gateways.
pub(super) trait Listed {
    /// Returns the subscriptions of the consumers.
    fn subscriptions(&self) -> ConsumerQos;
    /// Returns the publications of the suppliers.
    fn publications(&self) -> SupplierQos;
}

/// Side of the channel on which a change occurred.
#[derive(Clone, Copy)]
pub(super) enum Change {
    Consumers = 0,
    Suppliers = 1,
}

impl Observers {
    /// Adds an observer and returns its handle. When this function returns, a local observer has been notified of the
    /// current state. The only exception is that another thread is notifying observers: it then notifies the new
    /// observer too, possibly later.
    pub(super) fn append(
        &self,
        watcher: Watcher,
        maker: Maker,
        listed: &impl Listed,
        options: &ChannelOptions,
    ) -> Result<u32, ConnectError> {
        let limit = options.limits.observers;
        let mut state = self.state.lock();
        if state.all.len() >= limit {
            return Err(ConnectError::Limit("observers", limit));
        }
        let theirs = state.all.values().filter(|it| it.maker.is_same_client(&maker)).count();
        if let Some(share) = options.limits.share_of(limit).filter(|share| theirs >= *share) {
            return Err(ConnectError::Share(share));
        }
        state.last = state.last.wrapping_add(1);
        let handle = state.last;
        let due = [true; 2];
        state.all.insert(handle, Watched { watcher, due, failures: 0, maker });
        self.tell_due(state, listed);
        Ok(handle)
    }

    /// Removes an observer. Returns `false` if no observer has this handle.
    pub(super) fn remove(&self, handle: u32) -> bool {
        self.state.lock().all.remove(&handle).is_some()
    }

    pub(super) fn clear(&self) {
        self.state.lock().all.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().all.len()
    }

    /// Reports whether there is an observer that is an object.
    pub(super) fn has_objects(&self) -> bool {
        let state = self.state.lock();
        state.all.values().any(|watched| matches!(watched.watcher, Watcher::Object(_)))
    }

    /// Notifies all local observers of the current state, and marks observers that are objects for notification.
    pub(super) fn tell(&self, change: Change, listed: &impl Listed) {
        let mut state = self.state.lock();
        for watched in state.all.values_mut() {
            watched.due[change as usize] = true;
        }
        self.tell_due(state, listed);
    }

    /// Sends pending notifications to local observers. If a change occurs meanwhile, even one that an observer makes,
    /// the thread that is already notifying sends it. The last notification therefore contains the current state.
    fn tell_due<'s>(&'s self, mut state: MutexGuard<'s, State>, listed: &impl Listed) {
        if state.telling {
            return;
        }
        loop {
            let due = state.take_due(|watcher| match watcher {
                Watcher::Local(observer) => Some(Arc::clone(observer)),
                Watcher::Object(_) => None,
            });
            state.telling = !due.is_empty();
            if due.is_empty() {
                return;
            }
            drop(state);
            let (subscriptions, publications) = what(&due, listed);
            for (_, observer, due) in &due {
                if let Some(subscriptions) = subscriptions.as_ref().filter(|_| due[0]) {
                    tell(|| observer.update_consumer(subscriptions));
                }
                if let Some(publications) = publications.as_ref().filter(|_| due[1]) {
                    tell(|| observer.update_supplier(publications));
                }
            }
            state = self.state.lock();
        }
    }

    /// Sends pending notifications to observers that are objects, concurrently, until none is pending. Only one thread
    /// may call this function at a time. Returns the observers that were released, because they no longer exist, or
    /// because `failures` consecutive rounds did not reach them and the connection over which they were added has
    /// ended.
    pub(super) fn tell_objects(
        &self,
        listed: &impl Listed,
        failures: u32,
    ) -> Vec<(u32, SystemException)> {
        let mut gone = Vec::new();
        loop {
            let due = self.state.lock().take_due(|watcher| match watcher {
                Watcher::Local(_) => None,
                Watcher::Object(object) => Some(object.clone()),
            });
            if due.is_empty() {
                return gone;
            }
            let (subscriptions, publications) = what(&due, listed);
            let mut calls = Vec::new();
            for (handle, object, due) in &due {
                if let Some(subscriptions) = subscriptions.as_ref().filter(|_| due[0]) {
                    calls.push((*handle, object.update_consumer_async(subscriptions)));
                }
                if let Some(publications) = publications.as_ref().filter(|_| due[1]) {
                    calls.push((*handle, object.update_supplier_async(publications)));
                }
            }
            // All calls are in progress, and each has a time limit, so waiting for one after the other takes no longer
            // than one call.
            let mut lost = BTreeMap::new();
            for (handle, call) in calls {
                if let Err(why) = call.wait()
                    && is_lost(&why)
                {
                    lost.insert(handle, why);
                }
            }
            let mut state = self.state.lock();
            for (handle, ..) in &due {
                if let Some(why) = state.count(*handle, lost.get(handle), failures) {
                    gone.push((*handle, why));
                }
            }
        }
    }
}

/// Observers with pending notifications.
type DueTo<O> = Vec<(u32, O, Due)>;

/// Returns the arguments for the pending notifications.
fn what<O>(due: &DueTo<O>, listed: &impl Listed) -> (Option<ConsumerQos>, Option<SupplierQos>) {
    let is_due = |change: Change| due.iter().any(|(.., due)| due[change as usize]);
    let subscriptions = is_due(Change::Consumers).then(|| listed.subscriptions());
    (subscriptions, is_due(Change::Suppliers).then(|| listed.publications()))
}

/// Calls a local observer. Its result and its panics are ignored.
fn tell(call: impl FnOnce() -> oxorb::Result<()>) {
    let _ = panic::catch_unwind(AssertUnwindSafe(call));
}

/// Reports whether an exception shows that an observer was not reached or no longer exists.
fn is_lost(why: &SystemException) -> bool {
    use SystemExceptionKind::{
        CommFailure, InvObjref, NoResponse, ObjectNotExist, Timeout, Transient,
    };
    matches!(why.kind, CommFailure | InvObjref | NoResponse | ObjectNotExist | Timeout | Transient)
}

impl State {
    /// Returns the observers of one kind that have pending notifications, and clears their flags.
    fn take_due<O>(&mut self, of_kind: impl Fn(&Watcher) -> Option<O>) -> DueTo<O> {
        let mut taken = Vec::new();
        for (handle, watched) in &mut self.all {
            if let Some(observer) = of_kind(&watched.watcher)
                && watched.due.contains(&true)
            {
                taken.push((*handle, observer, std::mem::take(&mut watched.due)));
            }
        }
        taken
    }

    /// Records whether an observer was reached. Releases the observer after too many failures, and then returns the
    /// reason.
    fn count(
        &mut self,
        handle: u32,
        lost: Option<&SystemException>,
        failures: u32,
    ) -> Option<SystemException> {
        let watched = self.all.get_mut(&handle)?;
        let Some(why) = lost else {
            watched.failures = 0;
            return None;
        };
        watched.failures += 1;
        let is_here = watched.maker.is_elsewhere() && !watched.maker.has_left();
        let may_come_back = watched.failures < failures || is_here;
        if why.kind != SystemExceptionKind::ObjectNotExist && may_come_back {
            return None;
        }
        self.all.remove(&handle);
        Some(*why)
    }
}

/// Returns the subscriptions of all consumers that are not gateways, as a disjunction of types and sources. A filter
/// that this form cannot represent is reported as a wildcard for type and source.
pub(super) fn subscriptions<'a>(interests: impl Iterator<Item = &'a Interest>) -> ConsumerQos {
    let mut keys: BTreeSet<Key> = BTreeSet::new();
    for interest in interests {
        match interest {
            Interest::All => drop(keys.insert((event_type::ANY, event_type::ANY))),
            Interest::Keys(some) => keys.extend(some),
        }
    }
    let mut first = Dependency::default();
    first.event.header.r#type = event_type::DISJUNCTION_DESIGNATOR;
    first.event.header.source = i32::try_from(keys.len()).unwrap_or(i32::MAX);
    let mut dependencies = vec![first];
    dependencies.extend(keys.into_iter().map(|key| {
        let mut one = Dependency::default();
        one.event.header = header(key);
        one
    }));
    ConsumerQos { dependencies, is_gateway: true }
}

/// Returns the publications of all suppliers that are not gateways.
pub(super) fn publications(headers: impl Iterator<Item = EventHeader>) -> SupplierQos {
    let keys: BTreeSet<Key> = headers.map(|header| (header.r#type, header.source)).collect();
    let publications = keys.into_iter().map(|key| {
        let mut one = Publication::default();
        one.event.header = header(key);
        one
    });
    SupplierQos { publications: publications.collect(), is_gateway: true }
}

fn header((event_type, source): Key) -> EventHeader {
    EventHeader { r#type: event_type, source, ..EventHeader::default() }
}
