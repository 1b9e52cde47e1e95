//! RIOP: the QoS of a call reaches the serving thread, its connection, and the calls of the servant.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use oxorb::poa::RtPolicies;
use oxorb::policy::{CommunicationClass, PrivateConnection, Qos, RequestQos, SyncScope};
use oxorb::rt::{PriorityModel, SchedulingClass, current_qos};
use oxorb::settings::ClientConnections;
use oxorb::{Interface, ObjectRef, Orb, Outcome, Servant, Upcall};
use oxorb_object::{RtPolicyValue, context_id};
use oxorb_testkit::{require_realtime, watchdog};

use crate::common;
use crate::common::lanes::{Lanes, Seen};
use crate::common::worker::{Worker, model, poa, priority, whereabouts};
use crate::common::*;

const EVERY_CLASS: [CommunicationClass; 4] = [
    CommunicationClass::Isochronous,
    CommunicationClass::Burst,
    CommunicationClass::Message,
    CommunicationClass::MessageStream,
];

/// Returns the `RequestQos` of a recorded request.
fn announced_qos(seen: &Seen) -> Option<Qos> {
    let mut contexts = seen.contexts.iter();
    let context = contexts.find(|(id, _)| *id == context_id::RIOP);
    context.map(|(_, data)| Qos::parse(data).unwrap())
}

fn of_class(class: CommunicationClass) -> RequestQos {
    RequestQos(Qos { class, ..Qos::default() })
}

/// Servant that makes calls of every kind.
struct Relay {
    to: ObjectRef,
    /// QoS that it sets on each call; `None` for the caller's.
    says: Option<RequestQos>,
}

