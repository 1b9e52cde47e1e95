//! Dispatch of requests, from key to servant.
//!
//! The path of requests for active objects is short and comes first. All other requests go through
//! [`serve`](RootAdapter::serve): those for POAs with priorities or POAs that do not exist yet, and
//! those that must wait for a manager, a thread or a servant.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use oxorb_cdr::Encode as _;
use oxorb_core::interceptor::Target;
use oxorb_core::policy::LargePayloads;
use oxorb_core::probe::{self, Stage};
use oxorb_core::{
    Adapter, Aliased, Described, Located, NO_SLOT, Orb, Outcome, PoolThread, SLOTTED_KEY,
    SLOTTED_KEY_LEN, Scheduled, Servant, Upcall,
};
use oxorb_object::SystemException;
use oxorb_rt::Priority;

use crate::adapter::{Admission, RootAdapter};
use crate::current;
use crate::incarnation::Incarnated;
use crate::key::{self, ActiveKey, Key};
use crate::object_map::Place;
use crate::pass::Pass;
use crate::poa::{Poa, PoaInner, ServantManager};
use crate::policies::{IdAssignment, RequestProcessing, ThreadPolicy};
use crate::realtime::NotHere;
use crate::refusal::{
    DISCARDED, NO_DEFAULT_SERVANT, NO_OBJECT, NO_POA, NO_SERVANT_MANAGER, WOULD_DEADLOCK,
};
use crate::servant_manager::Refused;
use crate::{Current, ManagerState, ObjectId, PoaManager, ServantLocator};

