//! Filter objects, to which clients add constraints.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crate::etcl::{
    Constraint, ConstraintLimits, Grammar, Options, Properties, Subject, event_type,
};
use oxorb::{Any, Interface as _, SystemException, minor};
use oxorb_sys::sync::{Mutex, RwLock};

use super::Home;
use crate::cos_notification::{EventType, Property, StructuredEvent};
use crate::cos_notify_comm::NotifySubscribeRef;
use crate::cos_notify_filter::filter::{
    AddConstraintsError, DetachCallbackError, GetConstraintsError, MatchError,
    MatchStructuredError, MatchTypedError, ModifyConstraintsError,
};
use crate::cos_notify_filter::{
    CallbackId, CallbackNotFound, ConstraintExp, ConstraintId, ConstraintInfo, ConstraintNotFound,
    Filter, InvalidConstraint, MappingConstraintInfo,
};
use crate::event::{self, Lent};
use crate::kind::Kind;
use crate::memory::{self, Charge, Memory, block};
use crate::notify_store;
use crate::problem::{nil, too_many};
use crate::share::Share;
use crate::store::Saved;
use crate::unused::Usable;

/// A filter. If it has a default value, it is a mapping filter.
pub(crate) struct FilterObject {
    service: Weak<dyn Home>,
    pub(crate) id: i32,
    grammar: Grammar,
    pub(super) default: Option<Any>,
    memory: Arc<Memory>,
    /// Memory that is charged for the default value.
    _charge: Charge,
    held: RwLock<Arc<Held>>,
    /// Lock that serialises changes of the constraints. Matching events does not take it.
    changing: Mutex<()>,
    callbacks: Mutex<(CallbackId, BTreeMap<CallbackId, NotifySubscribeRef>)>,
    /// Whether the filter is in the store. It is stored as long as a persistent object uses it.
    saved: Saved,
    pub(super) uses: Uses,
    /// Share of the client that created the filter.
    share: Mutex<Option<Share>>,
}

/// Number of objects to which a filter is attached.
#[derive(Default)]
pub(super) struct Uses {
    now: AtomicUsize,
    /// Number of uses that have begun.
    begun: AtomicU64,
}

