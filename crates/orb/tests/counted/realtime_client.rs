//! RT-CORBA on the client side: contexts sent, lane called, connection used.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use oxorb::client::Failure;
use oxorb::policy::{
    ClientProtocol, CommunicationClass, PolicyCurrent, PriorityBand, PriorityBandedConnection,
    PrivateConnection, Protocol, ProtocolFallback, Qos, RequestQos, SyncScope,
    TcpProtocolProperties,
};
use oxorb::rt::current_qos;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemExceptionKind, Upcall,
};
use oxorb_core::lock;
use oxorb_object::{PriorityBands, PriorityModel, PriorityModelPolicy, RtPolicyValue, minor};
use oxorb_rt::Priority;
use oxorb_testkit::alloc::allocations;
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::lanes::{Lanes, Seen};
use crate::common::*;

const CLIENT: RtPolicyValue = model(PriorityModel::ClientPropagated, 0);
const PINGS: i64 = 50;

const fn model(model: PriorityModel, server_priority: i16) -> RtPolicyValue {
    RtPolicyValue::Model(PriorityModelPolicy { model, server_priority })
}

fn bands(list: &[(i16, i16)]) -> Vec<PriorityBand> {
    list.iter().map(|&(low, high)| PriorityBand { low, high }).collect()
}

fn banded(list: &[(i16, i16)]) -> PriorityBandedConnection {
    PriorityBandedConnection::new(&bands(list)).unwrap()
}

fn at(orb: &Orb, priority: i16) {
    orb.set_thread_priority(Priority::new(priority).unwrap()).unwrap();
}

fn pinged(object: &ObjectRef) {
    assert_eq!(ping(object, 1), Ok(7));
}

#[track_caller]
fn refused(object: &ObjectRef, code: u32) -> Option<Failure> {
    let refused = ping(object, 1).unwrap_err();
    assert_raised(refused, SystemExceptionKind::InvPolicy, CompletionStatus::No);
    assert_eq!(refused.minor, code, "{refused}");
    Failure::of(&refused)
}

fn lanes_of(seen: &[Seen]) -> Vec<usize> {
    seen.iter().map(|one| one.lane).collect()
}

/// The priority context has the same octets as TAO's: the byte order of an encapsulation, one octet of
/// padding, and the priority.
#[test]
fn the_priority_travels_where_the_object_wants_to_know_it() {
    only_over!(CONTEXTS, "priorities travel in messages that have room for them");
    let _guard = watchdog(LONG);
    let server = Lanes::start(&[-1]);
    let client = client(ClientConnections::Private);
    at(&client, 0x0102);
    let propagated = server.object(&client, &[CLIENT]);
    let declared = server.object(&client, &[model(PriorityModel::ServerDeclared, 5)]);
    let plain = server.object(&client, &[]);
    for object in [&propagated, &declared, &plain] {
        pinged(object);
    }
    let seen = server.seen();
    assert_eq!(seen[0].contexts, [(10, vec![0, 0, 1, 2])]);
    assert_eq!(seen[1].contexts, []);
    assert_eq!(seen[2].contexts, []);

    // Every kind of call sends the priority.
    let one_way = |object: &ObjectRef| object.reference().send(&NOTE, |_| Ok(()));
    one_way(&propagated).unwrap();
    one_way(&propagated.with(SyncScope::None)).unwrap();
    assert_eq!(ping_async(&propagated, 1).wait(), Ok(7));
    propagated.reference().flush().unwrap();
    assert_eq!(ping(&propagated, 1), Ok(7));
    client.shutdown(true).unwrap();
    let priority = (10, vec![0, 0, 1, 2]);
    let seen = server.seen();
    assert!(
        seen.len() >= 3 && seen.iter().all(|one| one.contexts == [priority.clone()]),
        "{seen:?}"
    );
}

/// A thread without a CORBA priority has the one that its native priority maps to.
#[test]
fn without_a_priority_the_native_one_is_taken() {
    only_over!(CONTEXTS, "priorities travel in messages that have room for them");
    let _guard = watchdog(LONG);
    let server = Lanes::start(&[-1]);
    let client = client(ClientConnections::Private);
    let object = server.object(&client, &[CLIENT]);
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(client.thread_priority(), None);
            pinged(&object);
        });
    });
    // SCHED_OTHER has one native priority, 0, which maps to CORBA's lowest.
    assert_eq!(server.seen()[0].contexts, [(10, vec![0, 0, 0, 0])]);
    client.shutdown(true).unwrap();
}

