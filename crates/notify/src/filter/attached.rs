//! Filters that are attached to a proxy or an admin.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock, Weak};

use oxorb::{Any, Interface as _, Orb, Ref, SystemException, minor};
use oxorb_sys::sync::{Mutex, RwLock};

use super::asking::{Answer, Asked, Questions};
use super::foreign::Foreign;
use super::{FilterUse, Home};
use crate::cos_notify_channel_admin::InterFilterGroupOperator;
use crate::cos_notify_filter::filter_admin::{GetFilterError, RemoveFilterError};
use crate::cos_notify_filter::{
    FilterAdmin, FilterId, FilterNotFound, FilterRef, MappingFilterRef, filter, mapping_filter,
};
use crate::event::{Body, Event};
use crate::notify_store::Attachment;
use crate::problem::{GONE, nil, too_many};
use crate::quality::Owner;
use crate::store::{own, reference_of};

/// Filters of one object. An event passes if one of them matches. If there are none, every event passes.
pub(crate) struct Attached {
    service: Weak<dyn Home>,
    owner: OnceLock<Weak<dyn Owner>>,
    last: Mutex<FilterId>,
    list: RwLock<Arc<[One]>>,
}

#[derive(Clone)]
struct One {
    id: FilterId,
    reference: FilterRef,
    place: Place,
}

/// Location of a filter: in this process or elsewhere.
#[derive(Clone)]
enum Place {
    Here(FilterUse),
    Elsewhere(Arc<Foreign>),
}

impl Place {
    fn keep(&self) -> Result<(), SystemException> {
        match self {
            Place::Here(own) => own.keep(),
            Place::Elsewhere(_) => Ok(()),
        }
    }

    fn of(reference: &Ref, service: &dyn Home) -> Place {
        match service.own_filter(reference) {
            Some(own) => Place::Here(own),
            None => {
                let settings = service.settings();
                let (failures, pause) = (settings.failures, settings.filter_pause);
                let foreign = Foreign::new(failures, pause, service.abroad());
                Place::Elsewhere(Arc::new(foreign))
            }
        }
    }
}

impl Attached {
    pub(crate) fn new(service: &Weak<dyn Home>) -> Attached {
        Attached {
            service: Weak::clone(service),
            owner: OnceLock::new(),
            last: Mutex::default(),
            list: RwLock::default(),
        }
    }

    /// Sets the owner, which stores the filters.
    pub(crate) fn belongs_to(&self, owner: Weak<dyn Owner>) {
        let _ = self.owner.set(owner);
    }

    fn changed(&self) -> Result<(), SystemException> {
        let owner = self.owner.get().and_then(Weak::upgrade);
        owner.ok_or(GONE)?.changed()
    }

    /// Reports whether an event passes: one of the filters matches it, or there are no filters. A remote filter that
    /// does not answer in time does not match. After several consecutive failures it is not called for a while.
    pub(crate) fn passes(&self, event: &Event) -> bool {
        let list = self.list();
        list.is_empty() || list.iter().any(|one| one.matches(event))
    }

