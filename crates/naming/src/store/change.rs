//! Changes of the store, and reasons to refuse them.

use redb::{
    ReadTransaction, ReadableTable as _, ReadableTableMetadata as _, Table, WriteTransaction,
};

use super::{BINDINGS, Bound, CONTEXTS, ContextId, Key, META, Row};
use crate::Limits;
use crate::cos_naming::{BindingType, NameComponent};

/// A change of one context.
#[derive(Debug)]
pub(crate) enum Change {
    Bind {
        context: ContextId,
        name: NameComponent,
        bound: Bound,
        mode: Mode,
    },
    Unbind {
        context: ContextId,
        name: NameComponent,
    },
    /// Creates a context without a name.
    NewContext,
    BindNewContext {
        context: ContextId,
        name: NameComponent,
    },
    Destroy(ContextId),
}

impl Change {
    /// Reports whether a file looks as if this change had been the last one. `made` is the context that it created.
    pub(super) fn is_visible(
        &self,
        read: &ReadTransaction,
        made: ContextId,
    ) -> Result<bool, redb::Error> {
        let contexts = read.open_table(CONTEXTS)?;
        let bindings = read.open_table(BINDINGS)?;
        let bound = |context: &ContextId, name: &NameComponent| {
            let row = bindings.get(key(*context, name))?;
            Ok::<_, redb::Error>(row.map(|row| Bound::from_row(row.value())))
        };
        Ok(match self {
            Change::Bind { context, name, bound: to, .. } => {
                bound(context, name)?.as_ref() == Some(to)
            }
            Change::Unbind { context, name } => bound(context, name)?.is_none(),
            Change::NewContext | Change::BindNewContext { .. } => contexts.get(made.0)?.is_some(),
            Change::Destroy(context) => contexts.get(context.0)?.is_none(),
        })
    }
}

/// Mode of a binding: whether it may replace an existing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Bind,
    Rebind,
}

/// Reason why a change was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The context was destroyed.
    NoContext,
    /// The name to be unbound is not bound.
    Missing,
    AlreadyBound,
    /// The name is bound to a context, and an object would replace it.
    NotObject,
    /// The name is bound to an object, and a context would replace it.
    NotContext,
    NotEmpty,
    ManyBindings,
    ManyContexts,
}

/// Tables of a write transaction.
pub(super) struct Tables<'txn> {
    meta: Table<'txn, &'static str, u64>,
    contexts: Table<'txn, u64, u64>,
    bindings: Table<'txn, Key, Row>,
}

impl<'txn> Tables<'txn> {
    pub(super) fn open(write: &'txn WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Tables {
            meta: write.open_table(META)?,
            contexts: write.open_table(CONTEXTS)?,
            bindings: write.open_table(BINDINGS)?,
        })
    }

    /// Makes one change completely or not at all. Returns the context that it created, otherwise the one
    /// that it changed.
    pub(super) fn apply(
        &mut self,
        change: &Change,
        limits: &Limits,
    ) -> Result<Result<ContextId, Refusal>, redb::Error> {
        match change {
            Change::Bind { context, name, bound, mode } => {
                self.bind(*context, name, bound, *mode, limits)
            }
            Change::Unbind { context, name } => self.unbind(*context, name),
            Change::NewContext => self.new_context(limits),
            Change::BindNewContext { context, name } => {
                // Check the name before creating the context: if the binding were refused afterwards, the context would
                // remain.
                if let Some(refusal) = self.taken(*context, name, limits)? {
                    return Ok(Err(refusal));
                }
                let made = match self.new_context(limits)? {
                    Ok(made) => made,
                    Err(refusal) => return Ok(Err(refusal)),
                };
                let bound = Bound::Context(made);
                let done = self.bind(*context, name, &bound, Mode::Bind, limits)?;
                Ok(done.map(|_| made))
            }
            Change::Destroy(context) => self.destroy(*context),
        }
    }

    fn bind(
        &mut self,
        context: ContextId,
        name: &NameComponent,
        bound: &Bound,
        mode: Mode,
        limits: &Limits,
    ) -> Result<Result<ContextId, Refusal>, redb::Error> {
        if mode == Mode::Rebind
            && let Some(before) = self.bound(context, name)?
        {
            match (before.binding_type(), bound.binding_type()) {
                (BindingType::Ncontext, BindingType::Nobject) => {
                    return Ok(Err(Refusal::NotObject));
                }
                (BindingType::Nobject, BindingType::Ncontext) => {
                    return Ok(Err(Refusal::NotContext));
                }
                _ => {}
            }
        } else {
            if let Some(refusal) = self.taken(context, name, limits)? {
                return Ok(Err(refusal));
            }
            self.count(context, 1)?;
        }
        self.bindings.insert(key(context, name), bound.as_row())?;
        Ok(Ok(context))
    }

    fn unbind(
        &mut self,
        context: ContextId,
        name: &NameComponent,
    ) -> Result<Result<ContextId, Refusal>, redb::Error> {
        if self.bindings.remove(key(context, name))?.is_none() {
            return Ok(Err(match self.contexts.get(context.0)? {
                Some(_) => Refusal::Missing,
                None => Refusal::NoContext,
            }));
        }
        self.count(context, -1)?;
        Ok(Ok(context))
    }

    fn new_context(&mut self, limits: &Limits) -> Result<Result<ContextId, Refusal>, redb::Error> {
        if self.contexts.len()? >= limits.contexts {
            return Ok(Err(Refusal::ManyContexts));
        }
        let number = self.meta.get("next")?.map_or(1, |next| next.value());
        self.meta.insert("next", number + 1)?;
        self.contexts.insert(number, 0)?;
        Ok(Ok(ContextId(number)))
    }

    fn destroy(&mut self, context: ContextId) -> Result<Result<ContextId, Refusal>, redb::Error> {
        let bindings = self.contexts.get(context.0)?.map(|count| count.value());
        Ok(match bindings {
            None => Err(Refusal::NoContext),
            Some(0) => {
                self.contexts.remove(context.0)?;
                Ok(context)
            }
            Some(_) => Err(Refusal::NotEmpty),
        })
    }

    /// Returns the reason why a binding of this name cannot be added; `None` if it can.
    fn taken(
        &self,
        context: ContextId,
        name: &NameComponent,
        limits: &Limits,
    ) -> Result<Option<Refusal>, redb::Error> {
        let bindings = self.contexts.get(context.0)?.map(|count| count.value());
        let Some(bindings) = bindings else {
            return Ok(Some(Refusal::NoContext));
        };
        if self.bindings.get(key(context, name))?.is_some() {
            return Ok(Some(Refusal::AlreadyBound));
        }
        Ok((bindings >= limits.bindings).then_some(Refusal::ManyBindings))
    }

    fn bound(
        &self,
        context: ContextId,
        name: &NameComponent,
    ) -> Result<Option<Bound>, redb::Error> {
        let row = self.bindings.get(key(context, name))?;
        Ok(row.map(|row| Bound::from_row(row.value())))
    }

    fn count(&mut self, context: ContextId, change: i64) -> Result<(), redb::Error> {
        let before = self.contexts.get(context.0)?.map_or(0, |count| count.value());
        let after = before.saturating_add_signed(change);
        self.contexts.insert(context.0, after)?;
        Ok(())
    }
}

fn key(context: ContextId, name: &NameComponent) -> (u64, &str, &str) {
    (context.0, &name.id, &name.kind)
}