/// Result of an attempt to serve a request.
enum Tried<'r> {
    Done(Outcome),
    Refused(Upcall<'r>, Refused),
    /// The POA's manager does not let the request pass yet.
    Manager(Upcall<'r>, PoaManager),
    /// The servant of the request's object is being returned to the servant activator.
    Leaving(Upcall<'r>, Arc<PoaInner>, Box<[u8]>),
    /// The request must run on the main thread.
    Elsewhere(Upcall<'r>),
}

impl Adapter for RootAdapter {
    #[inline]
    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let active = match upcall.alias() {
            None => ActiveKey::parse(upcall.object_key()).map(|(key, slot)| {
                upcall.set_slot(slot);
                key
            }),
            Some(alias) => {
                upcall.find_by_alias();
                match alias.target() {
                    Some(prepared) => Some(ActiveKey::of(*prepared)),
                    None => prepare(alias),
                }
            }
        };
        match active {
            Some(key) => self.call_active(key, upcall),
            None => self.call_other(upcall),
        }
    }

    #[inline]
    fn serve_direct(&self, orb: &Orb, key: &[u8], serve: &mut dyn FnMut(&dyn Servant)) {
        let active = ActiveKey::parse(key).map(|(key, _)| key.into());
        let Some(key) = active.or_else(|| Key::parse(key)) else {
            return;
        };
        let Some(admission) = self.present(key) else {
            return;
        };
        let Some(pass) = &*admission else {
            return;
        };
        if !pass.open && !pass.open_at_priority {
            return;
        }
        let Some(object) = pass.find_active(key) else {
            return;
        };
        let _raised = match pass.raise_direct(orb, &object) {
            Ok(raised) => raised,
            Err(NotHere) => return,
        };
        let _here = current::enter(self, pass, object.place);
        serve(&*object.servant);
    }

    fn locate(&self, key: &[u8]) -> Located {
        self.find(key)
    }

    fn scheduled(&self, key: &[u8]) -> Option<Scheduled> {
        self.look_into(key, |pass, key| pass.find_active(key)?.scheduled.clone())
    }

    fn describe(&self, key: &[u8], look: &mut dyn FnMut(Described<'_>)) {
        let names = self.names.load();
        let plain = without_slot(key).0;
        let canonical = match Key::parse(plain) {
            Some(_) => Cow::Borrowed(plain),
            None => match names.get(plain) {
                Some(bound) => bound,
                None => return,
            },
        };
        let found = self.look_into(key, |pass, key| {
            let path: Option<Vec<&str>> =
                key::names(&pass.poa.path).map(|name| Some(name?.0)).collect();
            Some((path?.join("/"), pass.find_active(key)?))
        });
        if let Some((poa, object)) = found {
            let servant = &*object.servant;
            let id = servant.repository_id();
            look(Described::new(&canonical, &poa, id, &|id| servant.is_a(id)));
        }
    }

    fn bidirectional(&self, key: &[u8]) -> Option<bool> {
        self.look_into(key, |pass, _| pass.poa.policies.both_ways())
    }

    fn large_payloads(&self, key: &[u8]) -> Option<LargePayloads> {
        self.look_into(key, |pass, _| pass.poa.policies.large_payloads)
    }

    fn lane_of(&self, key: &[u8], priority: Option<Priority>) -> Option<PoolThread> {
        self.look_into(key, |pass, key| pass.lane_of(key, priority))
    }

    fn look_at_running(&self, look: &mut dyn FnMut(&[u8])) {
        let current = self.shared().map(|adapter| Current::of(&adapter));
        if let Some(id) = current.and_then(|current| current.object_id().ok()) {
            look(id.as_bytes());
        }
    }

    fn closing(&self) {
        for manager in self.managers() {
            manager.release();
        }
    }

    fn close(&self) {
        let Some(adapter) = self.shared() else { return };
        for manager in self.managers() {
            if manager.state() != ManagerState::Inactive {
                let _ = manager.deactivate(false, false);
            }
        }
        // Deactivate all objects, as the destruction of the root POA does, but keep the POAs, so
        // that references to their objects can still be created.
        let mut poas = vec![Poa::of(&adapter, self.root())];
        let mut at = 0;
        while let Some(poa) = poas.get(at) {
            poas.extend(poa.children());
            at += 1;
        }
        let until = Instant::now() + self.hold_time();
        for poa in &poas {
            poa.inner.objects.clear(true);
        }
        for poa in &poas {
            poa.inner.life.wait_quiet(1, until, || false);
        }
    }
}

impl RootAdapter {
    // Inlined, because passing a key and an upcall to a function costs more than the work on them.
    #[inline(always)]
    fn call_active(&self, key: ActiveKey, upcall: Upcall<'_>) -> Outcome {
        probe::stamp(Stage::KeyParsed);
        let pass = self.numbered(key.poa, key.incarnation);
        if let Some(pass) = open(&pass)
            && let Some(object) = pass.poa.objects.at(key.place)
        {
            let _here = current::enter(self, pass, key.place);
            return call_in_place(self, &*object.servant, upcall);
        }
        self.serve(key.into(), pass, upcall)
    }

    /// Serves a request whose key is not that of an active object.
    #[inline(never)]
    fn call_other(&self, upcall: Upcall<'_>) -> Outcome {
        match Key::parse(upcall.object_key()) {
            Some(key) => self.call_key(key, upcall),
            None => self.call_name(upcall),
        }
    }

    fn call_key(&self, key: Key<'_>, upcall: Upcall<'_>) -> Outcome {
        probe::stamp(Stage::KeyParsed);
        let admission = match key {
            Key::Active { incarnation, poa, slot, generation } => {
                let place = Place { slot, generation };
                let key = ActiveKey { incarnation, poa, place };
                return self.call_active(key, upcall);
            }
            Key::Transient { incarnation, poa, id } => {
                let pass = self.numbered(poa, incarnation);
                if let Some(pass) = open(&pass)
                    && let Some(object) = pass.poa.objects.with_id(id)
                {
                    let _here = current::enter(self, pass, object.place);
                    return call(self, &*object.servant, upcall);
                }
                pass
            }
            Key::Persistent { hash, path, id } => {
                let pass = self.at_path(hash, path);
                if let Some(pass) = open(&pass)
                    && let Some(object) = pass.poa.objects.with_id(id)
                {
                    let _here = current::enter(self, pass, object.place);
                    return call(self, &*object.servant, upcall);
                }
                pass
            }
        };
        self.serve(key, admission, upcall)
    }

    /// Serves a request whose key is a plain name. Only names that denote an object of this ORB
    /// resolve; in particular, no name denotes another name.
    #[inline(never)]
    fn call_name(&self, upcall: Upcall<'_>) -> Outcome {
        let names = self.names.load();
        let key = names.get(upcall.object_key());
        match key.as_deref().and_then(Key::parse) {
            Some(key) => self.call_key(key, upcall),
            None => refuse(NO_POA.into(), upcall),
        }
    }

    /// Serves a request that cannot be dispatched at once, because its object was not found or its
    /// POA checks each request.
    #[inline(never)]
    fn serve(&self, key: Key<'_>, admission: Option<Admission>, upcall: Upcall<'_>) -> Outcome {
        if let Some(pass) = &admission
            && let Some(pass) = &**pass
            && let Some(object) = pass.find_at_priority(key)
        {
            match pass.right_place(self, Some(&object), key, &upcall) {
                Ok(None) => {}
                Ok(Some(there)) => return upcall.forward(&there),
                Err(exception) => return refuse(exception.into(), upcall),
            }
            let raised = pass.raise(Some(&object), key, &upcall);
            let _here = current::enter(self, pass, object.place);
            return match raised {
                Ok(_raised) => call(self, &*object.servant, upcall),
                Err(exception) => refuse(exception.into(), upcall),
            };
        }
        // Release the admission before waiting. Otherwise a thread that changes the manager's state
        // or destroys the POA, and waits for running requests to end, would wait for this one.
        drop(admission);
        self.find_out(key, upcall)
    }

    /// Serves a request that may have to wait: for its POA, manager, thread or servant.
    #[cold]
    fn find_out(&self, key: Key<'_>, mut upcall: Upcall<'_>) -> Outcome {
        let Some(adapter) = self.shared() else {
            return refuse(NO_POA.into(), upcall);
        };
        let until = Instant::now() + self.hold_time();
        loop {
            let waited = match adapter.try_serve(key, upcall, until) {
                Tried::Done(outcome) => return outcome,
                Tried::Refused(upcall, refused) => return refuse(refused, upcall),
                Tried::Elsewhere(upcall) => return adapter.serve_on_main(upcall, until),
                Tried::Manager(again, manager) => {
                    upcall = again;
                    manager.admit(self.limits.max_held, until)
                }
                Tried::Leaving(again, poa, id) => {
                    upcall = again;
                    adapter.wait_left(&poa, &id, until)
                }
            };
            if let Err(exception) = waited {
                return refuse(exception.into(), upcall);
            }
        }
    }

    /// Waits until an object's deactivation has completed, unless this thread itself delays it.
    fn wait_left(&self, poa: &PoaInner, id: &[u8], until: Instant) -> Result<(), SystemException> {
        if current::is_for(self, poa, id) {
            return Err(WOULD_DEADLOCK);
        }
        match poa.life.wait_left(id, until) {
            true => Ok(()),
            false => Err(DISCARDED),
        }
    }

    fn try_serve<'r>(
        self: &Arc<Self>,
        key: Key<'_>,
        upcall: Upcall<'r>,
        until: Instant,
    ) -> Tried<'r> {
        let pass = match self.admission(key, until) {
            Ok(pass) => pass,
            Err(exception) => return Tried::Refused(upcall, exception.into()),
        };
        let Some(pass) = pass.as_ref() else {
            return Tried::Refused(upcall, NO_POA.into());
        };
        let poa = &pass.poa;
        if pass.state != ManagerState::Active {
            return Tried::Manager(upcall, poa.manager.clone());
        }
        let Some(id) = poa.id_in(key) else {
            return Tried::Refused(upcall, NO_OBJECT.into());
        };
        match pass.right_place(self, None, key, &upcall) {
            Ok(None) => {}
            Ok(Some(there)) => return Tried::Done(upcall.forward(&there)),
            Err(exception) => return Tried::Refused(upcall, exception.into()),
        }
        let _turn = match poa.policies.thread {
            ThreadPolicy::OrbControlled => None,
            ThreadPolicy::MainThread if upcall.orb().is_main_thread() => None,
            ThreadPolicy::MainThread => return Tried::Elsewhere(upcall),
            ThreadPolicy::SingleThread => match poa.turn.enter(self.limits.max_held, until) {
                Ok(turn) => Some(turn),
                Err(exception) => return Tried::Refused(upcall, exception.into()),
            },
        };
        match pass.raise(None, key, &upcall) {
            Ok(_raised) => self.try_object(pass, &id, upcall, until),
            Err(exception) => Tried::Refused(upcall, exception.into()),
        }
    }

    /// Serves a request that the POA has admitted.
    fn try_object<'r>(
        self: &Arc<Self>,
        pass: &Pass,
        id: &ObjectId,
        upcall: Upcall<'r>,
        until: Instant,
    ) -> Tried<'r> {
        let poa = &pass.poa;
        let octets = id.as_bytes();
        if poa.policies.retains()
            && let Some(object) = poa.objects.find(poa.place_of(octets), octets)
        {
            let _here = current::enter(self, pass, object.place);
            return Tried::Done(call(self, &*object.servant, upcall));
        }
        // An id that this POA did not create cannot denote an object of a POA with system ids, so
        // do not ask the default servant or servant manager.
        if poa.policies.id_assignment == IdAssignment::System && poa.knows(octets).is_err() {
            return Tried::Refused(upcall, NO_OBJECT.into());
        }
        match poa.policies.request_processing {
            RequestProcessing::ActiveObjectMapOnly => Tried::Refused(upcall, NO_OBJECT.into()),
            RequestProcessing::DefaultServant => match poa.default_servant() {
                Some(servant) => {
                    let _here = current::enter_servant(self, poa, octets, &servant);
                    Tried::Done(call(self, &*servant, upcall))
                }
                None => Tried::Refused(upcall, NO_DEFAULT_SERVANT.into()),
            },
            RequestProcessing::ServantManager => match poa.servant_manager.get() {
                Some(ServantManager::Activator(activator)) => {
                    match self.incarnate(poa, &**activator, id, until) {
                        Ok(Incarnated::Active(object)) => {
                            let _here = current::enter(self, pass, object.place);
                            Tried::Done(call(self, &*object.servant, upcall))
                        }
                        Ok(Incarnated::Leaving) => {
                            Tried::Leaving(upcall, Arc::clone(poa), octets.into())
                        }
                        Err(refused) => Tried::Refused(upcall, refused),
                    }
                }
                Some(ServantManager::Locator(locator)) => {
                    self.call_located(poa, &**locator, id, upcall)
                }
                None => Tried::Refused(upcall, NO_SERVANT_MANAGER.into()),
            },
        }
    }

    /// Runs the operation between `preinvoke` and `postinvoke`.
    fn call_located<'r>(
        self: &Arc<Self>,
        poa: &Arc<PoaInner>,
        locator: &dyn ServantLocator,
        id: &ObjectId,
        upcall: Upcall<'r>,
    ) -> Tried<'r> {
        let handle = Poa::of(self, poa);
        let operation = upcall.operation();
        let located = {
            let _here = current::enter_manager(self, poa, Some(id.as_bytes()));
            locator.preinvoke(id, &handle, operation)
        };
        let (servant, cookie) = match located {
            Ok(located) => located,
            Err(refused) => return Tried::Refused(upcall, refused),
        };
        let held = {
            let _here = current::enter_servant(self, poa, id.as_bytes(), &servant);
            upcall.hold(|upcall| call(self, &*servant, upcall))
        };
        let ended = {
            let _here = current::enter_manager(self, poa, Some(id.as_bytes()));
            locator.postinvoke(id, &handle, operation, cookie, servant)
        };
        Tried::Done(match ended {
            Ok(()) => held.send(),
            Err(exception) => held.fail(exception),
        })
    }

    /// Returns the POA of a key, if it exists.
    pub(crate) fn present(&self, key: Key<'_>) -> Option<Admission> {
        match key {
            Key::Active { incarnation, poa, .. } | Key::Transient { incarnation, poa, .. } => {
                self.numbered(poa, incarnation)
            }
            Key::Persistent { hash, path, .. } => self.at_path(hash, path),
        }
    }

    /// Returns the admission to the POA of a key. If the POA does not exist, an adapter activator
    /// may create it.
    fn admission(
        self: &Arc<Self>,
        key: Key<'_>,
        until: Instant,
    ) -> Result<Admission, SystemException> {
        match key {
            Key::Active { incarnation, poa, .. } | Key::Transient { incarnation, poa, .. } => {
                self.numbered(poa, incarnation).ok_or(NO_POA)
            }
            Key::Persistent { hash, path, .. } => {
                if let Some(pass) = self.at_path(hash, path) {
                    return Ok(pass);
                }
                let poa = self.resolve(path, until)?.ok_or(NO_POA)?;
                self.numbered(poa.number, poa.incarnation).ok_or(NO_POA)
            }
        }
    }

    /// Returns the location of the object of a key (LocateRequest). Does not call servant managers:
    /// every object that they might incarnate is reported as `Located::Here`.
    pub(crate) fn find(&self, key: &[u8]) -> Located {
        let names = self.names.load();
        let named = match Key::parse(key) {
            Some(_) => None,
            None => names.get(key),
        };
        let parsed = Key::parse(named.as_deref().unwrap_or(key));
        let (Some(key), Some(adapter)) = (parsed, self.shared()) else {
            return Located::Unknown;
        };
        let until = Instant::now() + self.hold_time();
        loop {
            let Ok(pass) = adapter.admission(key, until) else {
                return Located::Unknown;
            };
            let Some(here) = pass.as_ref() else {
                return Located::Unknown;
            };
            if here.state != ManagerState::Active {
                let manager = here.poa.manager.clone();
                drop(pass);
                match manager.admit(self.limits.max_held, until) {
                    Ok(()) => continue,
                    Err(_) => return Located::Unknown,
                }
            }
            return match here.poa.may_have(key) {
                true => Located::Here,
                false => Located::Unknown,
            };
        }
    }
}

