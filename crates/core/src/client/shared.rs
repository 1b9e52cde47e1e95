//! Calls over a connection that all calls to a peer share, because it carries requests both ways or the ORB is so
//! configured.

use std::sync::Arc;

use oxorb_cdr::Encoder;
use oxorb_giop::{Response, Told};
use oxorb_object::{CompletionStatus, SystemException, SystemExceptionKind, Version};

use super::call::too_large_there;
use super::draft::{Addressee, Draft, First};
use super::level::Level;
use super::selection::Selection;
use super::{Args, Exchange, Multiplexed, Peer, Reply, Step, Timing, reach};
use crate::error::{Attempt, failure, raise};
use crate::interceptor::ClientFlow;
use crate::policy::LocateFirst;
use crate::reference::RouteProfile;
use crate::{ClientConnections, Ref};

/// Maximum number of times that a request which certainly did not run is sent.
const TRIES: u32 = 3;

impl Exchange<'_, '_> {
    /// Sends a request over the connection to `peer` that all calls share. Returns `None` if there is none and this
    /// side opens none; the call then needs a connection of its own.
    #[cold]
    pub(super) fn attempt_shared(
        &mut self,
        to: Addressee<'_>,
        draft: &Draft<'_>,
        flow: Option<&ClientFlow>,
    ) -> Result<Option<Step>, SystemException> {
        let (profile, peer) = (to.profile, to.peer());
        let (reference, response) = (self.reference, self.op.response);
        let timing = match self.again {
            false => self.timing,
            true => self.timing.resumed()?,
        };
        let mut unreachable = raise::CONNECTION_CLOSED;
        for _ in 0..TRIES {
            let selection = self.selection.as_ref();
            let found = connection(reference, profile, selection, timing, &mut self.attempts)?;
            let shared = match found {
                Ok(Some(shared)) => shared,
                Ok(None) => return Ok(None),
                Err(exception) => return Ok(Some(Step::NextProfile(exception))),
            };
            if let Some(step) = self.locate_first(to, &shared, draft)? {
                return Ok(Some(step));
            }
            // This thread is about to wait for the answer, so a takeover thread must read the connection that this
            // thread serves.
            if response != Response::None {
                crate::conn::step_aside();
            }
            let timing_of_reply = timing.awaiting(self.policies);
            let forwarding = reference.is_forwarding();
            let answer = shared.call(profile, draft, self.args, timing_of_reply, forwarding);
            let answer = answer.and_then(Option::transpose);
            let exception = match answer {
                Ok(None) => return self.handle_reply(to, flow, None).map(Some),
                Ok(Some(answer)) => {
                    let reply = Reply::of_answer(reference.orb(), answer);
                    return self.handle_reply(to, flow, Some(reply)).map(Some);
                }
                Err(exception) => exception,
            };
            if exception.completed == CompletionStatus::No && exception.is_safe_to_retry() {
                timing.left(CompletionStatus::No)?;
                unreachable = exception;
                continue;
            }
            let mut told = failure::attempts_of(&exception);
            if told.is_empty() {
                told.push(Attempt {
                    endpoint: peer.to_string(),
                    what: format!("on the shared connection: {exception}"),
                });
            } else if exception.kind == SystemExceptionKind::CommFailure
                && let Ok(octets) = octets(peer, draft, self.args)
                && let Some(last) = told.last_mut()
            {
                last.what += &too_large_there(octets, peer.options().fragment_size);
            }
            self.attempts.append(&mut told);
            return Err(failure::record(exception, std::mem::take(&mut self.attempts)));
        }
        Ok(Some(Step::NextProfile(unreachable)))
    }

