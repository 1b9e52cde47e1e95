//! Tests of gateways: the encoding of datagrams, fragments in any order, and events over datagrams and GIOP.

mod addresses;
mod fragments;
mod groups;
mod iiop;
mod udp;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use oxorb_event::rtec_event_channel_admin::ConsumerQos;
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{ConsumerConnection, EventChannel, Filter};

/// Type, source, ttl and payload of an event.
type Got = (i32, i32, i32, Vec<u8>);

/// Events that a consumer received.
#[derive(Default)]
struct Record(Mutex<Vec<Got>>);

impl PushConsumer for Record {
    fn push(&self, events: &[Event]) {
        let mut all = self.0.lock().unwrap();
        all.extend(events.iter().map(|event| {
            let header = &event.header;
            (header.r#type, header.source, header.ttl, event.data.payload.to_vec())
        }));
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

impl Record {
    fn consumer(channel: &EventChannel, filter: &Filter) -> (Arc<Record>, ConsumerConnection) {
        let record = Arc::<Record>::default();
        let connection = channel.connect_consumer(record.clone(), &asks(filter)).unwrap();
        (record, connection)
    }

    fn all(&self) -> Vec<Got> {
        self.0.lock().unwrap().clone()
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

fn asks(filter: &Filter) -> ConsumerQos {
    oxorb_event::asks_for(filter)
}

fn event(event_type: i32, source: i32, ttl: i32, payload: &[u8]) -> Event {
    let mut event = Event::default();
    event.header.r#type = event_type;
    event.header.source = source;
    event.header.ttl = ttl;
    event.data.payload = payload.to_vec();
    event
}

/// Waits until another thread has made a condition true.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(30);
    while !done() {
        assert!(Instant::now() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
