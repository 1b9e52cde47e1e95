//! Requests that are served by a thread other than the one that read them.
//!
//! ```text
//! reader (the lane's, or the connection's own)
//!   reads a request -> the application's filters, in order: does one of them pick a lane?
//!                   -> otherwise by its operation  (modules.rs) a dispatching module of the run-time scheduler?
//!                   -> otherwise by its object, if lanes share a port: does it belong to another lane?
//!                   -> otherwise the lane's    Serving: itself; its queue; a thread for each
//!   takes it off the connection, reads on     -> AssignedRequest: own octets, own reply, the connection's Turn to write
//! ```
//!
//! The reader itself handles what concerns the connection and not one request: code sets, offers of callbacks,
//! cancellation, replies in the other direction. A request keeps a share of its connection, and the last holder of a
//! share closes the connection.

use std::sync::Arc;

use oxorb_giop::{Message, MessageType, Request, Response, caller_priority};
use oxorb_object::{SystemException, Urgency};
use oxorb_rt::Priority;

use super::assigned::{AssignedRequest, LaneWork};
use super::connection::Connection;
use super::connection_owner::ConnectionOwner;
use super::dropping::Dropping;
use super::lane::Lane;
use super::modules::{DispatchingModules, Due};
use super::serve::serving;
use super::serving_context::ServingContext;
use super::session::{Caller, SessionStep, is_stream};
use crate::ArrivingRequest;
use crate::Incident;
use crate::Orb;
use crate::Serving;
use crate::conn::Offer;
use crate::error::raise;
use crate::scheduler::budget::BudgetedRequest;
use crate::shared::Shared;
use crate::threads::sync::atomic::Ordering;

/// Serves the message that the inbox announces, or assigns it to another thread.
#[cold]
pub(super) fn assign(
    orb: &Orb,
    owner: &ConnectionOwner,
    context: &ServingContext,
    connection: &mut Connection,
) -> SessionStep {
    let assigned = match assigned(orb, owner, context, connection) {
        Ok(Some(assigned)) => assigned,
        Ok(None) => return connection.run(orb, context),
        Err(exception) => {
            connection.see_to_announced(orb, context);
            return refuse(orb.shared(), connection, exception);
        }
    };
    if let Assigned::Lane { lane, octets, .. } = &assigned
        && let Err(exception) = lane.make_room(*octets)
    {
        return refuse(orb.shared(), connection, exception);
    }
    match assigned {
        Assigned::Lane { lane, picked, octets, urgency, dropping } => {
            let detached = connection.detach(orb.options(), picked);
            let request = AssignedRequest::new(Arc::clone(orb.server()), detached, dropping);
            lane.take_over(orb, request, octets, urgency);
        }
        Assigned::Module(modules, due) => {
            modules.dispatch(orb, connection.detach(orb.options(), false), due);
        }
        Assigned::Later => return SessionStep::Held,
    }
    SessionStep::Message
}

/// Threads that are assigned a request.
enum Assigned<'o> {
    Lane {
        lane: Arc<Lane>,
        /// Whether a filter has chosen the lane, or the object has if lanes share a port.
        picked: bool,
        octets: usize,
        urgency: Option<Urgency>,
        dropping: Dropping,
    },
    /// Dispatching module of the run-time scheduler.
    Module(&'o DispatchingModules, Due),
    /// None yet: as many requests of the connection as may run at one time are in other threads.
    Later,
}

/// Lane of a request, if lanes share a port.
enum OtherLane {
    /// The thread that has read the request serves it.
    Own,
    Other(Arc<Lane>),
    /// Another lane, once one of the connection's requests has ended.
    Later,
}

/// Chooses the threads for a request; `None` for the thread that read it.
fn assigned<'o>(
    orb: &'o Orb,
    owner: &ConnectionOwner,
    context: &ServingContext,
    connection: &mut Connection,
) -> Result<Option<Assigned<'o>>, SystemException> {
    let (mut caller, inbox, _) = connection.parts(context);
    let frame = inbox.frame();
    if frame.header.kind != MessageType::REQUEST {
        return Ok(None);
    }
    // A malformed request is reported by the thread that runs it.
    let Ok(Message::Request(request)) = frame.message() else {
        return Ok(None);
    };
    let Ok(key) = request.target.object_key() else {
        return Ok(None);
    };
    if inbox.is_cancelled(request.id) {
        return Ok(None);
    }
    let picked = match orb.options().thread_filters.is_empty() {
        true => None,
        false => {
            pick(orb, &ArrivingRequest::new(frame, &request, key, Some(Arc::clone(caller.link))))?
        }
    };
    if picked.is_none()
        && let Some(modules) = orb.modules()
        && let Some(due) = modules.admit(orb, &request, key)?
    {
        see_to_connection(orb, &mut caller, &request, key);
        return Ok(Some(Assigned::Module(modules, due)));
    }
    let picked = match picked {
        None => match other_lane(orb, owner, &caller, &request, key)? {
            OtherLane::Own => None,
            OtherLane::Other(lane) => Some(lane),
            OtherLane::Later => return Ok(Some(Assigned::Later)),
        },
        picked => picked,
    };
    let is_picked = picked.is_some();
    let demoted = match is_picked {
        true => None,
        false => demoted(orb, owner, context, &caller, &request, key),
    };
    let Some(lane) = picked.or(demoted).or_else(|| owner.assigns().cloned()) else {
        return Ok(None);
    };
    see_to_connection(orb, &mut caller, &request, key);
    let urgency = lane.plan.order.place(&request.contexts);
    let dropping = Dropping::of(&lane.plan.drops, &request);
    Ok(Some(Assigned::Lane {
        lane,
        picked: is_picked,
        octets: frame.header.total(),
        urgency,
        dropping,
    }))
}

