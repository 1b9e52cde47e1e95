//! Observers, which are notified of subscriptions and publications.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use oxorb::{Interface as _, Orb};
use oxorb_event::rtec_event_channel_admin::{
    ConsumerQos, EventChannelRef, Observer, ObserverRef, SupplierQos,
};
use oxorb_event::{
    Channel as _, ChannelOptions, ConnectError, EventChannel, Filter, Limits, Notice,
    RemoteChannel, TimeoutKind, event_type,
};
use oxorb_testkit::until;

use crate::channel::{Record, asks, event, publishes};

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
    // Observers are not notified about gateways. Otherwise gateways would subscribe for each other, and events would
    // circulate.
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

/// For suppliers and gateways, a consumer with the null designator subscribes to all events. They are not notified of a
/// consumer whose filter accepts no event.
#[test]
fn the_null_designator_is_told_as_any() {
    let channel = EventChannel::new(ChannelOptions::default());
    let watcher = std::sync::Arc::new(Watcher::default());
    channel.append_observer(watcher.clone()).unwrap();
    let masks = Filter::Bitmask { type_mask: 1, source_mask: 1, then: Box::new(Filter::Null) };
    for (filter, told) in [
        (Filter::Null, vec![(event_type::DISJUNCTION_DESIGNATOR, 1), (0, 0)]),
        (masks, vec![(event_type::DISJUNCTION_DESIGNATOR, 1), (0, 0)]),
        (Filter::NONE, vec![(event_type::DISJUNCTION_DESIGNATOR, 0)]),
    ] {
        let record = Record::new();
        let consumer = channel.connect_consumer(record.clone(), &asks(&filter)).unwrap();
        assert_eq!(watcher.subscriptions.lock().unwrap().last(), Some(&told), "{filter:?}");
        let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
        supplier.push(&[event(17, 1, 5)]).unwrap();
        let expected = u64::from(filter != Filter::NONE);
        assert_eq!(channel.statistics().consumers[0].delivered, expected, "{filter:?}");
        drop(consumer);
    }
}

/// If a consumer's filter is refused, its proxy must be connected before it can be released. This is done with a filter
/// that accepts no event.
#[test]
fn a_refused_proxy_is_given_back_without_asking_for_events() {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let channel = EventChannel::new(ChannelOptions::default());
    let served = channel.serve(&server, "EventService").unwrap();
    let watcher = std::sync::Arc::new(Watcher::default());
    channel.append_observer(watcher.clone()).unwrap();
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let remote = RemoteChannel::at(&orb, &served.reference().to_ior()).unwrap();
    let too_short = Filter::Timeout { kind: TimeoutKind::Interval, period: 1 };
    assert!(remote.join_consumer(Record::new(), &asks(&too_short)).is_err());
    let nothing = vec![(event_type::DISJUNCTION_DESIGNATOR, 0)];
    // The observer is notified at the start, when the proxy is connected with the empty filter, and when it is
    // disconnected.
    assert_eq!(*watcher.subscriptions.lock().unwrap(), vec![nothing; 3]);
    assert!(channel.statistics().consumers.is_empty());
    orb.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
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

/// A remote observer whose first call returns only when the test releases it.
struct Silent {
    came: mpsc::Sender<()>,
    released: Mutex<mpsc::Receiver<()>>,
    last: Mutex<Vec<i32>>,
    returned: AtomicBool,
}

impl Observer for Silent {
    fn update_consumer(&self, qos: &ConsumerQos) -> oxorb::Result<()> {
        let _ = self.came.send(());
        let _ = self.released.lock().unwrap().recv();
        let types = qos.dependencies.iter().map(|one| one.event.header.r#type);
        *self.last.lock().unwrap() = types.collect();
        self.returned.store(true, Ordering::SeqCst);
        Ok(())
    }

    fn update_supplier(&self, _: &SupplierQos) -> oxorb::Result<()> {
        Ok(())
    }
}

/// Serves a silent observer. The receiver reports its first call. Dropping the sender releases the observer.
fn silent(orb: &Orb) -> (ObserverRef, Arc<Silent>, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let ((came, comes), (release, released)) = (mpsc::channel(), mpsc::channel());
    let silent = Arc::new(Silent {
        came,
        released: Mutex::new(released),
        last: Mutex::default(),
        returned: AtomicBool::new(false),
    });
    let reference = orb.root_poa().activate(Arc::clone(&silent)).unwrap();
    (reference, silent, comes, release)
}

#[test]
fn observers_elsewhere_hold_up_nobody() {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let channel = EventChannel::new(ChannelOptions {
        call_timeout: Duration::from_secs(300),
        ..ChannelOptions::default()
    });
    let served = channel.serve(&server, "EventService").unwrap();
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let remote: EventChannelRef = orb.resolve(&served.reference().to_ior()).unwrap();
    let (first, observer, comes, release) = silent(&orb);
    remote.append_observer(Some(&first)).unwrap();
    comes.recv().unwrap();
    let consumer = channel.connect_consumer(Record::new(), &asks(&Filter::event_type(17)));
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)]));
    assert!(!observer.returned.load(Ordering::SeqCst), "nobody has waited for it");
    drop(release);
    until("the last that it hears is how it is", || observer.last.lock().unwrap().contains(&17));
    drop((consumer, supplier));
    orb.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_silent_observer_is_let_go() {
    let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let channel = EventChannel::new(ChannelOptions {
        call_timeout: Duration::from_millis(50),
        ..ChannelOptions::default()
    });
    let (log, notices) = mpsc::channel();
    channel.log(move |notice| {
        let _ = log.send(notice.clone());
    });
    let served = channel.serve(&server, "EventService").unwrap();
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let client = Orb::builder().build().unwrap();
    let remote: EventChannelRef = client.resolve(&served.reference().to_ior()).unwrap();
    let (reference, _observer, comes, release) = silent(&orb);
    let handle = remote.append_observer(Some(&reference)).unwrap();
    let change = || drop(channel.connect_consumer(Record::new(), &asks(&Filter::event_type(17))));
    // The observer may be slow rather than dead, so it is not released while the client that added it is connected.
    let mut rounds = 0;
    until("it was called more often than it may fail", || {
        change();
        rounds += comes.try_iter().count();
        rounds > 6
    });
    assert!(notices.try_recv().is_err());
    client.shutdown(true).unwrap();
    let mut heard = None;
    until("it is let go", || {
        change();
        heard = notices.try_recv().ok();
        heard.is_some()
    });
    assert!(matches!(heard, Some(Notice::ObserverReleased(of, _)) if of == handle), "{heard:?}");
    assert!(!channel.remove_observer(handle));
    drop(release);
    orb.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
