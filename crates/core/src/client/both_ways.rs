//! Calls over a connection that carries requests both ways: all of a peer's share it.

use std::sync::Arc;

use oxorb_giop::{CompletionStatus, Response, SystemException, Version};

use super::call::Request;
use super::{Exchange, Multiplexed, Peer, Reply, Step, Timing};
use crate::failure::{self, Attempt};
use crate::interceptor::ClientFlow;
use crate::route::Route;
use crate::{Ref, raise};

/// How often a request that certainly did not run is sent again.
const TRIES: u32 = 3;

impl Exchange<'_, '_> {
    /// One request over the connection to `peer` that carries requests both ways.
    /// `None` when there is none and this side opens none: the ordinary way is left.
    #[cold]
    pub(super) fn attempt_both_ways(
        &mut self,
        route: &Arc<Route>,
        index: usize,
        peer: &Arc<Peer>,
        request: &Request<'_>,
        flow: Option<&ClientFlow>,
    ) -> Result<Option<Step>, SystemException> {
        let profile = &route.profiles[index];
        // Before GIOP 1.2 requests went one way only.
        if profile.version < Version::V1_2 {
            return Ok(None);
        }
        let (reference, timing, response) = (self.reference, self.timing, self.op.response);
        let mut unreachable = raise::CONNECTION_CLOSED;
        for _ in 0..TRIES {
            let shared = match connection(reference, peer, timing, &mut self.attempts) {
                Ok(Some(shared)) => shared,
                Ok(None) => return Ok(None),
                Err(exception) => return Ok(Some(Step::NextProfile(exception))),
            };
            // What comes over the connection that this thread serves, a stand-in must read.
            if response != Response::None {
                crate::server::step_aside();
            }
            let answer = shared
                .send(peer, request, self.args, timing.awaiting(self.policies))
                .and_then(|slot| match response {
                    Response::None => Ok(None),
                    _ => match slot.wait() {
                        Some(answer) => answer.map(Some),
                        None => {
                            shared.cancel(&slot, profile.version, peer.options());
                            Err(raise::timeout(CompletionStatus::Maybe))
                        }
                    },
                });
            let exception = match answer {
                Ok(None) => return self.settle(route, index, flow, None).map(Some),
                Ok(Some(answer)) => {
                    let reply =
                        Reply::from_memory(reference.orb(), answer.message, answer.dialect)?;
                    return self.settle(route, index, flow, Some(reply)).map(Some);
                }
                Err(exception) => exception,
            };
            if exception.completed == CompletionStatus::No && exception.is_safe_to_retry() {
                timing.left(CompletionStatus::No)?;
                unreachable = exception;
                continue;
            }
            self.attempts.push(Attempt {
                endpoint: peer.to_string(),
                what: format!("on the bidirectional connection: {exception}"),
            });
            return Err(failure::record(
                exception,
                std::mem::take(&mut self.attempts),
            ));
        }
        Ok(Some(Step::NextProfile(unreachable)))
    }
}

fn connection(
    reference: &Ref,
    peer: &Arc<Peer>,
    timing: Timing,
    attempts: &mut Vec<Attempt>,
) -> Result<Option<Arc<Multiplexed>>, SystemException> {
    if let Some(open) = Multiplexed::open_to(peer) {
        return Ok(open.is_both_ways().then_some(open));
    }
    let orb = reference.orb();
    if !orb.offers_bidirectional() {
        // The client that was called back is gone.
        peer.set_both_ways(false);
        return Ok(None);
    }
    Multiplexed::of(orb, peer, timing, attempts).map(Some)
}
