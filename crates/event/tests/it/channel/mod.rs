//! Tests of the channel, local and remote: which members receive events, and how members join and leave.

mod dispatch;
mod event_qos;
mod fan_out;
mod leaks;
mod local;
mod objects;
mod observers;
mod peers;
mod queued;
mod rates;
mod received;
mod scheduling;
mod timers;
mod typed;

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use oxorb_event::rtec_event_channel_admin::{ConsumerQos, SupplierQos};
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushSupplier};

/// A consumer or supplier that records the calls to it.
#[derive(Default)]
struct Record {
    /// Type, source and first octet of the payload of each event, grouped by sets.
    sets: Mutex<Vec<Vec<(i32, i32, u8)>>>,
    disconnects: Mutex<u32>,
    changed: Condvar,
}

impl Record {
    fn new() -> Arc<Record> {
        Arc::default()
    }

    fn sets(&self) -> Vec<Vec<(i32, i32, u8)>> {
        self.sets.lock().unwrap().clone()
    }

    fn events(&self) -> Vec<(i32, i32, u8)> {
        self.sets().concat()
    }

    /// Waits until this number of sets has arrived, and returns their events.
    fn wait(&self, sets: usize) -> Vec<(i32, i32, u8)> {
        let until = Instant::now() + Duration::from_secs(20);
        let mut now = self.sets.lock().unwrap();
        while now.len() < sets {
            assert!(Instant::now() < until, "{} of {sets} sets came", now.len());
            let waited = self.changed.wait_timeout(now, Duration::from_millis(20));
            now = waited.unwrap().0;
        }
        now.concat()
    }

    fn disconnects(&self) -> u32 {
        *self.disconnects.lock().unwrap()
    }
}

impl PushConsumer for Record {
    fn push(&self, events: &[Event]) {
        let header = |event: &Event| {
            let first = event.data.payload.first().copied().unwrap_or_default();
            (event.header.r#type, event.header.source, first)
        };
        let set = events.iter().map(header).collect();
        self.sets.lock().unwrap().push(set);
        self.changed.notify_all();
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        *self.disconnects.lock().unwrap() += 1;
        Ok(())
    }
}

impl PushSupplier for Record {
    fn disconnect_push_supplier(&self) -> oxorb::Result<()> {
        *self.disconnects.lock().unwrap() += 1;
        Ok(())
    }
}

fn event(event_type: i32, source: i32, payload: u8) -> Event {
    let mut event = Event::default();
    event.header.r#type = event_type;
    event.header.source = source;
    event.data.payload = vec![payload];
    event
}

fn asks(filter: &oxorb_event::Filter) -> ConsumerQos {
    oxorb_event::asks_for(filter)
}

fn publishes<const N: usize>(keys: [(i32, i32); N]) -> SupplierQos {
    oxorb_event::publishes(keys)
}

/// Waits until another thread has made a condition true.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
