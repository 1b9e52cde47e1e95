//! Servants of naming contexts.

use std::sync::Arc;

use oxorb::ior::Corbaname;
use oxorb::servant::{ServedBy as _, escape};
use oxorb::{CompletionStatus, Interface as _, ObjectRef, Servant, SystemException, minor};

use super::follow::{Followed, forwarded};
use super::{GONE, Service};
use crate::cos_naming::naming_context::{
    BindContextError, BindError, BindNewContextError, DestroyError, NotFoundReason,
    RebindContextError, RebindError, ResolveError, UnbindError,
};
use crate::cos_naming::naming_context_ext::{
    InvalidAddress, ResolveStrError, StringName, ToNameError, ToStringError, ToUrlError, UrlString,
};
use crate::cos_naming::{
    Binding, BindingIteratorRef, BindingList, Name, NameComponent, NamingContext, NamingContextExt,
    NamingContextExtRef, NamingContextRef,
};
use crate::store::{Bound, Change, ContextId, Mode, Refusal};
use crate::{Problem, name, text};

/// Servant of one context.
pub(super) struct Context {
    service: Arc<Service>,
    id: ContextId,
}

impl Context {
    pub(super) fn new(service: &Arc<Service>, id: ContextId) -> Self {
        Context { service: Arc::clone(service), id }
    }

    /// Wraps the context as a servant that escapes the characters of names that the client's code
    /// set lacks.
    pub(super) fn servant(self) -> Arc<dyn Servant> {
        escape::servant(NamingContextExtRef::servant(self))
    }

    /// Changes the context that contains the last component of a name: in this store, or by a call
    /// to another server.
    fn change<R, E: Into<Problem>>(
        &self,
        n: &[NameComponent],
        here: impl FnOnce(ContextId, NameComponent) -> Change,
        done: impl FnOnce(ContextId) -> Result<R, Problem>,
        there: impl FnOnce(&NamingContextRef, &[NameComponent]) -> Result<R, E>,
    ) -> Result<R, Problem> {
        let n = &*text::incoming(n);
        match self.service.follow(self.id, n)? {
            Followed::Here(context, last) => {
                match self.service.change(here(context, last.clone()))? {
                    Ok(context) => done(context),
                    Err(refusal) => Err(self.refused(refusal, context, last)),
                }
            }
            Followed::There(context, rest, _share) => {
                there(&context, rest).map_err(|error| forwarded(&context, rest, error))
            }
        }
    }

    fn refused(&self, refusal: Refusal, context: ContextId, last: &NameComponent) -> Problem {
        let rest = std::slice::from_ref(last);
        match refusal {
            Refusal::NoContext => self.service.destroyed(self.id, context, rest),
            Refusal::Missing => Problem::not_found(NotFoundReason::MissingNode, rest),
            Refusal::NotObject => Problem::not_found(NotFoundReason::NotObject, rest),
            Refusal::NotContext => Problem::not_found(NotFoundReason::NotContext, rest),
            Refusal::AlreadyBound => Problem::AlreadyBound,
            Refusal::NotEmpty => Problem::NotEmpty,
            Refusal::ManyBindings => limit(minor::imp_limit::BINDINGS),
            Refusal::ManyContexts => limit(minor::imp_limit::CONTEXTS),
        }
    }

    fn bind_object<E: Into<Problem>>(
        &self,
        n: &[NameComponent],
        obj: Option<&ObjectRef>,
        mode: Mode,
        there: impl FnOnce(&NamingContextRef, &[NameComponent]) -> Result<(), E>,
    ) -> Result<(), Problem> {
        let bound = Bound::Object(self.service.encode(obj.map(ObjectRef::reference))?);
        let here = |context, name| Change::Bind { context, name, bound, mode };
        self.change(n, here, |_| Ok(()), there)
    }

