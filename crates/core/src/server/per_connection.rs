//! Threads with one connection each: a thread reads, serves and writes, and waits for no other
//! connection.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use oxorb_sys::thread::{Places, ThreadPurpose};
use oxorb_transport::Link;

use super::connection::Connection;
use super::connection_owner::ConnectionOwner;
use super::followers::Followers;
use super::registry::AdmittedConnection;
use super::serve::{ServingEnd, tick};
use crate::Orb;
use crate::conn::{Calls, Turn, place};

/// Name of the threads.
const NAME: &str = "oxorb-conn";

/// Starts the thread of one connection, from which these octets were read.
pub(crate) fn start(
    orb: &Orb,
    admitted: AdmittedConnection,
    link: Arc<dyn Link>,
    octets: &[u8],
) -> std::io::Result<()> {
    link.set_write_timeout(Some(orb.options().stall_timeout))?;
    let mut connection = Connection::new(orb.options(), admitted, link, Some(0));
    connection.can_be_taken_over(orb, &ConnectionOwner::Thread(None));
    connection.received(orb.server(), octets);
    spawn(orb, connection)
}

/// Starts the thread of a connection that this side opened, and over which requests may also
/// arrive.
pub(crate) fn start_both_ways(
    orb: &Orb,
    admitted: AdmittedConnection,
    link: Arc<dyn Link>,
    turn: Arc<Turn>,
    calls: Arc<dyn Calls>,
) -> std::io::Result<()> {
    let connection = Connection::both_ways(orb.options(), admitted, link, turn, calls);
    connection.can_be_taken_over(orb, &ConnectionOwner::Thread(None));
    spawn(orb, connection)
}

fn spawn(orb: &Orb, connection: Connection) -> std::io::Result<()> {
    let orb = orb.clone();
    let threads = Arc::clone(&orb.shared().threads);
    threads
        .spawn(ThreadPurpose::Connection, NAME, None, move || {
            begin(&orb, &ConnectionOwner::Thread(None), connection);
        })
        .map(drop)
}

/// Starts a thread that takes over connections.
pub(super) fn start_follower(orb: &Orb) -> std::io::Result<()> {
    let orb = orb.clone();
    let threads = Arc::clone(&orb.shared().threads);
    threads
        .spawn(ThreadPurpose::Connection, NAME, None, move || {
            follow(&orb, &ConnectionOwner::Thread(None));
        })
        .map(drop)
}

/// Runs the thread of a connection; after a takeover the thread serves other connections.
pub(super) fn begin(orb: &Orb, owner: &ConnectionOwner, connection: Connection) {
    let handed_over = run(orb, owner, connection);
    let joins = || owner.followers(orb.server()).is_some_and(Followers::join);
    if handed_over && joins() {
        follow(orb, owner);
    }
}

/// Runs a thread that takes over connections.
pub(super) fn follow(orb: &Orb, owner: &ConnectionOwner) {
    let Some(followers) = owner.followers(orb.server()) else {
        return;
    };
    while let Some(connection) = followers.next() {
        run(orb, owner, connection);
        followers.comes_back();
    }
}

/// Runs a takeover thread: serves a connection whose own thread waits inside an upcall.
pub(super) fn take_over(orb: &Orb, owner: &ConnectionOwner, connection: Connection) {
    if let ConnectionOwner::Lane(lane) = owner {
        lane.enter_unreserved(orb.shared());
    }
    run(orb, owner, connection);
}

/// Serves a connection until it ends, is returned to its lane, or is taken over; returns whether it
/// was taken over.
fn run(orb: &Orb, owner: &ConnectionOwner, mut connection: Connection) -> bool {
    let mut handed_over = false;
    crate::threads::within::mark_server_thread();
    // A lane lists its own connections, so only a connection with its own thread is listed here.
    let _place = matches!(owner, ConnectionOwner::Thread(_)).then(|| {
        let link = &*connection.link;
        Places::own().add(place(link.local()))
    });
    loop {
        if matches!(owner, ConnectionOwner::Thread(_)) {
            let tick = connection.tick(tick(orb.options()));
            if connection.link.set_read_timeout(Some(tick)).is_err() {
                break;
            }
        }
        // A panic outside of a servant is a fault of the ORB. It costs this connection, but must not keep shutdown
        // waiting.
        let served =
            panic::catch_unwind(AssertUnwindSafe(|| connection.serve(orb, owner, || true)));
        match (served, owner) {
            (Ok(ServingEnd::Idle), ConnectionOwner::Thread(_)) => {
                if connection.is_overdue(orb.server()) {
                    break;
                }
            }
            (Ok(ServingEnd::Idle | ServingEnd::Throttled), ConnectionOwner::Lane(_))
                if connection.is_needed() =>
            {
                if connection.is_overdue(orb.server()) {
                    break;
                }
                connection.pause();
            }
            (Ok(ServingEnd::Idle), ConnectionOwner::Lane(lane)) => {
                lane.park(orb.server(), connection);
                return false;
            }
            (Ok(ServingEnd::Throttled), ConnectionOwner::Lane(lane)) => {
                lane.put_off(connection);
                return false;
            }
            (Err(_), _) => {
                // CloseConnection would state that the request did not run, so the connection is closed without it.
                connection.link.close();
                break;
            }
            (served, _) => {
                handed_over = matches!(served, Ok(ServingEnd::HandedOver));
                break;
            }
        }
    }
    connection.leave(orb.server());
    handed_over
}