    /// Queries the server for the object before the request goes over `shared`, if policy requires that, and waits for
    /// the answer. Returns `None` if the server has the object, or if no query is required.
    ///
    /// The query goes over a separate connection. It is omitted if `shared` carries requests both ways, because there
    /// may be no other connection to that side.
    pub(super) fn locate_first(
        &mut self,
        to: Addressee<'_>,
        shared: &Multiplexed,
        draft: &Draft<'_>,
    ) -> Result<Option<Step>, SystemException> {
        let (profile, peer, locate) = (to.profile, to.peer(), self.policies.locate);
        if locate == LocateFirst::Never
            || profile.is_located()
            || shared.is_both_ways()
            || !locate.wanted(octets(peer, draft, self.args)?)
        {
            return Ok(None);
        }
        let step = match reach::again(self, to.profile)? {
            Ok(link) => self.locate(to, link)?,
            Err(exception) => Step::NextProfile(exception),
        };
        Ok(match step {
            Step::Done(_) => None,
            elsewhere => Some(elsewhere),
        })
    }
}

/// Returns the connection that all calls share; `None` if there is none and this side opens none. The inner error means
/// that the server cannot be reached at this address. The outer error ends the call, because at another address of the
/// same server it could overtake unread requests.
pub(super) fn connection(
    reference: &Ref,
    profile: &RouteProfile,
    selection: Option<&Selection>,
    timing: Timing,
    attempts: &mut Vec<Attempt>,
) -> Result<Result<Option<Arc<Multiplexed>>, SystemException>, SystemException> {
    match find(reference, profile, selection, timing, attempts) {
        Err(unread) if unread == raise::EARLIER_UNREAD => {
            Err(failure::record(unread, std::mem::take(attempts)))
        }
        found => Ok(found),
    }
}

fn find(
    reference: &Ref,
    profile: &RouteProfile,
    selection: Option<&Selection>,
    timing: Timing,
    attempts: &mut Vec<Attempt>,
) -> Result<Option<Arc<Multiplexed>>, SystemException> {
    let orb = reference.orb();
    let peer = profile.remote();
    let offers = orb.offers_bidirectional() && peer.may_call_back();
    match peer.options().client_connections {
        ClientConnections::LeaderFollowers if !offers => {
            // A client that offers its connection may be reachable over no other one. If this side has already
            // connected to the client, calls stay on that connection: on the offered one, later oneways could overtake
            // earlier ones, and urgent calls would wait behind others.
            let level = Level::of(selection);
            let offered = peer.shared.both_ways.usable().filter(|open| open.takes(level));
            if let Some(open) = offered
                && peer.shared.of(level).led.usable().is_none()
            {
                return Ok(Some(open));
            }
            return Multiplexed::led(orb.shared(), profile, selection, timing, attempts).map(Some);
        }
        ClientConnections::Multiplexed | ClientConnections::LeaderFollowers => {
            return Multiplexed::of(orb.both_ends(), profile, selection, timing, attempts)
                .map(Some);
        }
        // Before GIOP 1.2 a connection carries requests one way only, and a protocol without contexts cannot offer a
        // connection.
        _ if profile.wire.version() < Version::V1_2 || profile.wire.needs().no_contexts => {
            return Ok(None);
        }
        _ => {}
    }
    if let Some(open) = peer.shared.both_ways.usable() {
        // Calls of other levels use separate connections.
        return Ok(open.takes(Level::of(selection)).then_some(open));
    }
    if !offers {
        // The connection of the client that was called back is gone.
        peer.set_both_ways(false);
        return Ok(None);
    }
    Multiplexed::of(orb.both_ends(), profile, selection, timing, attempts).map(Some)
}

/// Returns the octets that the message would have.
fn octets<'a>(
    peer: &Peer,
    draft: &Draft<'_>,
    args: Args<'_, 'a>,
) -> Result<usize, SystemException> {
    let options = peer.options();
    let dialect = Told::of(draft.code_sets).dialect(draft.wire.version().minor);
    let mut e: Encoder<'a> = options.encoder(Vec::new(), dialect);
    draft.write(&mut e, 0, &First::default(), args, &options.limits)?;
    Ok(e.finish().len())
}
