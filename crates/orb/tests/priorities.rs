//! Priorities beyond the plain call: transforms, answers that come later, and what sockets are told (A9, A18; F6).

mod common;

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use common::lanes::{Lanes, Seen};
use common::worker::*;
use common::{LONG, assert_raised, elsewhere};
use oxorb::__gen::Op;
use oxorb::policy::{ClientProtocol, TcpProtocolProperties};
use oxorb::{
    CompletionStatus, IdAssignment, Interface, Later, ObjectRef, Orb, Outcome, Policies, Priority,
    PriorityModel, PriorityModelPolicy, Protocol, Protocols, RtPolicies, Servant,
    SystemExceptionKind, Threadpool, Upcall,
};
use oxorb_giop::{RtPolicyValue, context_id};
use oxorb_rt::PriorityTransform;
use oxorb_testkit::watchdog;

static PASS: Op = Op::twoway("pass");

fn end(orbs: &[&Orb]) {
    for orb in orbs {
        orb.shutdown(true).unwrap();
    }
}

/// Servants run 5 above their callers, and call 100 below where they run; one called `quiet` may not call.
#[derive(Debug)]
struct Shift;

impl PriorityTransform for Shift {
    fn inbound(&self, priority: Priority, _: &[u8]) -> Option<Priority> {
        Priority::new(priority.get() + 5).ok()
    }

    fn outbound(&self, priority: Priority, object_id: &[u8]) -> Option<Priority> {
        assert!(
            [&b"relay"[..], b"quiet"].contains(&object_id),
            "{object_id:?}"
        );
        match object_id == b"quiet" {
            true => None,
            false => Priority::new(priority.get() - 100).ok(),
        }
    }
}

/// Calls another object and tells what became of it.
struct Relay(ObjectRef);

