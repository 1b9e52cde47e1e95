//! Requests that were taken off their connections, and wait for a thread. `assign.rs` selects the threads.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use oxorb_object::{SystemException, Urgency};

use super::connection::Connection;
use super::dropping::Dropping;
use super::lane::Lane;
use super::queue::Queue;
use super::side::ServerSide;
use crate::error::raise;
use crate::threads::sync::atomic::Ordering;
use crate::{Incident, Serving};

/// Work in a lane's queue.
pub(super) enum LaneWork {
    /// Connection whose next request was read.
    Connection(Connection),
    Request(AssignedRequest),
}

/// Request taken off its connection. If dropped unserved, it is rejected with TRANSIENT.
///
/// `H` holds the server half. The threads of a lane have an ORB themselves; those of a dispatching module have none, so
/// a request there holds the whole ORB.
pub(super) struct AssignedRequest<H: AsRef<ServerSide> = Arc<ServerSide>> {
    held: H,
    connection: Connection,
    pub(super) dropping: Dropping,
    served: bool,
}

impl<H: AsRef<ServerSide>> AssignedRequest<H> {
    /// Returns the request of a [detached](Connection::detach) connection.
    pub(super) fn new(held: H, connection: Connection, dropping: Dropping) -> Self {
        AssignedRequest { held, connection, dropping, served: false }
    }

    /// Returns the server half of its ORB.
    pub(super) fn side(&self) -> &ServerSide {
        self.held.as_ref()
    }

    /// Answers the request with an exception.
    pub(super) fn refuse(mut self, exception: SystemException) {
        self.served = true;
        let AssignedRequest { held, connection, .. } = &mut self;
        let side: &ServerSide = held.as_ref();
        connection.refuse_detached(&side.shared, exception);
    }

    /// Drops a oneway.
    #[cold]
    fn give_up(self, why: &str) {
        let peer = || self.connection.link.peer();
        self.side().shared.note(Incident::OnewayDropped, peer, || why.to_owned());
        // `refuse` releases the resources of the request, and sends no answer to a oneway.
        self.refuse(raise::REQUESTS_BUFFERED);
    }

    /// Serves the request in the calling thread, by `serve`.
    pub(super) fn serve_by(mut self, serve: impl FnOnce(&H, &mut Connection)) {
        if self.dropping.is_over() {
            return self.give_up("it waited longer than oneways of its class may wait");
        }
        let AssignedRequest { held, connection, .. } = &mut self;
        // A panic outside of a servant is a fault of the ORB. It costs this request, but not the thread.
        if panic::catch_unwind(AssertUnwindSafe(|| serve(held, connection))).is_err() {
            let side: &ServerSide = held.as_ref();
            connection.end_panicked(&side.shared);
        }
        self.served = true;
    }
}

impl AssignedRequest {
    /// Adds the request to the queue, in the capacity reserved for it.
    pub(super) fn wait_in(self, queue: &Queue<LaneWork>, octets: usize, urgency: Option<Urgency>) {
        match self.dropping.gives_way {
            true => queue.push_yielding(LaneWork::Request(self), octets, urgency),
            false => queue.push(LaneWork::Request(self), octets, urgency),
        }
    }
}

impl<H: AsRef<ServerSide>> Drop for AssignedRequest<H> {
    fn drop(&mut self) {
        let AssignedRequest { held, connection, served, .. } = self;
        let side: &ServerSide = held.as_ref();
        if !*served {
            connection.refuse_detached(&side.shared, raise::NO_SERVING_THREAD);
        }
        if side.registry.leave_answered(&connection.common.status) {
            connection.close(side);
            side.registry.remove(connection.id);
        }
    }
}

impl Lane {
    /// Reserves capacity for one more request; drops oneways that give way if the queue is full.
    pub(super) fn make_room(&self, octets: usize) -> Result<(), SystemException> {
        match (&self.queue, self.plan.serving) {
            (Some(queue), _) => loop {
                if queue.reserve(octets) {
                    return Ok(());
                }
                // `displace` takes only oneways out of the queue.
                let Some(LaneWork::Request(oneway)) = queue.displace(octets) else {
                    return Err(raise::REQUESTS_BUFFERED);
                };
                oneway.give_up("it was dropped for another request, because the queue is full");
            },
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
}

/// Two-way request with id 6.
#[cfg(all(test, not(feature = "simulation")))]
pub(crate) const PING: &[u8] = b"GIOP\x01\x02\0\0\0\0\0\x24\0\0\0\x06\x03\0\0\0\0\0\0\0\
                                 \0\0\0\x03key\0\0\0\0\x05ping\0\0\0\0\0\0\0\0";

#[cfg(all(test, not(any(feature = "model", feature = "simulation"))))]
mod tests {
    use std::io::IoSlice;

    use oxorb_cdr::{Decode as _, Dialect};
    use oxorb_giop::{Frame, Reply, ReplyStatus};
    use oxorb_transport::{Link, mem};

    use super::super::connection::Ahead;
    use super::*;
    use crate::{Options, Orb};

    #[test]
    fn a_request_whose_thread_panics_may_have_run() {
        let orb = Orb::new(Options::default());
        let (server, client) = mem::pair(4096);
        let link: Arc<dyn Link> = Arc::new(server);
        let admitted = orb.registry().admit(&link, orb.options()).ok().unwrap();
        let mut connection = Connection::new(orb.options(), admitted, link, Some(1));
        client.write(&mut [IoSlice::new(PING)]).unwrap();
        assert!(matches!(connection.read_ahead(orb.server()), Ahead::Message(Some(_))));
        connection.inbox.poll().unwrap().unwrap();
        let detached = connection.detach(orb.options(), false);
        let request = AssignedRequest::new(Arc::clone(orb.server()), detached, Dropping::default());
        request.serve_by(|_, _| panic!("as it should"));
        let mut octets = Vec::new();
        client.read(&mut octets, 4096).unwrap();
        let frame = Frame::parse(&octets).unwrap();
        let reply = Reply::parse(&frame).unwrap();
        assert_eq!((reply.id, reply.status), (6, ReplyStatus::SYSTEM_EXCEPTION));
        let mut d = frame.decoder(Dialect::new(2)).at(reply.body);
        assert_eq!(SystemException::decode(&mut d), Ok(raise::SERVANT_PANICKED));
        assert_eq!(connection.common.status.kept(), 0);
        connection.leave(orb.server());
        orb.shutdown(true).unwrap();
    }
}
