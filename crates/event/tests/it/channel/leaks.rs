//! Connections that are refused, abandoned or released leave no resources behind, and every waiting peer is notified of
//! the end.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use oxorb::{Interface as _, Orb};
use oxorb_event::delivery::{Plan, Qos};
use oxorb_event::rtec_event_channel_admin::{
    ConsumerQos, EventChannelRef, Observer, ObserverRef, SupplierQos,
};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{
    Channel as _, ChannelOptions, ConnectError, Control, EventChannel, Filter, FilterErrorKind,
    Limits, RemoteChannel, Served, Subscriber, TimeoutKind, event_type,
};
use oxorb_testkit::until;

use crate::channel::{Record, asks, event, publishes};

/// Creates a channel that accepts only one consumer and one supplier.
fn small() -> EventChannel {
    EventChannel::new(ChannelOptions {
        limits: Limits { consumers: 1, suppliers: 1, ..Limits::default() },
        ..ChannelOptions::default()
    })
}

fn served(channel: &EventChannel) -> (Orb, Served) {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let served = channel.serve(&orb, "EventService").unwrap();
    (orb, served)
}

/// Returns a list of dependencies that is not a valid filter.
fn nonsense() -> ConsumerQos {
    let mut nonsense = ConsumerQos::default();
    nonsense.dependencies.push(Default::default());
    nonsense.dependencies[0].event.header.r#type = event_type::NEGATION_DESIGNATOR;
    nonsense
}

#[test]
fn refused_consumers_leave_no_proxy_behind() {
    let channel = small();
    for _ in 0..3 {
        let refused = channel.connect_consumer(Record::new(), &nonsense());
        assert!(matches!(refused, Err(ConnectError::Filter(_))));
    }
    drop(channel.connect_consumer(Record::new(), &asks(&Filter::ALL)));
    let (orb, served) = served(&channel);
    let client = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let remote = RemoteChannel::at(&client, &served.reference().to_ior()).unwrap();
    for _ in 0..3 {
        let Err(refused) = remote.join_consumer(Record::new(), &nonsense()) else {
            panic!("nonsense was taken");
        };
        assert!(refused.to_string().contains("connect_push_consumer"));
    }
    drop(remote.join_consumer(Record::new(), &asks(&Filter::ALL)).unwrap());
    client.shutdown(true).unwrap();
    orb.shutdown(true).unwrap();
}

#[test]
fn a_suppliers_proxy_that_nobody_used_may_be_given_back() {
    let channel = small();
    let (orb, served) = served(&channel);
    let suppliers = served.reference().for_suppliers().unwrap().unwrap();
    for _ in 0..3 {
        let idle = suppliers.obtain_push_consumer().unwrap().unwrap();
        idle.disconnect_push_consumer().unwrap();
    }
    orb.shutdown(true).unwrap();
}

#[test]
fn a_subscriber_ends_with_a_channel_that_is_merely_dropped() {
    let channel = EventChannel::new(ChannelOptions::default());
    let levels = Subscriber::<u32>::new(&channel, "level").unwrap();
    drop(channel);
    assert!(levels.iter().next().is_none());
}

#[test]
fn a_consumer_that_is_let_go_learns_of_it() {
    struct Panics(Arc<Record>);
    impl PushConsumer for Panics {
        fn push(&self, _: &[Event]) {
            panic!("a consumer's own affair");
        }
        fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
            self.0.disconnect_push_consumer()
        }
    }
    let channel = EventChannel::new(ChannelOptions::default());
    let record = Record::new();
    let panics = Arc::new(Panics(record.clone()));
    let consumer = channel.connect_consumer(panics, &asks(&Filter::ALL)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    while consumer.is_connected() {
        supplier.push(&[event(17, 1, 0)]).unwrap();
    }
    assert_eq!(record.disconnects(), 1);
}

/// The queue's limit of failures releases the consumer before the channel's limit does. The consumer must not stay
/// connected, because its queue accepts no more events.
#[test]
fn a_consumer_that_its_queue_lets_go_learns_of_it() {
    struct Panics(Arc<Record>);
    impl PushConsumer for Panics {
        fn push(&self, _: &[Event]) {
            panic!("a consumer's own affair");
        }
        fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
            self.0.disconnect_push_consumer()
        }
    }
    let options = ChannelOptions {
        control: Control { failures: u32::MAX, ..Control::default() },
        ..ChannelOptions::default()
    };
    let queue = Qos { failures: 2, ..Qos::default() };
    let channel = EventChannel::queued(options, Plan::pool(1), queue).unwrap();
    let (told, notices) = mpsc::channel();
    let told = std::sync::Mutex::new(told);
    channel.log(move |notice| drop(told.lock().unwrap().send(notice.to_string())));
    let record = Record::new();
    let panics = Arc::new(Panics(record.clone()));
    let consumer = channel.connect_consumer(panics, &asks(&Filter::ALL)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    supplier.push(&[event(17, 1, 0)]).unwrap();
    supplier.push(&[event(17, 1, 1)]).unwrap();
    let notice = notices.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(notice.contains("after 2 consecutive failures"), "{notice}");
    until("the consumer is disconnected", || !consumer.is_connected() && record.disconnects() == 1);
}

/// Blocks in its first call until the test releases it, and records the arguments of the last call that returned.
struct Slow {
    came: mpsc::Sender<()>,
    go: std::sync::Mutex<Option<mpsc::Receiver<()>>>,
    last: std::sync::Mutex<Vec<i32>>,
}

