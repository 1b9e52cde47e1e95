//! `oxorb event`: a channel in one process, suppliers and consumers in other processes.

use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::{Interface as _, Orb};
use oxorb_event::recording::{Ending, Playback, Recorder, Topic};
use oxorb_event::rtec_event_channel_admin::EventChannelRef;
use oxorb_naming::Names;
use oxorb_notify::cos_notify_channel_admin::EventChannelRef as NotifyChannelRef;
use oxorb_notify::cos_notify_filter::ConstraintExp;
use oxorb_testkit::process::Process;
use serde_json::{Value, json};

use crate::common::Folder;

const LIMIT: Duration = Duration::from_secs(60);

const IDL: &str = "module plant {
    enum Liquid { WATER, OIL };
    struct Level { Liquid kind; double cm; sequence<string> notes; };
};";

fn oxorb(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.arg("event").args(args).stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Output {
    oxorb(args).output().expect("the command starts")
}

fn good(args: &[&str]) -> String {
    let output = run(args);
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {why}");
    String::from_utf8(output.stdout).expect("the command prints UTF-8")
}

/// Returns the only message of a failing command.
fn bad(args: &[&str]) -> String {
    let output = run(args);
    let why = String::from_utf8(output.stderr).expect("the command prints UTF-8");
    assert_eq!(output.status.code(), Some(1), "{args:?}: {why}");
    why
}

/// Server of channels in its own process.
struct Server {
    process: Process,
    said: Value,
}

impl Server {
    /// Starts the server. A consumer on a loaded machine has as much time to answer as it needs.
    fn start(args: &[&str]) -> Server {
        let given = args.contains(&"--call-timeout");
        let patience: &[&str] = if given { &[] } else { &["--call-timeout", "60000"] };
        let args = [&["serve", "--format", "json"], patience, args].concat();
        let end = Instant::now() + LIMIT;
        loop {
            let mut process = Process::spawn(oxorb(&args));
            let said = process.wait_for_any(&["serving", "in use"], LIMIT);
            // A port that was free before a restart may be in use by another test for a moment.
            if said.contains("in use") && Instant::now() < end {
                process.wait(LIMIT);
                continue;
            }
            let said = serde_json::from_str(&said).expect("one line of JSON");
            return Server { process, said };
        }
    }

    fn url(&self) -> &str {
        self.said["channels"][0]["corbaloc"][0].as_str().expect("it has an address")
    }

    /// Starts a consumer of any kind, and waits until it is connected.
    fn consumer(&self, args: &[&str], connected: &str) -> Process {
        let at = ["--at", self.url(), "--format", "json"];
        let mut process = Process::spawn(oxorb(&[args, &at].concat()));
        process.wait_for_line(connected, LIMIT);
        process
    }

    fn publish(&self, args: &[&str]) -> String {
        good(&[&["pub", "--at", self.url()], args].concat())
    }

    fn json(&self, args: &[&str]) -> Value {
        let text = good(&[args, &["--at", self.url(), "--format", "json"]].concat());
        serde_json::from_str(&text).expect("one JSON document")
    }
}

fn next(consumer: &mut Process) -> Value {
    let line = consumer.wait_for_line("\"type\"", LIMIT);
    serde_json::from_str(&line).expect("one line of JSON")
}

#[test]
fn values_of_any_type_arrive_as_they_were_pushed() {
    let server = Server::start(&[]);
    let folder = Folder::new("event-values");
    let idl = folder.file("plant.idl", IDL);
    let mut anys = server.consumer(&["sub"], "connected");
    let level = json!({"kind": "OIL", "cm": 1.5, "notes": ["full", "größer"]});
    server.publish(&[
        "--type",
        "17",
        "--source",
        "3",
        "--idl",
        &idl,
        "--as",
        "plant::Level",
        &level.to_string(),
    ]);
    let event = next(&mut anys);
    assert_eq!((&event["type"], &event["source"]), (&json!(17), &json!(3)));
    assert_eq!(event["value"], level);
    assert!(event["age_ns"].is_u64(), "{event}");
    assert_eq!(
        server.publish(&["--type", "18", "--ttl", "4", "7", "\"x\""]).split(" in ").next(),
        Some("pushed 2 events")
    );
    let event = next(&mut anys);
    assert_eq!((&event["ttl"], &event["value"]), (&json!(4), &json!(7)));
    assert_eq!(next(&mut anys)["value"], "x");
    // A value can also be the payload of an event. The consumer must be given its type then.
    let typed = ["--idl", &idl, "--as", "plant::Level", "--payload"];
    let mut payloads = server.consumer(&[&["sub"], &typed[..]].concat(), "connected");
    server.publish(&[&["--type", "19"], &typed[..], &[&level.to_string()]].concat());
    let event = next(&mut payloads);
    assert_eq!((&event["type"], &event["value"]), (&json!(19), &level));
    let untyped = next(&mut anys);
    assert_eq!(untyped["value"], Value::Null);
    assert_eq!(untyped["payload_octets"], event["payload_octets"]);
}

#[test]
fn a_filter_lets_pass_what_it_says() {
    let server = Server::start(&[]);
    let filter = "type==17 && !(source==3 || source==4)";
    let mut consumer = server.consumer(&["sub", filter], "connected");
    let pushed = [(17, 3), (18, 5), (17, 4), (17, 5), (17, 6)];
    for (kind, source) in pushed.map(|(kind, source)| (kind.to_string(), source.to_string())) {
        server.publish(&["--type", &kind, "--source", &source]);
    }
    let sources = [next(&mut consumer), next(&mut consumer)];
    assert_eq!(sources.map(|event| event["source"].clone()), [5, 6]);
}

#[test]
fn sighup_reloads_the_access_rules() {
    let folder = Folder::new("event-access");
    let rules = folder.file("rules.toml", "[access]\ndefault = \"allow\"\n");
    let mut server = Server::start(&["-ORBAccessRules", &rules, "-ORBLogLevel", "info"]);
    server.publish(&["--type", "17"]);
    folder.file("rules.toml", "[access]\ndefault = \"deny\"\n");
    kill(&server.process, "-HUP");
    server.process.wait_for_line("requests that match none of them are denied", LIMIT);
    let why = bad(&["pub", "--at", server.url(), "--type", "17"]);
    assert!(why.contains("access rules"), "{why}");
}

/// The published address leads nowhere, like that of a consumer behind address translation.
#[test]
fn a_consumer_without_a_reachable_address_is_called_over_its_own_connection() {
    let server = Server::start(&["-ORBAcceptBiDirectionalGIOP", "1"]);
    let url = server.url().replacen("::", "::1.2@", 1);
    let mut consumer = Process::spawn(oxorb(&[
        "sub",
        "--at",
        &url,
        "--format",
        "json",
        "-ORBEndPointPublish",
        "127.0.0.1:1",
        "-ORBOfferBiDirectionalGIOP",
        "1",
    ]));
    consumer.wait_for_line("connected", LIMIT);
    server.publish(&["--type", "17", "\"hello\""]);
    assert_eq!(next(&mut consumer)["value"], "hello");
}

#[test]
fn lines_of_standard_input_become_events() {
    let server = Server::start(&[]);
    let mut consumer = server.consumer(&["sub", "--count", "3"], "connected");
    let mut producer = oxorb(&["pub", "--at", server.url(), "--type", "20", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut input = producer.stdin.take().expect("it is piped");
    std::io::Write::write_all(&mut input, b"1\n2\n3\n").unwrap();
    drop(input);
    assert!(producer.wait().unwrap().success());
    let values: Vec<Value> = (0..3).map(|_| next(&mut consumer)["value"].clone()).collect();
    assert_eq!(values, [1, 2, 3]);
}

#[test]
fn a_rate_and_a_number_of_events_are_kept_and_latencies_told() {
    let server = Server::start(&[]);
    let mut consumer = server.consumer(&["sub", "--latency", "--count", "30"], "connected");
    let pushed = server.publish(&["--type", "17", "--rate", "200", "--count", "30", "1", "2"]);
    assert!(pushed.starts_with("pushed 30 events"), "{pushed}");
    let all = consumer.wait_for_line("\"all\"", LIMIT);
    let all: Value = serde_json::from_str(&all).unwrap();
    assert_eq!(all["latency"]["calls"], 30);
    let percentile = |name: &str| all["latency"][name].as_u64().unwrap();
    assert!(percentile("p50_ns") <= percentile("max_ns"));
}

#[test]
fn a_full_queue_does_what_its_policy_says_and_counts_it() {
    // Without pings and with a long time limit of calls, the channel does not disconnect a stopped consumer.
    let full = ["--queue", "4", "--when-full", "drop-newest", "--ping", "0"];
    let server = Server::start(&[&full[..], &["--call-timeout", "60000"]].concat());
    let consumer = server.consumer(&["sub"], "connected");
    // Stop the consumer, so that events wait in the queue once the buffers of the connection are full.
    let stopped = format!("-STOP {}", consumer.id());
    let kill = |arguments: &str| {
        let done = Command::new("kill").args(arguments.split(' ')).status();
        assert!(done.expect("kill is there").success());
    };
    kill(&stopped);
    let text = "x".repeat(100_000);
    server.publish(&["--type", "17", "--count", "200", &format!("\"{text}\"")]);
    let listed = server.json(&["ls"]);
    let stuck = &listed["channels"][0]["consumers"][0];
    kill(&stopped.replace("STOP", "CONT"));
    let number = |name: &str| stuck[name].as_u64().unwrap();
    let drops: u64 =
        stuck["drops"].as_object().unwrap().values().map(|drops| drops.as_u64().unwrap()).sum();
    assert!(stuck["drops"]["newest"].as_u64() > Some(100), "{stuck}");
    assert!(number("waiting") > 0, "{stuck}");
    assert_eq!(number("matched"), number("delivered") + number("waiting") + drops, "{stuck}");
}

#[test]
fn channels_tell_who_is_connected() {
    let server = Server::start(&["EventService", "alarms"]);
    let url = server.said["channels"][1]["corbaloc"][0].as_str().unwrap();
    let mut shown = server.consumer(&["sub"], "connected");
    server.publish(&["--type", "17", "1", "2", "3"]);
    for _ in 0..3 {
        next(&mut shown);
    }
    // An event is counted only when its delivery has returned, so wait for the last one.
    let end = Instant::now() + LIMIT;
    let listed = loop {
        let listed = server.json(&["ls"]);
        if listed["channels"][0]["consumers"][0]["delivered"] == 3 {
            break listed;
        }
        assert!(Instant::now() < end, "{listed}");
    };
    assert_eq!(listed["channels"][0]["name"], "EventService");
    let consumer = &listed["channels"][0]["consumers"][0];
    assert_eq!((&consumer["matched"], &consumer["delivered"]), (&json!(3), &json!(3)));
    assert_eq!((&consumer["waiting"], &consumer["drops"]), (&json!(0), &json!({})));
    assert_eq!(listed["channels"][1]["name"], "alarms");
    assert_eq!(listed["channels"][1]["consumers"], json!([]));
    let text = good(&["ls", "--at", url]);
    assert!(text.contains("alarms: 0 suppliers, 0 consumers"), "{text}");
    let looks =
        good(&["stat", "--at", url, "--interval", "0.05", "--count", "2", "--format", "json"]);
    assert_eq!(looks.lines().count(), 2);
    assert!(looks.contains("\"rate_hz\":"), "{looks}");
}

/// Percentiles of each consumer are reported over all its events, and since the previous report.
#[test]
fn latencies_of_each_consumer_are_told_live() {
    let server = Server::start(&[]);
    let mut shown = server.consumer(&["sub", "type==17"], "connected");
    let _idle = server.consumer(&["sub", "type==18"], "connected");
    server.publish(&["--type", "17", "--count", "50"]);
    (0..50).for_each(|_| drop(next(&mut shown)));
    let end = Instant::now() + LIMIT;
    // An event is counted only when its delivery has returned, so wait for the last one.
    let listed = loop {
        let listed = server.json(&["ls"]);
        if listed["channels"][0]["consumers"][0]["latency"]["events"] == 50 {
            break listed;
        }
        assert!(Instant::now() < end, "{listed}");
    };
    let consumers = &listed["channels"][0]["consumers"];
    let latency = &consumers[0]["latency"];
    let number = |name: &str| latency[name].as_u64().unwrap();
    assert!(0 < number("p50_ns") && number("p50_ns") <= number("p99_ns"), "{latency}");
    assert!(number("p99_ns") <= number("max_ns"), "{latency}");
    assert_eq!(consumers[1]["latency"], Value::Null);
    let text = good(&["ls", "--at", server.url()]);
    assert!(text.contains("p50") && text.contains("p99") && text.contains("max"), "{text}");
    // `stat` covers the time between two reports, in which no event was delivered.
    let at = ["--at", server.url(), "--format", "json"];
    let look = good(&[&["stat", "--interval", "0.05", "--count", "1"], &at[..]].concat());
    let look: Value = serde_json::from_str(&look).unwrap();
    assert_eq!(look["channels"][0]["consumers"][0]["latency"], Value::Null);

    let silent = Server::start(&["--no-latency"]);
    let mut shown = silent.consumer(&["sub"], "connected");
    silent.publish(&["--type", "17"]);
    next(&mut shown);
    let listed = silent.json(&["ls"]);
    assert_eq!(listed["channels"][0]["consumers"][0]["latency"], Value::Null);
}

fn kill(process: &Process, signal: &str) {
    let id = process.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status();
    assert!(sent.unwrap().success());
}

/// Death or end of a channel: status 1 and one message, or a connection to its successor.
#[test]
fn the_loss_of_a_channel_is_an_error_or_mended() {
    let port = oxorb_testkit::net::free_port().to_string();
    for signal in ["-KILL", "-TERM"] {
        let server = Server::start(&["--port", &port]);
        let folder = Folder::new("event-loss");
        let file = folder.path("run.mcap");
        let at = ["--at", server.url(), "--ping", "0.1", "--timeout", "20000"];
        let mut sub = Process::spawn(oxorb(&[&["sub"], &at[..]].concat()));
        sub.wait_for_line("connected", LIMIT);
        let args = [&["record", &file, "--format", "json"], &at[..]].concat();
        let mut record = Process::spawn(oxorb(&args));
        record.wait_for_line("recording", LIMIT);
        let args = [&["sub", "--reconnect", "0", "--format", "json"], &at[..]].concat();
        let mut again = Process::spawn(oxorb(&args));
        again.wait_for_line("connected", LIMIT);
        server.publish(&["--type", "17", "1"]);
        assert_eq!(next(&mut again)["value"], 1);
        kill(&server.process, signal);
        sub.wait_for_line("is lost", LIMIT);
        assert_eq!(sub.wait(LIMIT).code(), Some(1));
        record.wait_for_line("\"recorded\"", LIMIT);
        assert_eq!(record.wait(LIMIT).code(), Some(1));
        again.wait_for_line("\"lost\"", LIMIT);
        drop(server);
        let server = Server::start(&["--port", &port]);
        again.wait_for_line("\"reconnected\"", LIMIT);
        server.publish(&["--type", "17", "2"]);
        assert_eq!(next(&mut again)["value"], 2);
    }
    // Without a successor, the consumer gives up after the time of --reconnect.
    let server = Server::start(&[]);
    let at = ["--at", server.url(), "--ping", "0.1", "--reconnect", "0.3"];
    let mut sub = Process::spawn(oxorb(&[&["sub"], &at[..]].concat()));
    sub.wait_for_line("connected", LIMIT);
    drop(server);
    sub.wait_for_line("reconnecting failed for 0.3 s", LIMIT);
    assert_eq!(sub.wait(LIMIT).code(), Some(1));
}

/// A full queue at the channel leaves gaps in the numbers of a publisher.
#[test]
fn gaps_in_numbers_are_told() {
    let server = Server::start(&["--queue", "4"]);
    let mut whole = server.consumer(&["sub", "--gaps", "--count", "3"], "connected");
    server.publish(&["--type", "17", "--number", "--count", "3"]);
    let values = [0, 1, 2].map(|_| next(&mut whole)["value"].clone());
    assert_eq!(values, [0, 1, 2]);
    assert_eq!(whole.wait(LIMIT).code(), Some(0));
    let mut sub = server.consumer(&["sub", "--gaps"], "connected");
    server.publish(&["--type", "17", "{\"type\": \"unsigned long long\", \"value\": 5}"]);
    server.publish(&["--type", "17", "{\"type\": \"unsigned long long\", \"value\": 9}"]);
    let gap: Value = serde_json::from_str(&sub.wait_for_line("\"gap\"", LIMIT)).unwrap();
    assert_eq!((&gap["first"], &gap["events"]), (&json!(6), &json!(3)));
    kill(&sub, "-TERM");
    sub.wait_for_line("3 numbered events did not arrive", LIMIT);
    assert_eq!(sub.wait(LIMIT).code(), Some(1));
}

#[test]
fn a_recording_has_types_that_viewers_read_and_is_replayed() {
    let server = Server::start(&[]);
    let folder = Folder::new("event-record");
    let (idl, file) = (folder.file("plant.idl", IDL), folder.path("run.mcap"));
    let recorder = server.consumer(&["record", &file, "--count", "4"], "recording");
    let level = json!({"kind": "WATER", "cm": 2.5, "notes": ["a", "b"]});
    server.publish(&[
        "--type",
        "17",
        "--source",
        "3",
        "--idl",
        &idl,
        "--as",
        "plant::Level",
        &level.to_string(),
    ]);
    server.publish(&[
        "--type",
        "17",
        "--source",
        "3",
        "--idl",
        &idl,
        "--as",
        "plant::Level",
        &level.to_string(),
    ]);
    // Viewers can read neither of these as a value: an any in an any, and an event without a value.
    server.publish(&["--type", "18", "{\"type\": \"any\", \"value\": 5}"]);
    server.publish(&["--type", "19"]);
    let mut recorder = recorder;
    let told = recorder.wait_for_line("recorded", LIMIT);
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap()["events"], 4);
    let octets = std::fs::read(&file).unwrap();
    let mut playback = Playback::new(octets.as_slice()).unwrap();
    let mut names = Vec::new();
    while let Some(message) = playback.next_message().unwrap() {
        let schema = message.topic.schema.as_ref().unwrap();
        assert_eq!((&*schema.encoding, &*message.topic.encoding), ("omgidl", "cdr"));
        names.push((message.topic.name.clone(), schema.name.clone()));
        if names.len() == 1 {
            // The header and `kind` take 4 octets each. `cm` is aligned to 8 octets after the header.
            assert_eq!(message.data[..4], [0, 1, 0, 0]);
            assert_eq!(message.data[12..20], 2.5f64.to_le_bytes());
            assert!(schema.text().unwrap().contains("struct Level"));
        }
    }
    assert_eq!(playback.ending(), Some(&Ending::Complete));
    let name = |topic: &str, schema: &str| (topic.to_owned(), schema.to_owned());
    let whole = "OxORB::RecordedEvent";
    let expected = [
        name("/17/3", "plant::Level"),
        name("/17/3", "plant::Level"),
        name("/18/1", whole),
        name("/19/1", whole),
    ];
    assert_eq!(names, expected);
    let refused = bad(&["record", &file, "--at", server.url()]);
    assert!(refused.contains("--force"), "{refused}");

    let mut consumer = server.consumer(&["sub"], "connected");
    let replayed = server.json(&["replay", &file, "--speed", "0"]);
    assert_eq!((&replayed["events"], &replayed["cut_off"]), (&json!(4), &json!(false)));
    let first = next(&mut consumer);
    assert_eq!(
        (&first["type"], &first["source"], &first["value"]),
        (&json!(17), &json!(3), &level)
    );
    next(&mut consumer);
    assert_eq!(next(&mut consumer)["value"], json!({"type": "long", "value": 5}));
    assert_eq!(next(&mut consumer)["type"], 19);
}

#[test]
fn a_recorder_that_is_killed_leaves_a_file_that_can_be_read() {
    let server = Server::start(&[]);
    let folder = Folder::new("event-killed");
    let file = folder.path("run.mcap");
    let mut recorder = server.consumer(&["record", &file], "recording");
    server.publish(&["--type", "17", "--count", "20", "1"]);
    // Wait until the events are in the file, because the recorder flushes only twice a second.
    let messages = || {
        let octets = std::fs::read(&file).unwrap();
        let mut playback = Playback::new(octets.as_slice()).unwrap();
        let mut messages = 0;
        while playback.next_message().unwrap().is_some() {
            messages += 1;
        }
        (messages, *playback.ending().unwrap())
    };
    let end = std::time::Instant::now() + LIMIT;
    while messages().0 < 20 {
        assert!(std::time::Instant::now() < end, "{:?}", messages());
        std::thread::sleep(Duration::from_millis(50));
    }
    recorder.kill();
    assert_eq!(messages(), (20, Ending::CutOff));
    let replayed = server.json(&["replay", &file, "--speed", "0"]);
    assert_eq!((&replayed["events"], &replayed["cut_off"]), (&json!(20), &json!(true)));
}

/// A message that does not match its topic, between two that do.
#[test]
fn a_message_that_cannot_be_read_is_left_out_and_told() {
    let server = Server::start(&[]);
    let folder = Folder::new("event-odd");
    let file = folder.path("odd.mcap");
    let mut recorder = Recorder::new(std::fs::File::create(&file).unwrap()).unwrap();
    let mut topic = |kind: &str, place: &str| {
        let metadata = [("type", kind), ("source", "1"), ("place", place)];
        let topic = Topic {
            name: format!("/{kind}/1"),
            encoding: "cdr".to_owned(),
            schema: None,
            metadata: metadata
                .map(|(key, value)| (format!("oxorb.{key}"), value.to_owned()))
                .into(),
        };
        recorder.topic(&topic).unwrap()
    };
    let (whole, odd, foreign) = (topic("17", "event"), topic("18", "any"), topic("x", "any"));
    // Parts of an event: the CDR header for little endian, ttl 3, and an empty payload and any.
    let event = [&[0, 1, 0, 0], &[3, 0, 0, 0][..], &[0; 8]];
    for (at, (topic, parts)) in [
        (whole, &event[..]),
        (odd, &event[..]),
        (odd, &event[..1]),
        (foreign, &event[..]),
        (whole, &event[..2]),
        (whole, &event[..]),
    ]
    .into_iter()
    .enumerate()
    {
        recorder.write(topic, at as u64, 0, parts).unwrap();
    }
    recorder.finish().unwrap();
    let mut consumer = server.consumer(&["sub"], "connected");
    let replayed = server.json(&["replay", &file, "--speed", "0"]);
    let count = |name: &str| replayed[name].as_u64().unwrap();
    assert_eq!((count("events"), count("unreadable"), count("skipped")), (2, 3, 1), "{replayed}");
    let first = replayed["first_unreadable"].as_str().unwrap();
    assert!(first.starts_with("message 2 (/18/1): "), "{first}");
    for _ in 0..2 {
        assert_eq!(next(&mut consumer)["type"], 17);
    }
}

#[test]
fn what_is_wrong_is_said_once_and_in_its_place() {
    let server = Server::start(&[]);
    let folder = Folder::new("event-wrong");
    let idl = folder.file("plant.idl", IDL);
    let at = ["--at", server.url()];
    let publish = |args: &[&str]| bad(&[&["pub"], &at[..], &["--type", "17"], args].concat());
    let filter = bad(&["sub", "type=17", "--at", server.url()]);
    assert!(filter.contains("write type==17 or type!=17"), "{filter}");
    assert!(publish(&["{"]).contains("value 1: this is not JSON"));
    let wrong = publish(&["--idl", &idl, "--as", "plant::Level", "{\"kind\": \"MILK\"}"]);
    assert!(wrong.contains("kind") && wrong.contains("MILK"), "{wrong}");
    assert!(publish(&["--idl", &idl, "--as", "plant::Lever", "1"]).contains("plant::Lever"));
    let nowhere = bad(&["sub", "--at", "corbaloc::127.0.0.1:1/EventService"]);
    assert!(nowhere.contains("oxorb event serve"), "{nowhere}");
    let not_written = folder.path("never.mcap");
    let nowhere = bad(&["record", &not_written, "--at", "corbaloc::127.0.0.1:1/EventService"]);
    assert!(nowhere.contains("oxorb event serve"), "{nowhere}");
    assert!(!std::path::Path::new(&not_written).exists());
    let file = folder.file("no.mcap", "no recording");
    let replay = bad(&["replay", &file, "--at", server.url()]);
    assert!(replay.contains("no.mcap") && replay.contains("not an MCAP file"), "{replay}");
}

const VERBS: [&[&str]; 9] = [
    &["serve"],
    &["pub"],
    &["sub"],
    &["ls"],
    &["stat"],
    &["record"],
    &["replay"],
    &["gateway"],
    &["gateway", "udp"],
];

/// The help of each verb is a manual: synopsis, every option with its text, examples, exit status.
#[test]
fn help_is_a_manual() {
    for verb in VERBS {
        let help = good(&[verb, &["--help"]].concat());
        for part in ["Usage: oxorb event", "Examples:", "Exit status: 0 done", "  -h, --help"] {
            // The heading depends on the number of examples.
            let part = if part == "Examples:" && !help.contains(part) { "Example:" } else { part };
            assert!(help.contains(part), "{verb:?} without {part}: {help}");
        }
        let lines: Vec<&str> = before_examples(&help).lines().collect();
        let is_option = |line: &&&str| line.trim_start().starts_with('-') && line.starts_with("  ");
        let options = lines.iter().filter(is_option).count();
        assert!(options >= 3, "{verb:?}");
        for pair in lines.windows(2).filter(|pair| is_option(&&pair[0])) {
            let told = pair[0].contains("Possible") || !pair[1].trim().is_empty();
            assert!(told || pair[0].contains("- "), "{verb:?}: nothing is said of {}", pair[0]);
        }
    }
}

/// The part of a help that lists the options. Lines of an example may also begin with an option.
fn before_examples(help: &str) -> &str {
    help.split("\nExample").next().unwrap_or(help)
}

/// Shells complete verbs, options and the values of options.
#[test]
fn shells_complete_verbs_options_and_values() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_oxorb")).args(["completions", "bash"]).output().unwrap();
    let folder = Folder::new("event-completions");
    let script = folder.file("oxorb.bash", std::str::from_utf8(&output.stdout).unwrap());
    // Complete all lines in one shell, because each shell would have to read the whole script.
    let complete = |lines: &[Vec<String>]| {
        let code = lines.iter().map(|words| {
            let list = words.join(" ");
            let (last, before) = (&words[words.len() - 1], &words[words.len() - 2]);
            format!(
                "COMP_WORDS=({list}); COMP_CWORD={}; _oxorb oxorb '{last}' '{before}'; echo ${{COMPREPLY[@]}}; ",
                words.len() - 1
            )
        });
        let code = format!("source \"$0\"; {}", code.collect::<String>());
        let output = Command::new("bash").args(["-c", &code, &script]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let found = String::from_utf8(output.stdout).unwrap();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let found: Vec<_> = found.lines().map(words).collect();
        assert_eq!(found.len(), lines.len());
        found
    };
    let line = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let values = complete(&[
        line(&["oxorb", "event", "s"]),
        line(&["oxorb", "event", "serve", "--when-full", "drop"]),
        line(&["oxorb", "event", "sub", "--format", "j"]),
    ]);
    assert_eq!(values[0], ["serve", "sub", "stat"]);
    assert_eq!(values[1], ["drop-oldest", "drop-newest", "drop-least-urgent"]);
    assert_eq!(values[2], ["json"]);
    let mut lines = Vec::new();
    for verb in VERBS {
        let help = good(&[verb, &["--help"]].concat());
        let options = before_examples(&help).lines().filter_map(|line| {
            let option = line.trim_start();
            let at =
                option.find("--").filter(|_| line.starts_with("  ") && option.starts_with('-'))?;
            option[at..].split([' ', '=', '[']).next()
        });
        for option in options {
            lines.push(line(&[&["oxorb", "event"], verb, &[option]].concat()));
        }
    }
    for (words, found) in lines.iter().zip(complete(&lines)) {
        assert!(found.contains(words.last().unwrap()), "{words:?}");
    }
}

/// Wrong usage gives one message with its place, and status 2, before anything is connected.
#[test]
fn wrong_options_are_told_with_their_place() {
    let cases: [(&[&str], &str); 12] = [
        (&["sub", "--queue", "0"], "--queue <N>"),
        (&["sub", "--ping", "x"], "a bare number is seconds"),
        (&["sub", "--reconnect=-1"], "--reconnect"),
        (&["pub", "--type", "0"], "from 1 to 2147483647"),
        (&["pub"], "--type <TYPE>"),
        (&["pub", "--type", "17", "--rate", "0"], "a rate must be greater than 0"),
        (&["pub", "--type", "17", "--number", "5"], "--number"),
        (&["serve", "--threads", "65"], "--threads <N>"),
        (&["serve", "--when-full", "explode"], "drop-oldest"),
        (&["stat", "--interval=-1"], "--interval"),
        (&["replay"], "<FILE>"),
        (&["gateway", "udp", "--at", "x"], "--send"),
    ];
    for (args, place) in cases {
        let output = run(args);
        let why = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {why}");
        assert!(why.contains(place), "{args:?}: {why}");
        assert_eq!(why.matches("error").count(), 1, "{why}");
    }
    let filter = bad(&["sub", "type==17 && source=3", "--at", "corbaloc::127.0.0.1:1/x"]);
    assert!(filter.contains("source") || filter.contains("column"), "{filter}");
}

#[test]
fn a_gateway_passes_events_on_as_their_ttl_allows() {
    let (north, south) = (Server::start(&[]), Server::start(&[]));
    let mut consumer = south.consumer(&["sub", "type==17", "--count", "1"], "connected");
    let args = ["gateway", "--from", north.url(), "--to", south.url(), "--format", "json"];
    let mut gateway = Process::spawn(oxorb(&args));
    gateway.wait_for_line("connected", LIMIT);
    let push = |ttl: &str, value: &str| {
        north.publish(&["--type", "17", "--ttl", ttl, value]);
    };
    push("0", "1");
    push("3", "2");
    let passed = next(&mut consumer);
    assert_eq!((&passed["value"], &passed["ttl"]), (&json!(2), &json!(2)));
    // After the last consumer has left, both channels still exist, so the gateway is idle and must not report a loss.
    consumer.wait_success(LIMIT);
    let told = gateway.wait_for_any(&["idle", "lost"], LIMIT);
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap(), json!({"event": "idle"}));
    let _consumer = south.consumer(&["sub", "type==17"], "connected");
    gateway.wait_for_line("connected", LIMIT);
}

/// A channel may be given as URL and as IOR, which differ as text.
#[test]
fn a_gateway_to_the_channel_that_it_comes_from_is_refused() {
    let server = Server::start(&[]);
    let ior = server.said["channels"][0]["ior"].as_str().unwrap();
    for to in [server.url(), ior] {
        let why = bad(&["gateway", "--from", server.url(), "--to", to]);
        assert!(
            why.contains("channels are the same") && why.contains("specify two channels"),
            "{why}"
        );
    }
}

/// One gateway sends the events of north as datagrams, and another one receives them for south.
#[test]
fn gateways_by_udp_join_two_channels() {
    let (north, south) = (Server::start(&[]), Server::start(&[]));
    let mut consumer = south.consumer(&["sub"], "connected");
    let gateway = |args: &[&str]| {
        let args = [&["gateway", "udp", "--format", "json"], args].concat();
        let mut process = Process::spawn(oxorb(&args));
        process.wait_for_line("connected", LIMIT);
        process
    };
    let at = format!("127.0.0.1:{}", oxorb_testkit::net::free_port());
    let _receiving = gateway(&["--channel", south.url(), "--receive", &at, "--crc"]);
    let mut sending = gateway(&[
        "--channel",
        north.url(),
        "type==17",
        "--send",
        &at,
        "--crc",
        "--mtu",
        "100",
        "--interface",
        "lo",
    ]);
    for (kind, ttl) in [("18", "2"), ("17", "0"), ("17", "3")] {
        let text = format!("\"{}\"", "x".repeat(500));
        north.publish(&["--type", kind, "--ttl", ttl, &text]);
    }
    let passed = next(&mut consumer);
    assert_eq!((&passed["type"], &passed["ttl"]), (&json!(17), &json!(2)));
    let stop = Command::new("kill").arg(sending.id().to_string()).status();
    assert!(stop.unwrap().success());
    let ended = sending.wait_for_line("ended", LIMIT);
    let counts = &serde_json::from_str::<Value>(&ended).unwrap()["counts"];
    assert_eq!((&counts["sent"], &counts["ended"]), (&json!(1), &json!(1)));
    assert!(counts["datagrams_sent"].as_u64() > Some(5), "{counts}");
    let wrong = bad(&["gateway", "udp", "--channel", north.url(), "--send", "17@x"]);
    assert!(wrong.contains("number@address:port"), "{wrong}");
}

/// One gateway serves the addresses for an event type to another gateway.
#[test]
fn a_gateway_asks_an_address_server() {
    let (north, south) = (Server::start(&[]), Server::start(&[]));
    let mut consumer = south.consumer(&["sub"], "connected");
    let at = format!("127.0.0.1:{}", oxorb_testkit::net::free_port());
    let gateway = |args: &[&str], said: &str| {
        let args = [&["gateway", "udp", "--format", "json"], args].concat();
        let mut process = Process::spawn(oxorb(&args));
        let line = process.wait_for_line(said, LIMIT);
        (process, serde_json::from_str::<Value>(&line).unwrap())
    };
    let _hears = gateway(&["--channel", south.url(), "--receive", &at], "connected");
    // This gateway only serves addresses, because south has no events of type 99 to send.
    let table = format!("17@{at}");
    let tells = ["--channel", south.url(), "type==99", "--send", &table];
    let (_tells, said) =
        gateway(&[&tells[..], &["--serve-addresses", "Groups"]].concat(), "serving addresses");
    let url = said["corbaloc"][0].as_str().unwrap();
    let asks = ["--channel", north.url(), "--addresses", url];
    let (mut asks, _) = gateway(&asks, "connected");
    north.publish(&["--type", "18", "--ttl", "2", "1"]);
    north.publish(&["--type", "17", "--ttl", "2", "2"]);
    let passed = next(&mut consumer);
    assert_eq!((&passed["type"], &passed["value"]), (&json!(17), &json!(2)));
    let stop = Command::new("kill").arg(asks.id().to_string()).status();
    assert!(stop.unwrap().success());
    let ended: Value = serde_json::from_str(&asks.wait_for_line("ended", LIMIT)).unwrap();
    let counts = &ended["counts"];
    assert_eq!((&counts["sent"], &counts["nowhere"]), (&json!(1), &json!(1)));
    let wrong = bad(&["gateway", "udp", "--channel", north.url(), "--receive", &at, "type==17"]);
    assert!(wrong.contains("--send or --addresses"), "{wrong}");
    let wrong = bad(&["gateway", "udp", "--channel", north.url(), "--addresses", "x:y"]);
    assert!(wrong.contains("the address server x:y"), "{wrong}");
}

/// A gateway joins the groups for a consumer's filter, with addresses from another gateway.
#[test]
fn a_gateway_follows_what_consumers_ask_for() {
    let (north, south) = (Server::start(&[]), Server::start(&[]));
    let gateway = |args: &[&str], said: &str| {
        let args = [&["gateway", "udp", "--format", "json", "--interface", "lo"], args].concat();
        let mut process = Process::spawn(oxorb(&args));
        let line = process.wait_for_line(said, LIMIT);
        (process, serde_json::from_str::<Value>(&line).unwrap())
    };
    let port = oxorb_testkit::net::free_port();
    let table = format!("17@239.255.31.1:{port} *@239.255.31.2:{port}");
    let tells = ["--channel", north.url(), "--send", &table, "--serve-addresses", "Groups"];
    let (_tells, said) = gateway(&tells, "serving addresses");
    let url = said["corbaloc"][0].as_str().unwrap();
    let follows = ["--channel", south.url(), "--follow", url, "--period", "1"];
    let (mut follows, _) = gateway(&follows, "connected");
    let mut consumer = south.consumer(&["sub", "type==17"], "connected");
    // Events sent before the gateway has joined the group are lost, so push events until one arrives.
    let reading = thread::spawn(move || next(&mut consumer));
    while !reading.is_finished() {
        north.publish(&["--type", "18", "--ttl", "2", "1"]);
        north.publish(&["--type", "17", "--ttl", "2", "2"]);
    }
    let passed = reading.join().unwrap();
    assert_eq!((&passed["type"], &passed["value"]), (&json!(17), &json!(2)));
    let stop = Command::new("kill").arg(follows.id().to_string()).status();
    assert!(stop.unwrap().success());
    let ended: Value = serde_json::from_str(&follows.wait_for_line("ended", LIMIT)).unwrap();
    let counts = &ended["counts"];
    assert!(counts["received"].as_u64() >= Some(1), "{counts}");
    let wrong = bad(&["gateway", "udp", "--channel", south.url(), "--follow", "17@x"]);
    assert!(wrong.contains("number@address:port"), "{wrong}");
}

#[test]
fn the_services_of_the_omg_are_served_beside() {
    let server = Server::start(&["--notify=chan"]);
    let notify = &server.said["notify"];
    assert_eq!(notify["name"], "chan");
    let url = notify["corbaloc"][0].as_str().unwrap();
    let is_a = Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .args(["call", url, "_is_a", "IDL:omg.org/CosEventChannelAdmin/EventChannel:1.0"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&is_a.stdout).trim(), "true");
    // The channel of the Notification Service is listed next to the event channels.
    let listed = server.json(&["ls"]);
    let told = &listed["notifications"][0];
    assert_eq!(
        (&told["name"], &told["delivered"], &told["drops"]),
        (&json!("chan"), &json!(0), &json!({}))
    );
    assert_eq!(told["held_octets"], 0, "nothing was obtained yet: {told}");
    let look = good(&["stat", "--at", server.url(), "--interval", "0.05", "--count", "1"]);
    assert!(look.contains("chan: Notification Service"), "{look}");
    let twice = bad(&["serve", "--notify=EventService"]);
    assert!(twice.contains("--notify=NAME"), "{twice}");
}

/// A client's `destroy` ends one channel: its name is withdrawn, the other channels stay, and the server ends with the
/// last one.
#[test]
fn a_destroyed_channel_is_withdrawn_and_the_last_one_ends_the_server() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.args(["name", "serve", "--in-memory", "--port", "0"]).stdin(Stdio::null());
    let mut naming = Process::spawn(command);
    let line = naming.wait_for_line("corbaloc:", LIMIT);
    let url = line.split_whitespace().find(|word| word.starts_with("corbaloc:")).unwrap();
    let names = ["-ORBInitRef", &format!("NameService={url}")];
    let mut server = Server::start(&[&["north", "south", "--bind"], &names[..]].concat());
    let orb = Orb::builder().init_ref("NameService", url).build().unwrap();
    let found =
        |name: &str| -> Result<EventChannelRef, _> { Names::of(&orb).unwrap().resolve(name) };
    let [north, south] = ["north", "south"].map(|name| found(name).unwrap());

    north.destroy().unwrap();
    server.process.wait_for_line("a client destroyed the channel", LIMIT);
    let told = server.process.wait_for_line("withdrawn", LIMIT);
    assert_eq!(serde_json::from_str::<Value>(&told).unwrap()["channel"], "north");
    assert!(found("north").is_err());
    assert!(found("south").unwrap().for_consumers().unwrap().is_some());
    let listed: Value =
        serde_json::from_str(&good(&["ls", "--format", "json", "--at", &south.to_ior()])).unwrap();
    let names: Vec<_> =
        listed["channels"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["south"]);

    south.destroy().unwrap();
    let why = server.process.wait_for_line("clients destroyed every channel", LIMIT);
    assert!(why.contains("--when-destroyed renew"), "{why}");
    assert_eq!(server.process.wait(LIMIT).code(), Some(1));
    assert!(found("south").is_err());
    orb.shutdown(true).unwrap();
}

