//! A thread for each connection: reads, serves, writes, and never waits for another.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use oxorb_sys::thread::Purpose;
use oxorb_transport::Link;

use super::connection::{Connection, Served};
use super::registry::Admitted;
use super::stand_in::Home;
use super::turn::Turn;
use crate::Orb;
use crate::client::Multiplexed;

/// How often a thread that waits looks whether its client stalls in mid-message.
const TICK: Duration = Duration::from_secs(2);

/// Starts the thread of one connection.
pub(crate) fn start(orb: &Orb, admitted: Admitted, link: Arc<dyn Link>) -> std::io::Result<()> {
    link.set_write_timeout(Some(orb.options().stall_timeout))?;
    spawn(orb, Connection::new(orb, admitted, link, Some(0)))
}

/// Starts the thread that reads a connection which this side opened, and over
/// which requests come, too.
pub(crate) fn start_both_ways(
    orb: &Orb,
    admitted: Admitted,
    link: Arc<dyn Link>,
    turn: Arc<Turn>,
    calls: Arc<Multiplexed>,
) -> std::io::Result<()> {
    spawn(orb, Connection::both_ways(orb, admitted, link, turn, calls))
}

fn spawn(orb: &Orb, connection: Connection) -> std::io::Result<()> {
    let orb = orb.clone();
    let threads = Arc::clone(orb.thread_factory());
    threads
        .spawn(Purpose::Connection, "oxorb-conn", None, move || {
            run(&orb, &Home::Thread, connection)
        })
        .map(drop)
}

/// How long a connection's own thread waits before it looks after time-outs.
pub(super) fn tick(orb: &Orb) -> Duration {
    let options = orb.options();
    TICK.min(options.stall_timeout)
        .min(options.idle_timeout.unwrap_or(TICK))
}

/// What a stand-in thread does: serves a connection whose thread waits inside an upcall.
pub(super) fn stand_in(orb: &Orb, home: &Home, connection: Connection) {
    if let Home::Lane(lane) = home {
        lane.enter_unreserved(orb);
    }
    run(orb, home, connection);
}

pub(super) fn run(orb: &Orb, home: &Home, mut connection: Connection) {
    crate::orb::mark_server_thread();
    loop {
        if matches!(home, Home::Thread) {
            let tick = connection.tick(tick(orb));
            if connection.link.set_read_timeout(Some(tick)).is_err() {
                break;
            }
        }
        // A panic outside a servant is a fault of ours; it costs the one
        // connection, and shutdown must not wait for it in vain.
        let served = panic::catch_unwind(AssertUnwindSafe(|| connection.serve(orb, home, || true)));
        match (served, home) {
            (Ok(Served::Idle), Home::Thread) => {
                if connection.is_overdue(orb) {
                    break;
                }
            }
            (Ok(Served::Idle), Home::Lane(lane)) => return lane.park(orb, connection),
            (Ok(Served::Throttled), Home::Lane(lane)) => return lane.put_off(connection),
            _ => break,
        }
    }
    leave(orb, connection);
}

/// A thread is done with a connection; the last one closes it.
pub(super) fn leave(orb: &Orb, mut connection: Connection) {
    let id = connection.id;
    if orb.registry().leave(id) {
        connection.close(orb);
        orb.registry().remove(id);
    }
    connection.give_back_buffers();
}
