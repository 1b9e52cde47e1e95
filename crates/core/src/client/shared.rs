//! Calls over a connection that all calls to a peer share, because it carries requests both ways or the ORB is so
//! configured.

use std::sync::Arc;

use oxorb_cdr::Encoder;
use oxorb_giop::{Response, Told};
use oxorb_object::{CompletionStatus, SystemException, SystemExceptionKind, Version};
use oxorb_sys::thread::ThreadPurpose;
use oxorb_transport::Link;

use super::call::too_large_there;
use super::draft::{Addressee, Draft, First};
use super::level::Level;
use super::link::request_ids;
use super::selection::{self, Selection};
use super::{Args, Exchange, Multiplexed, Peer, Reply, Step, Timing, reach};
use crate::conn::Turn;
use crate::error::{Attempt, failure, raise};
use crate::interceptor::ClientFlow;
use crate::policy::LocateFirst;
use crate::reference::RouteProfile;
use crate::{ClientConnections, Orb, Ref};

/// Maximum number of times that a request which certainly did not run is sent.
const TRIES: u32 = 3;

/// Connection to one of several profiles.
pub(super) struct FoundConnection {
    /// Index of the profile among those that were given.
    pub(super) place: usize,
    pub(super) over: Arc<Multiplexed>,
    /// Whether no connection of those profiles was open, and this one answered first.
    pub(super) opened: bool,
}

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
            let (shared, connected) = match found {
                Ok(Some(found)) => found,
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
            // Connecting, or a query for the object, has taken some of the call's time.
            let timing_of_call = match connected || self.again {
                true => timing.resumed()?,
                false => timing,
            };
            let timing_of_reply = timing_of_call.awaiting(self.policies);
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

/// Connection that all calls share, and whether connecting has taken some of the call's time.
pub(super) type Connected = (Arc<Multiplexed>, bool);

/// Returns the connection that all calls share; `None` if there is none and this side opens none. The inner error means
/// that the server cannot be reached at this address. The outer error ends the call, because at another address of the
/// same server it could overtake unread requests.
pub(super) fn connection(
    reference: &Ref,
    profile: &RouteProfile,
    selection: Option<&Selection>,
    timing: Timing,
    attempts: &mut Vec<Attempt>,
) -> Result<Result<Option<Connected>, SystemException>, SystemException> {
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
) -> Result<Option<Connected>, SystemException> {
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
                return Ok(Some((open, false)));
            }
            return Multiplexed::led(orb.shared(), profile, selection, timing, attempts).map(Some);
        }
        ClientConnections::Multiplexed | ClientConnections::LeaderFollowers => {
            return connection_to(orb, profile, selection, timing, attempts).map(Some);
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
        return Ok(open.takes(Level::of(selection)).then_some((open, false)));
    }
    if !offers {
        // The connection of the client that was called back is gone.
        peer.set_both_ways(false);
        return Ok(None);
    }
    connection_to(orb, profile, selection, timing, attempts).map(Some)
}

/// Returns the connection to the server of a profile, and whether it had to be opened.
fn connection_to(
    orb: &Orb,
    profile: &RouteProfile,
    selection: Option<&Selection>,
    timing: Timing,
    attempts: &mut Vec<Attempt>,
) -> Result<Connected, SystemException> {
    let first = first_of(orb, &[profile], 1, selection, timing, attempts);
    first.map(|found| (found.over, found.opened))
}

/// Returns the connection to the first of several profiles that has one open, or else to the first that answers.
/// Open connections count for the first `alike` profiles only: the others are less preferred.
pub(super) fn first_of(
    orb: &Orb,
    profiles: &[&RouteProfile],
    alike: usize,
    selection: Option<&Selection>,
    timing: Timing,
    attempts: &mut Vec<Attempt>,
) -> Result<FoundConnection, SystemException> {
    let level = Level::of(selection);
    let offers = orb.offers_bidirectional();
    let open = |(at, profile): (usize, &&RouteProfile)| {
        let peer = profile.remote();
        // The server needs a connection for its callbacks, so a connection that carries only calls does not
        // suffice.
        let enough = !(offers && peer.may_call_back()) || peer.shared.both_ways.usable().is_some();
        let open = enough.then(|| Multiplexed::open_to(peer, level));
        Some(FoundConnection { place: at, over: open??, opened: false })
    };
    if let Some(open) = profiles[..alike].iter().enumerate().find_map(open) {
        return Ok(open);
    }
    // Connecting may take long, so no lock is held for which another caller would wait.
    let peers: Vec<&Arc<Peer>> = profiles.iter().map(|profile| profile.remote()).collect();
    let (won, link, _) = Peer::connect_first(&peers, timing, attempts, None)?;
    selection::shape_shared(selection, profiles[won], &*link);
    let over = share(orb, peers[won], level, link)?;
    Ok(FoundConnection { place: won, over, opened: true })
}

/// Shares `link`, unless another thread has shared a connection first.
fn share(
    orb: &Orb,
    peer: &Arc<Peer>,
    level: Option<Level>,
    link: Arc<dyn Link>,
) -> Result<Arc<Multiplexed>, SystemException> {
    if orb.offers_bidirectional() && peer.may_call_back() {
        let current = peer.shared.both_ways.change();
        match current.usable() {
            Some(open) if open.takes(level) => {
                link.close();
                return Ok(open);
            }
            Some(_) => {}
            None => {
                let opened = open_both_ways(orb, peer, level, link)?;
                current.set(Some(Arc::clone(&opened)));
                return Ok(opened);
            }
        }
    }
    let current = peer.shared.of(level).multiplexed.change();
    if let Some(open) = current.usable() {
        link.close();
        return Ok(open);
    }
    let ids = request_ids(&*link);
    let opened = Arc::new(Multiplexed::new(Arc::downgrade(peer), link, ids));
    let reader = Arc::clone(&opened);
    let inbox = peer.inbox();
    let priority = level.and_then(Level::priority);
    peer.threads()
        .spawn(ThreadPurpose::Reader, "oxorb-reader", priority, move || reader.read(inbox))
        .map_err(|_| raise::NO_THREAD)?;
    current.set(Some(Arc::clone(&opened)));
    Ok(opened)
}

/// Opens a connection over which requests may also arrive, and has the ORB serve them.
fn open_both_ways(
    orb: &Orb,
    peer: &Arc<Peer>,
    level: Option<Level>,
    link: Arc<dyn Link>,
) -> Result<Arc<Multiplexed>, SystemException> {
    let turn = Arc::<Turn>::default();
    let calls = Multiplexed::opened_both_ways(
        orb.shared(),
        peer,
        level,
        Arc::clone(&link),
        Arc::clone(&turn),
    );
    let opened = Arc::new(calls);
    orb.serve_both_ways(link, turn, Arc::<Multiplexed>::clone(&opened))?;
    Ok(opened)
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
