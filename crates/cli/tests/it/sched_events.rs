//! `oxorb sched` for suppliers and consumers that an event channel registered at a scheduling service.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxorb::{Interface as _, Orb};
use oxorb_event::rtec_event_channel_admin::EventChannelRef;
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushConsumerRef};
use oxorb_event::{ChannelOptions, EventChannel, Filter, TimeoutKind, asks_for, publishes};
use oxorb_scheduler::rtec_scheduler::SchedulerRef;
use oxorb_testkit::process::Process;
use serde_json::{Value, json};

use crate::common::{self, Folder, good};

const SET: &str = r#"
[[operation]]
name = "Sensor::sample"
wcet = "2 ms"
period = "10 ms"
criticality = "HIGH"

[[operation]]
name = "Display::show"
wcet = "3 ms"
criticality = "HIGH"
"#;

struct Nobody;

impl PushConsumer for Nobody {
    fn push(&self, _: &[Event]) {}

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

/// Starts `oxorb` as a server on this machine; returns its process and the line that it prints when serving.
fn serve(args: &[&str]) -> (Process, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.args(args);
    command.args(["--host", "127.0.0.1", "--format", "json"]);
    let mut process = Process::spawn(command);
    let line = process.wait_for_line("serving", Duration::from_secs(30));
    (process, serde_json::from_str(&line).unwrap())
}

/// `oxorb event serve --scheduler` registers the dependencies of consumers at the service, and enforces the periods of
/// suppliers.
#[test]
fn a_served_channel_tells_the_scheduling_service_and_enforces_its_rates() {
    let (_scheduling, said) = serve(&["sched", "serve"]);
    let at = said["corbaloc"][0].as_str().unwrap();
    let folder = Folder::new("event-scheduler");
    // With so long a period, any further event is beyond the rate.
    let slow = SET.replace("10 ms", "200 s");
    good(&["load", &folder.file("set.toml", &slow), "--at", at]);
    let rates = ["--scheduler", at, "--beyond-rate", "refuse"];
    let (_channel, said) = serve(&[&["event", "serve"][..], &rates].concat());
    let url = said["channels"][0]["corbaloc"][0].as_str().unwrap();

    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let scheduler = SchedulerRef::from_ref(orb.string_to_object(at).unwrap().reference().clone());
    let operation = |name| scheduler.lookup(name).unwrap();
    let channel: EventChannelRef = orb.resolve(url).unwrap();
    let consumer: PushConsumerRef = orb.root_poa().activate(Arc::new(Nobody)).unwrap();
    let mut wanted = asks_for(&Filter::event_type(17));
    wanted.dependencies[0].rt_info = operation("Display::show");
    let admin = channel.for_consumers().unwrap().unwrap();
    let proxy = admin.obtain_push_supplier().unwrap().unwrap();
    proxy.connect_push_consumer(Some(&consumer), &wanted).unwrap();
    let mut published = publishes([(17, 1)]);
    published.publications[0].dependency_info.rt_info = operation("Sensor::sample");
    let admin = channel.for_suppliers().unwrap().unwrap();
    let proxy = admin.obtain_push_consumer().unwrap().unwrap();
    proxy.connect_push_supplier(None, &published).unwrap();
    let part = scheduler.get(operation("Display::show#rep")).unwrap();
    let on = part.dependencies.iter().map(|one| one.rt_info_depended_on);
    assert_eq!(on.collect::<Vec<_>>(), [operation("Sensor::sample")]);

    let mut event = Event::default();
    (event.header.r#type, event.header.source) = (17, 1);
    for _ in 0..10 {
        proxy.push(std::slice::from_ref(&event)).unwrap();
    }
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let output = Command::new(env!("CARGO_BIN_EXE_oxorb"))
            .args(["event", "ls", "--at", url, "--format", "json"])
            .output()
            .unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let supplier = &told["channels"][0]["suppliers"][0];
        if supplier["events"] == 10 && supplier["refused"] == 9 {
            assert_eq!(supplier["beyond_rate"], 9, "{told}");
            break;
        }
        assert!(Instant::now() < end, "{told}");
    }
    orb.shutdown(true).unwrap();
}

#[test]
fn a_supplier_the_channel_and_a_consumer_are_one_chain_with_a_bound() {
    let (_process, said) = serve(&["sched", "serve", "--strategy", "MUF"]);
    let url = said["corbaloc"][0].as_str().unwrap();
    let folder = Folder::new("sched-events");
    good(&["load", &folder.file("set.toml", SET), "--at", url]);

    let orb = Orb::builder().build().unwrap();
    let scheduler = SchedulerRef::from_ref(orb.string_to_object(url).unwrap().reference().clone());
    let operation = |name| scheduler.lookup(name).unwrap();
    let channel = EventChannel::new(ChannelOptions::default());
    channel.schedule_with(scheduler.clone());
    channel.log(|notice| panic!("{notice}"));
    let mut wanted = asks_for(&Filter::event_type(17));
    wanted.dependencies[0].rt_info = operation("Display::show");
    let _consumer = channel.connect_consumer(Arc::new(Nobody), &wanted).unwrap();
    let mut published = publishes([(17, 1)]);
    published.publications[0].dependency_info.rt_info = operation("Sensor::sample");
    let supplier = channel.connect_supplier(None, &published).unwrap();

    for (strategy, mark) in [("RMS", "RMS"), ("MUF", "MUF")] {
        let told = good(&["analyse", "--strategy", strategy, "--at", url]);
        let expected = "
chain Sensor::sample -> Display::show#rep -> Display::show: done at most 5 ms after the release of Sensor::sample

safe: every critical deadline is proved
";
        assert!(told.starts_with(mark), "{told}");
        assert!(told.contains("ok   critical   0  Display::show#rep: meets"), "{told}");
        assert!(told.ends_with(expected), "{told}");
    }
    let told = good(&["analyse", "--at", url, "--format", "json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["chains"][0]["steps"][1], "Display::show#rep");
    assert_eq!(told["chains"][0]["response_ns"], 5_000_000);

    // A timeout starts a chain like a supplier.
    drop(supplier);
    let silence = Filter::Timeout { kind: TimeoutKind::Interval, period: 200_000 };
    let mut wanted = asks_for(&silence);
    wanted.dependencies[0].rt_info = operation("Display::show");
    let _timed = channel.connect_consumer(Arc::new(Nobody), &wanted).unwrap();
    let told = good(&["analyse", "--at", url]);
    let expected = "\nchain TIMEOUT:200000 -> Display::show#rep -> Display::show: \
        done at most 5 ms after the release of TIMEOUT:200000\n";
    assert!(told.contains(expected), "{told}");

    // If a supplier with another period is added, each period has a chain of its own.
    let mut published = publishes([(17, 1)]);
    published.publications[0].dependency_info.rt_info = operation("Sensor::sample");
    let _supplier = channel.connect_supplier(None, &published).unwrap();
    let told = good(&["analyse", "--at", url]);
    for (first, period) in [("Sensor::sample", 10), ("TIMEOUT:200000", 20)] {
        let expected = format!(
            "\nchain {first} -> Display::show#rep each {period} ms -> Display::show each {period} ms: done at most "
        );
        assert!(told.contains(&expected), "{told}");
    }
    orb.shutdown(true).unwrap();
}

/// A step with its own jitter has no chain: the command reports it.
#[test]
fn a_receiver_without_a_bound_is_named_with_the_reason() {
    let folder = Folder::new("sched-unchained");
    let show = "name = \"Display::show\"";
    let jitter = SET.replace(show, &format!("{show}\njitter = \"1 ms\""));
    let event = "[[event]]\nfrom = \"Sensor::sample\"\nto = \"Display::show\"\n";
    let file = folder.file("set.toml", &format!("{jitter}\n{event}"));
    let told = common::sched(&["analyse", &file, "--format", "json"]);
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let why = "Display::show has an offset or jitter, or another period than its senders";
    let without = json!([{"operation": "Display::show", "reason": why}]);
    assert_eq!(told["unchained"], without, "{told}");
    assert_eq!(told["chains"], json!([]));
    let text = common::text(&common::sched(&["analyse", &file]).stdout);
    let line = format!("\nDisplay::show: no end-to-end bound: {why}\n");
    assert!(text.contains(&line), "{text}");
}
