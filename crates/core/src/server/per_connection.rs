//! A thread for each connection: reads, serves, writes, and never waits for another.

use std::sync::Arc;
use std::time::Duration;

use oxorb_transport::Link;

use super::connection::{Connection, Served};
use crate::Orb;

/// How often a thread that waits looks whether its client stalls in mid-message.
const TICK: Duration = Duration::from_secs(2);

/// Starts the thread of one connection.
pub(crate) fn start(orb: &Orb, id: u64, link: Arc<dyn Link>) -> std::io::Result<()> {
    let orb = orb.clone();
    std::thread::Builder::new()
        .name("oxorb-conn".to_owned())
        .spawn(move || {
            // Unregisters whatever happens, so that shutdown never waits in vain.
            let _registered = orb.registry().guard(id);
            run(&orb, link);
        })
        .map(drop)
}

fn run(orb: &Orb, link: Arc<dyn Link>) {
    let options = orb.options();
    let tick = TICK.min(options.stall_timeout);
    if link.set_read_timeout(Some(tick)).is_err()
        || link.set_write_timeout(Some(options.stall_timeout)).is_err()
    {
        return;
    }
    crate::orb::mark_server_thread();
    let mut connection = Connection::new(orb, Arc::clone(&link));
    while connection.serve(orb, || true) == Served::Idle {
        if connection.stalled(options.stall_timeout) {
            break;
        }
    }
    link.close();
}
