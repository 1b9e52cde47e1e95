//! `oxorb event serve --store`, killed while events pass through its Notification Service: connections are restored,
//! accepted events arrive, and refused events do not.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use oxorb::{Any, CompletionStatus, Interface as _, Orb};
use oxorb_event::in_order;
use oxorb_notify::cos_notification::{
    EventHeader, EventType, FixedEventHeader, Property, StructuredEvent,
};
use oxorb_notify::cos_notify_channel_admin::{
    ClientType, EventChannelRef, SequenceProxyPullSupplierRef, StructuredProxyPushConsumerRef,
    StructuredProxyPushSupplierRef,
};
use oxorb_notify::cos_notify_comm::structured_push_consumer::PushStructuredEventError;
use oxorb_notify::cos_notify_comm::{
    NotifyPublish, StructuredPushConsumer, StructuredPushConsumerRef, notify_publish,
};
use oxorb_notify::cos_notify_filter::ConstraintExp;
use oxorb_testkit::net::free_port;
use oxorb_testkit::process::Process;
use oxorb_testkit::watchdog::watchdog;
use serde_json::Value;

use crate::common::Folder;

/// Time limit for expected events, which no machine exceeds, however loaded.
const LONG: Duration = Duration::from_secs(60);

/// Number of the event that the consumer's filter rejects.
const FILTERED: i32 = 7;

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxorb"));
    command.args(["event", "serve", "--format", "json", "--notify=kept"]);
    command.args(args).stdin(Stdio::null());
    command
}

/// Server process, and its address.
struct Server {
    process: Process,
    url: String,
    said: Value,
}

impl Server {
    fn start(folder: &Folder, port: &str) -> Server {
        let store = folder.path("store");
        let mut process = Process::spawn(command(&["--store", &store, "--port", port]));
        let said = process.wait_for_line("serving", LONG);
        let said: Value = serde_json::from_str(&said).expect("one line of JSON");
        let url = said["notify"]["corbaloc"][0].as_str().expect("an address");
        Server { process, url: url.to_owned(), said }
    }

    /// Ends the server with SIGTERM.
    fn stop(&mut self) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status();
        assert!(sent.unwrap().success());
        self.process.wait_success(LONG);
    }
}

/// Numbers of the events that a consumer received, in order.
#[derive(Default)]
struct Heard(Mutex<Vec<i32>>);

impl Heard {
    fn numbers(&self) -> Vec<i32> {
        self.0.lock().unwrap().clone()
    }
}

struct Consumer(Arc<Heard>);

impl StructuredPushConsumer for Consumer {
    fn push_structured_event(
        &self,
        notification: &StructuredEvent,
    ) -> Result<(), PushStructuredEventError> {
        self.0.0.lock().unwrap().push(number(notification));
        Ok(())
    }