    fn bind_other<E: Into<Problem>>(
        &self,
        n: &[NameComponent],
        nc: Option<&NamingContextRef>,
        mode: Mode,
        there: impl FnOnce(&NamingContextRef, &[NameComponent]) -> Result<(), E>,
    ) -> Result<(), Problem> {
        let nc = nc.ok_or(NIL_CONTEXT)?;
        let bound = match self.service.made(nc) {
            Some(context) => Bound::Context(context),
            None => Bound::Foreign(self.service.encode(Some(nc.reference()))?),
        };
        let here = |context, name| Change::Bind { context, name, bound, mode };
        self.change(n, here, |_| Ok(()), there)
    }

    fn made(&self, context: ContextId) -> Result<Option<NamingContextRef>, Problem> {
        Ok(Some(self.service.reference(context)?))
    }

    fn find(&self, n: &[NameComponent]) -> Result<Option<ObjectRef>, Problem> {
        let service = &*self.service;
        let n = &*text::incoming(n);
        let snapshot = service.store.snapshot();
        let snapshot = snapshot.map_err(|error| service.unreadable(error))?;
        match service.follow_in(&snapshot, self.id, n)? {
            Followed::Here(context, last) => {
                let found = snapshot.find(context, last);
                match found.map_err(|error| service.unreadable(error))? {
                    Some(Bound::Object(octets) | Bound::Foreign(octets)) => {
                        Ok(service.decode(&octets)?)
                    }
                    Some(Bound::Context(context)) => {
                        let context = service.reference(context)?;
                        Ok(Some(context.unchecked_narrow()))
                    }
                    None => {
                        let rest = std::slice::from_ref(last);
                        Err(service.missing(&snapshot, self.id, context, rest))
                    }
                }
            }
            Followed::There(context, rest, _share) => {
                // Release the snapshot before the remote call, because the file cannot be reopened while a snapshot
                // exists.
                drop(snapshot);
                let found = context.resolve(rest);
                found.map_err(|error| forwarded(&context, rest, error))
            }
        }
    }
}

impl NamingContext for Context {
    fn bind(&self, n: &[NameComponent], obj: Option<&ObjectRef>) -> Result<(), BindError> {
        let there = |context: &NamingContextRef, rest: &_| context.bind(rest, obj);
        Ok(self.bind_object(n, obj, Mode::Bind, there)?)
    }

    fn rebind(&self, n: &[NameComponent], obj: Option<&ObjectRef>) -> Result<(), RebindError> {
        let there = |context: &NamingContextRef, rest: &_| context.rebind(rest, obj);
        Ok(self.bind_object(n, obj, Mode::Rebind, there)?)
    }

    fn bind_context(
        &self,
        n: &[NameComponent],
        nc: Option<&NamingContextRef>,
    ) -> Result<(), BindContextError> {
        let there = |context: &NamingContextRef, rest: &_| context.bind_context(rest, nc);
        Ok(self.bind_other(n, nc, Mode::Bind, there)?)
    }

    fn rebind_context(
        &self,
        n: &[NameComponent],
        nc: Option<&NamingContextRef>,
    ) -> Result<(), RebindContextError> {
        let there = |context: &NamingContextRef, rest: &_| context.rebind_context(rest, nc);
        Ok(self.bind_other(n, nc, Mode::Rebind, there)?)
    }

    fn resolve(&self, n: &[NameComponent]) -> Result<Option<ObjectRef>, ResolveError> {
        Ok(self.find(n)?)
    }

    fn unbind(&self, n: &[NameComponent]) -> Result<(), UnbindError> {
        let here = |context, name| Change::Unbind { context, name };
        let there = |context: &NamingContextRef, rest: &_| context.unbind(rest);
        Ok(self.change(n, here, |_| Ok(()), there)?)
    }

    fn new_context(&self) -> oxorb::Result<Option<NamingContextRef>> {
        let made = match self.service.change(Change::NewContext)? {
            Ok(made) => self.made(made),
            Err(_) => Err(limit(minor::imp_limit::CONTEXTS)),
        };
        made.map_err(|problem| match problem {
            Problem::System(exception) => exception,
            _ => GONE,
        })
    }

