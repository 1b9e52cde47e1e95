//! Reply handlers that are objects (AMI): none delays another, and failed deliveries are counted.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use oxorb::__gen::{Op, deliver};
use oxorb::client::AsyncReply;
use oxorb::incident::Incident;
use oxorb::settings::{ClientConnections, Concurrency};
use oxorb::{Interface, ObjectRef, Orb, SystemException};
use oxorb_testkit::watchdog;

use crate::common;
use crate::common::fake::{BlackHole, ior_at, played};
use crate::common::*;

/// Delivers a reply to a handler, which is a [`Pinger`], by one of its operations.
fn tell(handler: &ObjectRef, op: &'static Op) {
    deliver(handler.clone(), move |handler| told(handler, op));
}

fn told(handler: &ObjectRef, op: &'static Op) -> AsyncReply<(), SystemException> {
    handler.reference().invoke_async(op, |_| Ok(()), |_| Ok(()))
}

static NOTED: Op = Op::twoway("note");

/// A handler in an ORB of its own, which the client calls like one in another process.
struct Handler {
    orb: Orb,
    servant: Arc<Pinger>,
    object: ObjectRef,
}

impl Handler {
    fn new(client: &Orb) -> Handler {
        let orb = server(Concurrency::ThreadPerConnection);
        let servant = Arc::new(Pinger::default());
        let activated = orb.root_poa().activate_servant(Arc::clone(&servant) as _);
        let object = elsewhere(client, &activated.unwrap());
        Handler { orb, servant, object }
    }

    fn await_notes(&self, wanted: u32) {
        while self.servant.notes.load(Ordering::SeqCst) < wanted {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

fn not_told(client: &Orb) -> u64 {
    client.connection_statistics().count(Incident::HandlerNotTold)
}

#[test]
fn slow_handlers_and_those_that_cannot_be_reached_delay_no_other() {
    only_over!(SOCKETS, "nobody waits to be queued in memory");
    let _guard = watchdog(LONG);
    // Set no time limit, which would end a blocked delivery and so hide it.
    let client = common::transport::builder()
        .connect_timeout(10 * LONG)
        .round_trip_timeout(None)
        .build()
        .unwrap();
    let (slow, quick) = (Handler::new(&client), Handler::new(&client));
    let gate = slow.servant.gate.lock().unwrap();
    for _ in 0..100 {
        tell(&slow.object, &WAIT);
    }
    let holes: Vec<_> = (0..4).map(|_| BlackHole::new()).collect();
    for hole in &holes {
        let nobody = client.string_to_object(&ior_at(&hole.address()).to_string());
        let nobody = nobody.unwrap();
        (0..10).for_each(|_| tell(&nobody, &NOTED));
    }
    for _ in 0..100 {
        tell(&quick.object, &NOTED);
    }
    quick.await_notes(100);
    slow.servant.until_at_gate(1);
    // Replies over one connection are delivered concurrently, up to its server's limit.
    let most = slow.orb.options().max_requests_per_connection as u32;
    assert!((1..=most).contains(&slow.servant.at_gate.load(Ordering::SeqCst)));
    drop(gate);
    while slow.servant.at_gate.load(Ordering::SeqCst) < 100 {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(not_told(&client), 0);
    drop(holes);
    client.shutdown(false).unwrap();
    slow.orb.shutdown(true).unwrap();
    quick.orb.shutdown(true).unwrap();
}

#[test]
fn the_answers_of_one_server_come_in_their_order() {
    let _guard = watchdog(LONG);
    let client = client(ClientConnections::Private);
    played(
        |server| {
            let mut connection = server.accept();
            for number in 0..200 {
                let request = connection.receive();
                let op = if number % 2 == 0 { "note" } else { "ping" };
                match request {
                    common::fake::Received::Request(id, name, _) if name == op => {
                        connection.answer(id, 0);
                    }
                    other => panic!("{number}: {other:?}"),
                }
            }
        },
        |server| {
            let handler = server.object(&client);
            for number in 0..200 {
                tell(&handler, if number % 2 == 0 { &NOTED } else { &PING });
            }
        },
    );
    client.shutdown(true).unwrap();
}

#[test]
fn what_a_handler_cannot_be_told_is_counted_with_the_reason() {
    only_over!(SOCKETS, "nobody waits to be queued in memory");
    let _guard = watchdog(LONG);
    let client = common::transport::builder().connect_timeout(10 * LONG).build().unwrap();
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    client.observe_connections(move |event| seen.lock().unwrap().push(event.to_string()));
    let refusing = common::transport::free_place().address;
    let nobody = client.string_to_object(&ior_at(&refusing).to_string()).unwrap();
    tell(&nobody, &NOTED);
    // Wait for the event, which is counted before it is reported.
    while events.lock().unwrap().is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(not_told(&client), 1);
    let said = events.lock().unwrap().pop().unwrap();
    assert!(said.starts_with(refusing.for_people()), "{said}");
    assert!(said.contains("TRANSIENT"), "{said}");

    // Of 300 replies, one is being delivered, 256 are queued, and the others are refused.
    let hole = BlackHole::new();
    let nobody = client.string_to_object(&ior_at(&hole.address()).to_string()).unwrap();
    for _ in 0..300 {
        tell(&nobody, &NOTED);
    }
    assert!((43..=44).contains(&(not_told(&client) - 1)));
    let said = events.lock().unwrap().pop().unwrap();
    assert!(said.contains("256 answers from there already wait for handlers"), "{said}");
    // Replies to other handlers are still delivered.
    let handler = Handler::new(&client);
    tell(&handler.object, &NOTED);
    handler.await_notes(1);
    drop(hole);
    client.shutdown(false).unwrap();
    handler.orb.shutdown(true).unwrap();
}

/// In-process handlers, whose servant the delivering thread calls, delay only each other.
#[test]
fn handlers_of_the_same_process_delay_each_other_only() {
    let _guard = watchdog(LONG);
    let orb = server(Concurrency::ThreadPerConnection);
    let servant = Arc::new(Pinger::default());
    let here = orb.root_poa().activate_servant(Arc::clone(&servant) as _);
    let here = ObjectRef::from_ref(here.unwrap());
    let other = Handler::new(&orb);
    let gate = servant.gate.lock().unwrap();
    tell(&here, &WAIT);
    tell(&here, &NOTED);
    tell(&other.object, &NOTED);
    other.await_notes(1);
    assert_eq!(servant.notes.load(Ordering::SeqCst), 0);
    drop(gate);
    while servant.notes.load(Ordering::SeqCst) < 1 {
        thread::sleep(Duration::from_millis(1));
    }
    orb.shutdown(true).unwrap();
    other.orb.shutdown(true).unwrap();
}
