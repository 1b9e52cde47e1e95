//! `oxorb sched` of suppliers and consumers that an event channel told a scheduling service of (A11.18, A17.4).

mod common;

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use common::{Folder, good};
use oxorb::{Interface as _, Orb};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{ChannelOptions, EventChannel, Filter, TimeoutKind, asks_for, publishes};
use oxorb_scheduler::rtec_scheduler::SchedulerRef;
use oxorb_testkit::process::Process;
use serde_json::Value;

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

#[test]
fn a_supplier_the_channel_and_a_consumer_are_one_chain_with_a_bound() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.args([
        "sched",
        "serve",
        "--host",
        "127.0.0.1",
        "--format",
        "json",
        "--strategy",
        "MUF",
    ]);
    let mut process = Process::spawn(command);
    let line = process.wait_for_line("serving", Duration::from_secs(30));
    let said: Value = serde_json::from_str(&line).unwrap();
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
        assert!(
            told.contains("ok   critical   0  Display::show#rep: meets"),
            "{told}"
        );
        assert!(told.ends_with(expected), "{told}");
    }
    let told = good(&["analyse", "--at", url, "--format", "json"]);
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["chains"][0]["steps"][1], "Display::show#rep");
    assert_eq!(told["chains"][0]["response_ns"], 5_000_000);

    // A timeout begins a chain as a supplier does.
    drop(supplier);
    let silence = Filter::Timeout {
        kind: TimeoutKind::Interval,
        period: 200_000,
    };
    let mut wanted = asks_for(&silence);
    wanted.dependencies[0].rt_info = operation("Display::show");
    let _timed = channel.connect_consumer(Arc::new(Nobody), &wanted).unwrap();
    let told = good(&["analyse", "--at", url]);
    let expected = "\nchain TIMEOUT:200000 -> Display::show#rep -> Display::show: \
        done at most 5 ms after the release of TIMEOUT:200000\n";
    assert!(told.contains(expected), "{told}");
    orb.shutdown(true).unwrap();
}
