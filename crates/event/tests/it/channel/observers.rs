//! Observers hear what consumers ask for and suppliers publish.

use std::sync::Mutex;

use oxorb_event::rtec_event_channel_admin::{ConsumerQos, Observer, SupplierQos};
use oxorb_event::{ChannelOptions, ConnectError, EventChannel, Filter, Limits, event_type};

use crate::channel::{Record, asks, publishes};

#[derive(Default)]
struct Watcher {
    subscriptions: Mutex<Vec<Vec<(i32, i32)>>>,
    publications: Mutex<Vec<Vec<(i32, i32)>>>,
}

impl Observer for Watcher {
    fn update_consumer(&self, qos: &ConsumerQos) -> oxorb::Result<()> {
        let all = qos.dependencies.iter().map(|one| one.event.header);
        let all = all.map(|header| (header.r#type, header.source)).collect();
        self.subscriptions.lock().unwrap().push(all);
        Ok(())
    }

    fn update_supplier(&self, qos: &SupplierQos) -> oxorb::Result<()> {
        let all = qos.publications.iter().map(|one| one.event.header);
        let all = all.map(|header| (header.r#type, header.source)).collect();
        self.publications.lock().unwrap().push(all);
        Ok(())
    }
}

#[test]
fn observers_are_told_at_once_and_after_each_change() {
    let channel = EventChannel::new(ChannelOptions::default());
    let watcher = std::sync::Arc::new(Watcher::default());
    let record = Record::new();
    let one = channel.connect_consumer(record.clone(), &asks(&Filter::event(17, 1))).unwrap();
    let handle = channel.append_observer(watcher.clone()).unwrap();
    let filter = Filter::each_of([Filter::event(17, 1), Filter::event_type(18)]);
    let two = channel.connect_consumer(record.clone(), &asks(&filter)).unwrap();
    drop(one);
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    // Gateways are not listed: events would go in circles.
    let mut gateway = asks(&Filter::event_type(99));
    gateway.is_gateway = true;
    let _gateway = channel.connect_consumer(record.clone(), &gateway).unwrap();
    drop(supplier);
    let group = |n| (event_type::DISJUNCTION_DESIGNATOR, n);
    assert_eq!(
        *watcher.subscriptions.lock().unwrap(),
        [
            vec![group(1), (17, 1)],
            vec![group(2), (17, 1), (18, 0)],
            vec![group(2), (17, 1), (18, 0)],
        ]
    );
    let publications = watcher.publications.lock().unwrap().clone();
    assert_eq!(publications, [vec![], vec![(17, 1)], vec![]]);
    assert!(channel.remove_observer(handle) && !channel.remove_observer(handle));
    drop(two);
    assert_eq!(watcher.subscriptions.lock().unwrap().len(), 3);
}

#[test]
fn the_number_of_observers_is_limited() {
    let channel = EventChannel::new(ChannelOptions {
        limits: Limits { observers: 1, ..Limits::default() },
        ..ChannelOptions::default()
    });
    let watcher = std::sync::Arc::new(Watcher::default());
    channel.append_observer(watcher.clone()).unwrap();
    let refused = channel.append_observer(watcher).unwrap_err();
    assert_eq!(refused, ConnectError::Limit("observers", 1));
}