#[test]
fn a_call_goes_to_the_lane_of_its_priority() {
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let server = Lanes::start(&[10, 20, 30]);
        let client = client(sharing);
        let object = server.object(&client, &[CLIENT]);
        for priority in [20, 30, 10, 20] {
            at(&client, priority);
            pinged(&object);
        }
        assert_eq!(lanes_of(&server.seen()), [1, 2, 0, 1], "{sharing:?}");
        at(&client, 20);
        assert_eq!(ping_async(&object, 1).wait(), Ok(7));
        assert_eq!(lanes_of(&server.seen()), [1], "{sharing:?}");
        at(&client, 21);
        refused(&object, minor::inv_policy::NO_LANE);
        client.shutdown(true).unwrap();
    }
}

/// A caller without a priority is served with any configuration of lanes and bands (N2).
#[test]
fn without_a_priority_the_models_or_the_lowest_lane_is_called() {
    only_over!(CONTEXTS, "priorities travel in messages that have room for them");
    let _guard = watchdog(LONG);
    let server = Lanes::start(&[30, 10, 20]);
    let client = client(ClientConnections::Private);
    let lowest = server.object(&client, &[CLIENT]);
    let default = server.object(&client, &[model(PriorityModel::ClientPropagated, 20)]);
    let outside = server.object(&client, &[model(PriorityModel::ClientPropagated, 25)]);
    let banded = lowest.with(banded(&[(2, 9), (15, 25), (26, 40)]));
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(client.thread_priority(), None);
            for (object, lane, priority) in
                [(&lowest, 1, 10), (&default, 2, 20), (&outside, 1, 10), (&banded, 2, 20)]
            {
                pinged(object);
                assert_eq!(ping_async(object, 1).wait(), Ok(7));
                let seen = server.seen();
                assert_eq!(lanes_of(&seen), [lane, lane]);
                let travels = (10, vec![0, 0, 0, priority]);
                assert!(seen.iter().all(|one| one.contexts.contains(&travels)), "{seen:?}");
            }
        });
    });
    client.shutdown(true).unwrap();
}

/// A refusal for a priority names the priority and the acceptable ones (N2).
#[test]
fn a_refusal_names_the_priorities_of_both_sides() {
    let _guard = watchdog(LONG);
    let server = Lanes::start(&[10, 20]);
    let client = client(ClientConnections::Private);
    let object = server.object(&client, &[CLIENT]);
    at(&client, 21);
    let failure = refused(&object, minor::inv_policy::NO_LANE).unwrap();
    let what: Vec<_> = failure.attempts.iter().map(|one| &*one.what).collect();
    assert_eq!(
        what,
        [
            "the caller's CORBA priority is 21, the lane's is 10",
            "the caller's CORBA priority is 21, the lane's is 20"
        ]
    );
    let bands = banded(&[(0, 14), (15, 20)]);
    let failure = refused(&object.with(bands), minor::inv_policy::NO_BAND);
    let failure = failure.unwrap().to_string();
    let said = "priority is 21, the lane's is 20, the priority bands are 0..14, 15..20";
    assert!(failure.contains(said), "{failure}");
    client.shutdown(true).unwrap();
}

#[test]
fn a_declared_priority_or_none_goes_to_any_lane() {
    let _guard = watchdog(LONG);
    let server = Lanes::start(&[10, 20]);
    let client = client(ClientConnections::Private);
    at(&client, 5);
    for policies in [vec![], vec![model(PriorityModel::ServerDeclared, 20)]] {
        pinged(&server.object(&client, &policies));
        assert_eq!(server.seen().len(), 1);
    }
    client.shutdown(true).unwrap();
}

#[test]
fn with_bands_the_lane_lies_in_the_band_of_the_priority() {
    let _guard = watchdog(LONG);
    let server = Lanes::start(&[10, 20, 30]);
    let client = client(ClientConnections::Private);
    let object = server.object(&client, &[CLIENT]).with(banded(&[(0, 14), (15, 40)]));
    for (priority, lanes) in [(3, &[0][..]), (14, &[0]), (15, &[1, 2]), (40, &[1, 2])] {
        at(&client, priority);
        pinged(&object);
        let seen = server.seen();
        assert!(lanes.contains(&seen[0].lane), "{priority}: {seen:?}");
    }
    at(&client, 41);
    refused(&object, minor::inv_policy::NO_BAND);
    client.shutdown(true).unwrap();
}

/// Each band has its own connection, whose first request names the band.
#[test]
fn each_band_has_a_connection_of_its_own() {
    only_over!(CONTEXTS, "bands are told in a service context");
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let server = Lanes::start(&[-1]);
        let client = client(sharing);
        let object = server.object(&client, &[CLIENT]).with(banded(&[(0, 9), (10, 99)]));
        for priority in [1, 50, 9, 10] {
            at(&client, priority);
            pinged(&object);
        }
        let seen = server.seen();
        let connection = |at: usize| seen[at].connection;
        assert_eq!(connection(0), connection(2), "{sharing:?}");
        assert_eq!(connection(1), connection(3), "{sharing:?}");
        assert_ne!(connection(0), connection(1), "{sharing:?}");
        let band = |at: usize| seen[at].contexts.iter().find(|context| context.0 == 11);
        assert_eq!(band(0), Some(&(11, vec![0, 0, 0, 0, 0, 9])));
        assert_eq!(band(1), Some(&(11, vec![0, 0, 0, 10, 0, 99])));
        assert_eq!((band(2), band(3)), (None, None), "told once");
        client.shutdown(true).unwrap();
    }
}

