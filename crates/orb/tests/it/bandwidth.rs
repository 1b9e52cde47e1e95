//! Bandwidth limits of requests and replies as policies. Octets are measured against the clock, so that a slow machine
//! passes, and one that exceeds the limit fails.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Instant;

use oxorb::__gen::Op;
use oxorb::poa::{Policies, Policy, RtPolicies};
use oxorb::policy::Bandwidth;
use oxorb::rt::Threadpool;
use oxorb::{Interface, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall};
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::*;

static GIVE: Op = Op::twoway("give");
static TAKE: Op = Op::twoway("take");

/// Size of a message, in octets.
const OCTETS: usize = 4 << 20;

/// Send rate, in octets per second.
const RATE: u32 = 16 << 20;

/// Number of octets that may be sent at once: the kernel's pacing begins after the tenth segment of a connection, and
/// segments of the loopback device have 64 KiB.
const BURST: usize = 1 << 20;

/// Servant that takes and returns octets.
struct Carrier;

impl Servant for Carrier {
    fn repository_id(&self) -> &str {
        "IDL:test/Carrier:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match upcall.operation() {
            "give" => upcall.reply(|e| {
                e.length(OCTETS, None)?;
                e.copy_octets(&vec![7; OCTETS]);
                Ok(())
            }),
            _ => upcall.done(),
        }
    }
}

fn server() -> Orb {
    common::transport::listening().build().unwrap()
}

fn carrier(server: &Orb, client: &Orb, realtime: RtPolicies) -> ObjectRef {
    let policies = Policies { realtime, ..Policies::default() };
    let name = format!("carriers {}", realtime.threadpool.is_some());
    let poa = server.root_poa().create_poa(&name, policies).unwrap();
    let local = poa.activate_servant(Arc::new(Carrier)).unwrap();
    client.string_to_object(&local.to_string()).unwrap()
}

/// Reports whether a call kept to the bandwidth limit.
fn kept_to_it(call: impl FnOnce()) -> bool {
    let begun = Instant::now();
    call();
    let allowed = begun.elapsed().as_secs_f64() * f64::from(RATE);
    (OCTETS - BURST) as f64 <= allowed
}

fn give(object: &ObjectRef) {
    let octets = object.reference().invoke_octets::<SystemException>(&GIVE, |_| Ok(()));
    assert_eq!(octets.unwrap().len(), OCTETS);
}

fn take(object: &ObjectRef) {
    let argument = vec![7; OCTETS];
    let write = |e: &mut oxorb_cdr::Encoder<'_>| {
        e.length(OCTETS, None)?;
        e.copy_octets(&argument);
        Ok(())
    };
    let taken: Result<(), SystemException> = object.reference().invoke(&TAKE, write, |_| Ok(()));
    taken.unwrap();
}

#[test]
fn replies_leave_no_faster_than_the_policy_of_their_poa_says() {
    only_over!(TCP, "only the kernel's TCP paces");
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client(oxorb::settings::ClientConnections::Cached));
    for own_pool in [false, true] {
        let threadpool = own_pool.then(|| server.create_threadpool(Threadpool::new(1)).unwrap());
        let realtime = RtPolicies {
            threadpool,
            reply_bandwidth: NonZeroU32::new(RATE),
            ..RtPolicies::default()
        };
        let object = carrier(&server, &client, realtime);
        assert!(kept_to_it(|| give(&object)), "a threadpool of its own: {own_pool}");
    }
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn requests_leave_no_faster_than_the_policy_of_the_call_says() {
    only_over!(TCP, "only the kernel's TCP paces");
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client(oxorb::settings::ClientConnections::Cached));
    let object = carrier(&server, &client, RtPolicies::default());
    let paced = object.with(Bandwidth(Some(RATE)));
    assert!(kept_to_it(|| take(&paced)));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn the_policy_is_one_of_a_list() {
    only_over!(TCP, "only the kernel's TCP paces");
    let octets = NonZeroU32::new(RATE).unwrap();
    let list = [Policy::ReplyBandwidth(octets)];
    let policies = Policies::from_list(&list).unwrap();
    assert_eq!(policies.realtime.reply_bandwidth, Some(octets));
    let twice = [list[0], list[0]];
    assert_eq!(Policies::from_list(&twice).unwrap_err().index, 1);
}
