//! A thread for each connection: reads, serves, writes, and never waits for another.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;

use oxorb_transport::Link;

use super::connection::{Connection, Served};
use super::stand_in::Home;
use crate::Orb;

/// How often a thread that waits looks whether its client stalls in mid-message.
const TICK: Duration = Duration::from_secs(2);

/// Starts the thread of one connection.
pub(crate) fn start(orb: &Orb, id: u64, link: Arc<dyn Link>) -> std::io::Result<()> {
    let tick = TICK.min(orb.options().stall_timeout);
    link.set_read_timeout(Some(tick))?;
    link.set_write_timeout(Some(orb.options().stall_timeout))?;
    let orb = orb.clone();
    std::thread::Builder::new()
        .name("oxorb-conn".to_owned())
        .spawn(move || run(&orb, &Home::Thread, Connection::new(&orb, id, link)))
        .map(drop)
}

/// What a stand-in thread does: serves a connection whose thread waits inside an upcall.
pub(super) fn stand_in(orb: &Orb, home: &Home, connection: Connection) {
    run(orb, home, connection);
}

fn run(orb: &Orb, home: &Home, mut connection: Connection) {
    crate::orb::mark_server_thread();
    loop {
        // A panic outside a servant is a fault of ours; it costs the one
        // connection, and shutdown must not wait for it in vain.
        let served = panic::catch_unwind(AssertUnwindSafe(|| connection.serve(orb, home, || true)));
        match (served, home) {
            (Ok(Served::Idle), Home::Thread) => {
                if connection.stalled(orb.options().stall_timeout) {
                    break;
                }
            }
            (Ok(Served::Idle), Home::Workers(workers)) => return workers.park(orb, connection),
            _ => break,
        }
    }
    leave(orb, connection);
}

/// A thread is done with a connection; the last one closes it.
pub(super) fn leave(orb: &Orb, connection: Connection) {
    let id = connection.id;
    if orb.registry().leave(id) {
        connection.close(orb);
        orb.registry().remove(id);
    }
}
