//! Persistence over restarts: connections, undelivered events, callbacks, and changes that the store refuses.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use oxorb::{Any, Interface as _, ObjectRef, Orb, SystemExceptionKind as Kind, minor};
use oxorb_notify::cos_notification::qo_s_admin::{SetQosError, ValidateQosError};
use oxorb_notify::cos_notification::{Property, QoSErrorCode, StructuredEvent, UnsupportedQoS};
use oxorb_notify::cos_notify_channel_admin::{
    ClientType, EventChannelRef, ProxySupplierRef, SequenceProxyPullSupplierRef,
    StructuredProxyPushConsumerRef, StructuredProxyPushSupplierRef,
};
use oxorb_notify::cos_notify_comm::StructuredPushConsumerRef;
use oxorb_notify::cos_notify_comm::structured_push_consumer::PushStructuredEventError;
use oxorb_notify::cos_notify_filter::ConstraintExp;
use oxorb_notify::notify_ext;
use oxorb_notify::{Limits, NotifyService, Settings, Store};
use oxorb_testkit::disk::SmallDisk;
use oxorb_testkit::net::free_port;

use crate::notify::peers::{Heard, PATIENCE, peer};
use crate::notify::structured::{event, property};

/// A service with a store, which listens on the same port after each restart.
pub(crate) struct Stored {
    pub(crate) file: PathBuf,
    orb: Orb,
    pub(crate) service: NotifyService,
    port: u16,
}

impl Stored {
    pub(crate) fn new(name: &str, settings: Settings) -> Stored {
        let name = format!("oxorb-notify-{}-{name}.redb", oxorb_testkit::unique());
        let file = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&file);
        Stored::at(&file, free_port(), settings)
    }

    pub(crate) fn at(file: &Path, port: u16, settings: Settings) -> Stored {
        let listen = format!("iiop://127.0.0.1:{port}");
        let orb = Orb::builder().listen(&listen).build().unwrap();
        let store = Store::open(file).unwrap();
        let service = NotifyService::start_stored(&orb, store, settings).unwrap();
        Stored { file: file.to_owned(), port, orb, service }
    }

    pub(crate) fn restart(self, settings: Settings) -> Stored {
        let (file, port) = (self.file.clone(), self.port);
        drop(self);
        Stored::at(&file, port, settings)
    }

    pub(crate) fn channel(&self, client: &Orb) -> EventChannelRef {
        let made = self.service.channel_named("kept", &kept(), &[]).unwrap();
        client.resolve(&made.to_ior()).unwrap()
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        let _ = self.orb.shutdown(true);
    }
}

/// Returns properties for a channel that loses no event.
pub(crate) fn kept() -> Vec<Property> {
    vec![
        property("ConnectionReliability", Any::new(1_i16)),
        property("EventReliability", Any::new(1_i16)),
    ]
}

pub(crate) fn client() -> Orb {
    Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap()
}

pub(crate) fn source(channel: &EventChannelRef) -> StructuredProxyPushConsumerRef {
    let admin = channel.default_supplier_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (proxy, _) = admin.obtain_notification_push_consumer(form).unwrap();
    let proxy: StructuredProxyPushConsumerRef = proxy.unwrap().unchecked_narrow();
    proxy.connect_structured_push_supplier(None).unwrap();
    proxy
}

pub(crate) fn sink(
    client: &Orb,
    channel: &EventChannelRef,
) -> (StructuredProxyPushSupplierRef, Receiver<Heard>) {
    let admin = channel.default_consumer_admin().unwrap().unwrap();
    let form = ClientType::StructuredEvent;
    let (proxy, _) = admin.obtain_notification_push_supplier(form).unwrap();
    let proxy: StructuredProxyPushSupplierRef = proxy.unwrap().unchecked_narrow();
    let (consumer, heard) = peer::<StructuredPushConsumerRef>(client);
    proxy.connect_structured_push_consumer(Some(&consumer)).unwrap();
    (proxy, heard)
}

