//! Contents of a store in spite of failures: late writes, lower limits, and failed starts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use oxorb::{Any, Interface as _, Orb, SystemExceptionKind as Kind};
use oxorb_notify::cos_event_comm::{PullSupplier, PullSupplierRef, pull_supplier};
use oxorb_notify::cos_notification::StructuredEvent;
use oxorb_notify::cos_notify_channel_admin::{
    ClientType, EventChannelRef, ProxyPullConsumerRef, SequenceProxyPullSupplierRef,
};
use oxorb_notify::cos_notify_comm::StructuredPushConsumerRef;
use oxorb_notify::{Limits, NotifyService, Settings, Store};

use crate::notify::peers::{Heard, PATIENCE, peer};
use crate::notify::persistent::{Stored, client, kept, next_event, sink, source};
use crate::notify::structured::{event, property};

/// Returns settings with which every write is late: the operation raises TIMEOUT, and the write is made afterwards.
fn late() -> Settings {
    Settings { store_timeout: Duration::ZERO, reconnect: true, ..Settings::default() }
}

/// Ends a test that no longer needs its store.
fn end(stored: Stored, client: &Orb) {
    let file = stored.file.clone();
    drop(stored);
    std::fs::remove_file(file).unwrap();
    client.shutdown(true).unwrap();
}

fn numbers(heard: &Receiver<Heard>, events: i32) {
    for number in 0..events {
        assert_eq!(next_event(heard), event("d", "t", number));
    }
}

/// A supplier with a single event.
struct Once {
    event: Any,
    had: AtomicBool,
    asked: Sender<()>,
}

impl PullSupplier for Once {
    fn pull(&self) -> Result<Any, pull_supplier::PullError> {
        Ok(self.event.clone())
    }

    fn try_pull(&self) -> Result<(Any, bool), pull_supplier::TryPullError> {
        let _ = self.asked.send(());
        let is_first = !self.had.swap(true, Ordering::SeqCst);
        Ok((self.event.clone(), is_first))
    }