/// Returns the protocol of this test with these connection properties.
fn chosen(properties: TcpProtocolProperties) -> ClientProtocol {
    let tag = common::transport::protocol().profile().tag();
    ClientProtocol::new(&[Protocol::with(tag, properties)]).unwrap()
}

/// Tag of an unassigned protocol.
const NOBODYS: u32 = 0x4f58_4fff;

#[test]
fn what_both_sides_insist_on_cannot_be_reconciled() {
    let _guard = watchdog(LONG);
    let server = Lanes::start(&[-1]);
    let client = client(ClientConnections::Private);
    at(&client, 1);
    let ours = banded(&[(0, 9)]);
    let theirs = RtPolicyValue::Bands(PriorityBands::new(&bands(&[(0, 9)])).unwrap());
    let tcp = chosen(TcpProtocolProperties::default());
    let published = RtPolicyValue::ClientProtocols(tcp.protocols().to_vec());
    let exposed = server.object(&client, &[theirs, published, CLIENT]);
    pinged(&exposed);
    let (both, no_model) = (exposed.with(ours), server.object(&client, &[]).with(ours));
    for object in [&both, &no_model] {
        refused(object, minor::inv_policy::IRRECONCILABLE);
    }
    // The server publishes properties of TCP. Only over IIOP do they belong to the protocol, so that the client decodes
    // the policy and finds the conflict.
    let iiop = common::transport::protocol().name() == "iiop";
    if iiop {
        refused(&exposed.with(tcp), minor::inv_policy::IRRECONCILABLE);
    }
    let failure = both.reference().validate_connection().unwrap_err();
    assert_eq!(failure.inconsistent_policies.len(), 1);
    assert_eq!(failure.inconsistent_policies[0].0, 45);
    assert_eq!(exposed.reference().policy::<PriorityBandedConnection>(), Ok(Some(ours)));

    if iiop {
        assert_eq!(exposed.reference().policy::<ClientProtocol>(), Ok(Some(tcp)));
    }

    let elsewhere = ClientProtocol::new(&[Protocol::new(NOBODYS)]).unwrap();
    let nowhere = server.object(&client, &[CLIENT]).with(elsewhere);
    refused(&nowhere, minor::inv_policy::NO_PROTOCOL);
    // A caller may accept any other protocol if its preferred one is unavailable.
    pinged(&nowhere.with(ProtocolFallback::AnyOther));
    refused(&nowhere.with(ProtocolFallback::Refuse), minor::inv_policy::NO_PROTOCOL);
    client.shutdown(true).unwrap();
}

#[test]
fn a_private_connection_is_one_references_and_one_threads() {
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let server = Lanes::start(&[-1]);
        let client = client(sharing);
        let plain = server.object(&client, &[]);
        let first = server.object(&client, &[]).with(PrivateConnection);
        let second = server.object(&client, &[]).with(PrivateConnection);
        for _ in 0..2 {
            for object in [&plain, &first, &second, &first.clone()] {
                pinged(object);
            }
        }
        thread::scope(|scope| {
            scope.spawn(|| pinged(&first));
        });
        let by: Vec<_> = server.seen().iter().map(|one| one.connection).collect();
        assert_eq!(by[..4], by[4..8], "{sharing:?}: as before");
        assert_eq!(by[1], by[3], "{sharing:?}: a clone is the same reference");
        for (one, other) in [(0, 1), (0, 2), (1, 2), (1, 8)] {
            assert_ne!(by[one], by[other], "{sharing:?}");
        }
        client.shutdown(true).unwrap();
    }
}

