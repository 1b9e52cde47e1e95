//! Channels that are used as CORBA objects.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use oxorb::{Any, Interface as _, Orb, SystemExceptionKind};
use oxorb_event::rtec_event_channel_admin::event_channel::{
    AppendObserverError, RemoveObserverError,
};
use oxorb_event::rtec_event_channel_admin::proxy_push_consumer::ConnectPushSupplierError;
use oxorb_event::rtec_event_channel_admin::proxy_push_supplier::ConnectPushConsumerError;
use oxorb_event::rtec_event_channel_admin::{
    ConsumerQos, EventChannelRef, ProxyPushConsumerRef, ProxyPushSupplierRef,
};
use oxorb_event::rtec_event_comm::{Event, PushConsumer, PushConsumerRef, PushSupplierRef};
use oxorb_event::{
    ChannelOptions, Control, EventChannel, Filter, Limits, Notice, Served, event_type,
};

use crate::channel::{Record, asks, event, publishes};

/// A channel that is called over TCP, and an ORB for remote consumers and suppliers.
struct Bench {
    server: Orb,
    client: Orb,
    served: Served,
    /// Reference to the channel in the client's ORB.
    channel: EventChannelRef,
}

impl Bench {
    fn new(options: ChannelOptions) -> Bench {
        let server = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let served = EventChannel::new(options).serve(&server, "EventService").unwrap();
        let client = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
        let channel = client.resolve(&url(&served, "EventService")).unwrap();
        Bench { server, client, served, channel }
    }

    fn consumer_proxy(&self) -> ProxyPushSupplierRef {
        let admin = self.channel.for_consumers().unwrap().unwrap();
        admin.obtain_push_supplier().unwrap().unwrap()
    }

    fn supplier_proxy(&self) -> ProxyPushConsumerRef {
        let admin = self.channel.for_suppliers().unwrap().unwrap();
        admin.obtain_push_consumer().unwrap().unwrap()
    }

    /// Returns a consumer of the client that is connected to the channel.
    fn consumer(&self, filter: &Filter) -> (Arc<Record>, PushConsumerRef, ProxyPushSupplierRef) {
        let record = Record::new();
        let object: PushConsumerRef = self.client.root_poa().activate(record.clone()).unwrap();
        let proxy = self.consumer_proxy();
        proxy.connect_push_consumer(Some(&object), &asks(filter)).unwrap();
        (record, object, proxy)
    }

    fn supplier(&self) -> ProxyPushConsumerRef {
        let proxy = self.supplier_proxy();
        proxy.connect_push_supplier(None, &publishes([(0, 0)])).unwrap();
        proxy
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.client.shutdown(true);
        let _ = self.server.shutdown(true);
    }
}

fn url(served: &Served, key: &str) -> String {
    let ior = served.reference().reference().ior();
    let profile = ior.iiop_profiles().next().expect("it listens");
    format!("corbaloc::{}/{key}", profile.endpoints()[0])
}

/// Waits until another thread has made a condition true.
fn until(what: &str, done: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn events_pass_from_a_supplier_elsewhere_to_consumers_elsewhere() {
    let bench = Bench::new(ChannelOptions::default());
    let (all, ..) = bench.consumer(&Filter::ALL);
    let pair = Filter::each_of([Filter::event_type(17), Filter::event_type(18)]);
    let (pairs, ..) = bench.consumer(&pair);
    let supplier = bench.supplier();
    supplier.push(&[event(17, 1, 1), event(18, 1, 2)]).unwrap();
    supplier.push(&[event(19, 1, 3)]).unwrap();
    // Sort the events, because events between these ORBs may overtake each other.
    let mut came = all.wait(3);
    came.sort_unstable();
    assert_eq!(came, [(17, 1, 1), (18, 1, 2), (19, 1, 3)]);
    assert_eq!(pairs.wait(1), [(17, 1, 1), (18, 1, 2)]);
}

/// A supplier that connected with nil cannot be pinged. Because it may be dead, it is released after a time without a
/// push.
#[test]
fn a_supplier_without_an_object_that_falls_silent_is_let_go() {
    let bench = Bench::new(ChannelOptions {
        supplier_idle: Some(Duration::from_millis(50)),
        ..ChannelOptions::default()
    });
    let (told, notices) = std::sync::mpsc::channel();
    let told = std::sync::Mutex::new(told);
    let channel = bench.served.channel();
    channel.log(move |notice| drop(told.lock().unwrap().send(notice.to_string())));
    // A local supplier is not released, even if it is silent.
    let _own = channel.connect_supplier(None, &publishes([(17, 1)]));
    let proxy = bench.supplier();
    let of = |kind: &str| notices.recv_timeout(Duration::from_secs(60)).expect(kind);
    let notice = of("a notice");
    assert!(notice.contains("pushed nothing for 50ms"), "{notice}");
    assert_eq!(channel.statistics().suppliers.len(), 1);
    until("the object is gone", || proxy.reference().non_existent() == Ok(true));
}

#[test]
fn events_with_an_any_keep_it() {
    let bench = Bench::new(ChannelOptions::default());
    let record = Arc::new(std::sync::Mutex::new(None::<String>));
    struct Reads(Arc<std::sync::Mutex<Option<String>>>);
    impl oxorb_event::rtec_event_comm::PushConsumer for Reads {
        fn push(&self, events: &[oxorb_event::rtec_event_comm::Event]) {
            *self.0.lock().unwrap() = events[0].data.any_value.get().unwrap();
        }
        fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
            Ok(())
        }
    }
    let object: PushConsumerRef = bench.client.root_poa().activate(Reads(record.clone())).unwrap();
    let proxy = bench.consumer_proxy();
    proxy.connect_push_consumer(Some(&object), &asks(&Filter::ALL)).unwrap();
    let mut with = event(17, 1, 1);
    with.data.any_value = oxorb::Any::new("né".to_owned());
    bench.supplier().push(&[with]).unwrap();
    until("the any", || record.lock().unwrap().as_deref() == Some("né"));
}