    fn disconnect_structured_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

impl NotifyPublish for Consumer {
    fn offer_change(
        &self,
        _: &[EventType],
        _: &[EventType],
    ) -> Result<(), notify_publish::OfferChangeError> {
        Ok(())
    }
}

fn event(number: i32) -> StructuredEvent {
    let event_type = EventType { domain_name: "plant".to_owned(), type_name: "level".to_owned() };
    StructuredEvent {
        header: EventHeader {
            fixed_header: FixedEventHeader { event_type, event_name: String::new() },
            variable_header: Vec::new(),
        },
        filterable_data: vec![Property { name: "number".to_owned(), value: Any::new(number) }],
        remainder_of_body: Any::default(),
    }
}

fn number(event: &StructuredEvent) -> i32 {
    let number = event.filterable_data[0].value.get::<i32>();
    number.unwrap().expect("a number")
}

fn supply(channel: &EventChannelRef) -> StructuredProxyPushConsumerRef {
    let admin = channel.default_supplier_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (proxy, _) = admin.obtain_notification_push_consumer(form).unwrap();
    let proxy: StructuredProxyPushConsumerRef = proxy.unwrap().unchecked_narrow();
    proxy.connect_structured_push_supplier(None).unwrap();
    proxy
}

/// Connects a consumer with a filter, whose proxy and filter live in the server.
fn consume(orb: &Orb, channel: &EventChannelRef) -> Arc<Heard> {
    let heard = Arc::new(Heard::default());
    let servant = Consumer(Arc::clone(&heard));
    let consumer: StructuredPushConsumerRef = orb.root_poa().activate(servant).unwrap();
    let admin = channel.default_consumer_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (proxy, _) = admin.obtain_notification_push_supplier(form).unwrap();
    let proxy: StructuredProxyPushSupplierRef = proxy.unwrap().unchecked_narrow();
    let filters = channel.default_filter_factory().unwrap().unwrap();
    let filter = filters.create_filter("EXTENDED_TCL").unwrap().unwrap();
    let constraint = ConstraintExp {
        event_types: Vec::new(),
        constraint_expr: format!("not ($number == {FILTERED})"),
    };
    filter.add_constraints(&[constraint]).unwrap();
    proxy.add_filter(Some(&filter)).unwrap();
    proxy.connect_structured_push_consumer(Some(&consumer)).unwrap();
    heard
}

/// Connects a pull consumer, after the last restart.
fn pull(channel: &EventChannelRef) -> SequenceProxyPullSupplierRef {
    let admin = channel.default_consumer_admin().unwrap().unwrap();
    let form = ClientType::SequenceEvent;
    let (proxy, _) = admin.obtain_notification_pull_supplier(form).unwrap();
    let proxy: SequenceProxyPullSupplierRef = proxy.unwrap().unchecked_narrow();
    proxy.connect_sequence_pull_consumer(None).unwrap();
    proxy
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < end, "not within {LONG:?}: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Numbers of pushed events, by the supplier's result.
#[derive(Default)]
struct Pushed {
    accepted: Vec<i32>,
    /// Events that the server never received.
    refused: Vec<i32>,
    /// Events whose push was interrupted by a kill.
    unknown: Vec<i32>,
}

impl Pushed {
    fn push(&mut self, supplier: &StructuredProxyPushConsumerRef, number: i32) {
        match supplier.push_structured_event(&event(number)) {
            Ok(()) => self.accepted.push(number),
            Err(PushStructuredEventError::System(exception)) => {
                match exception.completed {
                    CompletionStatus::No => self.refused.push(number),
                    _ => self.unknown.push(number),
                }
                // Wait a little, because the server is down until its restart.
                thread::sleep(Duration::from_millis(5));
            }
            Err(other) => panic!("{other}"),
        }
    }

    /// Checks a consumer's events: all accepted ones, no refused ones, in push order; some may be repeated after a
    /// crash.
    fn check(&self, got: &[i32], wanted: impl Fn(i32) -> bool) {
        let mut seen = BTreeSet::new();
        let first: Vec<i32> = (got.iter().copied()).filter(|&number| seen.insert(number)).collect();
        assert!(first.is_sorted(), "{first:?}");
        let accepted = self.accepted.iter().filter(|&&number| wanted(number));
        let missing: Vec<_> = accepted.filter(|number| !seen.contains(number)).collect();
        assert!(missing.is_empty(), "accepted and lost: {missing:?}");
        let strange: Vec<_> = (first.iter())
            .filter(|number| !self.accepted.contains(number) && !self.unknown.contains(number))
            .collect();
        assert!(strange.is_empty(), "never accepted: {strange:?}");
        assert!(first.iter().all(|&number| wanted(number)), "{first:?}");
    }
}

#[test]
fn a_killed_server_goes_on_delivering_and_loses_nothing_that_it_accepted() {
    const KILLS: usize = 3;
    const EACH: usize = 40;
    let _guard = watchdog(3 * LONG);
    let folder = Folder::new("event-store");
    let port = free_port().to_string();
    let mut server = Server::start(&folder, &port);
    let url = server.url.clone();
    assert!(server.said["notify"]["store"].is_string(), "{}", server.said);
    let orb = in_order(Orb::builder()).listen("iiop://127.0.0.1:0");
    let orb = orb.build().unwrap();
    let channel: EventChannelRef = orb.resolve(&url).unwrap();
    let heard = consume(&orb, &channel);
    let (puller, supplier) = (pull(&channel), supply(&channel));
    let (accepted, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut pushed = Pushed::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                pushed.push(&supplier, number);
                accepted.store(pushed.accepted.len(), Ordering::SeqCst);
                if over.load(Ordering::SeqCst) {
                    return;
                }
            }
        });
        for kill in 1..=KILLS {
            until("events", || accepted.load(Ordering::SeqCst) >= kill * EACH);
            server.process.kill();
            server = Server::start(&folder, &port);
            assert_eq!(server.url, url, "the same reference");
        }
        until("events at last", || accepted.load(Ordering::SeqCst) >= (KILLS + 1) * EACH);
        over.store(true, Ordering::SeqCst);
    });
    let last = *pushed.accepted.last().expect("some");
    until("the last event", || heard.numbers().contains(&last));
    pushed.check(&heard.numbers(), |number| number != FILTERED);
    let mut pulled = Vec::new();
    while pulled.last() != Some(&last) {
        let events = puller.pull_structured_events(1024).unwrap();
        pulled.extend(events.iter().map(number));
    }
    pushed.check(&pulled, |_| true);
    let unknown = pushed.unknown.len();
    println!(
        "{} accepted, {unknown} unknown, {} refused",
        pushed.accepted.len(),
        pushed.refused.len()
    );

    // After a graceful end, the store no longer contains delivered events, so they are not delivered again.
    puller.try_pull_structured_events(1).unwrap();
    server.stop();
    let _server = Server::start(&folder, &port);
    let before = heard.numbers().len();
    pushed.push(&supplier, last + 1_000);
    until("one more", || heard.numbers().len() > before);
    assert_eq!(heard.numbers()[before..], [last + 1_000]);
    let _ = orb.shutdown(true);
}

#[test]
fn a_store_that_cannot_be_used_is_refused_in_one_message() {
    let folder = Folder::new("event-store-bad");
    let file = folder.file("a file", "no directory");
    let _first = Server::start(&folder, "0");
    let store = folder.path("store");
    for (args, says) in [
        (&["--store", file.as_str()][..], "a file"),
        (&["--store", store.as_str()][..], "another process"),
    ] {
        let output = command(args).output().unwrap();
        let why = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{why}");
        assert!(why.contains(says) && why.contains("error"), "{why}");
    }
    let without = Command::new(env!("CARGO_BIN_EXE_oxorb"))
        .args(["event", "serve", "--store", "x"])
        .output()
        .unwrap();
    let why = String::from_utf8_lossy(&without.stderr);
    assert_eq!(without.status.code(), Some(2), "{why}");
    assert!(why.contains("--notify"), "{why}");
}