impl Servant for Relay {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let to = match self.says {
            Some(qos) => self.to.with(qos),
            None => self.to.clone(),
        };
        let note = |to: &ObjectRef| to.reference().send(&NOTE, |_| Ok(())).unwrap();
        ping(&to, 1).unwrap();
        ping_async(&to, 1).wait().unwrap();
        note(&to);
        note(&to.with(SyncScope::None));
        to.reference().flush().unwrap();
        upcall.reply(|e| {
            e.longlong(0);
            Ok(())
        })
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

#[test]
fn calls_of_a_servant_carry_on_what_its_caller_said() {
    only_over!(CONTEXTS, "what a call is worth travels in a service context");
    let _guard = watchdog(LONG);
    let said = Qos {
        priority: Some(9),
        importance: 7,
        period: Some(Duration::from_millis(50)),
        deadline: Some(LONG),
        class: CommunicationClass::Isochronous,
    };
    let own = Qos { importance: 1, ..Qos::default() };
    for sharing in EVERY_SHARING {
        let behind = Lanes::start(&[-1]);
        let server = common::transport::listening().client_connections(sharing).build().unwrap();
        let client = client(ClientConnections::Private);
        let to = behind.object(&server, &[]);
        let relay = |says: Option<RequestQos>| {
            let to = to.clone();
            let relay = server.root_poa().activate_servant(Arc::new(Relay { to, says }));
            relay.unwrap()
        };
        let seen = || loop {
            let all = behind.seen();
            if all.len() == 4 {
                return all;
            }
            assert!(all.is_empty() || all.len() < 4);
            behind.put_back(all);
            thread::yield_now();
        };
        let plain = relay(None);
        let far = elsewhere(&client, &plain);
        ping(&far.with(RequestQos(said)), 1).unwrap();
        for request in seen() {
            let announced =
                announced_qos(&request).unwrap_or_else(|| panic!("{sharing:?}: {request:?}"));
            assert!(announced.deadline < said.deadline, "what is left of it");
            let deadline = said.deadline;
            assert_eq!(Qos { deadline, ..announced }, said, "{sharing:?}");
        }
        ping(&far, 1).unwrap();
        assert!(seen().iter().all(|request| announced_qos(request).is_none()));

        // A collocated call propagates the QoS, too.
        ping(&ObjectRef::from_ref(plain).with(RequestQos(said)), 1).unwrap();
        for request in seen() {
            assert_eq!(announced_qos(&request).map(|announced| announced.importance), Some(7));
        }
        // QoS that the servant sets takes precedence.
        let other = elsewhere(&client, &relay(Some(RequestQos(own))));
        ping(&other.with(RequestQos(said)), 1).unwrap();
        for request in seen() {
            assert_eq!(announced_qos(&request), Some(own), "{sharing:?}");
        }
        assert_eq!(current_qos(), None);
        client.shutdown(true).unwrap();
        server.shutdown(true).unwrap();
    }
}

/// Returns a server whose threads take the priorities of requests, a client, and an object.
fn urgent() -> (Orb, Orb, ObjectRef) {
    let server = common::transport::listening()
        .configure(|options| options.realtime.class = SchedulingClass::Fifo)
        .build()
        .unwrap();
    let realtime = RtPolicies {
        priority_model: model(PriorityModel::ClientPropagated, 0),
        ..RtPolicies::default()
    };
    let poa = poa(&server, "propagated", realtime);
    poa.manager().activate().unwrap();
    let client = client(ClientConnections::Private);
    let worker = Arc::<Worker>::default();
    let object = elsewhere(&client, &poa.activate_servant(worker).unwrap());
    (server, client, object)
}

#[test]
fn importance_reaches_the_thread_that_serves_the_request() {
    only_over!(CONTEXTS, "what a call is worth travels in a service context");
    let _guard = watchdog(LONG);
    if !require_realtime() {
        return;
    }
    let (server, client, object) = urgent();
    client.set_thread_priority(priority(10_000)).unwrap();
    let at = |importance: Option<i32>| {
        let asked = whereabouts(&match importance {
            None => object.clone(),
            Some(importance) => object.with(RequestQos(Qos { importance, ..Qos::default() })),
        });
        assert_eq!(asked.priority, 10_000, "its CORBA priority is the caller's");
        asked.native
    };
    let plain = at(None);
    let native = |number: i16| {
        client.set_thread_priority(priority(number)).unwrap();
        let native = whereabouts(&object).native;
        client.set_thread_priority(priority(10_000)).unwrap();
        native
    };
    for importance in [0, 5_000, -5_000, 22_767] {
        let same = native(10_000 + importance as i16);
        assert_eq!(at(Some(importance)), same, "as {importance} above");
    }
    assert!(at(Some(5_000)) > plain && at(Some(-5_000)) < plain);
    assert_eq!(at(Some(i32::MAX)), native(32_767));
    assert_eq!(at(Some(i32::MIN)), native(0));
    assert_eq!(at(None), plain, "restored");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// A caller that ignores the policies in the reference sends no RTCorbaPriority.
#[test]
fn the_priority_of_riop_reaches_the_thread_where_no_other_is_sent() {
    only_over!(CONTEXTS, "what a call is worth travels in a service context");
    let _guard = watchdog(LONG);
    let (server, client, object) = urgent();
    let mut key = String::new();
    for octet in object_key(&object) {
        key.push_str(&format!("%{octet:02x}"));
    }
    let url = transport::url(&[&address(&object)], &key);
    let plain = client.string_to_object(&url).unwrap();
    assert_eq!(whereabouts(&plain).priority, 0, "the model's");
    let said = RequestQos(Qos { priority: Some(12_345), ..Qos::default() });
    assert_eq!(whereabouts(&plain.with(said)).priority, 12_345);
    client.set_thread_priority(priority(77)).unwrap();
    let both = whereabouts(&object.with(said));
    assert_eq!(both.priority, 77, "RTCorbaPriority goes before it");
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn each_communication_class_has_connections_of_its_own() {
    only_over!(CONTEXTS, "what a call is worth travels in a service context");
    let _guard = watchdog(LONG);
    for sharing in EVERY_SHARING {
        let server = Lanes::start(&[-1]);
        let client = client(sharing);
        let object = server.object(&client, &[]);
        let by = |call: &dyn Fn(&ObjectRef)| {
            let connections = EVERY_CLASS.map(|class| {
                call(&object.with(of_class(class)));
                let seen = server.seen();
                assert_eq!(announced_qos(&seen[0]).unwrap().class, class);
                seen[0].connection
            });
            let mut distinct = connections.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), EVERY_CLASS.len(), "{sharing:?}");
            connections
        };
        let first = by(&|object| assert_eq!(ping(object, 1), Ok(7)));
        let again = by(&|object| assert_eq!(ping(object, 1), Ok(7)));
        assert_eq!(first, again, "{sharing:?}");
        by(&|object| assert_eq!(ping_async(object, 1).wait(), Ok(7)));
        ping(&object, 1).unwrap();
        let plain = server.seen()[0].connection;
        assert_eq!(plain, first[2], "calls that say nothing are messages");
        client.shutdown(true).unwrap();
    }
}

#[test]
fn explicit_binding_opens_the_connection_of_the_class() {
    let _guard = watchdog(LONG);
    let server = Lanes::start(&[-1]);
    let client = client(ClientConnections::Private);
    let published = RtPolicyValue::Model(model(PriorityModel::ClientPropagated, 0).unwrap());
    for policies in [&[][..], &[published]] {
        let object = server.object(&client, policies);
        let object = object.with(PrivateConnection);
        let object = object.with(of_class(CommunicationClass::Isochronous));
        object.reference().validate_connection().unwrap();
        let bound = server.seen();
        ping(&object, 1).unwrap();
        assert_eq!(server.seen()[0].connection, bound[0].connection);
    }
    client.shutdown(true).unwrap();
}

/// Servant that counts its concurrent requests, and records their order.
#[derive(Default)]
struct Together {
    /// Number of requests that have to run concurrently before the first of them ends.
    wanted: usize,
    running: AtomicUsize,
    most: AtomicUsize,
    order: Mutex<Vec<i64>>,
}

impl Servant for Together {
    fn repository_id(&self) -> &str {
        PINGER
    }

