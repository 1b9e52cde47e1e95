//! Packets of lanes on a network: their DSCPs arrive, the DSCPs of clients select lanes, and the threads that take
//! packets have the priority of the lane. The tests run in their own namespaces, over veth devices.

use std::sync::Arc;
use std::time::Duration;

use oxorb::__gen::Op;
use oxorb::poa::{Policies, RtPolicies};
use oxorb::policy::{
    ClientProtocol, CommunicationClass, Protocol, Qos, RequestQos, TcpProtocolProperties,
};
use oxorb::rt::{
    Priority, PriorityModel, PriorityModelPolicy, SchedulingClass, Steering, Threadpool,
    ThreadpoolLane,
};
use oxorb::{Interface, ObjectRef, Orb, Outcome, Servant, SystemException, Upcall};
use oxorb_sys::schedule::{self, ThreadPriority, ThreadScheduling};
use oxorb_testkit::peers::missing;
use oxorb_testkit::process::{Process, rerun, test_name};
use oxorb_testkit::watchdog;

use crate::common::LONG;
use crate::common::world::{self, World};

/// Variable set in the server's process: the device whose packet threads the urgent lane wants to prioritize, or empty.
const SERVING: &str = "OXORB_FAULTS_LANES";

const SERVER: &str = "10.77.3.2";
const CLIENT: &str = "10.77.3.1";

const LEAST: i16 = 100;
const URGENT: i16 = 20_000;

/// Native priority of the urgent lane under the linear mapping.
const NATIVE: i32 = 60;

static WHERE: Op = Op::twoway("where");

/// Servant that reports its serving thread.
pub(crate) struct Worker;

impl Servant for Worker {
    fn repository_id(&self) -> &str {
        "IDL:test/Worker:1.0"
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let thread = std::thread::current();
        upcall.reply(|e| e.string(thread.name().unwrap_or_default()))
    }

    fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// Serves until SIGTERM, in the process of a server.
#[test]
fn serve_lanes() {
    let Ok(device) = std::env::var(SERVING) else {
        return;
    };
    let orb = Orb::builder()
        .listen("iiop://:0")
        .configure(|options| options.realtime.class = SchedulingClass::Fifo)
        .build()
        .expect("the server starts");
    let lane = |value| ThreadpoolLane::new(priority(value), 1);
    let mut urgent = lane(URGENT).dscp(46).socket_priority(6).busy_poll(Duration::from_micros(50));
    if !device.is_empty() {
        urgent = urgent.napi(device);
    }
    let lanes = [lane(LEAST).dscp(10), urgent];
    let pool = Threadpool::with_lanes(lanes).front("iiop://:0", Steering::Mark);
    let pool = orb.create_threadpool(pool).expect("a threadpool");
    let realtime = RtPolicies {
        threadpool: Some(pool),
        priority_model: Some(PriorityModelPolicy {
            model: PriorityModel::ClientPropagated,
            server_priority: LEAST,
        }),
        ..RtPolicies::default()
    };
    let policies = Policies { realtime, ..Policies::default() };
    let poa = orb.root_poa().create_poa("lanes", policies);
    let object = poa.expect("a POA").activate_servant(Arc::new(Worker)).expect("an object");
    orb.shutdown_on_signal().expect("signals");
    println!("{object}");
    orb.run();
}

/// Starts a server on the host `server`; also returns the server's object.
fn server(client: &Orb, napi: &str) -> (Process, ObjectRef) {
    let mut command = world::role("server", test_name(serve_lanes));
    command.env(SERVING, napi);
    let mut process = Process::spawn(command);
    let ior = process.wait_for_line("IOR:", LONG);
    let ior = &ior[ior.find("IOR:").expect("waited for")..];
    let object = client.string_to_object(ior.trim()).expect("a reference");
    (process, object)
}

fn connected(world: &World) {
    world.host("server");
    world.cable([("", CLIENT), ("server", SERVER)]);
}

fn client() -> Orb {
    Orb::builder().build().expect("an ORB")
}

pub(crate) fn priority(value: i16) -> Priority {
    Priority::new(value).expect("a priority")
}

pub(crate) fn whereabouts(object: &ObjectRef) -> String {
    let called = object.reference().invoke::<_, SystemException>(
        &WHERE,
        |_| Ok(()),
        |d| Ok(d.string()?.into_owned()),
    );
    called.expect("an answer")
}

/// Returns a reference to the same object with its first address only: the front.
fn at_front(client: &Orb, object: &ObjectRef) -> ObjectRef {
    let mut profiles = object.reference().ior().iiop_profiles();
    let first = profiles.next().expect("an IIOP profile");
    let key: String = first.object_key.iter().map(|octet| format!("%{octet:02x}")).collect();
    let url = format!("corbaloc:iiop:1.2@{}:{}/{key}", first.host, first.port);
    client.string_to_object(&url).expect("a reference")
}

/// Returns the number of packets that left a device by class of its queue: with DSCP 46, with DSCP 10, and all others.
fn packets(world: &World, device: &str) -> [u64; 3] {
    let told = world.run("server", "tc", &["-s", "class", "show", "dev", device]).expect("classes");
    ["1:10", "1:20", "1:30"].map(|class| {
        let named = format!("class htb {class} ");
        let of_class =
            told.split("class htb ").find(|part| format!("class htb {part}").starts_with(&named));
        let words: Vec<&str> = of_class.expect(&told).split_whitespace().collect();
        let at = words.iter().position(|word| word.starts_with("pkt"));
        words[at.expect(&told) - 1].parse().expect(&told)
    })
}

/// Makes a device count outgoing packets by DSCP; returns false if the kernel cannot.
fn count_by_mark(world: &World, device: &str) -> bool {
    let tc = |rest: &str| {
        let words: Vec<&str> = rest.split(' ').collect();
        world.run("server", "tc", &words)
    };
    let made = tc(&format!("qdisc add dev {device} root handle 1: htb default 30"));
    if let Err(why) = made {
        missing("the queueing discipline htb", &why);
        return false;
    }
    for class in ["1:10", "1:20", "1:30"] {
        let rate = "rate 1gbit ceil 1gbit quantum 60000";
        tc(&format!("class add dev {device} parent 1: classid {class} htb {rate}"))
            .expect("a class");
    }
    for (mark, class) in [("0xb8", "1:10"), ("0x28", "1:20")] {
        let filter = format!("filter add dev {device} parent 1: protocol ip prio 1 u32");
        let made = tc(&format!("{filter} match ip dsfield {mark} 0xfc flowid {class}"));
        if let Err(why) = made {
            missing("the classifier u32", &why);
            return false;
        }
    }
    true
}

/// Every packet of an answer carries the DSCP of its lane.
#[test]
fn the_mark_of_a_lane_arrives() {
    let _guard = watchdog(2 * LONG);
    let Some(world) = World::enter(test_name(the_mark_of_a_lane_arrives)) else {
        return;
    };
    connected(&world);
    let device = World::device(SERVER);
    if !count_by_mark(&world, &device) {
        return;
    }
    let orb = client();
    let (_server, object) = server(&orb, "");
    const CALLS: u64 = 50;
    for (value, lane, own) in [(URGENT, "oxorb-1.1", 0), (LEAST, "oxorb-1.0", 1)] {
        orb.set_thread_priority(priority(value)).expect("a priority");
        let before = packets(&world, &device);
        for _ in 0..CALLS {
            assert_eq!(whereabouts(&object), lane);
        }
        let after = packets(&world, &device);
        let grown: Vec<u64> = (0..3).map(|at| after[at] - before[at]).collect();
        assert!(grown[own] >= CALLS, "{lane}: {grown:?}");
        assert_eq!(grown[1 - own], 0, "{lane}: {grown:?}");
        // The handshake, and neighbour discovery.
        assert!(grown[2] < CALLS, "{lane}: {grown:?}");
    }
}

/// The classic BPF program of a front selects the lane whose DSCP the packets carry.
#[test]
fn the_mark_of_a_client_leads_over_the_network_to_its_lane() {
    let _guard = watchdog(2 * LONG);
    let Some(world) =
        World::enter(test_name(the_mark_of_a_client_leads_over_the_network_to_its_lane))
    else {
        return;
    };
    connected(&world);
    let orb = client();
    let (_server, object) = server(&orb, "");
    let front = at_front(&orb, &object);
    assert_eq!(whereabouts(&front), "oxorb-1.0", "without a mark");
    let properties =
        TcpProtocolProperties { enable_network_priority: true, ..TcpProtocolProperties::default() };
    let marking = ClientProtocol::new(&[Protocol::with(0, properties)]);
    let front = front.with(marking.expect("one protocol"));
    for (class, lane) in
        [(CommunicationClass::Isochronous, "oxorb-1.1"), (CommunicationClass::Burst, "oxorb-1.0")]
    {
        let qos = Qos { class, ..Qos::default() };
        assert_eq!(whereabouts(&front.with(RequestQos(qos))), lane, "{class:?}");
    }
}

/// Returns the scheduling of the threads that take the packets of a device.
fn threads(device: &str) -> Vec<ThreadScheduling> {
    let threads = oxorb_sys::napi::threads(device);
    let schedule = |id: i32| schedule::of(id).ok();
    threads.into_iter().filter_map(schedule).collect()
}

/// The threads of a device have the priority of the lane while the lane exists.
#[test]
fn the_threads_of_a_device_have_the_priority_of_the_lane() {
    let _guard = watchdog(2 * LONG);
    let Some(world) =
        World::enter_with_kernel(test_name(the_threads_of_a_device_have_the_priority_of_the_lane))
    else {
        return;
    };
    connected(&world);
    let device = World::device(SERVER);
    // A veth device has NAPI queues if it coalesces packets.
    if let Err(why) = world.run("server", "ethtool", &["-K", &device, "gro", "on"]) {
        return missing("a veth device with NAPI (ethtool)", &why);
    }
    let orb = client();
    let (mut server, object) = server(&orb, &device);
    let expected =
        ThreadScheduling::Class(ThreadPriority { class: SchedulingClass::Fifo, priority: NATIVE });
    let found = threads(&device);
    assert!(!found.is_empty() && found.iter().all(|it| *it == expected), "{found:?}");
    orb.set_thread_priority(priority(URGENT)).expect("a priority");
    assert_eq!(whereabouts(&object), "oxorb-1.1", "over those threads");
    let ended = std::process::Command::new("kill").arg(server.id().to_string()).status();
    assert!(ended.expect("kill runs").success());
    assert!(server.wait(LONG).success());
    let until = std::time::Instant::now() + Duration::from_secs(30);
    while !threads(&device).is_empty() {
        assert!(std::time::Instant::now() < until, "{:?}", threads(&device));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Kernel threads are invisible in a container. This is logged once, and the lane serves nevertheless.
#[test]
fn a_container_that_sees_no_threads_is_told_why() {
    let _guard = watchdog(2 * LONG);
    let Some(world) = World::enter(test_name(a_container_that_sees_no_threads_is_told_why)) else {
        return;
    };
    connected(&world);
    let device = World::device(SERVER);
    // Without this setting, the device has no threads for its packets, and the log is the same.
    let _ = world.run("server", "ethtool", &["-K", &device, "gro", "on"]);
    let orb = client();
    let (mut server, object) = server(&orb, &device);
    orb.set_thread_priority(priority(URGENT)).expect("a priority");
    for _ in 0..3 {
        assert_eq!(whereabouts(&object), "oxorb-1.1");
    }
    server.kill();
    let told = server.output().iter().map(|line| line.text.as_str());
    let told: Vec<&str> = told.filter(|line| line.contains("napi")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("no thread processes its packets"), "{told:?}");
}

/// A version 1 control group may have no time for real-time threads: the kernel refuses their priorities regardless of
/// capabilities, and the lanes still serve.
#[test]
fn a_control_group_without_real_time_is_told_once() {
    const GROUPS: &str = "/sys/fs/cgroup/cpu";
    let _guard = watchdog(2 * LONG);
    let group = std::path::Path::new(GROUPS).join(format!("oxorb-faults-{}", std::process::id()));
    if !std::path::Path::new(GROUPS).join("cpu.rt_runtime_us").exists() {
        // Kernels with version 2 only have no such limit.
        let said = b"not tested: this kernel limits no real-time threads by control group\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), said);
        return;
    }
    let throttling = std::fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us");
    if throttling.is_ok_and(|limit| limit.trim() == "-1") {
        // With this setting, the kernel does not check the groups' limits either.
        let said = b"not tested: sched_rt_runtime_us is -1, so no real-time threads are limited\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), said);
        return;
    }
    if let Err(error) = std::fs::create_dir(&group) {
        return missing("a control group (root)", &error.to_string());
    }
    let inner = rerun(test_name(serve_lanes));
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""])
        .arg(&group)
        .arg(inner.get_program())
        .args(inner.get_args())
        .env(SERVING, "");
    let mut process = Process::spawn(command);
    let ior = process.wait_for_line("IOR:", LONG);
    let ior = &ior[ior.find("IOR:").expect("waited for")..];
    let orb = client();
    let object = orb.string_to_object(ior.trim()).expect("a reference");
    for value in [URGENT, LEAST] {
        orb.set_thread_priority(priority(value)).expect("a priority");
        let lane = if value == URGENT { "oxorb-1.1" } else { "oxorb-1.0" };
        assert_eq!(whereabouts(&object), lane);
    }
    process.kill();
    // The group is empty once the kernel has released the process.
    let until = std::time::Instant::now() + LONG;
    while std::fs::remove_dir(&group).is_err() && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let lines = process.output().iter();
    let told = lines.filter(|line| line.text.contains("may not have real-time priorities"));
    assert_eq!(told.count(), 1);
}

/// Each refusal by the system for lack of privilege is logged once, with its remedy, and all lanes serve.
#[test]
fn without_privilege_each_downgrade_is_told_once() {
    let _guard = watchdog(2 * LONG);
    let inner = rerun(test_name(serve_lanes));
    let program = std::path::Path::new(inner.get_program());
    // Readable by everybody: the build folder may be private.
    let copy = std::env::temp_dir().join(format!("oxorb-faults-lanes-{}", std::process::id()));
    std::fs::copy(program, &copy).expect("a copy");
    let mut command = std::process::Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .args(["--inh-caps=-all", "--bounding-set=-all", "--"])
        .arg(&copy)
        .args(inner.get_args())
        .env(SERVING, "lo")
        .env("OXORB_LOCKMEMORY", "1")
        .current_dir("/");
    let permitted = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "true"])
        .status();
    if !permitted.is_ok_and(|status| status.success()) {
        let _ = std::fs::remove_file(&copy);
        return missing("another user (setpriv, as root)", "it is refused");
    }
    let mut process = Process::spawn(command);
    let ior = process.wait_for_line("IOR:", LONG);
    let ior = &ior[ior.find("IOR:").expect("waited for")..];
    for value in [URGENT, LEAST, URGENT, LEAST] {
        let orb = client();
        orb.set_thread_priority(priority(value)).expect("a priority");
        let object = orb.string_to_object(ior.trim()).expect("a reference");
        let lane = if value == URGENT { "oxorb-1.1" } else { "oxorb-1.0" };
        assert_eq!(whereabouts(&object), lane);
        orb.shutdown(true).expect("it ends");
    }
    process.kill();
    let _ = std::fs::remove_file(&copy);
    let told: Vec<&str> = process.output().iter().map(|line| line.text.as_str()).collect();
    for what in ["may not have real-time priorities", "may not lock its memory", "napi lo:"] {
        let lines = told.iter().filter(|line| line.contains(what)).count();
        assert_eq!(lines, 1, "{what}: {told:#?}");
    }
    // New kernels let everybody poll.
    let polling = told.iter().filter(|line| line.contains("busy_poll is more than"));
    assert!(polling.count() <= 1, "{told:#?}");
}
