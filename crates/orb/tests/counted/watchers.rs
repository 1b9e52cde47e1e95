//! Threads that watch connections allocate nothing.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::settings::Concurrency;
use oxorb::{Outcome, Servant, Upcall};
use oxorb_testkit::alloc::fewest_allocations;
use oxorb_testkit::process::alone;
use oxorb_testkit::watchdog;

use crate::common::{LONG, call, elsewhere, server, transport};

static LINGER: Op = Op::twoway("linger");

/// Duration of a request, long enough that a watcher checks it several times.
const LINGERS: Duration = Duration::from_millis(40);

/// The client checks idle connections four times within this time; it is longer than any request.
const IDLE: Duration = Duration::from_millis(800);

struct Lingerer;

impl Servant for Lingerer {
    fn repository_id(&self) -> &str {
        "IDL:test/Lingerer:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        thread::sleep(LINGERS);
        upcall.done()
    }
}

#[test]
fn looks_at_long_requests_and_idle_connections_allocate_nothing() {
    // Run in a process of its own, because the count includes the allocations of all threads.
    if !alone(looks_at_long_requests_and_idle_connections_allocate_nothing) {
        return;
    }
    let _guard = watchdog(LONG);
    let server = server(Concurrency::ThreadPerConnection);
    let servant = server.root_poa().activate_servant(Arc::new(Lingerer)).unwrap();
    let idle = IDLE.as_millis().to_string();
    let client = transport::builder().setting("ClientIdleTimeout", &idle).build().unwrap();
    let object = elsewhere(&client, &servant);
    let linger = || (0..15).for_each(|_| call(&object, &LINGER).unwrap());
    linger();
    assert_eq!(fewest_allocations(linger).count, 0);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
