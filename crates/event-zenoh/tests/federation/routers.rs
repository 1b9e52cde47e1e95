//! Two hosts, each with a router and a channel that is connected to it. A router is killed and restarted, and then the
//! cable loses all packets for a while. The supplier numbers all events, so that missing ones can be counted.
//!
//! ```text
//! [north: supplier, channel --client--> router] ==cable== [south: router <--client-- channel, consumer]
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use oxorb_event::delivery::Qos;
use oxorb_event::{ChannelOptions, EventChannel, Filter, publishes};
use oxorb_event_zenoh::{
    Federation, FederationOptions, Mode, Node, Priorities, WhenCongested, ZenohGateway,
};
use oxorb_testkit::process::Process;

use super::{LONG, Record, event, until};

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../../tests/faults/tests/it/common/world.rs"]
mod world;

use world::World;

const NORTH: &str = "10.77.1.1";
const SOUTH: &str = "10.77.1.2";
/// Types of the events. Each has a different priority.
const TYPES: [i32; 3] = [17, 18, 19];
const PRIORITIES: &str = "17@real-time 18@data 19@background";
/// Files by which the test signals its hosts. Each test environment has its own /run.
const GO: &str = "/run/federation-go";
const STOP: &str = "/run/federation-stop";
/// First octet of a probe, which shows that events of its type reach the consumer.
const HELLO: u8 = b'h';
/// First octet of an event that the consumer counts.
const NUMBERED: u8 = b'n';
/// First octet of the events that follow the last counted event.
const END: u8 = b'e';

#[test]
fn order_is_kept_and_gaps_are_counted_while_a_router_dies_and_a_cable_is_cut() {
    let Some(world) = World::enter(
        "routers::order_is_kept_and_gaps_are_counted_while_a_router_dies_and_a_cable_is_cut",
    ) else {
        return;
    };
    world.host("north");
    world.host("south");
    world.cable([("north", NORTH), ("south", SOUTH)]);
    let router = |host: &str, other: &str| {
        let mut command = world::role(host, "routers::router");
        command.env("FEDERATION_CONNECT", format!("tcp/{other}:7447"));
        let mut process = Process::spawn(command);
        process.wait_for_line("routing", LONG);
        process
    };
    let _north = router("north", SOUTH);
    let mut south = router("south", NORTH);
    let member = |host: &str, role: &str| Process::spawn(world::role(host, role));
    let mut consumer = member("south", "routers::consumer");
    let mut supplier = member("north", "routers::supplier");
    consumer.wait_for_line("hears all", LONG);
    mark(GO);
    consumer.wait_for_line("steady", LONG);
    let before = waits_for(&mut consumer, "mark", 2);

    // A killed process sends nothing more, but the kernel of its host resets its connections.
    south.kill();
    sleep(Duration::from_secs(1));
    let _south = router("south", NORTH);
    let after = more_than(&mut consumer, before + 1_000);

    // While the cable is cut, no connection is reset. TCP retransmits the data afterwards.
    world.swallow("north", SOUTH);
    world.swallow("south", NORTH);
    sleep(Duration::from_secs(2));
    world.release("north", SOUTH);
    world.release("south", NORTH);
    more_than(&mut consumer, after + 1_000);

    mark(STOP);
    let sent = supplier.wait_for_line("pushed", LONG);
    let got = consumer.wait_for_line("got", LONG);
    println!("supplier: {sent}\nconsumer: {got}");
    let (sent, got) = (numbers(&sent), numbers(&got));
    let &[pushed, dropped, failed] = &sent[..] else { panic!("three numbers: {sent:?}") };
    let &[received, lost, disordered, repeated, dropped_there] = &got[..] else {
        panic!("five numbers: {got:?}")
    };
    assert_eq!(disordered, 0, "each type comes in the order of its supplier");
    assert_eq!((dropped, failed, dropped_there), (0, 0, 0));
    assert!(lost > 0, "the router that was killed took events along");
    assert_eq!(pushed, received + lost, "repeated: {repeated}");
}

/// Returns the numbers in a line of output.
fn numbers(line: &str) -> Vec<u64> {
    line.split(' ').filter_map(|word| word.parse().ok()).collect()
}

fn mark(file: &str) {
    std::fs::write(file, "").unwrap();
}

fn waits_for(process: &mut Process, line: &str, times: usize) -> u64 {
    let mut last = 0;
    for _ in 0..times {
        last = numbers(&process.wait_for_line(line, LONG))[0];
    }
    last
}

/// Waits until a consumer has received an event later than `number`, and returns the number of that event.
fn more_than(process: &mut Process, number: u64) -> u64 {
    loop {
        let last = waits_for(process, "mark", 1);
        if last > number {
            return last;
        }
    }
}

fn inside() -> bool {
    std::env::var_os("OXORB_FAULTS_WORLD").is_some()
}