impl PoaInner {
    /// Reports whether a request for the object of a key would find a servant.
    fn may_have(&self, key: Key<'_>) -> bool {
        let Some(id) = self.id_in(key) else {
            return false;
        };
        let id = id.as_bytes();
        if self.objects.find(self.place_of(id), id).is_some() {
            return true;
        }
        if self.policies.id_assignment == IdAssignment::System && self.knows(id).is_err() {
            return false;
        }
        match self.policies.request_processing {
            RequestProcessing::ActiveObjectMapOnly => false,
            RequestProcessing::DefaultServant => self.default_servant.load().is_some(),
            RequestProcessing::ServantManager => self.servant_manager.get().is_some(),
        }
    }
}

/// Parses the key of an alias, and caches the result.
#[cold]
fn prepare(alias: &Aliased) -> Option<ActiveKey> {
    let (key, _) = ActiveKey::parse(alias.key())?;
    alias.prepare(key.prepared());
    Some(key)
}

/// Splits a key into the key proper and the operation slot that a client of this implementation
/// suggests.
#[inline]
pub(crate) fn without_slot(key: &[u8]) -> (&[u8], u16) {
    match key.split_last_chunk() {
        Some((rest, slot)) if rest.len() == SLOTTED_KEY_LEN && rest.starts_with(SLOTTED_KEY) => {
            (rest, u16::from_le_bytes(*slot))
        }
        _ => (key, NO_SLOT),
    }
}

