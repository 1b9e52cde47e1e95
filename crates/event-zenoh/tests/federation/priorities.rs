//! Priorities of events in zenoh and in the gateway's queues.

use std::sync::{Arc, Mutex, mpsc};

use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{Filter, asks_for};
use oxorb_event_zenoh::{FederationOptions, Priorities, Priority};
use zenoh::Wait;

use super::{Host, Record, event, free_port, patient, until};

fn options() -> FederationOptions {
    FederationOptions {
        priorities: Priorities::by_type("17@real-time 18@background *@data-high").unwrap(),
        ..patient()
    }
}

#[test]
fn zenoh_carries_each_event_at_its_priority() {
    let port = free_port();
    let (one, other) = (Host::join(port, true, options()), Host::join(port, false, options()));
    let got = Arc::<Mutex<Vec<(String, Priority, bool)>>>::default();
    let seen = Arc::clone(&got);
    let listening = other.federation.session().declare_subscriber("oxorb/events/**");
    let _listening = listening
        .callback(move |sample| {
            let topic = sample.key_expr().as_str().to_owned();
            seen.lock().unwrap().push((topic, sample.priority(), sample.express()));
        })
        .wait()
        .unwrap();
    let all = |event_type: i32, priority: Priority, express: bool| {
        until("an event comes at its priority", || {
            one.push(&[event(event_type, 1, 9, b"")]);
            let got = got.lock().unwrap();
            let topic = format!("oxorb/events/{event_type}/1");
            let mut of = got.iter().filter(|one| one.0 == topic).peekable();
            of.peek().is_some() && of.all(|one| (one.1, one.2) == (priority, express))
        });
    };
    all(17, Priority::RealTime, true);
    all(18, Priority::Background, false);
    all(19, Priority::DataHigh, false);
}

/// Consumer that blocks at the first event until the test releases it.
struct Held {
    reached: mpsc::Sender<()>,
    open: Mutex<mpsc::Receiver<()>>,
    record: Arc<Record>,
}

impl PushConsumer for Held {
    fn push(&self, events: &[Event]) {
        let _ = self.reached.send(());
        // Ignore the error: after the test has dropped the sender, `recv` returns immediately.
        let _ = self.open.lock().unwrap().recv();
        self.record.push(events);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

#[test]
fn what_is_urgent_overtakes_what_waits_and_keeps_its_own_order() {
    let port = free_port();
    let (one, other) = (Host::join(port, true, options()), Host::join(port, false, options()));
    let (probe, probing) = Record::at(&other.channel, &Filter::ALL);
    for event_type in [17, 18, 19] {
        one.until_heard(event_type, &probe);
    }
    let (reached, first) = mpsc::channel();
    let (go, open) = mpsc::channel();
    let record = Arc::<Record>::default();
    let held = Held { reached, open: Mutex::new(open), record: Arc::clone(&record) };
    let _held = other.channel.connect_consumer(Arc::new(held), &asks_for(&Filter::ALL)).unwrap();
    // Probe with a type to which `other` is already subscribed, so that its subscriptions do not change.
    one.push(&[event(19, 1, 9, b"first")]);
    first.recv().unwrap();
    let before = other.gateway.statistics().receiving.offered;
    for number in 0..30_u8 {
        // Push the least urgent type first, each type from two sources.
        for event_type in [18, 19, 17] {
            one.push(&[event(event_type, i32::from(number % 2) + 1, 9, &[number])]);
        }
    }
    until("all wait", || other.gateway.statistics().receiving.offered == before + 90);
    drop(go);
    until("all came", || record.all().len() == 91);
    drop(probing);
    let told = record.told().into_iter().skip(1).map(|one| (one.0, one.2[0]));
    let expected =
        [17, 19, 18].into_iter().flat_map(|one| (0..30).map(move |number| (one, number)));
    assert_eq!(told.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}
