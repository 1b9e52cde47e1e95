//! An event passes through a channel within its process without an allocation, once everything was used before (A17.3).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{ChannelOptions, EventChannel, Filter, asks_for, publishes};
use oxorb_testkit::alloc::{CountingAllocator, allocations};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

#[derive(Default)]
struct Counter(AtomicU64);

impl PushConsumer for Counter {
    fn push(&self, events: &[Event]) {
        self.0.fetch_add(events.len() as u64, Relaxed);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

#[test]
fn an_event_costs_no_allocation_in_the_channel() {
    let channel = EventChannel::new(ChannelOptions::default());
    let counter = Arc::new(Counter::default());
    let filters = [
        Filter::event_type(17),
        Filter::any_of([Filter::event(17, 1), Filter::source(1)]),
        Filter::all_of([Filter::event_type(17), Filter::not(Filter::source(2))]),
        Filter::event_type(18),
    ];
    let connect = |filter| {
        channel
            .connect_consumer(counter.clone(), &asks_for(filter))
            .unwrap()
    };
    let _consumers: Vec<_> = filters.iter().map(connect).collect();
    let supplier = channel
        .connect_supplier(None, &publishes([(17, 1)]))
        .unwrap();
    let mut event = Event::default();
    event.header.r#type = 17;
    event.header.source = 1;
    event.data.payload = vec![7; 1_000];
    let events = [event];
    supplier.push(&events).unwrap();
    // All of it runs in this thread: the supplier's.
    let (_, made) = allocations(|| {
        for _ in 0..1_000 {
            supplier.push(&events).unwrap();
        }
    });
    assert_eq!(counter.0.load(Relaxed), 3 * 1_001);
    assert_eq!(made.count, 0, "{} octets", made.octets);
}