impl Uses {
    pub(super) fn begin(&self) {
        // No stronger ordering is needed: `begin` and the check for use are called with the list of filters locked.
        self.now.fetch_add(1, Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The constraints of a filter at one point in time.
#[derive(Clone, Default)]
pub(super) struct Held {
    last: ConstraintId,
    pub(super) constraints: Vec<Arc<One>>,
    destroyed: bool,
}

pub(super) struct One {
    pub(super) id: ConstraintId,
    pub(super) written: ConstraintExp,
    constraint: Constraint,
    /// Value of the constraint in a mapping filter.
    pub(super) value: Any,
    _charge: Charge,
}

impl FilterObject {
    pub(crate) fn new(
        service: &Weak<dyn Home>,
        id: i32,
        grammar: Grammar,
        default: Option<Any>,
    ) -> Result<FilterObject, SystemException> {
        let home = service.upgrade().ok_or(crate::problem::GONE)?;
        let memory = home.memory().part(home.settings().limits.filter_octets);
        let charge = charge(&*home, &memory, default.as_ref().map_or(0, event::octets_of))?;
        Ok(FilterObject {
            service: Weak::clone(service),
            memory,
            _charge: charge,
            id,
            grammar,
            default,
            held: RwLock::default(),
            changing: Mutex::default(),
            callbacks: Mutex::default(),
            saved: Saved::default(),
            uses: Uses::default(),
            share: Mutex::default(),
        })
    }

    /// Counts the filter towards a client's share until the filter ends.
    pub(crate) fn counted(self, share: Share) -> FilterObject {
        FilterObject { share: Mutex::new(Some(share)), ..self }
    }

    /// Restores a stored filter. Constraints that can no longer be parsed are omitted.
    pub(crate) fn restore(
        service: &Weak<dyn Home>,
        id: i32,
        row: notify_store::Filter,
    ) -> Option<FilterObject> {
        let grammar = Grammar::named(&row.grammar)?;
        let default = row.maps.then_some(row.default_value);
        let filter = FilterObject::new(service, id, grammar, default).ok()?;
        let constraints = row.constraints.into_iter().filter_map(|info| {
            let written = &info.constraint_expression;
            let parsed: Result<One, AddConstraintsError> =
                filter.parse(info.constraint_id, written, info.value.clone());
            parsed.ok().map(Arc::new)
        });
        let held = Held { last: row.last, constraints: constraints.collect(), destroyed: false };
        *filter.held.write() = Arc::new(held);
        Some(filter)
    }

    /// Writes the filter to the store, because a persistent object uses it.
    pub(crate) fn keep(&self) -> Result<(), SystemException> {
        match self.saved.is_on_disk() {
            true => Ok(()),
            false => self.save(),
        }
    }

    fn save(&self) -> Result<(), SystemException> {
        let service = self.service.upgrade().ok_or(crate::problem::GONE)?;
        let row = || {
            let held = self.held();
            Ok(Any::new(notify_store::Filter {
                grammar: self.grammar.name().to_owned(),
                maps: self.default.is_some(),
                default_value: self.default.clone().unwrap_or_default(),
                last: held.last,
                constraints: held.constraints.iter().map(|one| one.mapping_info()).collect(),
            }))
        };
        let place = (Kind::Filter as u8, self.id);
        self.saved.save(service.keeper(), place, true, row)?;
        Ok(())
    }

    /// Reports whether one of the constraints is true for an event. A filter without constraints matches no event.
    pub(crate) fn passes(&self, event: &event::Event) -> bool {
        event.with_subject(|subject| self.first(event.type_name(), subject).is_some())
    }

    /// Returns the value of the first constraint that is true for an event or, if none is true, the default value.
    pub(crate) fn map(&self, event: &event::Event) -> Option<Any> {
        let found = event.with_subject(|subject| self.first(event.type_name(), subject));
        found.map_or_else(|| self.default.clone(), |one| Some(one.value.clone()))
    }

    pub(super) fn first(
        &self,
        of: event_type::EventType<'_>,
        subject: Subject<'_>,
    ) -> Option<Arc<One>> {
        let held = self.held();
        let mut constraints = held.constraints.iter();
        let found = constraints.find(|one| {
            let types = one.written.event_types.iter().map(event::event_type);
            event_type::constraint_covers(types, of) && one.constraint.matches(subject)
        });
        found.cloned()
    }

    pub(super) fn held(&self) -> Arc<Held> {
        Arc::clone(&self.held.read())
    }

    pub(super) fn grammar(&self) -> Grammar {
        self.grammar
    }

    /// Parses one constraint and charges its memory. A list that exceeds the limit therefore fails before all of it is
    /// in memory.
    pub(super) fn parse<E: From<InvalidConstraint> + From<SystemException>>(
        &self,
        id: ConstraintId,
        written: &ConstraintExp,
        value: Any,
    ) -> Result<One, E> {
        let invalid = || InvalidConstraint { constr: written.clone() };
        let service = self.service.upgrade().ok_or(crate::problem::GONE)?;
        let options = Options {
            dialect: service.settings().dialect,
            limits: ConstraintLimits {
                length: service.settings().limits.constraint_octets,
                ..ConstraintLimits::default()
            },
        };
        if written.event_types.len() > service.settings().limits.event_types {
            return Err(invalid().into());
        }
        let parsed = Constraint::parse_with(&written.constraint_expr, self.grammar, options);
        let constraint = parsed.map_err(|_| invalid())?;
        let octets = block(size_of::<One>())
            + constraint.octets()
            + block(written.constraint_expr.len())
            + memory::of_types(&written.event_types)
            + event::octets_of(&value);
        let charge = charge(&*service, &self.memory, octets)?;
        Ok(One { id, written: written.clone(), constraint, value, _charge: charge })
    }

    /// Refuses a list that exceeds the maximum number of constraints. Called before the list is processed.
    pub(super) fn admit<T>(&self, list: &[T]) -> Result<(), SystemException> {
        let service = self.service.upgrade().ok_or(crate::problem::GONE)?;
        match list.len() > service.settings().limits.constraints {
            true => Err(too_many(minor::imp_limit::EVENT_CONSTRAINTS)),
            false => Ok(()),
        }
    }

    /// Changes the constraints atomically, and notifies the callbacks.
    pub(super) fn change<R, E: From<SystemException>>(
        &self,
        work: impl FnOnce(&mut Held) -> Result<R, E>,
    ) -> Result<R, E> {
        let service = self.service.upgrade().ok_or(crate::problem::GONE)?;
        let turn = self.changing.lock();
        let before = self.held();
        if before.destroyed {
            return Err(crate::problem::GONE.into());
        }
        let mut held = Held::clone(&before);
        let done = work(&mut held)?;
        if held.constraints.len() > service.settings().limits.constraints {
            return Err(too_many(minor::imp_limit::EVENT_CONSTRAINTS).into());
        }
        let after = Arc::new(held);
        *self.held.write() = Arc::clone(&after);
        if self.saved.is_on_disk()
            && let Err(exception) = self.save()
        {
            *self.held.write() = before;
            return Err(exception.into());
        }
        drop(turn);
        self.tell(&before, &after);
        Ok(done)
    }

    /// Notifies the callbacks of the event types that a change has added to the constraints or removed from them.
    fn tell(&self, before: &Held, after: &Held) {
        let callbacks = self.callbacks.lock();
        if callbacks.1.is_empty() {
            return;
        }
        let (before, after) = (before.types(), after.types());
        let without = |list: &[EventType], other: &[EventType]| -> Vec<EventType> {
            let fresh = list.iter().filter(|one| !other.contains(one));
            fresh.cloned().collect()
        };
        let (added, removed) = (without(&after, &before), without(&before, &after));
        if added.is_empty() && removed.is_empty() {
            return;
        }
        for callback in callbacks.1.values() {
            callback.subscription_change_async(&added, &removed).then(drop);
        }
    }

    pub(super) fn end(&self) -> Result<(), SystemException> {
        self.end_if(false)
    }

    /// Ends the filter. If `unused` is set, does so only if no object uses the filter.
    fn end_if(&self, unused: bool) -> Result<(), SystemException> {
        let service = self.service.upgrade().ok_or(crate::problem::GONE)?;
        service.remove_filter(self.id, unused)?;
        drop(self.share.lock().take());
        let place = (Kind::Filter as u8, self.id);
        self.saved.remove(service.keeper(), place);
        let _turn = self.changing.lock();
        let mut held = self.held.write();
        *held = Arc::new(Held { destroyed: true, ..Held::default() });
        Ok(())
    }
}

impl Usable for FilterObject {
    fn is_unused(&self) -> bool {
        self.uses.now.load(Ordering::Relaxed) == 0 && !self.saved.is_on_disk()
    }

    fn may_become_unused(&self) -> bool {
        // Every use can end, until the filter itself ends.
        !self.held().destroyed
    }

    fn uses_begun(&self) -> u64 {
        self.uses.begun.load(Ordering::Relaxed)
    }

    fn expire(&self) {
        // Ignore the error: a filter that has come into use in the meantime is not removed.
        let _ = self.end_if(true);
    }
}

/// Charges memory for a filter. While stored filters are restored, the limit does not apply, because they were accepted
/// before.
fn charge(
    service: &dyn Home,
    memory: &Arc<Memory>,
    octets: usize,
) -> Result<Charge, SystemException> {
    match service.is_restoring() {
        true => Ok(memory.charge_admitted(octets)),
        false => memory.charge(octets),
    }
}

impl Held {
    pub(super) fn next(&mut self) -> Result<ConstraintId, SystemException> {
        let next = self.last.checked_add(1);
        self.last = next.ok_or(too_many(minor::imp_limit::EVENT_CONSTRAINTS))?;
        Ok(self.last)
    }

    pub(super) fn place(&self, id: ConstraintId) -> Result<usize, ConstraintNotFound> {
        let found = self.constraints.iter().position(|one| one.id == id);
        found.ok_or(ConstraintNotFound { id })
    }

    /// Removes constraints and replaces others. All of them must exist.
    pub(super) fn modify(
        &mut self,
        removed: &[ConstraintId],
        replaced: impl IntoIterator<Item = One>,
    ) -> Result<(), ConstraintNotFound> {
        for &id in removed {
            self.place(id)?;
        }
        for one in replaced {
            let place = self.place(one.id)?;
            self.constraints[place] = Arc::new(one);
        }
        self.constraints.retain(|one| !removed.contains(&one.id));
        Ok(())
    }

    fn types(&self) -> Vec<EventType> {
        let mut types: Vec<EventType> = Vec::new();
        for one in self.constraints.iter().flat_map(|one| &one.written.event_types) {
            if !types.contains(one) {
                types.push(one.clone());
            }
        }
        types
    }
}

impl One {
    fn info(&self) -> ConstraintInfo {
        ConstraintInfo { constraint_expression: self.written.clone(), constraint_id: self.id }
    }

    pub(super) fn mapping_info(&self) -> MappingConstraintInfo {
        MappingConstraintInfo {
            constraint_expression: self.written.clone(),
            constraint_id: self.id,
            value: self.value.clone(),
        }
    }
}

impl Filter for FilterObject {
    fn constraint_grammar(&self) -> oxorb::Result<String> {
        Ok(self.grammar.name().to_owned())
    }

    fn add_constraints(
        &self,
        constraint_list: &[ConstraintExp],
    ) -> Result<Vec<ConstraintInfo>, AddConstraintsError> {
        self.admit(constraint_list)?;
        self.change(|held| {
            let mut added = Vec::new();
            for written in constraint_list {
                let parsed =
                    self.parse::<AddConstraintsError>(held.next()?, written, Any::default());
                let one = Arc::new(parsed?);
                added.push(one.info());
                held.constraints.push(one);
            }
            Ok(added)
        })
    }

    fn modify_constraints(
        &self,
        del_list: &[ConstraintId],
        modify_list: &[ConstraintInfo],
    ) -> Result<(), ModifyConstraintsError> {
        self.admit(del_list)?;
        self.admit(modify_list)?;
        self.change(|held| {
            for info in modify_list {
                held.place(info.constraint_id)?;
            }
            let parsed = modify_list.iter().map(|info| {
                self.parse(info.constraint_id, &info.constraint_expression, Any::default())
            });
            let parsed: Vec<One> = parsed.collect::<Result<_, ModifyConstraintsError>>()?;
            Ok(held.modify(del_list, parsed)?)
        })
    }

    fn get_constraints(
        &self,
        id_list: &[ConstraintId],
    ) -> Result<Vec<ConstraintInfo>, GetConstraintsError> {
        self.admit(id_list)?;
        let held = self.held();
        let infos = id_list.iter().map(|&id| Ok(held.constraints[held.place(id)?].info()));
        infos.collect()
    }

    fn get_all_constraints(&self) -> oxorb::Result<Vec<ConstraintInfo>> {
        Ok(self.held().constraints.iter().map(|one| one.info()).collect())
    }

    fn remove_all_constraints(&self) -> oxorb::Result<()> {
        self.change(|held| {
            held.constraints.clear();
            Ok(())
        })
    }

    fn destroy(&self) -> oxorb::Result<()> {
        self.end()
    }

    fn r#match(&self, filterable_data: &Any) -> Result<bool, MatchError> {
        let of = event_type::EventType::new("", "%ANY");
        Ok(self.first(of, Subject::Any(filterable_data)).is_some())
    }

    fn match_structured(&self, event: &StructuredEvent) -> Result<bool, MatchStructuredError> {
        let of = event::event_type(&event.header.fixed_header.event_type);
        Ok(self.first(of, Subject::Structured(&Lent(event))).is_some())
    }

    fn match_typed(&self, filterable_data: &[Property]) -> Result<bool, MatchTypedError> {
        Ok(self.first(TYPED, Subject::Properties(&List(filterable_data))).is_some())
    }

    fn attach_callback(&self, callback: Option<&NotifySubscribeRef>) -> oxorb::Result<CallbackId> {
        let callback = callback.ok_or_else(nil)?;
        let service = self.service.upgrade().ok_or(crate::problem::GONE)?;
        let mut callbacks = self.callbacks.lock();
        let full = too_many(minor::imp_limit::EVENT_CALLBACKS);
        if callbacks.1.len() >= service.settings().limits.callbacks {
            return Err(full);
        }
        callbacks.0 = callbacks.0.checked_add(1).ok_or(full)?;
        let id = callbacks.0;
        let callback = NotifySubscribeRef::from_ref(service.bounded(callback.reference()));
        callbacks.1.insert(id, callback);
        Ok(id)
    }

    fn detach_callback(&self, callback: CallbackId) -> Result<(), DetachCallbackError> {
        let mut callbacks = self.callbacks.lock();
        match callbacks.1.remove(&callback) {
            Some(_) => Ok(()),
            None => Err(CallbackNotFound {}.into()),
        }
    }

    fn get_callbacks(&self) -> oxorb::Result<Cow<'_, [i32]>> {
        let callbacks = self.callbacks.lock();
        Ok(callbacks.1.keys().copied().collect())
    }
}

pub(super) const TYPED: event_type::EventType<'static> = event_type::EventType::new("", "%TYPED");

/// Properties of a typed event.
pub(super) struct List<'e>(pub(super) &'e [Property]);

impl Properties for List<'_> {
    fn property(&self, at: usize) -> Option<(&str, &Any)> {
        let property = self.0.get(at)?;
        Some((&property.name, &property.value))
    }
}
