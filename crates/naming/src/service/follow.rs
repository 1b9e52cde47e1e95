//! Resolution of a name from context to context, here and on other servers.

use oxorb::{CompletionStatus, Interface as _, SystemException, minor};

use super::{Forward, GONE, Service};
use crate::cos_naming::naming_context::{CannotProceed, NotFoundReason};
use crate::cos_naming::{NameComponent, NamingContextRef};
use crate::store::{Bound, ContextId, Snapshot};
use crate::{InvalidName, Name, Problem};

/// Context at which following a name through this store ends.
pub(super) enum Followed<'n, 's> {
    /// Context of this store that contains the last component, and this component.
    Here(ContextId, &'n NameComponent),
    /// Context of another server, the rest of the name, which that server resolves in a call, and the permit for this
    /// call.
    There(NamingContextRef, &'n [NameComponent], Forward<'s>),
}

impl Service {
    /// Follows a name through the contexts of this store.
    pub(super) fn follow<'n, 's>(
        &'s self,
        from: ContextId,
        name: &'n [NameComponent],
    ) -> Result<Followed<'n, 's>, Problem> {
        let snapshot = self.store.snapshot().map_err(|error| self.unreadable(error))?;
        self.follow_in(&snapshot, from, name)
    }

    pub(super) fn follow_in<'n, 's>(
        &'s self,
        snapshot: &Snapshot,
        from: ContextId,
        name: &'n [NameComponent],
    ) -> Result<Followed<'n, 's>, Problem> {
        self.check(name)?;
        let (mut context, mut rest) = (from, name);
        loop {
            let [first, behind @ ..] = rest else {
                return Err(Problem::InvalidName);
            };
            if behind.is_empty() {
                return Ok(Followed::Here(context, first));
            }
            let found = snapshot.find(context, first);
            match found.map_err(|error| self.unreadable(error))? {
                Some(Bound::Context(next)) => (context, rest) = (next, behind),
                Some(Bound::Foreign(reference)) => {
                    let next = self.decode(&reference)?.ok_or(GONE)?;
                    let next = next.unchecked_narrow::<NamingContextRef>();
                    if let Some(own) = self.own(&next) {
                        (context, rest) = (own, behind);
                        continue;
                    }
                    return self.follow_there(next, behind);
                }
                Some(Bound::Object(_)) => {
                    return Err(Problem::not_found(NotFoundReason::NotContext, rest));
                }
                None => return Err(self.missing(snapshot, from, context, rest)),
            }
        }
    }

    /// Prepares to follow a name to another server, if the rules and the number of pending calls
    /// permit it.
    fn follow_there<'n, 's>(
        &'s self,
        next: NamingContextRef,
        rest: &'n [NameComponent],
    ) -> Result<Followed<'n, 's>, Problem> {
        let reference = next.reference();
        let protocols = &reference.orb().options().protocols;
        let allowed = self.rules.federation.allows(reference.ior(), protocols);
        match allowed.then(|| self.forward()).flatten() {
            Some(share) => {
                let next = next.with_timeout(self.limits.forward_timeout);
                Ok(Followed::There(next, rest, share))
            }
            None => Err(Problem::CannotProceed(CannotProceed {
                cxt: Some(next),
                rest_of_name: rest.to_vec(),
            })),
        }
    }

    /// Returns the reason why `rest` is not found in `context`, which was reached from `from`.
    pub(super) fn missing(
        &self,
        snapshot: &Snapshot,
        from: ContextId,
        context: ContextId,
        rest: &[NameComponent],
    ) -> Problem {
        match snapshot.has(context) {
            Ok(true) => Problem::not_found(NotFoundReason::MissingNode, rest),
            Ok(false) => self.destroyed(from, context, rest),
            Err(error) => self.unreadable(error).into(),
        }
    }

    /// Returns the problem to report for a context that was destroyed although a name is still bound to it.
    pub(super) fn destroyed(
        &self,
        from: ContextId,
        context: ContextId,
        rest: &[NameComponent],
    ) -> Problem {
        if context == from {
            return GONE.into();
        }
        Problem::CannotProceed(CannotProceed {
            cxt: self.reference(context).ok(),
            rest_of_name: rest.to_vec(),
        })
    }

    fn check(&self, name: &[NameComponent]) -> Result<(), Problem> {
        let octets = name.iter().map(|c| c.id.len() + c.kind.len());
        if name.len() > self.limits.components || octets.sum::<usize>() > self.limits.name_octets {
            return Err(NAME_TOO_LONG.into());
        }
        Ok(())
    }

    /// Parses a name, if its text is not too long.
    pub(super) fn parse(&self, text: &str) -> Result<Name, Problem> {
        // The text of a name has at most one backslash for each octet, and one dot and one slash for each component.
        if text.len() > 2 * (self.limits.name_octets + self.limits.components) {
            return Err(NAME_TOO_LONG.into());
        }
        let name: Name = text.parse().map_err(|_: InvalidName| Problem::InvalidName)?;
        self.check(name.components())?;
        Ok(name)
    }
}

/// Returns the problem to report for a failed call to another server. If the call was not executed, the caller may
/// proceed at that server (CannotProceed). Otherwise the error is passed on, because a change may have happened.
pub(super) fn forwarded<E: Into<Problem>>(
    context: &NamingContextRef,
    rest: &[NameComponent],
    error: E,
) -> Problem {
    match error.into() {
        Problem::System(exception) if exception.completed == CompletionStatus::No => {
            Problem::CannotProceed(CannotProceed {
                cxt: Some(context.clone()),
                rest_of_name: rest.to_vec(),
            })
        }
        problem => problem,
    }
}

const NAME_TOO_LONG: SystemException =
    SystemException::imp_limit(minor::imp_limit::NAME_TOO_LONG, CompletionStatus::No);
