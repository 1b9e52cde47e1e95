//! Observers: who is told what consumers ask for and suppliers publish (gateways, above all).

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use oxorb_sys::sync::{Mutex, MutexGuard};

use super::options::ChannelOptions;
use crate::event_type;
use crate::filter::{Interest, Key};
use crate::rtec_event_channel_admin::{
    ConsumerQos, Dependency, Observer, ObserverRef, Publication, SupplierQos,
};
use crate::rtec_event_comm::EventHeader;

/// An observer, in this process or an object.
#[derive(Clone)]
pub(crate) enum Watcher {
    /// A servant of this process.
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
    /// Whether a thread tells them at present.
    telling: bool,
}

struct Watched {
    watcher: Watcher,
    /// Whether it is to be told of consumers and suppliers.
    due: Due,
}

/// Marks of changes that observers have not been told, for each [`Change`].
type Due = [bool; 2];

/// Members that observers are told about: all that are no gateways, together.
pub(super) trait Listed {
    /// Returns what consumers ask for.
    fn subscriptions(&self) -> ConsumerQos;
    /// Returns what suppliers publish.
    fn publications(&self) -> SupplierQos;
}

/// Side that changed.
#[derive(Clone, Copy)]
pub(super) enum Change {
    Consumers = 0,
    Suppliers = 1,
}

impl Observers {
    /// Returns a handle for the observer, after it was told of what there is; `None` where there are enough. A thread that
    /// tells observers already tells this one, too, and then perhaps later.
    pub(super) fn append(
        &self,
        watcher: Watcher,
        listed: &impl Listed,
        options: &ChannelOptions,
    ) -> Option<u32> {
        let mut state = self.state.lock();
        if state.all.len() >= options.limits.observers {
            return None;
        }
        state.last = state.last.wrapping_add(1);
        let handle = state.last;
        let due = [true; 2];
        state.all.insert(handle, Watched { watcher, due });
        self.tell_due(state, listed);
        Some(handle)
    }

    /// Forgets an observer; `false` if there is none with this handle.
    pub(super) fn remove(&self, handle: u32) -> bool {
        self.state.lock().all.remove(&handle).is_some()
    }

    pub(super) fn clear(&self) {
        self.state.lock().all.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().all.len()
    }

    /// Tells all observers what there is now.
    pub(super) fn tell(&self, change: Change, listed: &impl Listed) {
        let mut state = self.state.lock();
        for watched in state.all.values_mut() {
            watched.due[change as usize] = true;
        }
        self.tell_due(state, listed);
    }

    /// Tells observers what is due. Changes that come meanwhile, from an observer too, are told by the thread that tells
    /// already: the last that an observer hears is how it is.
    fn tell_due<'s>(&'s self, mut state: MutexGuard<'s, State>, listed: &impl Listed) {
        if state.telling {
            return;
        }
        loop {
            let due = state.take_due();
            state.telling = !due.is_empty();
            if due.is_empty() {
                return;
            }
            drop(state);
            let is_due = |change: Change| due.iter().any(|(_, due)| due[change as usize]);
            let subscriptions = is_due(Change::Consumers).then(|| listed.subscriptions());
            let publications = is_due(Change::Suppliers).then(|| listed.publications());
            for (watcher, due) in &due {
                if let Some(subscriptions) = subscriptions.as_ref().filter(|_| due[0]) {
                    watcher.tell_subscriptions(subscriptions);
                }
                if let Some(publications) = publications.as_ref().filter(|_| due[1]) {
                    watcher.tell_publications(publications);
                }
            }
            state = self.state.lock();
        }
    }
}

impl State {
    /// Returns the observers that are to be told of something, which then counts as told.
    fn take_due(&mut self) -> Vec<(Watcher, Due)> {
        let mut taken = Vec::new();
        for watched in self.all.values_mut() {
            let due = std::mem::take(&mut watched.due);
            if due.contains(&true) {
                taken.push((watched.watcher.clone(), due));
            }
        }
        taken
    }
}

impl Watcher {
    /// Tells the observer about subscriptions, and ignores its answer.
    fn tell_subscriptions(&self, qos: &ConsumerQos) {
        let _ = panic::catch_unwind(AssertUnwindSafe(|| match self {
            Watcher::Local(observer) => observer.update_consumer(qos),
            Watcher::Object(object) => object.update_consumer(qos),
        }));
    }

    fn tell_publications(&self, qos: &SupplierQos) {
        let _ = panic::catch_unwind(AssertUnwindSafe(|| match self {
            Watcher::Local(observer) => observer.update_supplier(qos),
            Watcher::Object(object) => object.update_supplier(qos),
        }));
    }
}

/// Returns the subscriptions of all consumers that are no gateways: a disjunction of types and
/// sources. A filter that cannot be told so becomes any type from any source.
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

/// Returns the publications of all suppliers that are no gateways.
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