    fn bind_new_context(
        &self,
        n: &[NameComponent],
    ) -> Result<Option<NamingContextRef>, BindNewContextError> {
        let here = |context, name| Change::BindNewContext { context, name };
        let there = |context: &NamingContextRef, rest: &_| context.bind_new_context(rest);
        Ok(self.change(n, here, |made| self.made(made), there)?)
    }

    fn destroy(&self) -> Result<(), DestroyError> {
        if self.id == ContextId::ROOT {
            return Err(INDESTRUCTIBLE.into());
        }
        match self.service.change(Change::Destroy(self.id))? {
            Ok(_) => {
                let id = self.service.object_id(self.id);
                // Deactivation cannot fail: the context is active because it serves this request, and no other code
                // deactivates it.
                let _ = self.service.contexts.deactivate_id(id);
                Ok(())
            }
            Err(Refusal::NotEmpty) => Err(Problem::NotEmpty.into()),
            Err(_) => Err(GONE.into()),
        }
    }

    fn list(&self, how_many: u32) -> oxorb::Result<(BindingList, Option<BindingIteratorRef>)> {
        let service = &self.service;
        let snapshot = service.store.snapshot();
        let snapshot = snapshot.map_err(|error| service.unreadable(error))?;
        if self.id != ContextId::ROOT {
            let here = snapshot.has(self.id);
            if !here.map_err(|error| service.unreadable(error))? {
                return Err(GONE);
            }
        }
        let count = service.limits.answer_bindings.min(how_many as usize);
        let page = snapshot.page(self.id, None, count);
        let page = page.map_err(|error| service.unreadable(error))?;
        drop(snapshot);
        let iterator = match page.more {
            true => {
                let after = page.bindings.last().map(|(name, _)| name.clone());
                Some(service.iterate(self.id, after)?)
            }
            false => None,
        };
        let bindings = page.bindings.into_iter();
        Ok((bindings.map(binding).collect(), iterator))
    }
}

impl NamingContextExt for Context {
    fn to_string(&self, n: &[NameComponent]) -> Result<StringName, ToStringError> {
        match n {
            [] => Err(Problem::InvalidName.into()),
            n => Ok(escape::outgoing(name::stringify(&text::incoming(n)))),
        }
    }

    fn to_name(&self, sn: &str) -> Result<Name, ToNameError> {
        let name = self.service.parse(&escape::incoming(sn))?;
        Ok(text::outgoing(name.components().to_vec()))
    }

    fn to_url(&self, addr: &str, sn: &str) -> Result<UrlString, ToUrlError> {
        let sn = escape::incoming(sn);
        self.service.parse(&sn)?;
        // If the address is valid, the URL contains it exactly as it was passed; only the name is escaped.
        let context = match format!("corbaname:{addr}").parse::<Corbaname>() {
            Ok(url) if !addr.is_empty() && url.name.is_empty() && !addr.contains('#') => {
                url.context
            }
            _ => return Err(InvalidAddress {}.into()),
        };
        let name = sn.into_owned();
        let url = Corbaname { context, name }.to_string();
        let escaped = url.split_once('#').map_or("", |(_, name)| name);
        Ok(format!("corbaname:{addr}#{escaped}"))
    }

    fn resolve_str(&self, sn: &str) -> Result<Option<ObjectRef>, ResolveStrError> {
        let name = self.service.parse(sn)?;
        Ok(self.find(name.components())?)
    }
}

pub(super) fn binding(
    (name, binding_type): (NameComponent, crate::cos_naming::BindingType),
) -> Binding {
    Binding { binding_name: vec![text::outgoing_component(name)], binding_type }
}

fn limit(minor: u32) -> Problem {
    SystemException::imp_limit(minor, CompletionStatus::No).into()
}

/// Exception for binding a nil context, which Naming Service 1.3, 2.1.1.2 does not permit. A nil
/// object may be bound.
const NIL_CONTEXT: SystemException = SystemException::bad_param(0, CompletionStatus::No);

const INDESTRUCTIBLE: SystemException =
    SystemException::no_permission(minor::no_permission::ROOT_CONTEXT, CompletionStatus::No);
