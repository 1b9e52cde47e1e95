//! Priorities beyond plain calls: transforms, late answers, and options of sockets.

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::poa::{IdAssignment, Policies, RtPolicies};
use oxorb::policy::{
    Bandwidth, ClientProtocol, CommunicationClass, Protocol, ProtocolList, Qos, RequestQos,
    TcpProtocolProperties,
};
use oxorb::rt::{
    LaneScheduling, Priority, PriorityModel, PriorityModelPolicy, Reservation, SchedulingClass,
    Serving, Threadpool, ThreadpoolError,
};
use oxorb::servant::ResponseHandler;
use oxorb::settings::ClientConnections;
use oxorb::{
    CompletionStatus, Interface, ObjectRef, Orb, Outcome, Servant, SystemExceptionKind, Upcall,
};
use oxorb_object::{RtPolicyValue, context_id};
use oxorb_rt::PriorityTransform;
use oxorb_sys::schedule;
use oxorb_testkit::{overload_is_refused, require_realtime, require_reservations, watchdog};

use crate::common::lanes::{Lanes, Seen};
use crate::common::worker::*;
use crate::common::{self, LONG, assert_raised, elsewhere};

static PASS: Op = Op::twoway("pass");

fn end(orbs: &[&Orb]) {
    for orb in orbs {
        orb.shutdown(true).unwrap();
    }
}

/// Transform that runs servants 5 above their callers and their calls 100 below; calls of the object `quiet` are
/// refused.
#[derive(Debug)]
struct Shift;

impl PriorityTransform for Shift {
    fn inbound(&self, priority: Priority, _: &[u8]) -> Option<Priority> {
        Priority::new(priority.get() + 5).ok()
    }

    fn outbound(&self, priority: Priority, object_id: &[u8]) -> Option<Priority> {
        assert!([&b"relay"[..], b"quiet"].contains(&object_id), "{object_id:?}");
        match object_id == b"quiet" {
            true => None,
            false => Priority::new(priority.get() - 100).ok(),
        }
    }
}

/// Servant that calls another object and reports the result.
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
    oxorb_object::contexts::Priority::parse(&context.unwrap().1).unwrap().0
}

#[test]
fn a_transform_sees_what_comes_in_and_what_servants_send_out() {
    common::only_over!(GIOP, "the service context RTCorbaPriority is written and read by hand");
    let _guard = watchdog(LONG);
    let behind = Lanes::start(&[-1]);
    let server = common::transport::listening()
        .configure(|options| options.realtime.transform = Some(Arc::new(Shift)))
        .build()
        .unwrap();
    let client = common::transport::builder().build().unwrap();
    let propagated =
        PriorityModelPolicy { model: PriorityModel::ClientPropagated, server_priority: 0 };
    let target = behind.object(&server, &[RtPolicyValue::Model(propagated)]);
    let policies = Policies {
        id_assignment: IdAssignment::User,
        realtime: RtPolicies { priority_model: Some(propagated), ..RtPolicies::default() },
        ..Policies::default()
    };
    let poa = server.root_poa().create_poa("relays", policies).unwrap();
    let relay = |id: &str| {
        let servant = Arc::new(Relay(target.clone()));
        elsewhere(&client, &poa.activate_servant_with_id(&id.into(), servant).unwrap())
    };
    let (relay, quiet) = (relay("relay"), relay("quiet"));
    client.set_thread_priority(priority(300)).unwrap();
    call(&relay, &PASS).unwrap();
    let seen = behind.seen();
    assert_eq!(sent_priority(&seen[0]), 300 + 5 - 100, "in and out again");
    let refused = call(&quiet, &PASS).unwrap_err();
    assert_raised(refused, SystemExceptionKind::DataConversion, CompletionStatus::No);
    assert!(behind.seen().is_empty(), "it was not sent");
    // Outside of a servant, priorities are not transformed.
    server.set_thread_priority(priority(40)).unwrap();
    call(&target, &PASS).unwrap();
    let seen = behind.seen();
    assert_eq!(sent_priority(&seen[0]), 40);
    end(&[&client, &server]);
}

