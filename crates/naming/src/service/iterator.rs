//! Binding iterators. Each stores only the binding that it returned last, and continues after it in the order of names.
//! It therefore takes account of bindings that are added or removed meanwhile if their names come later in this order.
//! The iterator of a destroyed context has no more bindings.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use oxorb::poa::{Poa, Policies};
use oxorb::servant::{ServedBy as _, escape};
use oxorb::{CompletionStatus, Interface as _, SystemException};

use super::context::binding;
use super::{GONE, Service};
use crate::cos_naming::{
    Binding, BindingIterator, BindingIteratorRef, BindingList, BindingType, NameComponent,
};
use crate::store::{ContextId, Page};

/// Open iterators.
pub(super) struct Iterators {
    poa: Poa,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    by_number: HashMap<u64, Entry>,
}

struct Entry {
    reference: BindingIteratorRef,
    used: Instant,
}

impl Iterators {
    /// Creates the POA of iterators below that of the contexts. It is transient, because iterators end with the
    /// process.
    pub(super) fn new(contexts: &Poa) -> Result<Iterators, oxorb::poa::PoaError> {
        let poa = contexts.create_poa("iterators", Policies::default())?;
        Ok(Iterators { poa, open: Mutex::default() })
    }

    pub(super) fn open(&self) -> usize {
        self.lock().by_number.len()
    }

    fn close(&self, number: u64) {
        let closed = self.lock().by_number.remove(&number);
        if let Some(entry) = closed {
            self.deactivate(&entry);
        }
    }

    fn deactivate(&self, entry: &Entry) {
        // Ignore errors: if the POA is being destroyed, the object may no longer exist.
        let _ = self.poa.deactivate(&entry.reference);
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().expect("no panic while it is held")
    }
}

impl Service {
    /// Opens an iterator over the bindings after `after`. First closes the iterators that were idle for too long and,
    /// if the maximum number is open, the one that was idle longest.
    pub(super) fn iterate(
        self: &Arc<Self>,
        context: ContextId,
        after: Option<NameComponent>,
    ) -> Result<BindingIteratorRef, SystemException> {
        let mut open = self.iterators.lock();
        let number = open.next;
        open.next += 1;
        let now = Instant::now();
        let idle = self.limits.iterator_idle;
        open.by_number.retain(|_, entry| {
            let keep = now.duration_since(entry.used) < idle;
            if !keep {
                self.iterators.deactivate(entry);
            }
            keep
        });
        while open.by_number.len() >= self.limits.iterators.max(1) {
            let longest = open.by_number.iter().min_by_key(|(_, entry)| entry.used);
            let Some(number) = longest.map(|(number, _)| *number) else {
                break;
            };
            if let Some(entry) = open.by_number.remove(&number) {
                self.iterators.deactivate(&entry);
            }
        }
        let servant =
            Iterator { service: Arc::clone(self), number, context, after: Mutex::new(after) };
        let servant = escape::servant(BindingIteratorRef::servant(servant));
        let activated = self.iterators.poa.activate_servant(servant);
        let reference = BindingIteratorRef::from_ref(activated.map_err(|_| GONE)?);
        let entry = Entry { reference: reference.clone(), used: now };
        open.by_number.insert(number, entry);
        Ok(reference)
    }

    /// Records that an iterator is used; closes it if it was idle for too long.
    fn touch(&self, number: u64) -> Result<(), SystemException> {
        let mut open = self.iterators.lock();
        let entry = open.by_number.get_mut(&number).ok_or(GONE)?;
        if entry.used.elapsed() < self.limits.iterator_idle {
            entry.used = Instant::now();
            return Ok(());
        }
        drop(open);
        self.iterators.close(number);
        Err(GONE)
    }
}

/// Servant of one iterator.
struct Iterator {
    service: Arc<Service>,
    number: u64,
    context: ContextId,
    /// Binding that was returned last.
    after: Mutex<Option<NameComponent>>,
}

impl Iterator {
    fn next(&self, count: usize) -> Result<Page, SystemException> {
        self.service.touch(self.number)?;
        let mut after = self.after.lock().expect("no panic while it is held");
        let snapshot = self.service.store.snapshot();
        let page = snapshot.and_then(|read| read.page(self.context, after.as_ref(), count));
        let page = page.map_err(|error| self.service.unreadable(error))?;
        if let Some((last, _)) = page.bindings.last() {
            *after = Some(last.clone());
        }
        Ok(page)
    }
}

impl BindingIterator for Iterator {
    fn next_one(&self) -> oxorb::Result<(bool, Binding)> {
        let mut page = self.next(1)?;
        Ok(match page.bindings.pop() {
            Some(found) => (true, binding(found)),
            None => (false, NOTHING),
        })
    }

    fn next_n(&self, how_many: u32) -> oxorb::Result<(bool, BindingList)> {
        if how_many == 0 {
            return Err(NONE_WANTED);
        }
        let count = self.service.limits.answer_bindings.min(how_many as usize);
        let page = self.next(count)?;
        let bindings: BindingList = page.bindings.into_iter().map(binding).collect();
        Ok((!bindings.is_empty(), bindings))
    }

    fn destroy(&self) -> oxorb::Result<()> {
        self.service.iterators.close(self.number);
        Ok(())
    }
}

/// Binding that `next_one` returns with `false`: its out parameter needs a value even if there is no binding.
const NOTHING: Binding = Binding { binding_name: Vec::new(), binding_type: BindingType::Nobject };

/// Exception for a request of 0 bindings, which Naming Service 1.3, 2.3.2 does not permit.
const NONE_WANTED: SystemException = SystemException::bad_param(0, CompletionStatus::No);
