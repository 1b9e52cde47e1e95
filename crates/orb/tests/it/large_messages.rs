//! Memory cost of large messages after a connection has carried the first: pages that the system has to allocate and
//! clear for each call.

use std::fs;
use std::sync::Arc;

use oxorb::__gen::Op;
use oxorb::policy::RelativeRoundtripTimeout;
use oxorb::settings::ClientConnections;
use oxorb::{Interface, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall};
use oxorb_testkit::process::test_name;
use oxorb_testkit::{syscalls, watchdog};

use crate::common::*;

static ECHO: Op = Op::twoway("echo");

/// Servant that returns the octets it receives, from the memory in which they were received.
struct Echo;

impl Servant for Echo {
    fn repository_id(&self) -> &str {
        "IDL:test/Echo:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let octets = upcall.args(|d| {
            let length = d.length(None, 1)?;
            d.octets(length)
        });
        match octets {
            Ok(octets) => upcall.reply(|e| {
                e.length(octets.len(), None)?;
                e.octets(octets);
                Ok(())
            }),
            Err(rejected) => upcall.reject(rejected),
        }
    }
}

fn echo<'a>(object: &ObjectRef, argument: &'a [u8]) {
    let write = |e: &mut oxorb_cdr::Encoder<'a>| {
        e.length(argument.len(), None)?;
        e.octets(argument);
        Ok(())
    };
    let back = object.reference().invoke_octets::<SystemException>(&ECHO, write);
    assert_eq!(back.unwrap().len(), argument.len());
}

/// Returns the number of page faults of this process so far.
fn faults() -> u64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, rest) = text.rsplit_once(')').unwrap();
    rest.split_whitespace().nth(7).unwrap().parse().unwrap()
}

/// Returns the page faults of this process per call, over `calls` calls after as many for warming up.
fn pages(object: &ObjectRef, argument: &[u8], calls: u64) -> u64 {
    for _ in 0..calls {
        echo(object, argument);
    }
    let before = faults();
    for _ in 0..calls {
        echo(object, argument);
    }
    (faults() - before) / calls
}

/// A call's time limit is set once on its connection, not for each read, and each write passes as much of a message as
/// the server's buffers can take.
#[test]
fn a_large_message_takes_few_system_calls() {
    let _guard = watchdog(LONG);
    const CALLS: usize = 10;
    const OCTETS: usize = 1 << 20;
    let trace = syscalls::traced(test_name(a_large_message_takes_few_system_calls), || {
        let server = Orb::builder().listen("uiop://").build().unwrap();
        let local = server.root_poa().activate_servant(Arc::new(Echo)).unwrap();
        let client = client(ClientConnections::Cached);
        // Use a limit so long that the remaining time differs little from one read to the next, however slow the traced
        // process is.
        let limit = RelativeRoundtripTimeout(1000 * LONG);
        let object = elsewhere(&client, &local).with(limit);
        let argument = vec![7; OCTETS];
        echo(&object, &argument);
        syscalls::section("client", || {
            for _ in 0..CALLS {
                echo(&object, &argument);
            }
        });
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    });
    let Some(trace) = trace else { return };
    let own = &trace.section("client").own;
    // The limit is set when the connection adopts it, and not for each of the several reads of a message.
    assert!(own.of("setsockopt") < CALLS / 2, "{own:?}");
    // Each message has 1 MiB, which would take 32 writes of 32 KiB.
    let sent = own.of("sendto") + own.of("sendmsg");
    assert!((CALLS..20 * CALLS).contains(&sent), "{own:?}");
}

#[test]
fn calls_take_no_pages_once_a_connection_has_carried_one_of_their_size() {
    if !alone(calls_take_no_pages_once_a_connection_has_carried_one_of_their_size) {
        return;
    }
    let _guard = watchdog(LONG);
    for endpoint in ["uiop://", "iiop://127.0.0.1:0"] {
        let server = Orb::builder().listen(endpoint).build().unwrap();
        let local = server.root_poa().activate_servant(Arc::new(Echo)).unwrap();
        for octets in [64 << 10, 1 << 20, 4 << 20, 8 << 20] {
            let client = client(ClientConnections::Cached);
            let object = elsewhere(&client, &local);
            let pages = pages(&object, &vec![7; octets], 20);
            let message = octets as u64 / PAGE;
            assert!(pages < message.max(256) / 8, "{endpoint}, {octets} octets: {pages} pages");
            client.shutdown(true).unwrap();
        }
        server.shutdown(true).unwrap();
    }
}

/// Size of a page, in octets.
const PAGE: u64 = 4096;

/// Messages above the configured limit allocate their pages for each call.
#[test]
fn a_connection_keeps_no_more_than_it_may() {
    if !alone(a_connection_keeps_no_more_than_it_may) {
        return;
    }
    let _guard = watchdog(LONG);
    let keeping = |octets: &str| Orb::builder().setting("KeptCapacity", octets);
    let server = keeping("65536").listen("uiop://").build().unwrap();
    let local = server.root_poa().activate_servant(Arc::new(Echo)).unwrap();
    let client = keeping("65536").build().unwrap();
    let object = elsewhere(&client, &local);
    let octets = 32 << 20;
    let pages = pages(&object, &vec![7; octets], 3);
    assert!(pages > octets as u64 / PAGE / 2, "{pages} pages");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
