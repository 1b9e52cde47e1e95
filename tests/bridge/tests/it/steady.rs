//! A request passed on by a bridge or gateway allocates nothing: neither at the client, nor in the bridge, nor at the
//! server. The bridge takes no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use oxorb::__gen::Op;
use oxorb::bridge::{Bridge, Interfaces};
use oxorb::dynamic::{Signature, TypeCode};
use oxorb::gateway::GatewaySettings;
use oxorb::{Interface as _, ObjectRef, Orb, Outcome, Servant, Upcall};
use oxorb_core::lock;
use oxorb_testkit::alloc::fewest_allocations;
use oxorb_testkit::process::alone;

use crate::bridge::TCP;
use crate::gateway::{resolve, settings, start, target};

static DOUBLE: Op = Op::twoway("double");

struct Doubles;

impl Servant for Doubles {
    fn repository_id(&self) -> &str {
        "IDL:Doubles:1.0"
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        match upcall.args(|d| d.longlong()) {
            Ok(number) => upcall.reply(|e| {
                e.longlong(2 * number);
                Ok(())
            }),
            Err(rejected) => upcall.reject(rejected),
        }
    }
}

fn double(object: &ObjectRef, number: i64) -> i64 {
    let doubled: oxorb::Result<i64> = object.reference().invoke(
        &DOUBLE,
        |e| {
            e.longlong(number);
            Ok(())
        },
        |d| d.longlong(),
    );
    doubled.unwrap()
}

#[test]
fn a_request_that_is_passed_on_allocates_nothing() {
    // Allocations of all threads count.
    if !alone(a_request_that_is_passed_on_allocates_nothing) {
        return;
    }
    for (before, behind) in [("uiop://", "iiop://127.0.0.1:0"), ("iiop://127.0.0.1:0", "shm://")] {
        let server = Orb::builder().listen(behind).build().unwrap();
        let target = server.root_poa().activate_servant(Arc::new(Doubles)).unwrap();
        let middle = Orb::builder().listen(before).build().unwrap();
        let bridge = Bridge::new(&middle, Interfaces::default()).unwrap();
        let here = bridge.open("Doubles", &target.ior().to_string()).unwrap();
        let client = Orb::builder().build().unwrap();
        let object: ObjectRef = client.resolve(&here.to_ior()).unwrap();
        for number in 0..200 {
            assert_eq!(double(&object, number), 2 * number);
        }
        let counted = fewest_allocations(|| {
            for number in 0..200 {
                assert_eq!(double(&object, number), 2 * number);
            }
        });
        assert_eq!(counted.count, 0, "{before} {behind}: {counted:?}");
        assert_eq!(bridge.statistics().answered, 200 + 5 * 200);
        for orb in [&client, &middle, &server] {
            orb.shutdown(true).unwrap();
        }
        bridge.close();
    }
}

/// [`Doubles`] in the ORB of the bridge, which calls it in the thread that serves the client. Records the locks that
/// this thread takes between two requests.
#[derive(Default)]
struct CountsLocks {
    before: AtomicU64,
    most: AtomicU64,
}

impl Servant for CountsLocks {
    fn repository_id(&self) -> &str {
        "IDL:Doubles:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let now = lock::taken().expect("tests are debug builds");
        let before = self.before.swap(now, Ordering::Relaxed);
        self.most.fetch_max(now.wrapping_sub(before), Ordering::Relaxed);
        Doubles.dispatch(upcall)
    }
}

#[test]
fn a_request_that_is_passed_on_takes_no_lock_in_the_bridge() {
    let middle = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let counts = Arc::new(CountsLocks::default());
    let target = middle.root_poa().activate_servant(counts.clone()).unwrap();
    let bridge = Bridge::new(&middle, Interfaces::default()).unwrap();
    let here = bridge.open("Doubles", &target.ior().to_string()).unwrap();
    let client = Orb::builder().build().unwrap();
    let object: ObjectRef = client.resolve(&here.to_ior()).unwrap();
    for number in 0..20 {
        assert_eq!(double(&object, number), 2 * number);
    }
    counts.most.store(0, Ordering::Relaxed);
    for number in 0..200 {
        assert_eq!(double(&object, number), 2 * number);
    }
    assert_eq!(middle.connection_statistics().accepted, 1, "the bridge needs none to the target");
    assert_eq!(counts.most.load(Ordering::Relaxed), 0, "most locks between two requests");
    assert_eq!(bridge.statistics().answered, 220);
    client.shutdown(true).unwrap();
    middle.shutdown(true).unwrap();
    bridge.close();
}

#[test]
fn a_request_without_references_that_a_gateway_forwards_allocates_nothing() {
    // Allocations of all threads count.
    if !alone(a_request_without_references_that_a_gateway_forwards_allocates_nothing) {
        return;
    }
    let known = || {
        let mut interfaces = Interfaces::default();
        let double = Signature::new("double").with_in("number", TypeCode::LONGLONG);
        interfaces.add("IDL:Doubles:1.0", [double.returning(TypeCode::LONGLONG)]);
        interfaces
    };
    for (before, behind, interfaces) in [
        (TCP, TCP, Interfaces::default()),
        (TCP, TCP, known()),
        ("uiop://", TCP, known()),
        (TCP, "shm://", Interfaces::default()),
    ] {
        let server = Orb::builder().listen(behind).build().unwrap();
        let there = server.root_poa().activate_servant(Arc::new(Doubles)).unwrap();
        let settings = GatewaySettings { interfaces, ..settings() };
        let gateway = start(before, settings, &there.ior().to_string());
        let client = Orb::builder().build().unwrap();
        let object = ObjectRef::from_ref(resolve(&client, &target(&gateway)));
        for number in 0..200 {
            assert_eq!(double(&object, number), 2 * number);
        }
        // A run has few requests, so that at least one run is not disturbed on a loaded machine.
        let counted = fewest_allocations(|| {
            for number in 0..50 {
                assert_eq!(double(&object, number), 2 * number);
            }
        });
        assert_eq!(counted.count, 0, "{before} {behind}: {counted:?}");
        gateway.shutdown().unwrap();
        for orb in [&client, &server] {
            orb.shutdown(true).unwrap();
        }
    }
}