/// Returns the pass if requests for active objects may be dispatched without further checks.
#[inline]
fn open(pass: &Option<Admission>) -> Option<&Pass> {
    pass.as_ref()?.as_deref().filter(|pass| pass.open)
}

/// Answers operations common to all objects, and lets the servant handle the rest.
fn call(adapter: &RootAdapter, servant: &dyn Servant, upcall: Upcall<'_>) -> Outcome {
    call_in_place(adapter, servant, upcall)
}

/// Implements [`call`], inlined into the path of nearly every request. The only place where a
/// servant is called.
#[inline(always)]
fn call_in_place(adapter: &RootAdapter, servant: &dyn Servant, upcall: Upcall<'_>) -> Outcome {
    probe::stamp(Stage::ServantFound);
    let object = |text: &mut String| current::write_object(adapter, text);
    match upcall.reach(servant, || target(adapter, servant), object) {
        Ok(upcall) => call_reached(servant, upcall),
        Err(ended) => ended,
    }
}

#[inline]
fn call_reached(servant: &dyn Servant, upcall: Upcall<'_>) -> Outcome {
    if upcall.operation().starts_with('_') {
        return call_implicit(servant, upcall);
    }
    servant.dispatch(upcall)
}

/// Returns the target of the running request for interceptors.
#[cold]
fn target(adapter: &RootAdapter, servant: &dyn Servant) -> Target {
    let current = adapter.shared().map(|adapter| Current::of(&adapter));
    let object_id = current.as_ref().and_then(|current| current.object_id().ok());
    let poa = current.as_ref().and_then(|current| current.poa().ok());
    Target {
        interface: servant.repository_id().to_owned(),
        object_id: object_id.map_or_else(Vec::new, |id| id.as_bytes().to_vec()),
        adapter_name: poa.map_or_else(Vec::new, |poa| poa.adapter_name()),
    }
}

