//! Explicit binding (`_validate_connection`): opens all connections that calls of this thread may need.

use std::sync::Arc;

use oxorb_object::{CommunicationClass, PriorityModel, SystemException, SystemExceptionKind};
use oxorb_rt::Priority;

use super::call::{Call, Sent};
use super::draft::{Addressee, Draft};
use super::exchange::{Exchange, Step};
use super::link::ClientLink;
use super::reach::{self, Reached, Untried};
use super::reply_meaning::one_more;
use super::selection::{Selection, class_of};
use super::{Round, Timing, shared};
use crate::error::{Attempt, raise};
use crate::policy::{Effective, PolicyType};
use crate::reference::{Op, Route};
use crate::{Failure, Ref};

/// Connects, queries the server for the object, and binds the reference.
pub(crate) fn validate(reference: &Ref) -> Result<(), Failure> {
    /// Operation that names the call where a name is needed.
    static OP: Op = Op::twoway("_validate_connection");
    let policies = reference.policies();
    let failed =
        |exception| Failure { exception, attempts: Vec::new(), inconsistent_policies: Vec::new() };
    reference.binding().release();
    let timing = Timing::start(&policies).map_err(failed)?;
    let mut exchange = Exchange::begin(reference, &policies, (&OP).into(), &|_| Ok(()), timing);
    let validated = exchange.validate();
    validated.map_err(|(exception, inconsistent_policies)| {
        let recorded = Failure::of(&exception);
        Failure {
            exception,
            attempts: match recorded {
                Some(recorded) if exchange.attempts.is_empty() => recorded.attempts,
                _ => std::mem::take(&mut exchange.attempts),
            },
            inconsistent_policies,
        }
    })
}

/// Opens the connections that asynchronous calls of this thread share, one for each band or lane, and starts their
/// readers.
pub(crate) fn share(reference: &Ref) -> Result<(), Failure> {
    let mut attempts = Vec::new();
    let shared = share_all(reference, &mut attempts);
    shared.map_err(|exception| Failure { exception, attempts, inconsistent_policies: Vec::new() })
}

fn share_all(reference: &Ref, attempts: &mut Vec<Attempt>) -> Result<(), SystemException> {
    let (orb, policies) = (reference.orb(), reference.policies());
    let timing = Timing::start(&policies)?;
    let route = reference.route()?;
    if route.local(orb, None).is_some() {
        return Ok(());
    }
    for selection in selections(reference, &route, &policies)? {
        let selection = selection.as_ref();
        let mut untried = Untried::of(&route, None);
        if let Some(selection) = selection {
            untried.restrict(&route, None, selection);
        }
        let profiles: Vec<_> = untried.in_order().map(|at| &route.profiles[at]).collect();
        if !profiles.is_empty() {
            shared::first_of(orb, &profiles, 1, selection, timing, attempts)?;
        }
    }
    Ok(())
}

impl Exchange<'_, '_> {
    fn validate(&mut self) -> Result<(), (SystemException, Vec<PolicyType>)> {
        let raised = |exception| (exception, Vec::new());
        let mut forwards = 0;
        loop {
            let route = self.route().map_err(raised)?;
            if route.local(self.reference.orb(), None).is_some() {
                return Ok(());
            }
            for profile in &route.profiles {
                let reconciled = profile.published.reconcile(self.policies);
                reconciled.map_err(|types| (raise::IRRECONCILABLE, types))?;
            }
            match self.validate_all(&route).map_err(raised)? {
                Round::Done(_) => return Ok(()),
                Round::Forwarded => forwards = one_more(forwards).map_err(raised)?,
                Round::FellBack => {}
            }
        }
    }

    /// Validates a connection for each band or lane that a call of this thread may need.
    fn validate_all(&mut self, route: &Arc<Route>) -> Result<Round, SystemException> {
        for selection in selections(self.reference, route, self.policies)? {
            self.selection = selection;
            match self.validate_one(route)? {
                Round::Done(_) => {}
                elsewhere => return Ok(elsewhere),
            }
        }
        Ok(Round::Done(None))
    }

