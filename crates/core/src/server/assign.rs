//! Requests that another thread serves than the one that read them.
//!
//! ```text
//! reader (the lane's, or the connection's own)
//!   reads a request -> filters, in order      (filter.rs) does one of them pick a lane?
//!                   -> otherwise by its operation  (modules.rs) a dispatching module of the run-time scheduler?
//!                   -> otherwise the lane's    Serving: itself; its queue; a thread for each
//!   takes it off the connection, reads on     -> Detached: own octets, own reply, the connection's Turn to write
//! ```
//!
//! What concerns the connection rather than one request (code sets, an offer of callbacks, cancellation, replies the
//! other way) the reader sees to itself. The request keeps a share of its connection, so that whoever is last closes it.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use oxorb_giop::{Message, MessageType, Request};
use oxorb_object::{Qos, SystemException, Urgency, context_id};

use super::both_ways;
use super::connection::Connection;
use super::dispatch::{Next, Session, is_stream};
use super::filter::pick;
use super::home::Home;
use super::lane::Lane;
use super::modules::{DispatchingModules, Due};
use super::stand_in::{Desk, at_desk};
use super::threadpool::QueueOrder;
use crate::Arriving;
use crate::Serving;
use crate::shared::Shared;
use crate::sync::atomic::Ordering;
use crate::{Incident, Orb, raise};

/// What waits for a thread in a lane's queue.
pub(super) enum Work {
    /// A connection whose next request was read.
    Connection(Connection),
    Request(Detached),
}

/// A request that was taken off its connection. Dropped unserved, it is answered TRANSIENT.
pub(super) struct Detached {
    orb: Orb,
    connection: Connection,
    served: bool,
}

/// Serves the message that the inbox of `desk` announces, or has another thread serve it.
#[cold]
pub(super) fn assign(orb: &Orb, home: &Home, desk: &Desk, connection: &mut Connection) -> Next {
    let assigned = match assigned(orb, home, desk) {
        Ok(Some(assigned)) => assigned,
        Ok(None) => {
            let status = Arc::clone(&connection.lines.status);
            return desk.run(orb, &status, connection.sink());
        }
        Err(exception) => return refuse(orb.shared(), desk, connection, exception),
    };
    if let Assigned::Lane { lane, octets, .. } = &assigned
        && let Err(exception) = lane.make_room(*octets)
    {
        return refuse(orb.shared(), desk, connection, exception);
    }
    let picked = matches!(assigned, Assigned::Lane { picked: true, .. });
    let detached = Detached {
        orb: orb.clone(),
        connection: desk.detach(orb.options(), connection, picked),
        served: false,
    };
    match assigned {
        Assigned::Lane {
            lane,
            octets,
            urgency,
            ..
        } => lane.take_over(orb, detached, octets, urgency),
        Assigned::Module(modules, due) => modules.dispatch(orb.shared(), detached, due),
    }
    Next::Message
}

/// Who is to serve a request.
enum Assigned<'o> {
    Lane {
        lane: Arc<Lane>,
        /// A filter has picked it.
        picked: bool,
        octets: usize,
        urgency: Option<Urgency>,
    },
    /// One of the run-time scheduler's dispatching modules.
    Module(&'o DispatchingModules, Due),
}

/// `None`: whoever read it.
fn assigned<'o>(
    orb: &'o Orb,
    home: &Home,
    desk: &Desk,
) -> Result<Option<Assigned<'o>>, SystemException> {
    let inbox = desk.inbox();
    let frame = inbox.frame();
    if frame.header.kind != MessageType::REQUEST {
        return Ok(None);
    }
    // What is wrong with it is told by who runs it.
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
        false => pick(orb, &Arriving::new(frame, &request, key, desk.link()))?,
    };
    if picked.is_none()
        && let Some(modules) = orb.modules()
        && let Some(due) = modules.admit(orb, &request, key)?
    {
        see_to_connection(orb, desk, &request, key);
        return Ok(Some(Assigned::Module(modules, due)));
    }
    let by_filter = picked.is_some();
    let Some(lane) = picked.or_else(|| home.assigns().cloned()) else {
        return Ok(None);
    };
    see_to_connection(orb, desk, &request, key);
    let urgency = match lane.plan.order {
        QueueOrder::Arrival => None,
        QueueOrder::Urgency => Qos::of(&request.contexts).map(|qos| qos.urgency()),
    };
    Ok(Some(Assigned::Lane {
        lane,
        picked: by_filter,
        octets: frame.header.total(),
        urgency,
    }))
}

/// What a request says of its connection must be known to those that follow, whichever is served first.
pub(super) fn see_to_connection(orb: &Orb, desk: &Desk, request: &Request<'_>, key: &[u8]) {
    if request.contexts.is_empty() {
        return;
    }
    // What is wrong with it is told by who serves it.
    let _ = Session::dialect(desk, request, 2);
    Session::keep_order(desk, &request.contexts);
    if let Some(offer) = request.contexts.find(context_id::BI_DIR_IIOP) {
        both_ways::consider(orb, desk, key, offer.data);
    }
}