#[test]
fn nil_twice_and_nonsense_are_refused_as_in_tao() {
    let bench = Bench::new(ChannelOptions::default());
    let (_, object, proxy) = bench.consumer(&Filter::ALL);
    let refused = proxy.connect_push_consumer(Some(&object), &asks(&Filter::ALL)).unwrap_err();
    assert!(matches!(refused, ConnectPushConsumerError::AlreadyConnected(_)));
    let idle = bench.consumer_proxy();
    let refused = idle.connect_push_consumer(None, &asks(&Filter::ALL)).unwrap_err();
    let ConnectPushConsumerError::System(nil) = refused else {
        panic!("{refused}");
    };
    assert_eq!(nil.kind, SystemExceptionKind::BadParam);
    let mut nonsense = ConsumerQos::default();
    nonsense.dependencies.push(Default::default());
    nonsense.dependencies[0].event.header.r#type = event_type::NEGATION_DESIGNATOR;
    let refused = idle.connect_push_consumer(Some(&object), &nonsense).unwrap_err();
    assert!(matches!(refused, ConnectPushConsumerError::TypeError(_)));
    let refused = idle.disconnect_push_supplier().unwrap_err();
    assert_eq!(refused.kind, SystemExceptionKind::BadInvOrder);
    // A refused connect leaves the proxy unconnected, so it can be used again.
    idle.connect_push_consumer(Some(&object), &asks(&Filter::ALL)).unwrap();
    let supplier = bench.supplier();
    let refused = supplier.connect_push_supplier(None, &publishes([])).unwrap_err();
    assert!(matches!(refused, ConnectPushSupplierError::AlreadyConnected(_)));
}

#[test]
fn peers_may_connect_again_where_the_channel_lets_them() {
    let bench = Bench::new(ChannelOptions {
        consumer_reconnect: true,
        supplier_reconnect: true,
        ..ChannelOptions::default()
    });
    let (before, object, proxy) = bench.consumer(&Filter::event_type(17));
    proxy.connect_push_consumer(Some(&object), &asks(&Filter::event_type(18))).unwrap();
    let supplier = bench.supplier();
    supplier.connect_push_supplier(None, &publishes([(0, 0)])).unwrap();
    supplier.push(&[event(17, 1, 1), event(18, 1, 2)]).unwrap();
    assert_eq!(before.wait(1), [(18, 1, 2)]);
}

#[test]
fn disconnected_proxies_are_gone_and_peers_are_called_back_on_wish() {
    for disconnect_callbacks in [false, true] {
        let bench =
            Bench::new(ChannelOptions { disconnect_callbacks, ..ChannelOptions::default() });
        let (consumer, _, proxy) = bench.consumer(&Filter::ALL);
        proxy.disconnect_push_supplier().unwrap();
        assert_eq!(consumer.disconnects(), u32::from(disconnect_callbacks));
        let again = proxy.disconnect_push_supplier().unwrap_err();
        assert_eq!(again.kind, SystemExceptionKind::ObjectNotExist);
        let record = Record::new();
        let object: PushSupplierRef = bench.client.root_poa().activate(record.clone()).unwrap();
        let proxy = bench.supplier_proxy();
        proxy.connect_push_supplier(Some(&object), &publishes([])).unwrap();
        proxy.disconnect_push_consumer().unwrap();
        assert_eq!(record.disconnects(), u32::from(disconnect_callbacks));
        assert!(bench.served.channel().statistics().suppliers.is_empty());
    }
}