/// Returns the lane that serves a request, if lanes share a port and the request has arrived over a connection of
/// another lane or of the ORB's own threads. `Own` for an object in no threadpool, and for a connection that this side
/// opened: the thread that has read the request serves it.
///
/// If as many requests of the connection as may run at one time are in other threads, a oneway waits at the head of its
/// connection, because its client would not notice a refusal. One client thus does not fill the queue of a lane. A
/// connection that carries calls of this side is read nevertheless, because their replies must not wait.
///
/// # Errors
/// TRANSIENT: the threadpool was destroyed, or the limit is reached and the request does not wait.
fn other_lane(
    orb: &Orb,
    owner: &ConnectionOwner,
    caller: &Caller<'_>,
    request: &Request<'_>,
    key: &[u8],
) -> Result<OtherLane, SystemException> {
    let options = orb.options();
    if !options.realtime.lanes_on_one_port || caller.common.pool.is_none() {
        return Ok(OtherLane::Own);
    }
    let priority = caller_priority(&request.contexts);
    let priority = priority.and_then(|priority| Priority::new(priority).ok());
    let Some(name) = orb.lane_of(key, priority).filter(|name| owner.lane_name() != Some(*name))
    else {
        return Ok(OtherLane::Own);
    };
    let status = &caller.common.status;
    if status.kept() >= options.max_requests_per_connection {
        let waits = request.response == Response::None && status.calls().is_none();
        return match waits {
            true => Ok(OtherLane::Later),
            false => Err(raise::REQUESTS_BUFFERED),
        };
    }
    orb.pools().named(name).map(OtherLane::Other).ok_or(raise::NO_SERVING_THREAD)
}

/// Returns the lane that serves a request because the request is beyond its budget.
fn demoted(
    orb: &Orb,
    owner: &ConnectionOwner,
    context: &ServingContext,
    caller: &Caller<'_>,
    request: &Request<'_>,
    key: &[u8],
) -> Option<Arc<Lane>> {
    let ledger = orb.shared().budgets.as_ref()?;
    let lowest = owner.lowest()?;
    let asked = BudgetedRequest {
        key,
        operation: request.operation,
        describe: &|key, look| orb.describe(key, look),
        lowest: false,
        own: false,
        threads: 1,
    };
    let client = caller.common.status.account(ledger, caller.link);
    let demotes = context.desk.would_demote(ledger, client, &asked);
    demotes.then_some(lowest)
}

/// Returns the lane that an application's filter chooses; `None` if no filter chooses one.
fn pick(orb: &Orb, request: &ArrivingRequest<'_>) -> Result<Option<Arc<Lane>>, SystemException> {
    match orb.options().thread_filters.pick(request) {
        None => Ok(None),
        Some(picked) => match orb.pools().lane(picked) {
            None => Err(raise::NO_SERVING_THREAD),
            lane => Ok(lane),
        },
    }
}

/// Applies the data about its connection that a request carries. Later requests depend on these data, even if they are
/// served first.
pub(super) fn see_to_connection(
    orb: &Orb,
    caller: &mut Caller<'_>,
    request: &Request<'_>,
    key: &[u8],
) {
    if request.contexts.is_empty() {
        return;
    }
    // An error is reported by the thread that serves the request.
    let _ = caller.dialect(request, 2);
    caller.keep_order(&request.contexts);
    if Offer::is_in(&request.contexts) {
        orb.consider_offer(caller, key, &request.contexts);
    }
}

/// Answers the request that the inbox announces with an exception.
fn refuse(shared: &Shared, connection: &mut Connection, exception: SystemException) -> SessionStep {
    let peer = || connection.link.peer();
    shared.note(Incident::BufferFull, peer, || exception.to_string());
    match connection.refuse(shared, exception) {
        true => SessionStep::Message,
        false => SessionStep::Close,
    }
}