#[test]
#[ignore = "a role of another test"]
fn router() {
    if !inside() {
        return;
    }
    let node = Node {
        mode: Mode::Router,
        listen: vec!["tcp/0.0.0.0:7447".to_owned()],
        connect: std::env::var("FEDERATION_CONNECT").into_iter().collect(),
        ..Node::default()
    };
    let _router = Federation::join(&node).unwrap();
    println!("routing");
    // Route until the test kills this process.
    loop {
        sleep(LONG);
    }
}

/// Creates a channel whose gateway is a client of the router on its host.
fn member() -> (EventChannel, ZenohGateway) {
    let node = Node {
        mode: Mode::Client,
        connect: vec!["tcp/127.0.0.1:7447".to_owned()],
        ..Node::default()
    };
    let federation = Federation::join(&node).unwrap();
    let channel = EventChannel::new(ChannelOptions::default());
    let queue = Qos { events: 100_000, ..Qos::default() };
    let options = FederationOptions {
        priorities: Priorities::by_type(PRIORITIES).unwrap(),
        when_congested: WhenCongested::Wait,
        sending: queue.clone(),
        receiving: queue,
        ..FederationOptions::default()
    };
    let gateway = ZenohGateway::start(&channel, &federation, options).unwrap();
    (channel, gateway)
}

#[test]
#[ignore = "a role of another test"]
fn supplier() {
    if !inside() {
        return;
    }
    let (channel, gateway) = member();
    let supplier = channel.connect_supplier(None, &publishes([(0, 0)])).unwrap();
    let push = |kind: u8, number: u64| {
        let mut payload = vec![kind];
        payload.extend(number.to_be_bytes());
        supplier.push(&TYPES.map(|one| event(one, 1, 5, &payload))).unwrap();
    };
    while !Path::new(GO).exists() {
        push(HELLO, 0);
        sleep(Duration::from_millis(20));
    }
    let mut number = 0;
    while !Path::new(STOP).exists() {
        number += 1;
        push(NUMBERED, number);
        sleep(Duration::from_millis(2));
    }
    until("all are with zenoh", || gateway.statistics().sending.waiting == 0);
    let seen = gateway.statistics();
    println!(
        "pushed {} dropped {} failed {}",
        number * TYPES.len() as u64,
        seen.sending.dropped_in_all(),
        seen.failed
    );
    // Push the end repeatedly, since some events may be lost, until the test kills this process.
    loop {
        push(END, number);
        sleep(Duration::from_millis(100));
    }
}

#[test]
#[ignore = "a role of another test"]
fn consumer() {
    if !inside() {
        return;
    }
    let (channel, gateway) = member();
    let (record, _connection) =
        Record::at(&channel, &Filter::any_of(TYPES.map(Filter::event_type)));
    hears_all(&record);
    println!("hears all");
    until("numbers come", || record.all().iter().any(|one| one.data.payload[0] == NUMBERED));
    // Events are counted from here on. Probes, and events lost before, are not counted.
    println!("steady");
    let mut marked = 0;
    loop {
        sleep(Duration::from_millis(100));
        let all = record.all();
        let of = |event_type: i32| all.iter().filter(move |one| one.header.r#type == event_type);
        // Take the minimum of all types, so that every type has arrived up to this number.
        let last = TYPES.map(|one| of(one).last().map_or(0, |last| number(&last.data.payload)));
        let last = last.into_iter().min().unwrap_or(0);
        if last > marked {
            marked = last;
            println!("mark {last}");
        }
        if TYPES.iter().all(|one| of(*one).any(|one| one.data.payload[0] == END)) {
            break;
        }
    }
    let mut last = BTreeMap::<i32, u64>::new();
    let (mut received, mut disordered) = (0_u64, 0);
    let mut missing = 0;
    for one in record.all() {
        let now = number(&one.data.payload);
        let before = last.entry(one.header.r#type).or_default();
        match one.data.payload[0] {
            NUMBERED if now <= *before => disordered += 1,
            NUMBERED => {
                received += 1;
                missing += now - *before - 1;
                *before = now;
            }
            // The end carries the last number, so the events between were lost.
            END => {
                missing += now - *before;
                *before = now;
            }
            _ => {}
        }
    }
    let seen = gateway.statistics();
    // Lost ends are counted by the gateway, but not in `missing`.
    assert!(seen.lost >= missing, "the gateway counts its gaps: {seen:?}");
    assert!(seen.lost <= missing + 100, "and no others: {seen:?}");
    // Print this line last, because the test kills this process when it has read the line.
    println!(
        "got {received} lost {missing} disordered {disordered} repeated {} dropped {}",
        seen.repeated,
        seen.receiving.dropped_in_all(),
    );
}

fn hears_all(record: &Arc<Record>) {
    until("all three types come", || {
        let all = record.all();
        TYPES.iter().all(|one| all.iter().any(|got| got.header.r#type == *one))
    });
}

fn number(payload: &[u8]) -> u64 {
    let number = payload[1..].first_chunk().expect("eight octets");
    u64::from_be_bytes(*number)
}
