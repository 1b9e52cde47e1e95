//! Delivery of answers to reply handlers that are objects.

use oxorb_object::SystemException;

use super::AsyncReply;
use super::delivery::ServerNumber;
use crate::threads::rt::thread_priority;
use crate::{Incident, Interface, Ref};

/// Delivers an answer to a reply handler: another thread runs `tell`, which calls the handler. For generated code.
///
/// A failed delivery is counted and reported to observers of the ORB ([`Incident::HandlerNotTold`]). Allocates.
pub fn deliver<R: Interface + Send + 'static>(
    handler: R,
    tell: impl FnOnce(&R) -> AsyncReply<(), SystemException> + Send + 'static,
) {
    let reference = handler.reference().clone();
    let orb = reference.orb().clone();
    let work = move || {
        let reference = handler.reference().clone();
        tell(&handler).then(move |told| {
            if let Err(exception) = told {
                not_told(&reference, exception.to_string());
            }
        });
    };
    if let Some(lane) = orb.jobs_of_lane().and_then(|lane| lane.upgrade()) {
        if lane.offer(Box::new(work)).is_err() {
            not_told(&reference, "the queue of the lane is full".to_owned());
        }
        return;
    }
    // This code runs on the callback thread, which has the priority of the call.
    let deliveries = orb.deliveries(thread_priority());
    if let Err(full) = deliveries.push(server(&reference), Box::new(work)) {
        not_told(&reference, full);
    }
}

fn not_told(handler: &Ref, why: String) {
    let place = || match handler.route() {
        Ok(route) => match route.profiles.first().and_then(|first| first.peer.as_ref()) {
            Some(peer) => peer.to_string(),
            None => "this process".to_owned(),
        },
        Err(_) => handler.ior().type_id.clone(),
    };
    handler.orb().note(Incident::HandlerNotTold, place, || why);
}

/// Returns the server to whose queue a handler belongs.
fn server(handler: &Ref) -> ServerNumber {
    let route = handler.route().ok()?;
    Some(route.profiles.first()?.peer.as_ref()?.id())
}