    /// Returns the result of [`passes`](Self::passes) if it can be determined without calling a remote filter;
    /// otherwise `None`.
    pub(crate) fn known(&self, event: &Event) -> Option<bool> {
        let list = self.list();
        let mut is_known = true;
        for one in list.iter() {
            match one.known(event) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => is_known = false,
            }
        }
        is_known.then_some(list.is_empty())
    }

    /// Adds the remote filters whose results for an event are not known yet.
    pub(crate) fn question(&self, event: &Event, questions: &mut Questions) {
        for one in self.list().iter() {
            if let Place::Elsewhere(foreign) = &one.place
                && event.answers.of(foreign).is_none()
            {
                questions.add(foreign, || Asked::Filter(one.reference.clone()));
            }
        }
    }

    /// Returns the stored form of the list. Local filters are written to the store first.
    pub(crate) fn row(&self) -> Result<(FilterId, Vec<Attachment>), SystemException> {
        let last = self.last.lock();
        let list = self.list();
        let row = list.iter().map(|one| {
            one.place.keep()?;
            Ok(Attachment { id: one.id, filter: own(Some(one.reference.reference())) })
        });
        Ok((*last, row.collect::<Result<_, SystemException>>()?))
    }

    pub(crate) fn restore(&self, orb: &Orb, last: FilterId, filters: &[Attachment]) {
        let Some(service) = self.service.upgrade() else {
            return;
        };
        *self.last.lock() = last;
        let list = filters.iter().filter_map(|one| {
            let reference = reference_of(orb, &one.filter)?;
            Some(One {
                id: one.id,
                place: Place::of(&reference, &*service),
                reference: FilterRef::from_ref(service.bounded(&reference)),
            })
        });
        self.put(list.collect());
    }

    fn list(&self) -> Arc<[One]> {
        Arc::clone(&self.list.read())
    }

    fn put(&self, list: Arc<[One]>) {
        *self.list.write() = list;
    }
}

impl FilterAdmin for Attached {
    fn add_filter(&self, new_filter: Option<&FilterRef>) -> oxorb::Result<FilterId> {
        let reference = new_filter.ok_or_else(nil)?;
        let service = self.service.upgrade().ok_or(GONE)?;
        let mut last = self.last.lock();
        let full = too_many(minor::imp_limit::EVENT_FILTERS);
        let list = self.list();
        if list.len() >= service.settings().limits.filters_of_object {
            return Err(full);
        }
        *last = last.checked_add(1).ok_or(full)?;
        let id = *last;
        let one = One {
            id,
            reference: FilterRef::from_ref(service.bounded(reference.reference())),
            place: Place::of(reference.reference(), &*service),
        };
        self.put(list.iter().cloned().chain([one]).collect());
        drop(last);
        self.changed()?;
        Ok(id)
    }

    fn remove_filter(&self, filter: FilterId) -> Result<(), RemoveFilterError> {
        let changing = self.last.lock();
        let list = self.list();
        if list.iter().all(|one| one.id != filter) {
            return Err(FilterNotFound {}.into());
        }
        self.put(list.iter().filter(|one| one.id != filter).cloned().collect());
        drop(changing);
        Ok(self.changed()?)
    }

    fn get_filter(&self, filter: FilterId) -> Result<Option<FilterRef>, GetFilterError> {
        let list = self.list();
        let found = list.iter().find(|one| one.id == filter);
        let found = found.ok_or(FilterNotFound {})?;
        Ok(Some(found.reference.clone()))
    }

    fn get_all_filters(&self) -> oxorb::Result<Cow<'_, [i32]>> {
        Ok(self.list().iter().map(|one| one.id).collect())
    }

    fn remove_all_filters(&self) -> oxorb::Result<()> {
        let changing = self.last.lock();
        self.put(Arc::default());
        drop(changing);
        self.changed()
    }
}

impl One {
    fn known(&self, event: &Event) -> Option<bool> {
        match &self.place {
            Place::Here(own) => Some(own.passes(event)),
            Place::Elsewhere(foreign) => {
                let answer = event.answers.of(foreign)?;
                Some(matches!(answer, Answer::Matches(true)))
            }
        }
    }

    fn matches(&self, event: &Event) -> bool {
        if let Some(known) = self.known(event) {
            return known;
        }
        // The filter was attached after the other filters had been called for this event, so call it now.
        let Place::Elsewhere(foreign) = &self.place else {
            return false;
        };
        let matches = match &event.body {
            Body::Any(any) => foreign.ask(
                || self.reference.r#match(any),
                |error| match error {
                    filter::MatchError::System(exception) => Some(exception),
                    _ => None,
                },
            ),
            Body::Structured(event) => foreign.ask(
                || self.reference.match_structured(event),
                |error| match error {
                    filter::MatchStructuredError::System(exception) => Some(exception),
                    _ => None,
                },
            ),
        };
        matches.unwrap_or(false)
    }
}