    fn validate_one(&mut self, route: &Arc<Route>) -> Result<Round, SystemException> {
        let mut unreachable = raise::CONNECT_FAILED;
        let mut untried = Untried::of(route, None);
        if let Some(selection) = &self.selection {
            untried.restrict(route, None, selection);
        }
        while let Some((index, reached)) = reach::any(self, route, &mut untried)? {
            let to = Addressee::of(route, index);
            let step = match reached {
                Reached::Link(link) if link.band.is_some() => self.bind_band(to, link)?,
                Reached::Link(link) => self.locate(to, link)?,
                Reached::Shared => {
                    match shared::connection(
                        self.reference,
                        to.profile,
                        self.selection.as_ref(),
                        self.timing,
                        &mut self.attempts,
                    )? {
                        // `None` means that the target is a client that was called back and is gone. The next call
                        // opens a connection of its own.
                        Ok(_) => Step::Done(None),
                        Err(exception) => Step::NextProfile(exception),
                    }
                }
            };
            match step {
                Step::Done(_) => return Ok(Round::Done(None)),
                Step::Again => return Ok(Round::Forwarded),
                Step::NextProfile(exception) => unreachable = exception,
            }
        }
        self.unreached(route, unreachable)
    }

    /// Announces to the server the priorities that the connection is for (`_bind_priority_band`, RT-CORBA 1.2, 5.14). A
    /// server that does not know the operation serves the band nevertheless.
    fn bind_band(
        &mut self,
        to: Addressee<'_>,
        link: Box<ClientLink>,
    ) -> Result<Step, SystemException> {
        static OP: Op = Op::twoway("_bind_priority_band");
        let peer = to.peer();
        let mut room = None;
        let op = (&OP).into();
        let call = Call {
            peer,
            link,
            draft: &Draft::to(to, op, &self.conditions(to.route), &[], &mut room)?,
        };
        let answered = match call.send(&|_| Ok(()), self.timing, |_| false)? {
            Sent::Gone(pending) => {
                let (reference, timing) = (self.reference, &self.timing);
                pending.wait(reference.orb(), timing, reference.is_forwarding())
            }
            Sent::Lost(unsent) => Err(unsent),
            Sent::Withheld(_) => unreachable!("nothing is withheld"),
        };
        match answered {
            Ok(reply) => match self.handle_reply(to, None, Some(reply)) {
                Err(unknown) if is_unknown_operation(&unknown) => Ok(Step::Done(None)),
                handled => handled,
            },
            Err(lost) => lost.end_harmless(peer, &mut self.attempts),
        }
    }
}

/// Returns the selections that calls of this thread may have, by their priority: one for each
/// connection.
fn selections(
    reference: &Ref,
    route: &Route,
    policies: &Effective,
) -> Result<Vec<Option<Selection>>, SystemException> {
    let class = class_of(policies);
    if !route.real_time && !policies.real_time && class == CommunicationClass::Message {
        return Ok(vec![None]);
    }
    let pacing = &reference.orb().options().class_pacing;
    let mut priorities = Vec::new();
    for profile in &route.profiles {
        let Some(model) = profile.published.model else {
            continue;
        };
        if model.model == PriorityModel::ServerDeclared {
            continue;
        }
        match profile.published.real_time(&policies.realtime) {
            Ok((_, Some(bands))) => priorities.extend(bands.iter().map(|band| band.low)),
            _ if profile.priority >= 0 => priorities.push(profile.priority),
            _ => priorities.push(reference.orb().outgoing_priority()?.get()),
        }
    }
    priorities.sort_unstable();
    priorities.dedup();
    if priorities.is_empty() {
        let selection = Selection::at(reference, route, policies, None)?;
        return Ok(vec![Some(selection.in_class(class, pacing))]);
    }
    let at = |priority| {
        let priority = Priority::new(priority).map_err(|_| raise::NO_BAND)?;
        let selection = Selection::at(reference, route, policies, Some(priority))?;
        Ok(Some(selection.in_class(class, pacing)))
    };
    priorities.into_iter().map(at).collect()
}

fn is_unknown_operation(exception: &SystemException) -> bool {
    matches!(exception.kind, SystemExceptionKind::BadOperation | SystemExceptionKind::NoImplement)
}