#[test]
fn suspended_connections_hold_events_back() {
    let bench = Bench::new(ChannelOptions::default());
    let (record, _, proxy) = bench.consumer(&Filter::ALL);
    let supplier = bench.supplier();
    proxy.suspend_connection().unwrap();
    supplier.push(&[event(17, 1, 1)]).unwrap();
    let counted = || bench.served.channel().statistics().consumers[0].suspended;
    until("one is counted", || counted() == 1);
    proxy.resume_connection().unwrap();
    supplier.push(&[event(17, 1, 2)]).unwrap();
    assert_eq!(record.wait(1), [(17, 1, 2)]);
}

#[test]
fn destroy_over_the_wire_tells_everybody() {
    let bench = Bench::new(ChannelOptions::default());
    let (consumer, ..) = bench.consumer(&Filter::ALL);
    let record = Record::new();
    let object: PushSupplierRef = bench.client.root_poa().activate(record.clone()).unwrap();
    let supplier = bench.supplier_proxy();
    supplier.connect_push_supplier(Some(&object), &publishes([])).unwrap();
    let notices = Arc::<Mutex<Vec<Notice>>>::default();
    let log = notices.clone();
    bench.served.channel().log(move |notice| log.lock().unwrap().push(notice.clone()));
    bench.channel.destroy().unwrap();
    assert_eq!(*notices.lock().unwrap(), [Notice::Destroyed]);
    assert_eq!((consumer.disconnects(), record.disconnects()), (1, 1));
    until("the channel's object is gone", || bench.channel.for_consumers().is_err());
    assert!(bench.served.channel().is_destroyed());
    // The name is free, so another channel can be served under it, with the same reference.
    let anew =
        EventChannel::new(ChannelOptions::default()).serve(&bench.server, "EventService").unwrap();
    assert!(anew.reference().reference().is_equivalent(bench.served.reference().reference()));
    assert!(bench.channel.for_consumers().unwrap().is_some());
}

/// The log receives no notice if the owner destroys the channel.
#[test]
fn the_log_is_not_told_of_an_end_by_the_owner() {
    let bench = Bench::new(ChannelOptions::default());
    let notices = Arc::<AtomicU32>::default();
    let log = notices.clone();
    bench.served.channel().log(move |_| {
        log.fetch_add(1, SeqCst);
    });
    bench.served.channel().destroy();
    // The channel is already destroyed, so a client's `destroy` must not cause a notice either.
    let _ = bench.channel.destroy();
    assert_eq!(notices.load(SeqCst), 0);
}

/// Four consumers, each of which waits in its call until all of them have been called. If the channel called one after
/// the other, the calls would time out.
#[test]
fn destroy_tells_peers_side_by_side() {
    struct Together(Arc<Barrier>, Arc<AtomicU32>);

    impl PushConsumer for Together {
        fn push(&self, _: &[Event]) {}

        fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
            self.0.wait();
            self.1.fetch_add(1, SeqCst);
            Ok(())
        }
    }

    let bench = Bench::new(ChannelOptions {
        call_timeout: Duration::from_secs(60),
        control: Control { period: None, ..Control::default() },
        ..ChannelOptions::default()
    });
    let (barrier, told) = (Arc::new(Barrier::new(4)), Arc::<AtomicU32>::default());
    for _ in 0..4 {
        let consumer = Together(barrier.clone(), told.clone());
        let object: PushConsumerRef = bench.client.root_poa().activate(consumer).unwrap();
        bench.consumer_proxy().connect_push_consumer(Some(&object), &asks(&Filter::ALL)).unwrap();
    }
    bench.served.channel().destroy();
    assert_eq!(told.load(SeqCst), 4);
}

/// A value counts like a payload against the limits of conjunctions and of one push.
#[test]
fn octets_of_values_count() {
    let bench = Bench::new(ChannelOptions {
        limits: Limits { octets: 1_000, collected: 1_500, ..Limits::default() },
        ..ChannelOptions::default()
    });
    let both = Filter::each_of([17, 18, 19].map(Filter::event_type));
    let (_record, ..) = bench.consumer(&both);
    let supplier = bench.supplier();
    let push = |event_type, octets| {
        let mut event = event(event_type, 1, 1);
        event.data.any_value = Any::new(vec![7u8; octets]);
        supplier.push(&[event]).unwrap();
    };
    let statistics = || bench.served.channel().statistics();
    push(17, 1_001);
    until("it is refused", || statistics().suppliers[0].refused == 1);
    push(17, 900);
    push(18, 900);
    until("they are dropped", || statistics().consumers[0].uncollected == 2);
}