impl Servant for Relay {
    fn repository_id(&self) -> &str {
        "IDL:test/Relay:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        match call(&self.0, &PASS) {
            Ok(()) => upcall.done(),
            Err(exception) => upcall.fail(exception),
        }
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

fn sent_priority(seen: &Seen) -> i16 {
    let mut contexts = seen.contexts.iter();
    let context = contexts.find(|(id, _)| *id == context_id::RT_CORBA_PRIORITY);
    oxorb_giop::parse_priority_context(&context.unwrap().1).unwrap()
}

#[test]
fn a_transform_sees_what_comes_in_and_what_servants_send_out() {
    let _guard = watchdog(LONG);
    let behind = Lanes::start(&[-1]);
    let server = Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .configure(|options| options.realtime.transform = Some(Arc::new(Shift)))
        .build()
        .unwrap();
    let client = Orb::builder().build().unwrap();
    let propagated = PriorityModelPolicy {
        model: PriorityModel::ClientPropagated,
        server_priority: 0,
    };
    let target = behind.object(&server, &[RtPolicyValue::Model(propagated)]);
    let policies = Policies {
        id_assignment: IdAssignment::User,
        realtime: RtPolicies {
            priority_model: Some(propagated),
            ..RtPolicies::default()
        },
        ..Policies::default()
    };
    let poa = server.root_poa().create_poa("relays", policies).unwrap();
    let relay = |id: &str| {
        let servant = Arc::new(Relay(target.clone()));
        elsewhere(
            &client,
            &poa.activate_servant_with_id(&id.into(), servant).unwrap(),
        )
    };
    let (relay, quiet) = (relay("relay"), relay("quiet"));
    client.set_thread_priority(priority(300)).unwrap();
    call(&relay, &PASS).unwrap();
    let seen = behind.seen();
    assert_eq!(sent_priority(&seen[0]), 300 + 5 - 100, "in and out again");
    let refused = call(&quiet, &PASS).unwrap_err();
    assert_raised(
        refused,
        SystemExceptionKind::DataConversion,
        CompletionStatus::No,
    );
    assert!(behind.seen().is_empty(), "it was not sent");
    // Where no servant runs nothing is transformed.
    server.set_thread_priority(priority(40)).unwrap();
    call(&target, &PASS).unwrap();
    let seen = behind.seen();
    assert_eq!(sent_priority(&seen[0]), 40);
    end(&[&client, &server]);
}

/// Answers from another thread.
#[derive(Default)]
struct Slow(Mutex<Vec<thread::JoinHandle<()>>>);

impl Servant for Slow {
    fn repository_id(&self) -> &str {
        "IDL:test/Slow:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let asked = upcall.orb().thread_priority().map_or(-1, Priority::get);
        upcall.later(|later: Later| {
            let answering = thread::spawn(move || {
                later.reply(|e| {
                    e.string("later")?;
                    e.short(asked);
                    e.short(0);
                    Ok(())
                });
            });
            self.0.lock().unwrap().push(answering);
        })
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

#[test]
fn an_answer_that_comes_later_carries_the_priority_back() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let realtime = RtPolicies {
        priority_model: model(PriorityModel::ClientPropagated, 3),
        ..RtPolicies::default()
    };
    let poa = poa(&server, "later", realtime);
    let slow = poa.activate_servant(Arc::new(Slow::default())).unwrap();
    let object = elsewhere(&client, &slow);
    let (served, back) = ask(&object, Some(&[0, 0, 0x12, 0x34]));
    assert_eq!((served.thread.as_str(), served.priority), ("later", 0x1234));
    assert_eq!(back, Some(vec![0, 0, 0x12, 0x34]));
    assert_eq!(ask(&object, None).1, None);
    end(&[&client, &server]);
}

/// What the kernel knows of the connection that has this port here.
fn kernel(port: u16) -> String {
    let told = Command::new("ss")
        .args(["-tnmeO", "-o", "--tos", "sport", "=", &format!(":{port}")])
        .output()
        .expect("ss (iproute2) is installed");
    String::from_utf8(told.stdout).unwrap()
}

#[track_caller]
fn assert_told(told: &str, facts: &[&str]) {
    for fact in facts {
        assert!(told.contains(fact), "{fact} in {told}");
    }
}

/// Buffers count twice in Linux; DSCP 46 is 0xb8 where it stands in a packet.
#[test]
fn what_protocol_policies_say_of_a_connection_the_kernel_knows() {
    let _guard = watchdog(LONG);
    let lanes = Lanes::start(&[-1]);
    let client = Orb::builder().build().unwrap();
    let properties = TcpProtocolProperties {
        send_buffer_size: 30_000,
        recv_buffer_size: 20_000,
        keep_alive: true,
        dont_route: false,
        no_delay: true,
        enable_network_priority: true,
    };
    client.set_thread_priority(Priority::MAX).unwrap();
    let propagated = RtPolicyValue::Model(PriorityModelPolicy {
        model: PriorityModel::ClientPropagated,
        server_priority: 0,
    });
    let object = lanes
        .object(&client, &[propagated])
        .with(ClientProtocol::tcp(properties));
    call(&object, &PASS).unwrap();
    let told = kernel(lanes.seen()[0].connection);
    assert_told(
        &told,
        &["tb60000", "rb40000", "tos:0xb8", "timer:(keepalive"],
    );
    end(&[&client]);
}

#[test]
fn what_a_server_says_of_its_connections_the_kernel_knows() {
    let _guard = watchdog(LONG);
    let (server, client) = (server(), client());
    let properties = TcpProtocolProperties {
        send_buffer_size: 30_000,
        recv_buffer_size: 20_000,
        keep_alive: true,
        enable_network_priority: true,
        ..TcpProtocolProperties::default()
    };
    let pool = Threadpool::with_lanes([lane(32767, 1)]);
    let realtime = RtPolicies {
        threadpool: Some(server.create_threadpool(pool).unwrap()),
        priority_model: model(PriorityModel::ServerDeclared, 32767),
        server_protocols: Protocols::new(&[Protocol {
            protocol_type: 0,
            tcp: Some(properties),
        }]),
        ..RtPolicies::default()
    };
    let object = activate(
        &poa(&server, "marked", realtime),
        &client,
        &Arc::new(Worker::default()),
    );
    let _ = whereabouts(&object);
    let told = kernel(common::address(&object).port());
    assert_told(
        &told,
        &["tb60000", "rb40000", "tos:0xb8", "timer:(keepalive"],
    );
    end(&[&client, &server]);
}

/// A lane's mark comes from the program, or from an argument (A9.6).
#[test]
fn a_lane_marks_its_packets_and_keeps_to_its_processor() {
    let _guard = watchdog(LONG);
    let cpu = *oxorb_sys::thread::allowed_cpus().unwrap().last().unwrap();
    let server = Orb::builder()
        .listen("iiop://127.0.0.1:0")
        .setting("LaneDSCP", "1:0=10")
        .setting("LaneDSCP", "*:*=12")
        .setting("LaneCPU", &format!("1:1={cpu}"))
        .build()
        .unwrap();
    let client = client();
    let lanes = [lane(10, 1), lane(20, 1), lane(30, 1).dscp(46)];
    let pool = server
        .create_threadpool(Threadpool::with_lanes(lanes))
        .unwrap();
    for (value, tos) in [(10, "tos:0x28"), (20, "tos:0x30"), (30, "tos:0xb8")] {
        let poa = lane_poa(&server, pool, value);
        let object = activate(&poa, &client, &Arc::new(Worker::default()));
        let _ = whereabouts(&object);
        assert_told(&kernel(common::address(&object).port()), &[tos]);
        if value == 20 {
            let pinned = Arc::new(Pinned::default());
            let object = elsewhere(&client, &poa.activate_servant(pinned.clone()).unwrap());
            call(&object, &PASS).unwrap();
            assert_eq!(*pinned.0.lock().unwrap(), [cpu]);
        }
    }
    end(&[&client, &server]);
    for wrong in ["LaneDSCP 1:0=64", "LaneCPU 1=0", "LaneCPU 1:0=many"] {
        let (name, value) = wrong.split_once(' ').unwrap();
        let refused = Orb::builder().setting(name, value).build().unwrap_err();
        assert!(
            refused.to_string().contains("expected POOL:LANE=NUMBER"),
            "{refused}"
        );
    }
}

/// Notes on which processors its thread may run.
#[derive(Default)]
struct Pinned(Mutex<Vec<usize>>);

impl Servant for Pinned {
    fn repository_id(&self) -> &str {
        "IDL:test/Pinned:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        *self.0.lock().unwrap() = oxorb_sys::thread::allowed_cpus().unwrap();
        upcall.done()
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}
