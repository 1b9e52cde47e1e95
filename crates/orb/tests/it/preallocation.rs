//! Buffers that a policy allocates with a connection, before its first call (BufferPreallocation).

use std::sync::Arc;

use oxorb::__gen::Op;
use oxorb::policy::BufferPreallocation;
use oxorb::settings::ClientConnections;
use oxorb::{Interface, ObjectRef, Outcome, Servant, SystemException, Upcall};
use oxorb_testkit::alloc;
use oxorb_testkit::watchdog;

use crate::common::*;

static ECHO: Op = Op::twoway("echo");

/// Size in octets of the argument and of the result.
const LARGE: usize = 600_000;

/// Servant that returns as many octets as it receives.
struct Echo;

impl Servant for Echo {
    fn repository_id(&self) -> &str {
        "IDL:test/Echo:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.args(|d| d.length(None, 1).and_then(|length| Ok(d.octets(length)?.len()))) {
            Ok(length) => upcall.reply(|e| {
                e.length(length, None)?;
                e.copy_octets(&vec![7; length]);
                Ok(())
            }),
            Err(rejected) => upcall.reject(rejected),
        }
    }
}

/// Makes calls with large messages, and returns the octets allocated by the calling thread.
fn allocated(object: &ObjectRef, argument: &[u8]) -> u64 {
    let before = alloc::local().octets;
    let write = |e: &mut oxorb_cdr::Encoder<'_>| {
        e.length(argument.len(), None)?;
        e.copy_octets(argument);
        Ok(())
    };
    let answer: Result<usize, SystemException> = object.reference().invoke(&ECHO, write, |d| {
        let length = d.length(None, 1)?;
        Ok(d.octets(length)?.len())
    });
    let after = alloc::local().octets;
    assert_eq!(answer, Ok(argument.len()));
    after - before
}

#[test]
fn the_first_large_call_allocates_nothing_for_its_messages() {
    only_over!(CLEAR, "rustls allocates for each record");
    let _guard = watchdog(LONG);
    let server = transport::listening().build().unwrap();
    let local = server.root_poa().activate_servant(Arc::new(Echo)).unwrap();
    let argument = vec![7; LARGE];
    for sharing in [ClientConnections::Private, ClientConnections::Cached] {
        let client = transport::builder().client_connections(sharing).build().unwrap();
        let object = client.string_to_object(&local.to_string()).unwrap();
        let prepared = object.with(BufferPreallocation(LARGE + 1000));
        prepared.reference().validate_connection().unwrap();
        // The remaining allocations occur once per connection or thread, whatever the size.
        let octets = allocated(&prepared, &argument);
        assert!(octets < 16_000, "{sharing:?}: {octets} octets");
        client.shutdown(true).unwrap();

        let client = transport::builder().client_connections(sharing).build().unwrap();
        let object = client.string_to_object(&local.to_string()).unwrap();
        object.reference().validate_connection().unwrap();
        let octets = allocated(&object, &argument);
        assert!(octets >= 2 * LARGE as u64, "{sharing:?}: {octets} octets without the policy");
        client.shutdown(true).unwrap();
    }
    server.shutdown(true).unwrap();
}