/// Answers the request that `desk` announces with an exception.
fn refuse(
    shared: &Shared,
    desk: &Desk,
    connection: &mut Connection,
    exception: SystemException,
) -> Next {
    let peer = || connection.link.peer();
    shared.note(Incident::BufferFull, peer, || exception.to_string());
    let inbox = desk.inbox();
    match connection.refuse(&shared.options, &inbox.frame(), exception) {
        true => Next::Message,
        false => Next::Close,
    }
}

impl Connection {
    /// The request that was read ahead, taken off its connection. `None`: it stays there, and is served by whoever reads
    /// the connection next: its requests run one after another, or as many are under way as may be, or it is none.
    pub(super) fn next_detached(&mut self, orb: &Orb, home: &Home) -> Option<Detached> {
        let most = orb.options().max_requests_per_connection;
        if most <= 1 || self.lines.status.kept() + 1 >= most {
            return None;
        }
        let is_request = self.inbox.as_mut()?.peek_frame().is_some_and(|frame| {
            matches!(
                frame.message(),
                Ok(Message::Request(request))
                    if request.target.object_key().is_ok() && !is_stream(&request.contexts)
            )
        });
        if !is_request {
            return None;
        }
        let connection = at_desk(orb, home, self, |desk, connection| {
            let polled = desk.inbox().poll();
            polled.ok()??;
            {
                let inbox = desk.inbox();
                let frame = inbox.frame();
                if let Ok(Message::Request(request)) = frame.message()
                    && let Ok(key) = request.target.object_key()
                {
                    see_to_connection(orb, desk, &request, key);
                }
            }
            Some(desk.detach(orb.options(), connection, false))
        });
        Some(Detached {
            orb: orb.clone(),
            connection: connection.0?,
            served: false,
        })
    }
}

impl Detached {
    pub(super) fn orb(&self) -> &Orb {
        &self.orb
    }

    /// Answers it with an exception instead.
    pub(super) fn refuse(mut self, exception: SystemException) {
        self.served = true;
        let Detached {
            orb, connection, ..
        } = &mut self;
        connection.refuse_detached(orb.options(), exception);
    }

    /// Answers it, in the calling thread.
    pub(super) fn serve(mut self, home: &Home) {
        let Detached {
            orb, connection, ..
        } = &mut self;
        // A panic outside a servant is a fault of ours; it costs the one request, not the thread.
        let served = panic::catch_unwind(AssertUnwindSafe(|| connection.serve_detached(orb, home)));
        self.served = served.is_ok();
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        let Detached {
            orb,
            connection,
            served,
        } = self;
        if !*served {
            connection.refuse_detached(orb.options(), raise::NO_SERVING_THREAD);
        }
        let registry = orb.registry();
        if registry.leave_answered(&connection.lines.status) {
            connection.close(orb);
            registry.remove(connection.id);
        }
    }
}

impl Home {
    /// The lane whose requests go to other threads than the one that reads them.
    pub(super) fn assigns(&self) -> Option<&Arc<Lane>> {
        match self {
            Home::Lane(lane) if lane.plan.serving != Serving::Reader => Some(lane),
            Home::Lane(_) | Home::Thread(_) => None,
        }
    }
}

impl Lane {
    /// Whether there is a place for one more request.
    fn make_room(&self, octets: usize) -> Result<(), SystemException> {
        match (&self.queue, self.plan.serving) {
            (Some(queue), _) if queue.reserve(octets) => Ok(()),
            (Some(_), _) => Err(raise::REQUESTS_BUFFERED),
            (None, Serving::ThreadPerRequest) => {
                let limit = self.plan.static_threads;
                let one_more = |threads| (threads < limit).then_some(threads + 1);
                let (set, get) = (Ordering::SeqCst, Ordering::SeqCst);
                let room = self.dynamic.fetch_update(set, get, one_more);
                room.map(drop).map_err(|_| raise::NO_SERVING_THREAD)
            }
            (None, _) => Err(raise::NO_SERVING_THREAD),
        }
    }

    /// Has a thread of the lane serve a request for which there [is room](Self::make_room).
    fn take_over(
        self: &Arc<Self>,
        orb: &Orb,
        request: Detached,
        octets: usize,
        urgency: Option<Urgency>,
    ) {
        if let Some(queue) = &self.queue {
            queue.push(Work::Request(request), octets, urgency);
            if self.plan.serving == Serving::Reader {
                self.wake_somebody();
            }
            return;
        }
        // Where the system has no thread to give, the request is dropped, and so answered.
        let started = self.spawn(orb, move |lane, _| {
            request.serve(&Home::Lane(Arc::clone(lane)));
            lane.dynamic.fetch_sub(1, Ordering::SeqCst);
        });
        if started.is_err() {
            self.dynamic.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// What a thread does that takes requests from the lane's queue.
    pub(super) fn work_queue(self: &Arc<Self>, orb: &Orb) {
        let home = Home::Lane(Arc::clone(self));
        while let Some(queue) = &self.queue {
            match queue.wait(super::lane::TICK) {
                Some(work) => self.serve_work(orb, &home, work),
                None if queue.has_ended() || self.is_over(orb) => return,
                None => {}
            }
        }
    }

    /// Serves what was queued.
    pub(super) fn serve_work(&self, orb: &Orb, home: &Home, work: Work) {
        match work {
            Work::Connection(connection) => self.serve_own(orb, home, connection),
            Work::Request(request) => request.serve(home),
        }
    }
}