/// Servant that answers from another thread.
#[derive(Default)]
struct Slow(Mutex<Vec<thread::JoinHandle<()>>>);

impl Servant for Slow {
    fn repository_id(&self) -> &str {
        "IDL:test/Slow:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let asked = upcall.orb().thread_priority().map_or(-1, Priority::get);
        upcall.later(|later: ResponseHandler| {
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
    common::only_over!(GIOP, "the service context RTCorbaPriority is written and read by hand");
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

/// Returns the kernel's data about the connection with this local port.
fn kernel(port: u16) -> String {
    kernel_of("sport", port)
}

/// Returns the kernel's data about the connection with this local (`sport`) or remote (`dport`)
/// port.
fn kernel_of(end: &str, port: u16) -> String {
    let told = Command::new("ss")
        .args(["-tnmeiO", "-o", "--tos", end, "=", &format!(":{port}")])
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

fn chosen_tag() -> u32 {
    common::transport::protocol().profile().tag()
}

/// Linux doubles buffer sizes; DSCP 46 is 0xb8 in a packet's field.
#[test]
fn what_protocol_policies_say_of_a_connection_the_kernel_knows() {
    common::only_over!(TCP, "buffers, keep-alive and DSCP are TCP's");
    if !oxorb_testkit::peers::is_there("ss") {
        return;
    }
    let _guard = watchdog(LONG);
    let lanes = Lanes::start(&[-1]);
    let client = common::transport::builder().build().unwrap();
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
        .with(ClientProtocol::new(&[Protocol::with(chosen_tag(), properties)]).unwrap());
    call(&object, &PASS).unwrap();
    let told = kernel_of("dport", common::port(&common::address(&object)));
    assert_told(&told, &["tb60000", "rb40000", "tos:0xb8", "timer:(keepalive"]);
    end(&[&client]);
}

/// DSCP 46, 10 and 18 are 0xb8, 0x28 and 0x48 in a packet's field.
#[test]
fn each_communication_class_marks_its_packets() {
    common::only_over!(TCP, "packets are those of a network");
    if !oxorb_testkit::peers::is_there("ss") {
        return;
    }
    let _guard = watchdog(LONG);
    let lanes = Lanes::start(&[-1]);
    let client = common::transport::builder().build().unwrap();
    let marked =
        TcpProtocolProperties { enable_network_priority: true, ..TcpProtocolProperties::default() };
    let object = lanes
        .object(&client, &[])
        .with(ClientProtocol::new(&[Protocol::with(chosen_tag(), marked)]).unwrap());
    let server = common::port(&common::address(&object));
    let told = |class| {
        call(&object.with(RequestQos(Qos { class, ..Qos::default() })), &PASS).unwrap();
        kernel_of("dport", server)
    };
    let plain = told(CommunicationClass::Message);
    for (class, mark) in [
        (CommunicationClass::Isochronous, "tos:0xb8"),
        (CommunicationClass::Burst, "tos:0x28"),
        (CommunicationClass::MessageStream, "tos:0x48"),
    ] {
        assert!(!plain.contains(mark), "{plain}");
        assert_told(&told(class), &[mark]);
    }
    end(&[&client]);
}

/// Bandwidth is a policy of each call, and changes with the calls over a thread's connection.
#[test]
fn how_fast_a_connection_sends_a_policy_says() {
    common::only_over!(TCP, "the kernel paces connections of TCP");
    if !oxorb_testkit::peers::is_there("ss") {
        return;
    }
    let _guard = watchdog(LONG);
    for sharing in [
        ClientConnections::Private,
        ClientConnections::Cached,
        ClientConnections::Multiplexed,
        ClientConnections::LeaderFollowers,
    ] {
        // With a server for each client, `ss` lists no connections that an earlier client has closed.
        let lanes = Lanes::start(&[-1]);
        let client = common::client(sharing);
        let object = lanes.object(&client, &[]);
        let slow = object.with(Bandwidth(Some(3_000_000)));
        let server = common::port(&common::address(&object));
        let told = |object: &ObjectRef| {
            assert_eq!(common::ping(object, 1), Ok(7));
            let told = Command::new("ss")
                .args(["-tniHO", "dport", "=", &format!(":{server}")])
                .output()
                .expect("ss (iproute2) is installed");
            String::from_utf8(told.stdout).unwrap()
        };
        let paced = "/24000000bps";
        let first = told(&slow);
        assert!(first.contains(paced), "{sharing:?}: {first}");
        // Calls without the policy use a separate connection, so that they are not slowed down.
        let paced_ones = |told: &str| told.matches(paced).count();
        let both = told(&object);
        assert_eq!((paced_ones(&both), both.lines().count()), (1, 2), "{both}");
        let none = told(&slow.with(Bandwidth(None)));
        assert_eq!((paced_ones(&none), none.lines().count()), (1, 2), "{none}");
        end(&[&client]);
    }
}

#[test]
fn what_a_server_says_of_its_connections_the_kernel_knows() {
    common::only_over!(TCP, "buffers, keep-alive and DSCP are TCP's");
    if !oxorb_testkit::peers::is_there("ss") {
        return;
    }
    let _guard = watchdog(LONG);
    let server = common::transport::listening().build().unwrap();
    let client = client();
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
        server_protocols: ProtocolList::new(&[Protocol::with(chosen_tag(), properties)]).ok(),
        ..RtPolicies::default()
    };
    let object = activate(&poa(&server, "marked", realtime), &client, &Arc::new(Worker::default()));
    let _ = whereabouts(&object);
    let told = kernel(common::port(&common::address(&object)));
    assert_told(&told, &["tb60000", "rb40000", "tos:0xb8", "timer:(keepalive"]);
    end(&[&client, &server]);
}

/// A lane's DSCP is set by the program or by an argument.
#[test]
fn a_lane_marks_its_packets_and_keeps_to_its_processor() {
    common::only_over!(TCP, "packets are those of a network");
    if !oxorb_testkit::peers::is_there("ss") {
        return;
    }
    let _guard = watchdog(LONG);
    let cpu = *oxorb_sys::thread::allowed_cpus().unwrap().last().unwrap();
    let server = common::transport::listening()
        .setting("LaneDSCP", "1:0=10")
        .setting("LaneDSCP", "*:*=12")
        .setting("LaneCPU", &format!("1:1={cpu}"))
        .build()
        .unwrap();
    let client = client();
    let lanes = [lane(10, 1), lane(20, 1), lane(30, 1).dscp(46).socket_priority(5)];
    let pool = server.create_threadpool(Threadpool::with_lanes(lanes)).unwrap();
    let marks: [(i16, &[&str]); 3] =
        [(10, &["tos:0x28"]), (20, &["tos:0x30"]), (30, &["tos:0xb8", "class_id:0x5"])];
    for (value, marks) in marks {
        let poa = lane_poa(&server, pool, value);
        let object = activate(&poa, &client, &Arc::new(Worker::default()));
        let _ = whereabouts(&object);
        assert_told(&kernel(common::port(&common::address(&object))), marks);
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
        let refused = common::transport::builder().setting(name, value).build().unwrap_err();
        assert!(refused.to_string().contains("expected POOL:LANE=NUMBER"), "{refused}");
    }
}

/// Lanes of one pool, each in another class, and one with reserved processor time.
#[test]
fn each_lane_is_scheduled_as_it_says() {
    let Some(_account) = require_reservations().filter(|_| require_realtime()) else {
        return;
    };
    let _guard = watchdog(LONG);
    let (server, client) = (fifo_server(), client());
    let classes = [
        (10, LaneScheduling::AsOrb, SchedulingClass::Fifo),
        (20, LaneScheduling::Class(SchedulingClass::RoundRobin), SchedulingClass::RoundRobin),
        (30, LaneScheduling::Class(SchedulingClass::Other), SchedulingClass::Other),
    ];
    let reserved = lane(40, 2).scheduling(LaneScheduling::Reserved(small_reservation()));
    let lanes = classes.map(|(value, scheduling, _)| lane(value, 1).scheduling(scheduling));
    let pool = server
        .create_threadpool(Threadpool::with_lanes(lanes.into_iter().chain([reserved])))
        .unwrap();
    let ask = |value| {
        let scheduled = Arc::new(Scheduled::default());
        let poa = lane_poa(&server, pool, value);
        let object = elsewhere(&client, &poa.activate_servant(scheduled.clone()).unwrap());
        call(&object, &PASS).unwrap();
        let seen = scheduled.0.lock().unwrap().take();
        seen.unwrap()
    };
    let seen = classes.map(|(value, ..)| ask(value));
    let reserved = ask(40);
    for ((value, _, class), seen) in classes.into_iter().zip(seen) {
        // The `continuous` mapping starts at the lowest native priority of the class: 0 for SCHED_OTHER, which has no
        // other, and 1 for the real-time classes.
        let priority = if class == SchedulingClass::Other { 0 } else { i32::from(value) + 1 };
        assert_eq!(seen, (Some(value), class, priority, false), "lane {value}");
    }
    assert_eq!((reserved.0, reserved.3), (Some(40), true));
    end(&[&client, &server]);
}

/// The error names the shortfall, and the pool is removed.
#[test]
fn a_lane_that_wants_more_time_than_there_is_does_not_start() {
    let Some(_account) = require_reservations() else {
        return;
    };
    let server = fifo_server();
    let day = Duration::from_secs(4);
    let greedy =
        LaneScheduling::Reserved(Reservation { runtime: day * 9 / 20, deadline: day, period: day });
    let lanes = [lane(10, 1), lane(20, 64).scheduling(greedy)];
    match server.create_threadpool(Threadpool::with_lanes(lanes)) {
        Ok(_) => assert!(!overload_is_refused(), "29 processors were given away"),
        Err(refused) => {
            assert!(overload_is_refused(), "{refused}");
            let told = refused.to_string();
            assert!(told.contains("1.8s of each 4s (45.0 % of a processor)"), "{told}");
        }
    }
    end(&[&server]);
}

#[test]
fn a_schedule_that_contradicts_the_rest_of_a_lane_is_refused_with_the_reason() {
    let (fifo, plain) = (fifo_server(), server());
    let reserved = || lane(10, 1).scheduling(LaneScheduling::Reserved(small_reservation()));
    let round = || lane(10, 1).scheduling(LaneScheduling::Class(SchedulingClass::RoundRobin));
    let pool = |lane| Threadpool::with_lanes([lane]);
    let cases = [
        (&plain, pool(round()), "-ORBSchedPolicy"),
        (&fifo, pool(round()).allow_borrowing(), "borrow"),
        (&fifo, pool(reserved().cpu(0)), "moves threads"),
        (&fifo, pool(reserved().dynamic_threads(1)), "from the start"),
        (&fifo, pool(reserved()).serving(Serving::ThreadPerRequest), "from the start"),
        (&fifo, pool(lane(10, 1).socket_priority(7)), "socket priority"),
    ];
    for (orb, plan, reason) in cases {
        let refused = orb.create_threadpool(plan).unwrap_err();
        assert!(matches!(refused, ThreadpoolError::BadParameter(_)));
        assert!(refused.to_string().contains(reason), "{refused}");
    }
    end(&[&fifo, &plain]);
}

fn fifo_server() -> Orb {
    common::transport::listening()
        .configure(|options| options.realtime.class = SchedulingClass::Fifo)
        .setting("PriorityMapping", "continuous")
        .build()
        .unwrap()
}

fn small_reservation() -> Reservation {
    let period = Duration::from_millis(100);
    Reservation { runtime: Duration::from_millis(2), deadline: period, period }
}

/// Servant that records its thread's CORBA priority, class, native priority and reservation; in between it sets another
/// CORBA priority, which must not change the others.
#[derive(Default)]
struct Scheduled(Mutex<Option<Schedule>>);

type Schedule = (Option<i16>, SchedulingClass, i32, bool);

impl Servant for Scheduled {
    fn repository_id(&self) -> &str {
        "IDL:test/Scheduled:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        drop(upcall.orb().raise_thread(priority(50)).unwrap());
        let now = schedule::current().unwrap();
        let corba = upcall.orb().thread_priority().map(Priority::get);
        *self.0.lock().unwrap() = Some((corba, now.class, now.priority, schedule::is_reserved()));
        upcall.done()
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// Servant that records the processors on which its thread may run.
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