pub(crate) fn next_event(heard: &Receiver<Heard>) -> StructuredEvent {
    loop {
        match heard.recv_timeout(PATIENCE).expect("an event") {
            Heard::Structured(event) => return event,
            // Ignore the notification of offers that follows each connect.
            Heard::Types(..) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn connections_filters_and_events_outlive_a_restart() {
    let client = client();
    let stored = Stored::new("restart", Settings::default());
    let channel = stored.channel(&client);
    let source = source(&channel);
    let (proxy, heard) = sink(&client, &channel);
    let filters = channel.default_filter_factory().unwrap().unwrap();
    let filter = filters.create_filter("EXTENDED_TCL").unwrap().unwrap();
    let even =
        ConstraintExp { event_types: Vec::new(), constraint_expr: "$number != 3".to_owned() };
    filter.add_constraints(&[even]).unwrap();
    proxy.add_filter(Some(&filter)).unwrap();
    let batch = property("MaximumBatchSize", Any::new(7_i32));
    proxy.set_qos(&[batch]).unwrap();
    source.push_structured_event(&event("d", "t", 0)).unwrap();
    assert_eq!(next_event(&heard), event("d", "t", 0));
    proxy.suspend_connection().unwrap();
    for number in 1..6 {
        let pushed = event("d", "t", number);
        source.push_structured_event(&pushed).unwrap();
    }

    let stored = stored.restart(Settings::default());
    // The objects still exist, under the same references.
    let id = |channel: &EventChannelRef| channel.get_all_consumeradmins().unwrap();
    assert_eq!(id(&stored.channel(&client)), id(&channel));
    let qos = proxy.get_qos().unwrap();
    let batch = qos.iter().find(|one| one.name == "MaximumBatchSize");
    assert_eq!(batch.unwrap().value.get::<i32>(), Ok(Some(7)));
    assert_eq!(filter.get_all_constraints().unwrap().len(), 1);
    source.push_structured_event(&event("d", "t", 6)).unwrap();
    proxy.resume_connection().unwrap();
    let got: Vec<_> = (0..5).map(|_| next_event(&heard)).collect();
    let wanted = [1, 2, 4, 5, 6].map(|number| event("d", "t", number));
    assert_eq!(got, wanted, "3 is filtered out, each comes once");

    // An event that was delivered is not delivered again, and a proxy that was disconnected does not exist any more.
    proxy.disconnect_structured_push_supplier().unwrap();
    source.push_structured_event(&event("d", "t", 7)).unwrap();
    let file = stored.file.clone();
    let stored = stored.restart(Settings::default());
    let gone = proxy.get_qos().unwrap_err();
    assert_eq!(gone.kind, Kind::ObjectNotExist);
    assert_eq!(stored.service.counts().waiting, 0);
    assert!(heard.try_recv().is_err());
    drop(stored);
    std::fs::remove_file(file).unwrap();
    client.shutdown(true).unwrap();
}

#[test]
fn who_pulls_gets_again_what_was_not_acknowledged_by_the_next_pull() {
    let client = client();
    let stored = Stored::new("pulls", Settings::default());
    let channel = stored.channel(&client);
    let source = source(&channel);
    let admin = channel.default_consumer_admin().unwrap().unwrap();
    let form = ClientType::SequenceEvent;
    let (proxy, _) = admin.obtain_notification_pull_supplier(form).unwrap();
    let proxy: SequenceProxyPullSupplierRef = proxy.unwrap().unchecked_narrow();
    proxy.connect_sequence_pull_consumer(None).unwrap();
    let events: Vec<_> = (0..5).map(|number| event("d", "t", number)).collect();
    for one in &events {
        source.push_structured_event(one).unwrap();
    }
    assert_eq!(proxy.pull_structured_events(2).unwrap(), events[..2]);
    assert_eq!(proxy.pull_structured_events(1).unwrap(), events[2..3]);
    let stored = stored.restart(Settings::default());
    assert_eq!(proxy.pull_structured_events(9).unwrap(), events[2..]);
    let (none, has_event) = proxy.try_pull_structured_events(9).unwrap();
    assert!(none.is_empty() && !has_event);
    let file = stored.file.clone();
    let stored = stored.restart(Settings::default());
    assert_eq!(stored.service.counts().waiting, 0);
    drop(stored);
    std::fs::remove_file(file).unwrap();
    client.shutdown(true).unwrap();
}

#[test]
fn pulls_over_one_connection_do_not_confirm_those_over_another() {
    let (client, other) = (client(), client());
    let stored = Stored::new("pullers", Settings::default());
    let channel = stored.channel(&client);
    let source = source(&channel);
    let admin = channel.default_consumer_admin().unwrap().unwrap();
    let form = ClientType::SequenceEvent;
    let (proxy, _) = admin.obtain_notification_pull_supplier(form).unwrap();
    let proxy: SequenceProxyPullSupplierRef = proxy.unwrap().unchecked_narrow();
    proxy.connect_sequence_pull_consumer(None).unwrap();
    let events: Vec<_> = (0..4).map(|number| event("d", "t", number)).collect();
    for one in &events {
        source.push_structured_event(one).unwrap();
    }
    let same: SequenceProxyPullSupplierRef = other.resolve(&proxy.to_ior()).unwrap();
    assert_eq!(proxy.pull_structured_events(1).unwrap(), events[..1]);
    assert_eq!(same.pull_structured_events(1).unwrap(), events[1..2]);
    assert_eq!(same.pull_structured_events(1).unwrap(), events[2..3]);
    // Only the second event is confirmed. The reply with the first one may have been lost.
    let stored = stored.restart(Settings::default());
    let again = [0, 2, 3].map(|at| events[at].clone());
    assert_eq!(proxy.pull_structured_events(9).unwrap(), again);
    let file = stored.file.clone();
    drop(stored);
    std::fs::remove_file(file).unwrap();
    for orb in [client, other] {
        orb.shutdown(true).unwrap();
    }
}

#[test]
fn best_effort_ends_with_the_process() {
    let client = client();
    let stored = Stored::new("effort", Settings::default());
    let channel = stored.channel(&client);
    let admin = channel.default_consumer_admin().unwrap().unwrap();
    let kept: ProxySupplierRef = sink(&client, &channel).0.into();
    let (proxy, _heard) = sink(&client, &channel);
    let best_effort = property("ConnectionReliability", Any::new(0_i16));
    proxy.set_qos(&[best_effort]).unwrap();
    let plain = stored.service.factory().create_channel(&[], &[]).unwrap();
    assert_eq!(admin.push_suppliers().unwrap().len(), 2);
    let stored = stored.restart(Settings::default());
    assert_eq!(admin.push_suppliers().unwrap().len(), 1);
    assert!(kept.get_qos().is_ok());
    assert_eq!(proxy.get_qos().unwrap_err().kind, Kind::ObjectNotExist);
    assert!(stored.service.factory().get_event_channel(plain.1).is_err());
    let file = stored.file.clone();
    drop(stored);
    std::fs::remove_file(file).unwrap();
    client.shutdown(true).unwrap();
}

/// An object is persistent only if its parents are.
#[test]
fn nothing_is_persistent_under_a_parent_of_best_effort() {
    let client = client();
    let stored = Stored::new("parent", Settings::default());
    let channel = stored.channel(&client);
    let admin = channel.default_consumer_admin().unwrap().unwrap();
    let (proxy, _heard) = sink(&client, &channel);
    let reliability = |value: i16| [property("ConnectionReliability", Any::new(value))];
    admin.set_qos(&reliability(0)).unwrap();
    let assert_unavailable = |refused: Result<(), UnsupportedQoS>| {
        let error = refused.unwrap_err().qos_err.remove(0);
        assert_eq!(error.code, QoSErrorCode::UnavailableValue);
        assert_eq!(error.available_range.high_val.get::<i16>(), Ok(Some(0)));
    };
    assert_unavailable(match proxy.set_qos(&reliability(1)) {
        Err(SetQosError::UnsupportedQoS(refused)) => Err(refused),
        other => panic!("{other:?}"),
    });
    assert_unavailable(match proxy.validate_qos(&reliability(1)) {
        Err(ValidateQosError::UnsupportedQoS(refused)) => Err(refused),
        other => panic!("{other:?}"),
    });
    proxy.set_qos(&reliability(0)).unwrap();
    // Each object can be made persistent after its parent.
    admin.set_qos(&reliability(1)).unwrap();
    proxy.set_qos(&reliability(1)).unwrap();
    let stored = stored.restart(Settings::default());
    assert!(proxy.get_qos().is_ok());
    // If a parent is set to best effort, the objects below it are no longer persistent.
    admin.set_qos(&reliability(0)).unwrap();
    let file = stored.file.clone();
    let stored = stored.restart(Settings::default());
    assert_eq!(proxy.get_qos().unwrap_err().kind, Kind::ObjectNotExist);
    drop(stored);
    std::fs::remove_file(file).unwrap();
    client.shutdown(true).unwrap();
}

#[test]
fn a_store_keeps_no_more_octets_than_it_may() {
    let settings = Settings {
        limits: Limits { stored_octets: 16 << 10, ..Limits::default() },
        ..Settings::default()
    };
    let client = client();
    let stored = Stored::new("octets", settings);
    let channel = stored.channel(&client);
    let source = source(&channel);
    let (proxy, heard) = sink(&client, &channel);
    proxy.suspend_connection().unwrap();
    let mut kept = 0;
    let refused = loop {
        match source.push_structured_event(&event("d", "t", kept)) {
            Ok(()) => kept += 1,
            Err(PushStructuredEventError::System(refused)) => break refused,
            Err(other) => panic!("{other}"),
        }
        assert!(kept < 1_000);
    };
    let limit = (Kind::ImpLimit, minor::imp_limit::EVENT_STORE);
    assert_eq!((refused.kind, refused.minor), limit);
    proxy.resume_connection().unwrap();
    for number in 0..kept {
        assert_eq!(next_event(&heard), event("d", "t", number));
    }
    // Delivery has freed space in the store.
    source.push_structured_event(&event("d", "t", kept)).unwrap();
    assert_eq!(next_event(&heard), event("d", "t", kept));
    let file = stored.file.clone();
    drop(stored);
    std::fs::remove_file(file).unwrap();
    client.shutdown(true).unwrap();
}

struct Callback(std::sync::mpsc::Sender<String>);

impl notify_ext::ReconnectionCallback for Callback {
    fn reconnect(&self, new_connection: Option<&ObjectRef>) -> oxorb::Result<()> {
        let factory = new_connection.map(oxorb::Interface::to_ior);
        let _ = self.0.send(factory.unwrap_or_default());
        Ok(())
    }

    fn is_alive(&self) -> oxorb::Result<bool> {
        Ok(true)
    }
}

#[test]
fn registered_clients_are_told_of_a_restart() {
    let client = client();
    let stored = Stored::new("registry", Settings::default());
    let (tell, told) = channel();
    let callback: notify_ext::ReconnectionCallbackRef =
        client.root_poa().activate(Callback(tell)).unwrap();
    let factory = stored.service.factory().to_ior();
    let registry: notify_ext::EventChannelFactoryRef = client.resolve(&factory).unwrap();
    let first = registry.register_callback(Some(&callback)).unwrap();
    let second = registry.register_callback(Some(&callback)).unwrap();
    registry.unregister_callback(second).unwrap();
    assert!(registry.is_alive().unwrap());
    registry.save_topology().unwrap();
    assert!(told.try_recv().is_err());
    let stored = stored.restart(Settings::default());
    assert_eq!(told.recv_timeout(PATIENCE), Ok(factory));
    registry.unregister_callback(first).unwrap();
    registry.unregister_callback(first).unwrap_err();
    let file = stored.file.clone();
    let stored = stored.restart(Settings::default());
    assert!(told.try_recv().is_err());
    drop(stored);
    std::fs::remove_file(file).unwrap();
    client.shutdown(true).unwrap();
}

/// Events that cannot be written are refused, and no accepted event is lost.
#[test]
fn pushes_succeed_again_once_a_full_disk_has_room() {
    let Some(disk) = SmallDisk::mount("notify", 4 << 20) else {
        return;
    };
    let client = client();
    let stored = Stored::at(&disk.file("events.redb"), free_port(), Settings::default());
    let channel = stored.channel(&client);
    let source = source(&channel);
    let (proxy, heard) = sink(&client, &channel);
    proxy.suspend_connection().unwrap();
    let ballast = disk.fill();
    let push = |number: i32| {
        let mut event = event("d", "t", number);
        event.remainder_of_body = Any::new(vec![0_u8; 16 << 10]);
        source.push_structured_event(&event)
    };
    let mut accepted = Vec::new();
    let refused = (0..500).find_map(|number| match push(number) {
        Ok(()) => {
            accepted.push(number);
            None
        }
        Err(error) => Some(error),
    });
    match refused {
        Some(PushStructuredEventError::System(error)) => {
            assert_eq!(error.kind, Kind::PersistStore);
        }
        other => panic!("the disk was never full: {other:?}"),
    }
    assert!(stored.service.take_failure().is_some());
    std::fs::remove_file(ballast).unwrap();
    let end = std::time::Instant::now() + PATIENCE;
    while push(1_000).is_err() {
        assert!(std::time::Instant::now() < end, "there is room");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    accepted.push(1_000);
    let stored = stored.restart(Settings::default());
    proxy.resume_connection().unwrap();
    let number = |event: StructuredEvent| event.filterable_data[0].value.get::<i32>();
    let mut got = Vec::new();
    while got.last() != Some(&1_000) {
        got.push(number(next_event(&heard)).unwrap().unwrap());
    }
    // An event that was refused may have been written nevertheless.
    got.retain(|number| accepted.contains(number));
    assert_eq!(got, accepted);
    drop(stored);
    client.shutdown(true).unwrap();
}