impl Observer for Slow {
    fn update_consumer(&self, wanted: &ConsumerQos) -> oxorb::Result<()> {
        if let Some(go) = self.go.lock().unwrap().take() {
            self.came.send(()).unwrap();
            let _ = go.recv_timeout(Duration::from_secs(20));
        }
        let types = wanted.dependencies.iter().map(|one| one.event.header.r#type);
        *self.last.lock().unwrap() = types.collect();
        Ok(())
    }

    fn update_supplier(&self, _: &SupplierQos) -> oxorb::Result<()> {
        Ok(())
    }
}

#[test]
fn the_last_that_a_new_observer_hears_is_how_it_is() {
    let channel = EventChannel::new(ChannelOptions::default());
    let (came, comes) = mpsc::channel();
    let (go, gone) = mpsc::channel();
    let slow = Arc::new(Slow {
        came,
        go: std::sync::Mutex::new(Some(gone)),
        last: std::sync::Mutex::default(),
    });
    let appending = {
        let (channel, slow) = (channel.clone(), slow.clone());
        thread::spawn(move || channel.append_observer(slow).unwrap())
    };
    comes.recv().unwrap();
    // At this point the new observer is being notified that there are no subscriptions.
    let _consumer =
        channel.connect_consumer(Record::new(), &asks(&Filter::event_type(17))).unwrap();
    go.send(()).unwrap();
    appending.join().unwrap();
    assert!(slow.last.lock().unwrap().contains(&17));
}

#[test]
fn timeouts_below_the_least_period_are_refused() {
    let channel = EventChannel::new(ChannelOptions::default());
    for kind in [TimeoutKind::Interval, TimeoutKind::Deadline] {
        let connect = |period| {
            let timeout =
                Filter::any_of([Filter::event_type(17), Filter::Timeout { kind, period }]);
            channel.connect_consumer(Record::new(), &asks(&timeout))
        };
        let Err(ConnectError::Filter(why)) = connect(9_999) else {
            panic!("0.9999 ms were taken");
        };
        let wanted = FilterErrorKind::TooShort { period: 9_999, least: 10_000 };
        assert_eq!((why.at, why.kind), (2, wanted));
        drop(connect(10_000).unwrap());
    }
}

#[test]
fn conjunctions_collect_within_a_limit_and_count_what_is_beyond() {
    let channel = EventChannel::new(ChannelOptions {
        limits: Limits { collected: 100, ..Limits::default() },
        ..ChannelOptions::default()
    });
    let record = Record::new();
    let three = Filter::each_of([17, 18, 19].map(Filter::event_type));
    let _consumer = channel.connect_consumer(record.clone(), &asks(&three)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(0, 0)])).unwrap();
    let push = |event_type, octets| {
        let mut event = event(event_type, 1, 7);
        event.data.payload = vec![7; octets];
        supplier.push(&[event]).unwrap();
    };
    let uncollected = || channel.statistics().consumers[0].uncollected;
    push(17, 60);
    push(18, 41);
    assert_eq!((uncollected(), record.sets().len()), (2, 0));
    // After the drop, all conjunctions start again.
    push(18, 50);
    push(19, 25);
    push(17, 25);
    assert_eq!(record.events(), [(18, 1, 7), (19, 1, 7), (17, 1, 7)]);
    assert_eq!(uncollected(), 2);
}

#[test]
fn a_client_gets_its_share_and_what_it_never_connected_goes_after_it() {
    let limits = Limits { consumers: 8, suppliers: 8, observers: 8, ..Limits::default() };
    let channel = EventChannel::new(ChannelOptions {
        limits,
        keep_unused: Duration::from_millis(1),
        ..ChannelOptions::default()
    });
    let (orb, served) = served(&channel);
    let client = || Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let (first, second) = (client(), client());
    let of =
        |client: &Orb| -> EventChannelRef { client.resolve(&served.reference().to_ior()).unwrap() };
    let (mine, other) = (of(&first), of(&second));
    let consumers =
        |of: &EventChannelRef| of.for_consumers().unwrap().unwrap().obtain_push_supplier();
    let suppliers =
        |of: &EventChannelRef| of.for_suppliers().unwrap().unwrap().obtain_push_consumer();
    // A proxy to which a consumer is connected must not be released.
    let used = consumers(&mine).unwrap().unwrap();
    let serving = client();
    let consumer = serving.root_poa().activate(Record::new()).unwrap();
    used.connect_push_consumer(Some(&consumer), &asks(&Filter::ALL)).unwrap();
    consumers(&mine).unwrap();
    suppliers(&mine).unwrap();
    suppliers(&mine).unwrap();
    // All connections from one address belong to one client, so the share is already used.
    let share = oxorb::minor::imp_limit::EVENT_SHARE;
    assert_eq!(consumers(&other).unwrap_err().minor, share);
    assert_eq!(suppliers(&other).unwrap_err().minor, share);
    let observer: ObserverRef = consumer.unchecked_narrow();
    other.append_observer(Some(&observer)).unwrap();
    other.append_observer(Some(&observer)).unwrap();
    assert!(other.append_observer(Some(&observer)).is_err());
    // The share does not apply to this process.
    let local = (0..6).map(|_| channel.connect_consumer(Record::new(), &asks(&Filter::ALL)));
    let local: Vec<_> = local.collect::<Result<_, _>>().unwrap();
    first.shutdown(true).unwrap();
    drop(local);
    until("a consumer's proxy comes back", || consumers(&other).is_ok());
    until("a supplier's proxy comes back", || suppliers(&other).is_ok());
    suppliers(&other).unwrap();
    assert_eq!(consumers(&other).unwrap_err().minor, share, "one is in use");
    assert_eq!(channel.statistics().consumers.len(), 1);
    second.shutdown(true).unwrap();
    serving.shutdown(true).unwrap();
    orb.shutdown(true).unwrap();
}