    fn dispatch(&self, mut upcall: Upcall<'_>) -> Outcome {
        let number = upcall.args(|d| d.longlong());
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        self.order.lock().unwrap().extend(number);
        // Give another request time to begin, or wait for it if several must run at the same time.
        thread::sleep(Duration::from_millis(20));
        until("requests run side by side", || self.most.load(Ordering::SeqCst) >= self.wanted);
        self.running.fetch_sub(1, Ordering::SeqCst);
        upcall.reply(|e| {
            e.longlong(0);
            Ok(())
        })
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// Requests of one connection run concurrently, except those of a message stream.
#[test]
fn a_message_stream_is_served_in_order() {
    only_over!(CONTEXTS, "what a call is worth travels in a service context");
    const REQUESTS: i64 = 20;
    let _guard = watchdog(LONG);
    at_once(EVERY_CONCURRENCY, |concurrency| {
        for class in [CommunicationClass::MessageStream, CommunicationClass::Message] {
            let server = server(concurrency);
            let client = client(ClientConnections::Cached);
            let wanted = match class {
                CommunicationClass::MessageStream => 1,
                _ => 2,
            };
            let servant = Arc::new(Together { wanted, ..Together::default() });
            let object = server.root_poa().activate_servant(servant.clone()).unwrap();
            let object = elsewhere(&client, &object).with(of_class(class));
            let calls: Vec<_> = (0..REQUESTS).map(|n| ping_async(&object, n)).collect();
            for call in calls {
                call.wait().unwrap();
            }
            let most = servant.most.load(Ordering::SeqCst);
            match class {
                CommunicationClass::MessageStream => {
                    assert_eq!(most, 1, "{concurrency:?}");
                    let order = servant.order.lock().unwrap();
                    assert!(order.iter().copied().eq(0..REQUESTS), "{order:?}");
                }
                _ => assert!(most > 1, "{concurrency:?}: side by side"),
            }
            client.shutdown(true).unwrap();
            server.shutdown(true).unwrap();
        }
    });
}