/// Combines the results of an admin's filters and of a proxy's filters.
pub(crate) fn both(
    operator: InterFilterGroupOperator,
    admin: impl FnOnce() -> bool,
    proxy: impl FnOnce() -> bool,
) -> bool {
    match operator {
        InterFilterGroupOperator::AndOp => admin() && proxy(),
        InterFilterGroupOperator::OrOp => admin() || proxy(),
    }
}

/// Combines results like [`both`], as far as they are known.
pub(crate) fn both_known(
    operator: InterFilterGroupOperator,
    admin: Option<bool>,
    proxy: Option<bool>,
) -> Option<bool> {
    // A result with this value determines the combined result alone.
    let decides = match operator {
        InterFilterGroupOperator::AndOp => false,
        InterFilterGroupOperator::OrOp => true,
    };
    match [admin, proxy] {
        results if results.contains(&Some(decides)) => Some(decides),
        results if results.contains(&None) => None,
        _ => Some(!decides),
    }
}

/// The mapping filter of an object, if it has one.
#[derive(Default)]
pub(crate) struct MappingSlot(RwLock<Option<Mapping>>);

#[derive(Clone)]
struct Mapping {
    reference: MappingFilterRef,
    place: Place,
}

impl MappingSlot {
    pub(crate) fn set(&self, reference: Option<&MappingFilterRef>, service: &dyn Home) {
        let mapping = reference.map(|reference| Mapping {
            reference: MappingFilterRef::from_ref(service.bounded(reference.reference())),
            place: Place::of(reference.reference(), service),
        });
        *self.0.write() = mapping;
    }

    /// Returns the stored form of the filter. A local filter is written to the store first.
    pub(crate) fn row(&self) -> Result<Vec<u8>, SystemException> {
        let slot = self.0.read();
        if let Some(mapping) = &*slot {
            mapping.place.keep()?;
        }
        let reference = slot.as_ref().map(|mapping| mapping.reference.reference());
        Ok(own(reference))
    }

    pub(crate) fn restore(&self, orb: &Orb, octets: &[u8], service: &dyn Home) {
        let reference = reference_of(orb, octets).map(MappingFilterRef::from_ref);
        self.set(reference.as_ref(), service);
    }

    pub(crate) fn get(&self) -> Option<MappingFilterRef> {
        let slot = self.0.read();
        slot.as_ref().map(|mapping| mapping.reference.clone())
    }

    /// Adds the filter to those to be called if it is remote.
    pub(crate) fn question(&self, questions: &mut Questions) {
        if let Some(Mapping { reference, place: Place::Elsewhere(foreign) }) = &*self.0.read() {
            questions.add(foreign, || Asked::Mapping(reference.clone()));
        }
    }

    /// Returns the value that the filter maps an event to; `None` if there is no filter or it does not answer.
    pub(crate) fn map(&self, event: &Event) -> Option<Any> {
        let mapping = self.0.read().clone()?;
        let foreign = match &mapping.place {
            Place::Here(own) => return own.map(event),
            Place::Elsewhere(foreign) => foreign,
        };
        match event.answers.of(foreign) {
            // The filter was set after the other filters had been called for this event, so call it now.
            None => {}
            Some(Answer::Value(value)) => return Some(value),
            Some(_) => return None,
        }
        let (_, value) = match &event.body {
            Body::Any(any) => foreign.ask(
                || mapping.reference.r#match(any),
                |error| match error {
                    mapping_filter::MatchError::System(exception) => Some(exception),
                    _ => None,
                },
            ),
            Body::Structured(event) => foreign.ask(
                || mapping.reference.match_structured(event),
                |error| match error {
                    mapping_filter::MatchStructuredError::System(exception) => Some(exception),
                    _ => None,
                },
            ),
        }?;
        Some(value)
    }
}