    fn disconnect_pull_supplier(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

/// Makes the channel pull from a supplier with a single event. The receiver reports each pull.
fn pulled(
    client: &Orb,
    channel_of: &EventChannelRef,
    event: Any,
) -> (ProxyPullConsumerRef, Receiver<()>) {
    let (asked, asks) = channel();
    let had = AtomicBool::new(false);
    let supplier = client.root_poa().activate(Once { event, had, asked });
    let supplier: PullSupplierRef = supplier.unwrap();
    let admin = channel_of.default_supplier_admin().unwrap().unwrap();
    let form = ClientType::AnyEvent;
    let (proxy, _) = admin.obtain_notification_pull_consumer(form).unwrap();
    let proxy: ProxyPullConsumerRef = proxy.unwrap().unchecked_narrow();
    proxy.connect_any_pull_supplier(Some(&supplier)).unwrap();
    (proxy, asks)
}

#[test]
fn a_reconnect_that_is_not_written_leaves_the_proxy_and_its_events() {
    let client = client();
    let stored = Stored::new("reconnect", Settings::default());
    let channel = stored.channel(&client);
    let source = source(&channel);
    let (proxy, heard_first) = sink(&client, &channel);
    proxy.suspend_connection().unwrap();
    for number in 0..3 {
        let pushed = event("d", "t", number);
        source.push_structured_event(&pushed).unwrap();
    }
    let stored = stored.restart(late());
    let (second, heard) = peer::<StructuredPushConsumerRef>(&client);
    let refused = (0..1_000).any(|_| {
        let connected = proxy.connect_structured_push_consumer(Some(&second));
        connected.is_err()
    });
    assert!(refused, "a write in no time");
    let stored = stored.restart(Settings::default());
    proxy.resume_connection().unwrap();
    numbers(&heard, 3);
    assert!(!heard_first.try_iter().any(|one| matches!(one, Heard::Structured(_))));
    end(stored, &client);
}

#[test]
fn what_is_refused_for_a_late_write_is_not_delivered_after_a_restart() {
    let client = client();
    let stored = Stored::new("late", Settings::default());
    let channel = stored.channel(&client);
    let source = source(&channel);
    let (proxy, heard) = sink(&client, &channel);
    proxy.suspend_connection().unwrap();
    source.push_structured_event(&event("d", "t", 0)).unwrap();
    let stored = stored.restart(late());
    let push = |number| source.push_structured_event(&event("d", "t", number));
    let accepted: Vec<i32> = (1..21).filter(|&number| push(number).is_ok()).collect();
    assert!(accepted.len() < 20, "a write in no time");
    let stored = stored.restart(Settings::default());
    source.push_structured_event(&event("d", "t", 99)).unwrap();
    proxy.resume_connection().unwrap();
    for number in [0].into_iter().chain(accepted).chain([99]) {
        assert_eq!(next_event(&heard), event("d", "t", number));
    }
    end(stored, &client);
}

#[test]
fn lower_limits_end_nobody_who_was_connected_before() {
    let client = client();
    let stored = Stored::new("lower", Settings::default());
    let channel = stored.channel(&client);
    let source = source(&channel);
    let first = sink(&client, &channel);
    let second = sink(&client, &channel);
    let (pulls, asked) = pulled(&client, &channel, Any::new(1_i32));
    asked.recv_timeout(PATIENCE).unwrap();
    for (proxy, heard) in [&first, &second] {
        assert_eq!(next_event(heard).remainder_of_body, Any::new(1_i32));
        proxy.suspend_connection().unwrap();
    }
    for number in 0..3 {
        let pushed = event("d", "t", number);
        source.push_structured_event(&pushed).unwrap();
    }
    for name in ["MaxConsumers", "MaxSuppliers"] {
        let least = property(name, Any::new(1_i32));
        channel.set_admin(&[least]).unwrap();
    }
    let fewer = Settings {
        limits: Limits { proxies: 1, pulled_suppliers: 0, ..Limits::default() },
        ..Settings::default()
    };
    let stored = stored.restart(fewer);
    for (proxy, heard) in [&first, &second] {
        proxy.resume_connection().unwrap();
        numbers(heard, 3);
    }
    asked.try_iter().for_each(drop);
    asked.recv_timeout(PATIENCE).unwrap();
    assert!(pulls.get_qos().is_ok());
    source.push_structured_event(&event("d", "t", 3)).unwrap();
    assert_eq!(next_event(&first.1), event("d", "t", 3));
    end(stored, &client);
}

#[test]
fn a_pulled_event_waits_until_a_full_store_has_room() {
    let settings = Settings {
        limits: Limits { stored_octets: 16 << 10, ..Limits::default() },
        retry: Duration::from_millis(20),
        ..Settings::default()
    };
    let client = client();
    let stored = Stored::new("room", settings);
    let channel = stored.channel(&client);
    let source = source(&channel);
    let (proxy, heard) = sink(&client, &channel);
    proxy.suspend_connection().unwrap();
    let mut accepted = 0;
    while source.push_structured_event(&event("d", "t", accepted)).is_ok() {
        accepted += 1;
        assert!(accepted < 1_000);
    }
    // This event is larger than the remaining space of the store.
    let large = Any::new(vec![7_u8; 4 << 10]);
    let (_pulls, asked) = pulled(&client, &channel, large.clone());
    asked.recv_timeout(PATIENCE).unwrap();
    // Give the store time to refuse the event. The test must succeed even if this time is too short.
    std::thread::sleep(Duration::from_millis(50));
    proxy.resume_connection().unwrap();
    numbers(&heard, accepted);
    assert_eq!(next_event(&heard).remainder_of_body, large);
    end(stored, &client);
}

/// The service logs the event. The supplier receives no exception, and is pulled from again.
#[test]
fn a_pulled_event_that_is_larger_than_the_store_is_delivered_and_logged() {
    let settings = Settings {
        limits: Limits { stored_octets: 4 << 10, ..Limits::default() },
        retry: Duration::from_millis(20),
        ..Settings::default()
    };
    let client = client();
    let stored = Stored::new("outgrown", settings);
    let channel = stored.channel(&client);
    let (_proxy, heard) = sink(&client, &channel);
    let large = Any::new(vec![7_u8; 8 << 10]);
    let (_pulls, asked) = pulled(&client, &channel, large.clone());
    assert_eq!(next_event(&heard).remainder_of_body, large);
    // The service continues to pull from the supplier.
    for _ in 0..2 {
        asked.recv_timeout(PATIENCE).unwrap();
    }
    let why = stored.service.take_failure().expect("it is logged");
    assert!(why.contains("stored_octets is 4096"), "{why}");
    let counts = stored.service.counts();
    assert!(counts.is_balanced() && counts.dropped_in_all() == 0, "{counts:?}");
    end(stored, &client);
}

/// Events that were pulled but not confirmed are no longer in the queue. After a restart they are put back into it.
#[test]
fn more_events_may_be_owed_than_a_queue_takes() {
    const QUEUE: i32 = 4;
    let settings = || Settings {
        limits: Limits { queue_events: QUEUE as usize, ..Limits::default() },
        ..Settings::default()
    };
    let client = client();
    let stored = Stored::new("owed", settings());
    let channel = stored.channel(&client);
    let source = source(&channel);
    let admin = channel.default_consumer_admin().unwrap().unwrap();
    let form = ClientType::SequenceEvent;
    let (proxy, _) = admin.obtain_notification_pull_supplier(form).unwrap();
    let proxy: SequenceProxyPullSupplierRef = proxy.unwrap().unchecked_narrow();
    proxy.connect_sequence_pull_consumer(None).unwrap();
    let events: Vec<StructuredEvent> = (0..2 * QUEUE).map(|n| event("d", "t", n)).collect();
    let (first, second) = events.split_at(QUEUE as usize);
    let push = |event: &StructuredEvent| source.push_structured_event(event).unwrap();
    first.iter().for_each(push);
    assert_eq!(proxy.pull_structured_events(QUEUE).unwrap(), first);
    second.iter().for_each(push);
    let stored = stored.restart(settings());
    assert_eq!(proxy.pull_structured_events(2 * QUEUE).unwrap(), events);
    end(stored, &client);
}

/// The name contains a NUL, so it cannot be written.
#[test]
fn a_channel_whose_name_is_not_written_does_not_stay() {
    let client = client();
    let stored = Stored::new("name", Settings::default());
    for _ in 0..2 {
        let refused = stored.service.channel_named("a\0b", &kept(), &[]);
        assert_eq!(refused.unwrap_err().kind, Kind::BadParam);
        let channels = stored.service.factory().get_all_channels().unwrap();
        assert!(channels.is_empty(), "{channels:?}");
    }
    end(stored, &client);
}

#[test]
fn a_start_that_fails_and_a_service_that_is_dropped_close_the_store() {
    let client = client();
    let stored = Stored::new("closed", Settings::default());
    let channel = stored.channel(&client);
    let (proxy, _heard) = sink(&client, &channel);
    let file = stored.file.clone();
    drop(stored);
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    // A service whose limit of proxies is 0 cannot be started.
    let nobody =
        Settings { limits: Limits { proxies: 0, ..Limits::default() }, ..Settings::default() };
    let store = Store::open(&file).unwrap();
    NotifyService::start_stored(&orb, store, nobody).unwrap_err();
    let store = Store::open(&file).expect("the failed start closed it");
    let service = NotifyService::start_stored(&orb, store, Settings::default()).unwrap();
    let kept = service.factory().get_all_channels().unwrap();
    assert_eq!(kept.len(), 1);
    drop(service);
    let store = Store::open(&file).expect("the service closed it");
    drop((store, proxy));
    orb.shutdown(true).unwrap();
    client.shutdown(true).unwrap();
    std::fs::remove_file(file).unwrap();
}