/// The new channel has the same reference, however often clients destroy it.
#[test]
fn a_destroyed_channel_is_renewed_where_that_is_asked_for() {
    let mut server = Server::start(&["--when-destroyed", "renew", "--reconnect"]);
    let url = server.url().to_owned();
    let orb = Orb::builder().build().unwrap();
    let channel: EventChannelRef = orb.resolve(&url).unwrap();
    for _ in 0..3 {
        channel.destroy().unwrap();
        let told = server.process.wait_for_line("a new channel", LIMIT);
        assert_eq!(serde_json::from_str::<Value>(&told).unwrap()["channel"], "EventService");
        assert!(channel.for_consumers().unwrap().is_some());
    }
    let mut consumer = server.consumer(&["sub", "--count", "1"], "connected");
    server.publish(&["--type", "17", "4"]);
    assert_eq!(next(&mut consumer)["value"], 4);
    orb.shutdown(true).unwrap();
}

/// A preference is no constraint. TAO accepts one in a filter, which then never matches.
#[test]
fn filters_are_read_as_tao_reads_them_where_that_is_asked_for() {
    for (args, taken) in [(&[][..], false), (&["--filters", "tao"][..], true)] {
        let server = Server::start(&[&["--notify=Notes"], args].concat());
        let url = server.said["notify"]["corbaloc"][0].as_str().unwrap();
        let orb = Orb::builder().build().unwrap();
        let channel: NotifyChannelRef = orb.resolve(url).unwrap();
        let filters = channel.default_filter_factory().unwrap().unwrap();
        let filter = filters.create_filter("EXTENDED_TCL").unwrap().unwrap();
        let preference = ConstraintExp { event_types: Vec::new(), constraint_expr: "max 1".into() };
        assert_eq!(filter.add_constraints(&[preference]).is_ok(), taken, "{args:?}");
        orb.shutdown(true).unwrap();
    }
    let alone = run(&["serve", "--filters", "tao"]);
    assert!(String::from_utf8_lossy(&alone.stderr).contains("--notify"), "{alone:?}");
}
