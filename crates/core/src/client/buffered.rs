//! Buffered oneways (SYNC_NONE): each server has a bounded buffer, which a thread of the oneways' priority empties.

use std::sync::Arc;

use oxorb_giop::{ReplyStatus, Response};
use oxorb_object::{ServiceContext, SystemException};

use super::draft::{Addressee, Conditions, Draft};
use super::exchange::exchange;
use super::level::Level;
use super::oneways::{BufferedOneways, OnewayBuffer};
use super::reach::Untried;
use super::scheduled::SchedulingContext;
use super::selection::{AnnouncedPriority, Selection};
use super::{Args, Peer, Timing, intercepted};
use crate::Ref;
use crate::error::raise;
use crate::interceptor::{ClientFlow, Interrupt, Received};
use crate::policy::{Effective, SyncScope};
use crate::reference::{Operation, RouteProfile};

/// Sends a oneway, and returns when the event of its sync scope has happened.
pub(super) fn send<'a>(
    reference: &Ref,
    mut op: Operation<'_>,
    args: Args<'_, 'a>,
) -> Result<(), SystemException> {
    let policies = reference.policies();
    op.response = match policies.sync_scope {
        SyncScope::WithTransport if policies.round_trip_carried => {
            op.response = Response::None;
            return exchange(reference, &policies.unanswered(), op, args).map(drop);
        }
        SyncScope::WithTransport => Response::None,
        SyncScope::None => return buffer(reference, &policies.unanswered(), op, args),
        SyncScope::WithServer => Response::WithServer,
        SyncScope::WithTarget => Response::WithTarget,
    };
    match exchange(reference, &policies, op, args)? {
        // A oneway operation declares no user exceptions, so a user exception is an error of the server.
        Some(reply) if reply.status() == ReplyStatus::USER_EXCEPTION => {
            Err(raise::UNLISTED_USER_EXCEPTION)
        }
        _ => Ok(()),
    }
}

/// Copies the request into the buffer of the object's server.
///
/// # Errors
/// TRANSIENT if the buffer is full; errors of the reference or the arguments. An object of this process is called in
/// the same way as by any other oneway.
fn buffer<'a>(
    reference: &Ref,
    policies: &Effective,
    op: Operation<'_>,
    args: Args<'_, 'a>,
) -> Result<(), SystemException> {
    let route = reference.route()?;
    if route.local(reference.orb(), None).is_some() {
        return exchange(reference, policies, op, args).map(drop);
    }
    let selection = Selection::of(reference, &route, policies, op)?;
    let mut profiles = Untried::of(&route, None);
    if let Some(selection) = &selection {
        profiles.restrict(&route, None, selection);
    }
    let index = profiles.in_order().next();
    let index = index.ok_or(raise::NO_USABLE_PROFILE)?;
    let profile = &route.profiles[index];
    let timing = Timing::start(policies)?;
    let mut flow = ClientFlow::of(reference, op);
    match intercepted::begin(flow.as_deref_mut()) {
        Ok(()) => {}
        Err(Interrupt::Raise(exception)) => {
            return match intercepted::unsent(flow.as_deref_mut(), exception) {
                Interrupt::Raise(exception) => Err(exception),
                Interrupt::Forward(to) => forwarded(reference, &to),
            };
        }
        Err(Interrupt::Forward(to)) => return forwarded(reference, &to),
    }
    let peer = profile.remote();
    let level = Level::of(selection.as_ref());
    let announced =
        selection.map_or(AnnouncedPriority::default(), |selection| selection.announced(&route));
    let announced = announced.or_inherited(policies);
    let scheduling = SchedulingContext::of(reference, op);
    let to = Addressee::of(&route, index);
    let conditions = Conditions { policies, announced, timing: &timing };
    let add = |added: &[ServiceContext<'_>]| {
        let mut room = None;
        let draft = Draft::to(to, op, &conditions, added, &mut room)?;
        // The message is encoded only once, so the alternative servers must accept the same octets.
        let others = profiles
            .in_order()
            .map(|at| &route.profiles[at])
            .filter(|other| draft.suits(other))
            .map(RouteProfile::remote)
            .filter(|other| !Arc::ptr_eq(other, peer));
        let buffer = OnewayBuffer::of(peer, level);
        buffer.add(peer, level, others, &draft, args, policies)
    };
    let added = scheduling.and_then(|scheduling| scheduling.with_added(flow.as_deref(), add));
    if let Some(flow) = &mut flow {
        let end = match &added {
            Ok(()) => Received::Sent,
            Err(exception) => Received::SystemException(*exception),
        };
        match flow.end(&end) {
            Ok(()) => {}
            Err(Interrupt::Raise(exception)) => return Err(exception),
            Err(Interrupt::Forward(to)) => reference.forward_to(to.ior().clone(), false)?,
        }
    }
    added
}

/// Records that an interceptor has forwarded a oneway; the caller has to repeat it.
fn forwarded(reference: &Ref, to: &Ref) -> Result<(), SystemException> {
    reference.forward_to(to.ior().clone(), false)?;
    Err(raise::FORWARDED)
}

/// Sends all oneways that are buffered for the object's server.
pub(super) fn flush(reference: &Ref) -> Result<(), SystemException> {
    let route = reference.route()?;
    let timing = Timing::start(&reference.policies())?;
    for profile in &route.profiles {
        let buffers = profile.peer.iter().flat_map(|peer| peer.shared.buffers());
        for buffer in buffers {
            buffer.flush(timing.deadline())?;
        }
    }
    Ok(())
}

pub(super) fn look(reference: &Ref) -> BufferedOneways {
    let mut sum = BufferedOneways::default();
    let Ok(route) = reference.route() else {
        return sum;
    };
    let mut seen: Vec<&Arc<Peer>> = Vec::new();
    for peer in route.profiles.iter().filter_map(|profile| profile.peer.as_ref()) {
        let again = seen.iter().any(|before| Arc::ptr_eq(before, peer));
        for buffer in peer.shared.buffers().filter(|_| !again) {
            buffer.count_into(&mut sum);
        }
        seen.push(peer);
    }
    sum
}