impl Connection {
    /// Applies the data about the connection that the announced request carries, for a request that is refused or taken
    /// off the connection. Clients send some of these data only once, such as the code sets of their text.
    pub(super) fn see_to_announced(&mut self, orb: &Orb, context: &ServingContext) {
        let (mut caller, inbox, _) = self.parts(context);
        let frame = inbox.frame();
        if let Ok(Message::Request(request)) = frame.message()
            && let Ok(key) = request.target.object_key()
        {
            see_to_connection(orb, &mut caller, &request, key);
        }
    }

    /// Takes the request that was read ahead off its connection. `None` if it stays, for the next reader of the
    /// connection: the connection's requests run one after another, the limit of concurrent requests is reached, or it
    /// is not a request.
    pub(super) fn next_detached(
        &mut self,
        orb: &Orb,
        owner: &ConnectionOwner,
    ) -> Option<AssignedRequest> {
        if !self.may_detach(orb) {
            return None;
        }
        let is_request = self.inbox.peek_frame().is_some_and(|frame| {
            matches!(
                frame.message(),
                Ok(Message::Request(request))
                    if request.target.object_key().is_ok() && !is_stream(&request.contexts)
            )
        });
        if !is_request {
            return None;
        }
        let connection = serving(orb, owner, self, |context, connection| {
            connection.inbox.poll().ok()??;
            connection.see_to_announced(orb, context);
            Some(connection.detach(orb.options(), false))
        });
        let side = Arc::clone(orb.server());
        Some(AssignedRequest::new(side, connection.0?, Dropping::default()))
    }

    /// Takes the request that the inbox announces off its connection; `None` under the conditions of
    /// [`next_detached`](Self::next_detached).
    pub(super) fn detached_joined(
        &mut self,
        orb: &Orb,
        owner: &ConnectionOwner,
        dropping: Dropping,
    ) -> Option<AssignedRequest> {
        let may_detach = self.may_detach(orb)
            && matches!(
                self.inbox.frame().message(),
                Ok(Message::Request(request))
                    if request.target.object_key().is_ok() && !is_stream(&request.contexts)
            );
        if !may_detach {
            return None;
        }
        let (connection, _) = serving(orb, owner, self, |context, connection| {
            connection.see_to_announced(orb, context);
            connection.detach(orb.options(), false)
        });
        Some(AssignedRequest::new(Arc::clone(orb.server()), connection, dropping))
    }

    /// Reports whether one more request may be taken off the connection before a thread is free for it.
    fn may_detach(&self, orb: &Orb) -> bool {
        let most = orb.options().max_requests_per_connection;
        // At a shared port, the thread that serves the connection passes its requests to their lanes.
        most > 1
            && self.common.status.kept() + 1 < most
            && !orb.options().realtime.lanes_on_one_port
    }
}

impl AssignedRequest {
    /// Serves the request in the calling thread, which serves this ORB.
    pub(super) fn serve(self, orb: &Orb, owner: &ConnectionOwner) {
        self.serve_by(|_, connection| connection.serve_detached(orb, owner));
    }
}

impl Lane {
    /// Assigns a request, whose capacity [is reserved](Self::make_room), to a thread of the lane.
    fn take_over(
        self: &Arc<Self>,
        orb: &Orb,
        request: AssignedRequest,
        octets: usize,
        urgency: Option<Urgency>,
    ) {
        if let Some(queue) = &self.queue {
            request.wait_in(queue, octets, urgency);
            if self.plan.serving == Serving::Reader {
                self.wake_somebody();
            }
            return;
        }
        // If the system starts no thread, the request is dropped, which answers it with an exception.
        let started = self.spawn(orb, move |lane, orb| {
            request.serve(orb, &ConnectionOwner::Lane(Arc::clone(lane)));
            lane.dynamic.fetch_sub(1, Ordering::SeqCst);
        });
        if started.is_err() {
            self.dynamic.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Runs a worker thread of the lane: serves requests from the lane's queue.
    pub(super) fn work_queue(self: &Arc<Self>, orb: &Orb) {
        let owner = ConnectionOwner::Lane(Arc::clone(self));
        while let Some(queue) = &self.queue {
            match queue.wait(super::lane::TICK) {
                Some(work) => self.serve_work(orb, &owner, work),
                None if queue.has_ended() || self.is_over(orb.server()) => return,
                None => {}
            }
        }
    }

    /// Serves work from the queue.
    pub(super) fn serve_work(&self, orb: &Orb, owner: &ConnectionOwner, work: LaneWork) {
        match work {
            LaneWork::Connection(connection) => self.serve_own(orb, owner, connection),
            LaneWork::Request(request) => request.serve(orb, owner),
        }
    }
}
