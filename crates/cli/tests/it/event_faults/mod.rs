//! `oxorb event serve` under load, with suppliers, consumers and channels that are killed, stopped, flooded and cut
//! off: numbers are checked from end to end (issue 16, item 8). These tests are here and not in `tests/faults`, because
//! Cargo builds a program only for the tests of its own package.

#[path = "../../../../../tests/faults/tests/it/common/world.rs"]
#[allow(dead_code, reason = "these tests use their part")]
mod world;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oxorb_testkit::process::{Process, test_name};
use oxorb_testkit::{at_once, watchdog};
use serde_json::Value;
use world::World;

/// Time limit for expected events, which no machine exceeds, however loaded.
const LONG: Duration = Duration::from_secs(60);

fn oxorb(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.arg("event").args(args).stdin(Stdio::null());
    command
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn signal(process: &Process, signal: &str) {
    let id = process.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status();
    assert!(sent.unwrap().success());
}

/// Server of one channel.
struct Server {
    process: Process,
    url: String,
}

impl Server {
    /// Starts the server. A consumer on a loaded machine has as much time to answer as it needs.
    fn start(args: &[&str]) -> Server {
        let given = args.contains(&"--call-timeout");
        let patience: &[&str] = if given { &[] } else { &["--call-timeout", "60000"] };
        let args = [&["serve", "--format", "json"], patience, args].concat();
        Server::spawn(|| oxorb(&args))
    }

    /// Starts the server. Tries again if its port, which was free before a restart, is briefly in use by another test.
    fn spawn(command: impl Fn() -> Command) -> Server {
        let end = Instant::now() + LONG;
        loop {
            let mut process = Process::spawn(command());
            let said = process.wait_for_any(&["serving", "in use"], LONG);
            if said.contains("in use") && Instant::now() < end {
                process.wait(LONG);
                continue;
            }
            let said = json(&said);
            let url = said["channels"][0]["corbaloc"][0].as_str().unwrap();
            return Server { url: url.to_owned(), process };
        }
    }

    /// Starts a consumer that reports gaps, and waits until it is connected.
    fn consumer(&self, args: &[&str]) -> Consumer {
        let at = ["--at", &self.url, "--format", "json", "--gaps"];
        let mut process = Process::spawn(oxorb(&[&["sub"], args, &at[..]].concat()));
        process.wait_for_line("connected", LONG);
        Consumer(process)
    }

    /// Starts a supplier of numbered events.
    fn supplier(&self, source: &str, args: &[&str]) -> Process {
        let numbers = ["pub", "--type", "17", "--number", "--source", source];
        // The supplier's last call returns when the channel has served all events before it, which may take long on a
        // busy machine.
        let at = ["--at", self.url.as_str(), "--timeout", "600000"];
        Process::spawn(oxorb(&[&numbers[..], args, &at].concat()))
    }

    /// Pushes numbers from 0 to `count`, and waits until the channel has accepted them.
    fn push(&self, source: &str, count: u64, args: &[&str]) {
        let count = count.to_string();
        let mut supplier = self.supplier(source, &[&["--count", &count], args].concat());
        supplier.wait_success(LONG);
    }

    fn consumers(&self) -> Vec<Value> {
        let args = ["ls", "--at", &self.url, "--format", "json"];
        let output = oxorb(&args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
        listed["channels"][0]["consumers"].as_array().unwrap().clone()
    }
}

/// Consumer in its own process, and its output.
struct Consumer(Process);

/// Events that a consumer received from one source.
#[derive(Debug, Default, PartialEq)]
struct Got {
    /// Numbers of each run of the supplier, in order.
    runs: Vec<Vec<u64>>,
    /// Number of events missing according to the reported gaps.
    lost: u64,
}

impl Consumer {
    fn wait_for(&mut self, source: &str, number: u64) {
        let number = format!("\"value\":{number}}}");
        let of_source = format!("\"source\":{source},");
        while !self.0.wait_for_line(&number, LONG).contains(&of_source) {}
    }

    fn got(&mut self, source: i64) -> Got {
        self.got_where(|event| event["source"] == source, source)
    }

    /// Returns the events of a source that satisfy the condition, and the gaps of the source.
    fn got_where(&mut self, counts: impl Fn(&Value) -> bool, source: i64) -> Got {
        let mut got = Got::default();
        for line in self.0.output() {
            let Ok(line) = serde_json::from_str::<Value>(&line.text) else {
                continue;
            };
            if line["event"] == "gap" && line["of_source"] == source {
                got.lost += line["events"].as_u64().unwrap();
            }
            if counts(&line) {
                let number = line["value"].as_u64().unwrap();
                match got.runs.last_mut() {
                    Some(run) if run.last() < Some(&number) => run.push(number),
                    _ => got.runs.push(vec![number]),
                }
            }
        }
        got
    }
}

/// Asserts that each run of the supplier has its number of events, from number 0 on.
#[track_caller]
fn assert_whole(got: &Got, runs: &[u64]) {
    let expected: Vec<Vec<u64>> = runs.iter().map(|&events| (0..events).collect()).collect();
    assert!(got.lost == 0 && got.runs == expected, "{got:?}");
}

/// Asserts that the received events of a single run and those reported as missing add up to all events, up to the last
/// one received.
#[track_caller]
fn assert_accounted_for(got: &Got) {
    assert_eq!(got.runs.len(), 1, "out of order: {got:?}");
    let (run, first) = (&got.runs[0], got.runs[0][0]);
    let all = run.last().unwrap() + 1 - first;
    assert_eq!(run.len() as u64 + got.lost, all);
}

fn drops(consumer: &Value) -> u64 {
    let drops = consumer["drops"].as_object().unwrap().values();
    drops.map(|events| events.as_u64().unwrap()).sum()
}

#[test]
fn a_channel_that_is_killed_under_load_is_found_again() {
    let _guard = watchdog(2 * LONG);
    let port = oxorb_testkit::net::free_port().to_string();
    let mut server = Server::start(&["--port", &port, "--queue", "100000"]);
    let policy = ["--ping", "0.1", "--timeout", "20000", "--reconnect", "0"];
    let mut consumer = server.consumer(&policy);
    let mut supplier = server.supplier("1", &["--rate", "500"]);
    consumer.wait_for("1", 100);
    server.process.kill();
    assert!(!supplier.wait(LONG).success(), "it pushes to nobody");
    consumer.0.wait_for_line("\"lost\"", LONG);
    let server = Server::start(&["--port", &port]);
    consumer.0.wait_for_line("\"reconnected\"", LONG);
    server.push("1", 200, &["--rate", "2000"]);
    consumer.wait_for("1", 199);
    let got = consumer.got(1);
    let before = got.runs[0].len() as u64;
    assert!(before > 100);
    assert_whole(&got, &[before, 200]);
}

#[test]
fn a_supplier_that_is_killed_harms_no_other() {
    let _guard = watchdog(2 * LONG);
    let server = Server::start(&["--queue", "100000"]);
    let mut consumer = server.consumer(&[]);
    let mut victim = server.supplier("2", &["--rate", "1000"]);
    let mut steady = server.supplier("1", &["--rate", "500", "--count", "600"]);
    consumer.wait_for("2", 100);
    victim.kill();
    steady.wait_success(LONG);
    consumer.wait_for("1", 599);
    assert_whole(&consumer.got(1), &[600]);
    // The victim's successor starts from 0. Its events have another type, because the victim's last events may arrive
    // among them.
    let numbers = ["pub", "--type", "18", "--number", "--source", "2", "--count", "50"];
    let at = ["--at", server.url.as_str(), "--timeout", "600000"];
    Process::spawn(oxorb(&[&numbers[..], &at].concat())).wait_success(LONG);
    consumer.wait_for("2", 49);
    let of_type = |consumer: &mut Consumer, kind: i64| {
        consumer.got_where(|event| event["source"] == 2 && event["type"] == kind, 2).runs
    };
    let cut = of_type(&mut consumer, 17);
    assert_eq!(cut, [(0..cut[0].len() as u64).collect::<Vec<_>>()]);
    assert_eq!(of_type(&mut consumer, 18), [(0..50).collect::<Vec<_>>()]);
}

#[test]
fn a_consumer_that_is_killed_is_let_go_and_another_misses_nothing() {
    let _guard = watchdog(2 * LONG);
    let server = Server::start(&["--ping", "1", "--queue", "100000"]);
    let mut victim = server.consumer(&[]);
    let mut steady = server.consumer(&[]);
    let mut supplier = server.supplier("1", &["--rate", "1000", "--count", "1500"]);
    victim.wait_for("1", 100);
    victim.0.kill();
    supplier.wait_success(LONG);
    steady.wait_for("1", 1_499);
    assert_whole(&steady.got(1), &[1_500]);
    let end = Instant::now() + LONG;
    while server.consumers().len() > 1 {
        assert!(Instant::now() < end, "{:?}", server.consumers());
    }
    assert_eq!(drops(&server.consumers()[0]), 0);
}

/// The consumer loses the events that its queue cannot hold, and their number is reported; other consumers lose
/// nothing.
#[test]
fn a_consumer_that_stops_reading_loses_what_is_counted() {
    let _guard = watchdog(2 * LONG);
    // Without pings and with a long time limit of calls, no consumer is disconnected for being slow.
    let server = Server::start(&["--ping", "0", "--queue", "32", "--call-timeout", "60000"]);
    let mut stopped = server.consumer(&["--queue", "100000"]);
    let mut steady = server.consumer(&["--queue", "100000"]);
    server.push("1", 10, &["--rate", "200"]);
    stopped.wait_for("1", 9);
    signal(&stopped.0, "-STOP");
    // Push more events than the queue and the buffers of the sockets can hold.
    server.push("2", 60_000, &["--rate", "20000"]);
    signal(&stopped.0, "-CONT");
    let end = Instant::now() + LONG;
    // An event is counted as delivered only when its delivery has returned.
    let is_settled = |one: &Value| {
        one["waiting"] == 0
            && one["matched"].as_u64() == Some(one["delivered"].as_u64().unwrap() + drops(one))
    };
    let consumers = loop {
        let consumers = server.consumers();
        if consumers.iter().all(is_settled) {
            break consumers;
        }
        assert!(Instant::now() < end, "{consumers:?}");
    };
    assert_eq!(consumers.len(), 2);
    assert!(consumers.iter().all(|one| one["matched"] == 60_010), "{consumers:?}");
    assert!(drops(&consumers[0]) > 0, "{}", consumers[0]);
    // The default policy is drop-oldest, so the last event of a source arrives.
    stopped.wait_for("2", 59_999);
    steady.wait_for("2", 59_999);
    let got = stopped.got(2);
    assert_accounted_for(&got);
    let first = got.runs[0][0];
    assert_eq!(first + got.lost, drops(&consumers[0]), "as many as are told");
    let got = steady.got(2);
    assert_eq!(got.runs[0][0] + got.lost, drops(&consumers[1]));
}

/// A supplier at a hundred times the rate of another does not affect it.
#[test]
fn a_supplier_at_a_hundred_times_its_rate_costs_others_nothing() {
    let _guard = watchdog(2 * LONG);
    // The queue has capacity for all events of the paced supplier, so that none is lost if the machine stops for a
    // second.
    let server = Server::start(&["--queue", "1024"]);
    let mut steady = server.consumer(&["source==1"]);
    let mut all = server.consumer(&["--queue", "1000000"]);
    let mut flood = server.supplier("2", &["--rate", "10000", "--count", "30000"]);
    let mut paced = server.supplier("1", &["--rate", "100", "--count", "200"]);
    paced.wait_success(LONG);
    flood.wait_success(LONG);
    steady.wait_for("1", 199);
    assert_whole(&steady.got(1), &[200]);
    all.wait_for("2", 29_999);
    let end = Instant::now() + LONG;
    let idle = || server.consumers().iter().all(|one| one["waiting"] == 0);
    while !idle() {
        assert!(Instant::now() < end, "{:?}", server.consumers());
    }
    let dropped = drops(&server.consumers()[1]);
    let lost = [1, 2].map(|source| {
        let got = all.got(source);
        assert_accounted_for(&got);
        got.runs[0][0] + got.lost
    });
    // No event reveals a gap at the very end of source 1, so it is added here.
    let last = *all.got(1).runs[0].last().unwrap();
    assert_eq!(lost[0] + lost[1] + (199 - last), dropped);
    assert_eq!(drops(&server.consumers()[0]), 0);
}

/// A channel is stopped and continued at any moment of a reconnection: a single connection results.
#[test]
fn who_connects_again_is_connected_once() {
    let _guard = watchdog(3 * LONG);
    // The time limit of a call is short, so that attempts to reconnect are abandoned, but long enough for a loaded
    // machine.
    at_once([[0, 2100], [300, 1800], [600, 1500], [900, 1200]], |pauses| {
        let server = Server::start(&["--ping", "0"]);
        let policy = ["--ping", "0.1", "--timeout", "1000", "--reconnect", "0"];
        let mut consumer = server.consumer(&policy);
        for pause in pauses.map(Duration::from_millis) {
            signal(&server.process, "-STOP");
            consumer.0.wait_for_line("\"lost\"", LONG);
            std::thread::sleep(pause);
            signal(&server.process, "-CONT");
            consumer.0.wait_for_line("\"reconnected\"", LONG);
        }
        let end = Instant::now() + LONG;
        while server.consumers().len() != 1 {
            assert!(Instant::now() < end, "{:?}", server.consumers());
        }
        server.push("1", 10, &[]);
        consumer.wait_for("1", 9);
        assert_whole(&consumer.got(1), &[10]);
    });
}

/// Events that arrive faster than they are written do not keep a consumer from ending gracefully.
#[test]
fn an_overloaded_consumer_ends_when_it_is_asked() {
    let _guard = watchdog(2 * LONG);
    let server = Server::start(&["--queue", "100000"]);
    let mut consumer = server.consumer(&["--queue", "64"]);
    let mut floods = ["1", "2"].map(|source| server.supplier(source, &["--rate", "50000"]));
    consumer.0.wait_for_line("\"gap\"", LONG);
    signal(&consumer.0, "-TERM");
    // The command ends with a status, and not by the signal. The status is 1 if numbers are missing (--gaps).
    assert!(consumer.0.wait(LONG).code().is_some());
    floods.iter_mut().for_each(Process::kill);
}

/// Consumers that do not answer are disconnected in parallel, and the server ends without them after a time limit.
#[test]
fn a_server_ends_however_many_consumers_do_not_answer() {
    let _guard = watchdog(3 * LONG);
    let names = ["a", "b", "c", "d"];
    let policy = ["--ping", "0", "--call-timeout", "60000"];
    let mut server = Server::start(&[&names[..], &policy].concat());
    let url = server.url.strip_suffix("/a").unwrap().to_owned();
    let stopped = names.map(|name| {
        server.url = format!("{url}/{name}");
        let consumer = server.consumer(&[]);
        signal(&consumer.0, "-STOP");
        server.push("1", 10, &[]);
        consumer
    });
    signal(&server.process, "-TERM");
    server.process.wait(LONG);
    drop(stopped);
}

/// A network that drops everything for a while: events before and after are in order, and the gap is reported.
#[test]
fn a_partition_leaves_a_gap_that_is_told() {
    let _guard = watchdog(3 * LONG);
    let Some(world) = World::enter(test_name(a_partition_leaves_a_gap_that_is_told)) else {
        return;
    };
    let (here, there) = ("10.79.1.2", "10.79.2.2");
    world.host("router");
    world.host("server");
    world.cable([("", here), ("router", "10.79.1.1")]);
    world.cable([("router", "10.79.2.1"), ("server", there)]);
    world.forward("router");
    world.route("", "10.79.2.0/24", "10.79.1.1");
    world.route("server", "10.79.1.0/24", "10.79.2.1");
    let args = ["serve", "--format", "json", "--host", there, "--ping", "1"];
    let args = [&args[..], &["--call-timeout", "300", "--queue", "100000"]].concat();
    let server = Server::spawn(|| world::on("server", &oxorb(&args)));
    let policy = ["--host", here, "--ping", "0.3", "--timeout", "2000", "--reconnect", "0"];
    let mut consumer = server.consumer(&policy);
    // The supplier is on the channel's side of the network, so the partition does not affect it.
    let numbers = ["pub", "--type", "17", "--number", "--rate", "200", "--at"];
    let supplier = oxorb(&[&numbers[..], &[server.url.as_str()]].concat());
    let mut supplier = Process::spawn(world::on("server", &supplier));
    consumer.wait_for("1", 100);
    world.swallow("router", here);
    consumer.0.wait_for_line("\"lost\"", LONG);
    world.release("router", here);
    consumer.0.wait_for_line("\"reconnected\"", LONG);
    let seen = *consumer.got(1).runs[0].last().unwrap();
    // If the partition lasts long enough, events are lost, and each lost event is reported.
    while json(&consumer.0.wait_for_line("\"value\":", LONG))["value"].as_u64() < Some(seen + 200) {
    }
    supplier.kill();
    let got = consumer.got(1);
    assert_accounted_for(&got);
    assert_eq!(got.runs[0][0], 0);
}
