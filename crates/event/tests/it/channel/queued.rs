//! Channels that deliver from queues. A slow consumer affects no other consumer, and every event is counted.

use std::sync::{Arc, Condvar, Mutex};

use oxorb_event::delivery::{Cause, Plan, Qos, WhenFull};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{ChannelOptions, EventChannel, Filter};

use crate::channel::{Record, asks, event, publishes};

/// A consumer that blocks until the test frees it.
#[derive(Default)]
struct Stuck {
    free: Mutex<bool>,
    changed: Condvar,
    came: Mutex<Vec<u8>>,
}

impl Stuck {
    fn free(&self) {
        *self.free.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

impl PushConsumer for Stuck {
    fn push(&self, events: &[Event]) {
        let free = self.free.lock().unwrap();
        drop(self.changed.wait_while(free, |free| !*free).unwrap());
        self.came.lock().unwrap().push(events[0].data.payload[0]);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

fn queued(events: usize, when_full: WhenFull) -> EventChannel {
    let queue = Qos { events, when_full, ..Qos::default() };
    EventChannel::queued(ChannelOptions::default(), Plan::pool(2), queue).unwrap()
}

#[test]
fn a_stuck_consumer_delays_nobody_and_what_it_missed_is_counted() {
    let channel = queued(4, WhenFull::DropOldest);
    let (stuck, record) = (Arc::new(Stuck::default()), Record::new());
    let _stuck = channel.connect_consumer(stuck.clone(), &asks(&Filter::ALL)).unwrap();
    let _other = channel.connect_consumer(record.clone(), &asks(&Filter::ALL)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    for n in 0..20 {
        supplier.push(&[event(17, 1, n)]).unwrap();
        record.wait(usize::from(n) + 1);
    }
    let order: Vec<u8> = record.events().iter().map(|one| one.2).collect();
    assert_eq!(order, (0..20).collect::<Vec<_>>());
    let counted = channel.statistics().consumers[0].clone();
    assert_eq!(counted.matched, 20);
    assert_eq!(counted.dropped, counted.queue.dropped(Cause::Oldest));
    assert!(counted.queue.is_balanced() && counted.dropped >= 15);
    stuck.free();
    channel.destroy();
    // All events that were not dropped have arrived. The last one is never dropped.
    let came = stuck.came.lock().unwrap().clone();
    assert_eq!(came.last(), Some(&19));
    assert_eq!(came.len() as u64, 20 - counted.dropped);
}

#[test]
fn sets_of_conjunctions_pass_through_queues() {
    let channel = queued(16, WhenFull::DropNewest);
    let record = Record::new();
    let filter = Filter::each_of([Filter::event_type(17), Filter::event_type(18)]);
    let _pairs = channel.connect_consumer(record.clone(), &asks(&filter)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(0, 0)])).unwrap();
    supplier.push(&[event(17, 1, 1), event(18, 1, 2), event(17, 1, 3)]).unwrap();
    assert_eq!(record.wait(1), [(17, 1, 1), (18, 1, 2)]);
}

#[test]
fn a_consumer_that_fails_is_let_go() {
    struct Panics;
    impl PushConsumer for Panics {
        fn push(&self, _: &[Event]) {
            panic!("a consumer's own affair");
        }
        fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
            Ok(())
        }
    }
    let channel = queued(16, WhenFull::DropNewest);
    let record = Record::new();
    let panics = channel.connect_consumer(Arc::new(Panics), &asks(&Filter::ALL)).unwrap();
    let _other = channel.connect_consumer(record.clone(), &asks(&Filter::ALL)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    let mut pushed = 0;
    while panics.is_connected() {
        supplier.push(&[event(17, 1, 0)]).unwrap();
        pushed += 1;
        record.wait(pushed);
    }
    assert!(pushed >= 3);
}