#[cold]
#[inline(never)]
fn call_implicit(servant: &dyn Servant, mut upcall: Upcall<'_>) -> Outcome {
    match upcall.operation() {
        "_is_a" => match upcall.args(|d| d.string()) {
            Ok(id) => match servant.answer_is_a(&id) {
                Ok(yes) => upcall.reply(|e| {
                    e.boolean(yes);
                    Ok(())
                }),
                Err(exception) => upcall.fail(exception),
            },
            Err(rejected) => upcall.reject(rejected),
        },
        "_non_existent" | "_not_existent" => upcall.reply(|e| {
            e.boolean(false);
            Ok(())
        }),
        // The operation only binds a connection to a priority band. The client and the lanes have
        // done so when it arrives, so the servant is not involved.
        "_bind_priority_band" => upcall.done(),
        "_repository_id" => upcall.reply(|e| e.string(servant.repository_id())),
        "_interface" => interface(servant, upcall),
        "_component" => upcall.reply(|e| oxorb_core::encode_ref::<oxorb_core::ObjectRef>(e, None)),
        _ => servant.dispatch(upcall),
    }
}

/// Replies with the object's InterfaceDef from the Interface Repository, if the ORB knows a
/// repository.
fn interface(servant: &dyn Servant, upcall: Upcall<'_>) -> Outcome {
    match upcall.orb().interface_of(servant.repository_id()) {
        Ok(entry) => upcall.reply(|e| oxorb_core::encode_ref(e, entry.as_ref())),
        Err(exception) => upcall.fail(exception),
    }
}

/// Replies with the exception or forward of a refused request. If the object does not exist,
/// `_non_existent` returns true instead.
fn refuse(refused: Refused, upcall: Upcall<'_>) -> Outcome {
    let exception = match refused {
        Refused::ForwardRequest(target) => return upcall.forward(&target),
        Refused::System(exception) => exception,
    };
    let asks = matches!(upcall.operation(), "_non_existent" | "_not_existent");
    if asks && (exception == NO_OBJECT || exception == NO_POA) {
        return upcall.reply(|e| true.encode(e));
    }
    upcall.fail(exception)
}