#[test]
fn a_consumer_that_is_gone_is_let_go() {
    let control = Control { period: Some(Duration::from_millis(20)), ..Control::default() };
    let bench = Bench::new(ChannelOptions { control, ..ChannelOptions::default() });
    // A ping detects a consumer whose object does not exist.
    let (_, object, proxy) = bench.consumer(&Filter::ALL);
    bench.client.root_poa().deactivate(&object).unwrap();
    let channel = bench.served.channel();
    until("it is asked", || channel.statistics().consumers.is_empty());
    let refused = proxy.suspend_connection().unwrap_err();
    assert_eq!(refused.kind, SystemExceptionKind::ObjectNotExist);
    // A ping also detects a consumer whose process has ended.
    let other = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let record = Record::new();
    let object: PushConsumerRef = other.root_poa().activate(record).unwrap();
    let proxy = bench.consumer_proxy();
    proxy.connect_push_consumer(Some(&object), &asks(&Filter::ALL)).unwrap();
    assert_eq!(channel.statistics().consumers.len(), 1);
    other.shutdown(true).unwrap();
    until("it does not answer", || channel.statistics().consumers.is_empty());
}

#[test]
fn several_channels_of_one_server_are_strangers() {
    let bench = Bench::new(ChannelOptions::default());
    let second = EventChannel::new(ChannelOptions::default());
    let served = second.serve(&bench.server, "Telemetry").unwrap();
    let other: EventChannelRef = bench.client.resolve(&url(&served, "Telemetry")).unwrap();
    assert!(other.for_consumers().unwrap().is_some());
    let (record, ..) = bench.consumer(&Filter::ALL);
    let supplier = second.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    supplier.push(&[event(17, 1, 1)]).unwrap();
    bench.supplier().push(&[event(17, 1, 2)]).unwrap();
    assert_eq!(record.wait(1), [(17, 1, 2)]);
    let refused = EventChannel::new(ChannelOptions::default()).serve(&bench.server, "Telemetry");
    assert!(refused.is_err());
    served.destroy().unwrap();
    assert!(other.for_consumers().is_err());
    assert!(bench.channel.for_consumers().is_ok());
}

#[test]
fn limits_answer_over_the_wire() {
    let bench = Bench::new(ChannelOptions {
        limits: Limits { consumers: 1, observers: 0, ..Limits::default() },
        ..ChannelOptions::default()
    });
    let _one = bench.consumer_proxy();
    let admin = bench.channel.for_consumers().unwrap().unwrap();
    let refused = admin.obtain_push_supplier().unwrap_err();
    assert_eq!(refused.minor, oxorb::minor::imp_limit::EVENT_PROXIES);
    let record: PushConsumerRef = bench.client.root_poa().activate(Record::new()).unwrap();
    let observer =
        oxorb_event::rtec_event_channel_admin::ObserverRef::from_ref(record.reference().clone());
    let refused = bench.channel.append_observer(Some(&observer)).unwrap_err();
    assert!(matches!(refused, AppendObserverError::CantAppendObserver(_)));
    let refused = bench.channel.remove_observer(7).unwrap_err();
    assert!(matches!(refused, RemoveObserverError::CantRemoveObserver(_)));
}

#[test]
fn a_consumer_in_the_process_of_the_channel_is_called_without_a_message() {
    let bench = Bench::new(ChannelOptions::default());
    let record = Record::new();
    struct Address(std::sync::Mutex<Vec<usize>>);
    impl oxorb_event::rtec_event_comm::PushConsumer for Address {
        fn push(&self, events: &[oxorb_event::rtec_event_comm::Event]) {
            let place = events[0].data.payload.as_ptr() as usize;
            self.0.lock().unwrap().push(place);
        }
        fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
            Ok(())
        }
    }
    let servant = Arc::new(Address(Default::default()));
    let object: PushConsumerRef = bench.server.root_poa().activate(servant.clone()).unwrap();
    let admin = bench.served.reference().for_consumers().unwrap().unwrap();
    let proxy = admin.obtain_push_supplier().unwrap().unwrap();
    proxy.connect_push_consumer(Some(&object), &asks(&Filter::ALL)).unwrap();
    let supplier = bench.served.channel().connect_supplier(None, &publishes([(17, 1)])).unwrap();
    let events = [event(17, 1, 1)];
    supplier.push(&events).unwrap();
    // A near servant is called directly, so it receives the supplier's octets without a copy.
    let place = events[0].data.payload.as_ptr() as usize;
    assert_eq!(*servant.0.lock().unwrap(), [place]);
    drop(record);
}