/// Explicit binding opens all connections: no later call connects, allocates or takes a lock, at any priority.
#[test]
fn explicit_binding_opens_all_that_calls_need() {
    only_over!(CONTEXTS, "bands are told in a service context");
    let _guard = watchdog(LONG);
    let published = RtPolicyValue::Bands(PriorityBands::new(&bands(&[(0, 14), (15, 40)])).unwrap());
    for (policies, connections) in [(vec![CLIENT], 3), (vec![published, CLIENT], 2)] {
        let server = Lanes::start(&[10, 20, 30]);
        let client = client(ClientConnections::Private);
        at(&client, 7); // need not have a lane to bind
        let object = server.object(&client, &policies).with(PrivateConnection);
        object.reference().validate_connection().unwrap();
        let bound = server.seen();
        assert_eq!(bound.len(), connections, "{bound:?}");
        let all: Vec<_> = bound.iter().map(|one| one.connection).collect();
        if connections == 2 {
            // The connection's band is in the first request, as a context or a field.
            let band = |one: &Seen| one.contexts.iter().find(|(id, _)| *id == 11).cloned();
            let bands: Vec<_> = bound.iter().map(|one| (&*one.operation, band(one))).collect();
            assert_eq!(bands[0], ("_bind_priority_band", Some((11, vec![0, 0, 0, 0, 0, 14]))));
            assert_eq!(bands[1], ("_bind_priority_band", Some((11, vec![0, 0, 0, 15, 0, 40]))));
        }
        let pings = |priority| {
            at(&client, priority);
            (0..PINGS).for_each(|_| pinged(&object));
        };
        for priority in [10, 20, 30] {
            pings(priority); // buffers grow to their size
            let locks = lock::taken();
            let ((), used) = allocations(|| pings(priority));
            assert_eq!(lock::taken(), locks, "priority {priority}");
            // Do not count with TLS, because rustls allocates for each record.
            assert!(transport::is_tls() || used.count == 0, "{used:?}");
        }
        assert!(server.seen().iter().all(|one| all.contains(&one.connection)));
        client.shutdown(true).unwrap();
    }
}

#[test]
fn a_connection_with_protocol_properties_serves_every_priority() {
    let _guard = watchdog(LONG);
    let server = Lanes::start(&[-1]);
    let client = client(ClientConnections::Private);
    let tcp = chosen(TcpProtocolProperties {
        send_buffer_size: 1 << 16,
        recv_buffer_size: 1 << 16,
        enable_network_priority: true,
        ..Default::default()
    });
    let object = server.object(&client, &[CLIENT]).with(tcp).with(PrivateConnection);
    for priority in [0, 32_767, 32_767] {
        at(&client, priority);
        pinged(&object);
    }
    let seen = server.seen();
    assert!(
        seen.iter().all(|one| one.connection == seen[0].connection),
        "one connection, remarked"
    );
    client.shutdown(true).unwrap();
}

/// RIOP: the QoS of a call travels in one context, to any server; a servant can read it and pass it on.
#[test]
fn what_a_call_is_worth_travels_and_the_servant_sees_it() {
    only_over!(CONTEXTS, "priorities travel in messages that have room for them");
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    let rhythm = Qos {
        importance: 7,
        period: Some(Duration::from_millis(50)),
        deadline: Some(Duration::from_millis(20)),
        class: CommunicationClass::Isochronous,
        ..Qos::default()
    };
    let raw = Lanes::start(&[-1]);
    at(&client, 300);
    let propagated = raw.object(&client, &[CLIENT]).with(RequestQos(rhythm));
    pinged(&propagated);
    let with_priority = Qos { priority: Some(300), ..rhythm };
    let contexts = raw.seen()[0].contexts.clone();
    assert_eq!(contexts[0], (10, vec![0, 0, 1, 44]));
    assert_eq!(contexts[1], (0x4f58_4f01, with_priority.encode().to_vec()));

    let server = server(Concurrency::ThreadPerConnection);
    let seen = Arc::<SeenQos>::default();
    let object = elsewhere(&client, &server.root_poa().activate_servant(seen.clone()).unwrap());
    ping(&object, 0).unwrap();
    {
        let _of_this_thread = PolicyCurrent::scope(&client, RequestQos(rhythm));
        ping(&object, 0).unwrap();
    }
    ping(&object.with(RequestQos(Qos { priority: Some(1), ..rhythm })), 0).unwrap();
    ping(&object, 0).unwrap();
    let expected = [None, Some(with_priority), Some(Qos { priority: Some(1), ..rhythm }), None];
    assert_eq!(*seen.0.lock().unwrap(), expected);
    assert_eq!(current_qos(), None);

    let hurried = object.with(RequestQos(rhythm));
    let pings = || (0..PINGS).for_each(|n| assert!(ping(&hurried, n).is_ok()));
    seen.0.lock().unwrap().reserve(4 * PINGS as usize);
    pings();
    let locks = lock::taken();
    let ((), used) = allocations(pings);
    assert_eq!(lock::taken(), locks);
    // Do not count with TLS, because rustls allocates for each record.
    assert!(transport::is_tls() || used.count == 0, "{used:?}");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// Records the QoS of its calls.
#[derive(Default)]
struct SeenQos(Mutex<Vec<Option<Qos>>>);

impl Servant for SeenQos {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        assert_eq!(upcall.qos(), current_qos());
        self.0.lock().unwrap().push(current_qos());
        upcall.reply(|e| {
            e.longlong(0);
            Ok(())
        })
    }
}
