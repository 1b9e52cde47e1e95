//! Selection of the addresses and connections of one call.

use std::sync::{Arc, Weak};

use oxorb_object::SystemException;
use oxorb_rt::Priority;

use super::selection::{Owner, Selection, class_of, default_priority, is_about_priority, recorded};
use crate::Ref;
use crate::policy::Effective;
use crate::reference::{Operation, Route, RouteProfile};

impl Selection {
    /// Returns the selection for a call under `policies`; `None` if the call may use any address, and any connection to
    /// it.
    ///
    /// # Errors
    /// INV_POLICY if the policies of both sides contradict each other, or the priority has no band or lane;
    /// DATA_CONVERSION if the thread's native priority stands for no CORBA priority.
    #[inline]
    pub(crate) fn of(
        reference: &Ref,
        route: &Route,
        policies: &Effective,
        op: Operation<'_>,
    ) -> Result<Option<Selection>, SystemException> {
        if !Selection::is_needed(route, policies) {
            return Ok(None);
        }
        let class = class_of(policies);
        let selection = match route.fixed_selection {
            Some(fixed_selection) if !policies.real_time => fixed_selection,
            _ => Selection::look(reference, route, policies, op)?,
        };
        let pacing = &reference.orb().options().class_pacing;
        Ok(Some(selection.in_class(class, pacing)))
    }

    /// Returns the selection if it depends on the caller.
    #[inline(never)]
    fn look(
        reference: &Ref,
        route: &Route,
        policies: &Effective,
        op: Operation<'_>,
    ) -> Result<Selection, SystemException> {
        let (mut priority, mut found) = (None, None);
        if let Some(scheduled) = &route.scheduled
            && let Some(row) = scheduled.find(op.name)
        {
            scheduled.called(row, op.response);
            priority = scheduled.row(row).priority;
            found = Some(row);
        }
        let propagated = route.profiles.iter().any(RouteProfile::is_client_propagated);
        let orb = reference.orb();
        // The selection has a priority only if a profile propagates it. Otherwise RIOP carries the priority.
        let inferred = propagated && priority.is_none() && orb.thread_priority().is_none();
        priority = match propagated {
            true if priority.is_none() => Some(orb.outgoing_priority()?),
            true => priority,
            false => None,
        };
        let mut selection = match Selection::at(reference, route, policies, priority) {
            Err(refusal) if inferred && is_about_priority(&refusal) => {
                let instead = default_priority(&route.profiles, &policies.realtime);
                Selection::at(reference, route, policies, instead.or(priority))
            }
            result => result,
        }
        .map_err(|refusal| recorded(refusal, route, &policies.realtime, priority))?;
        selection.row = found;
        Ok(selection)
    }

    /// Returns the selection for a caller of this priority.
    pub(super) fn at(
        reference: &Ref,
        route: &Route,
        policies: &Effective,
        priority: Option<Priority>,
    ) -> Result<Selection, SystemException> {
        let mut selection = Selection::among(&route.profiles, &policies.realtime, priority)?;
        if policies.realtime.private {
            selection.sharing_key.reference = reference.owner().0;
        }
        Ok(selection)
    }
}

/// Returns the reference to which the connection belongs, under PrivateConnectionPolicy.
pub(super) fn owner(reference: &Ref, selection: Option<&Selection>) -> Option<Weak<Owner>> {
    let private = selection.is_some_and(|selection| selection.sharing_key.is_private());
    private.then(|| Arc::downgrade(reference.owner()))
}
