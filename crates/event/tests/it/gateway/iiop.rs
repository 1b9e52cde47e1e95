//! Events that a gateway passes from one channel to another by GIOP, over TCP.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxorb::policy::{Qos, RequestQos};
use oxorb::rt::current_qos;
use oxorb::{Interface as _, Orb};
use oxorb_event::gateway::{GatewayError, GatewayState, IiopGateway, IiopOptions};
use oxorb_event::rtec_event_channel_admin::{ConsumerQos, EventChannelRef, Observer, SupplierQos};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{ChannelOptions, EventChannel, Filter, Limits, Served, in_order, publishes};

use super::{Record, asks, event, until};

/// A channel that has its own ORB.
struct Host {
    orb: Orb,
    channel: EventChannel,
    served: Served,
}

impl Host {
    fn new(port: u16) -> Host {
        Host::with(port, ChannelOptions::default())
    }

    fn with(port: u16, options: ChannelOptions) -> Host {
        let builder = in_order(Orb::builder());
        let orb = builder.listen(&format!("iiop://127.0.0.1:{port}")).build().unwrap();
        let channel = EventChannel::new(options);
        let served = channel.serve(&orb, "EventService").unwrap();
        Host { orb, channel, served }
    }

    fn url(&self) -> String {
        let ior = self.served.reference().reference().ior();
        let profile = ior.iiop_profiles().next().expect("it listens");
        format!("corbaloc::{}/EventService", profile.endpoints()[0])
    }

    fn push(&self, events: &[Event]) {
        let supplier = self.channel.connect_supplier(None, &publishes([(0, 0)])).unwrap();
        supplier.push(events).unwrap();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.orb.shutdown(true);
    }
}

fn quick() -> IiopOptions {
    IiopOptions { period: Duration::from_millis(50), ..IiopOptions::default() }
}

fn gateway(orb: &Orb, from: &Host, to: &Host, options: IiopOptions) -> IiopGateway {
    let from: EventChannelRef = orb.resolve(&from.url()).unwrap();
    let to: EventChannelRef = orb.resolve(&to.url()).unwrap();
    IiopGateway::start(orb, &from, &to, options).unwrap()
}

fn gateway_orb() -> Orb {
    in_order(Orb::builder()).listen("iiop://127.0.0.1:0").build().unwrap()
}

/// Pushes events until the gateway passes one on, because it connects asynchronously.
fn until_it_passes(from: &Host, record: &Record, one: i32) {
    until("the gateway passes events on", || {
        from.push(&[event(one, 1, 9, b"probe")]);
        record.all().iter().any(|got| got.0 == one)
    });
}

#[test]
fn a_gateway_passes_on_what_is_asked_for_and_follows_changes() {
    let (from, to, orb) = (Host::new(0), Host::new(0), gateway_orb());
    for proxy_per_source in [true, false] {
        let (record, first) = Record::consumer(&to.channel, &Filter::event(17, 1));
        let gateway = gateway(&orb, &from, &to, IiopOptions { proxy_per_source, ..quick() });
        until_it_passes(&from, &record, 17);
        // Events to which nobody subscribes do not even reach the gateway.
        let before = gateway.statistics();
        from.push(&[event(18, 1, 9, b"")]);
        assert_eq!(gateway.statistics().ended, before.ended);
        let (other, second) = Record::consumer(&to.channel, &Filter::event_type(18));
        until_it_passes(&from, &other, 18);
        let connected = gateway.statistics().connected;
        assert!(connected >= 2);
        assert_eq!(gateway.statistics().state, GatewayState::Connected);

        let start = record.count();
        let events = (0..50).map(|at| event(17, 1, 2, &[at]));
        from.push(&events.collect::<Vec<_>>());
        until("all of them", || record.count() >= start + 50);
        let tail: Vec<_> = record.all()[start..].to_vec();
        let got: Vec<u8> = tail.iter().filter(|one| one.3.len() == 1).map(|one| one.3[0]).collect();
        assert_eq!(got, (0..50).collect::<Vec<u8>>());
        assert!(tail.iter().filter(|one| one.3.len() == 1).all(|one| one.2 == 1));

        drop((first, second));
        until("nobody asks any more", || gateway.statistics().state == GatewayState::Idle);
        let idle = gateway.statistics();
        assert_eq!((idle.is_connected, idle.lost), (false, 0));
        until("its consumer is gone", || from.channel.statistics().consumers.is_empty());
        drop(gateway);
    }
    assert!(to.channel.statistics().suppliers.is_empty());
    orb.shutdown(true).unwrap();
}

/// Consumer that records each event, with the importance of the request that delivered it.
#[derive(Default)]
struct Importances(Mutex<Vec<(Vec<u8>, Option<i32>)>>);

impl PushConsumer for Importances {
    fn push(&self, events: &[Event]) {
        let importance = current_qos().map(|qos| qos.importance);
        let events = events.iter().map(|event| (event.data.payload.to_vec(), importance));
        self.0.lock().unwrap().extend(events);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

#[test]
fn a_gateway_passes_on_the_quality_of_service_of_the_supplier() {
    let (from, to, orb) = (Host::new(0), Host::new(0), gateway_orb());
    let importances = Arc::<Importances>::default();
    let wanted = asks(&Filter::event_type(17));
    let _consumer = to.channel.connect_consumer(importances.clone(), &wanted).unwrap();
    let (record, _connection) = Record::consumer(&to.channel, &Filter::event_type(17));
    let gateway = gateway(&orb, &from, &to, quick());
    until_it_passes(&from, &record, 17);

    let far: EventChannelRef = orb.resolve(&from.url()).unwrap();
    let proxy = far.for_suppliers().unwrap().unwrap().obtain_push_consumer().unwrap().unwrap();
    proxy.connect_push_supplier(None, &publishes([(17, 1)])).unwrap();
    let important = proxy.with(RequestQos(Qos { importance: 7, ..Qos::default() }));
    important.push(&[event(17, 1, 9, b"important")]).unwrap();
    proxy.push(&[event(17, 1, 9, b"usual")]).unwrap();
    let of = |payload: &[u8]| {
        let all = importances.0.lock().unwrap();
        all.iter().find(|(one, _)| one == payload).map(|(_, importance)| *importance)
    };
    until("both events arrive", || of(b"important").is_some() && of(b"usual").is_some());
    assert_eq!((of(b"important"), of(b"usual")), (Some(Some(7)), Some(None)));
    drop(gateway);
    orb.shutdown(true).unwrap();
}

#[test]
fn events_in_a_circle_of_gateways_end() {
    let (one, other, orb) = (Host::new(0), Host::new(0), gateway_orb());
    let (at_one, _first) = Record::consumer(&one.channel, &Filter::ALL);
    let (at_other, _second) = Record::consumer(&other.channel, &Filter::ALL);
    let there = gateway(&orb, &one, &other, quick());
    let back = gateway(&orb, &other, &one, quick());
    until("both are connected", || {
        there.statistics().is_connected && back.statistics().is_connected
    });
    until_it_passes(&one, &at_other, 99);
    until_it_passes(&other, &at_one, 98);
    one.push(&[event(17, 1, 3, b"round")]);
    let ttls = |record: &Record| {
        let all = record.all();
        all.iter().filter(|one| one.0 == 17).map(|one| one.2).collect::<Vec<_>>()
    };
    until("it came back and went again", || ttls(&at_other).len() == 2);
    assert_eq!((ttls(&at_one), ttls(&at_other)), (vec![3, 1], vec![2, 0]));
    until("it ended", || back.statistics().ended > 0);
    assert_eq!(ttls(&at_other), [2, 0]);
    drop((there, back));
    orb.shutdown(true).unwrap();
}

/// A gateway between equal references is refused, and one between two references to the same channel is detected.
#[test]
fn a_gateway_from_a_channel_to_itself_is_refused() {
    let (host, orb) = (Host::new(0), gateway_orb());
    let by_name: EventChannelRef = orb.resolve(&host.url()).unwrap();
    let refused = IiopGateway::start(&orb, &by_name, &by_name, quick()).unwrap_err();
    assert!(matches!(refused, GatewayError::SameChannel), "{refused}");

    let by_key: EventChannelRef = orb.resolve(&host.served.reference().to_ior()).unwrap();
    assert!(!by_key.reference().is_equivalent(by_name.reference()));
    let found = |gateway: &IiopGateway| {
        until("it is found out", || gateway.statistics().state == GatewayState::SameChannel);
    };
    // The gateway detects this even if there are no subscriptions.
    let gateway = IiopGateway::start(&orb, &by_key, &by_name, quick()).unwrap();
    found(&gateway);
    drop(gateway);
    let (record, _consumer) = Record::consumer(&host.channel, &Filter::ALL);
    let gateway = IiopGateway::start(&orb, &by_name, &by_key, quick()).unwrap();
    found(&gateway);
    host.push(&[event(17, 1, 5, b"once")]);
    assert_eq!((record.count(), gateway.statistics().connected), (1, 0));
    assert!(host.channel.statistics().suppliers.is_empty());
    drop(gateway);
    orb.shutdown(true).unwrap();
}

#[test]
fn a_gateway_connects_again_after_either_channel_was_gone() {
    let [here, there] = [(); 2].map(|()| oxorb_testkit::net::free_port());
    let (mut from, mut to, orb) = (Host::new(here), Host::new(there), gateway_orb());
    let (record, connection) = Record::consumer(&to.channel, &Filter::event_type(17));
    let gateway = gateway(&orb, &from, &to, quick());
    until_it_passes(&from, &record, 17);

    drop(from);
    until("the loss of the source is seen", || {
        let seen = gateway.statistics();
        (seen.lost, seen.state) == (1, GatewayState::Unreachable)
    });
    from = Host::new(here);
    let (before, start) = (record.count(), record.all().len());
    assert_eq!(before, start);
    until("events come again", || {
        from.push(&[event(17, 2, 9, b"after")]);
        record.count() > before
    });

    drop((connection, to));
    until("the loss of the target is seen", || gateway.statistics().lost >= 2);
    to = Host::new(there);
    let (record, _connection) = Record::consumer(&to.channel, &Filter::event_type(18));
    until_it_passes(&from, &record, 18);
    drop(gateway);
    orb.shutdown(true).unwrap();
}

#[test]
fn a_channel_that_takes_no_observer_keeps_nothing_of_the_gateway() {
    let (from, orb) = (Host::new(0), gateway_orb());
    let limits = Limits {
        observers: 1,
        // The gateway needs two proxies, one for its presence and one for events. The test needs the third one.
        suppliers: 3,
        client_share: 100,
        ..Limits::default()
    };
    let to = Host::with(0, ChannelOptions { limits, ..ChannelOptions::default() });
    let (record, _consumer) = Record::consumer(&to.channel, &Filter::event_type(17));
    let first = to.channel.append_observer(Arc::new(Nobody)).unwrap();
    let options = IiopOptions { period: Duration::from_millis(2), ..IiopOptions::default() };
    let gateway = gateway(&orb, &from, &to, options);
    // Give the gateway time for several attempts, all of which fail.
    std::thread::sleep(Duration::from_millis(200));
    assert!(!gateway.statistics().is_connected);
    assert!(to.channel.remove_observer(first));
    until_it_passes(&from, &record, 17);
    drop(gateway);
    orb.shutdown(true).unwrap();
}

struct Nobody;

impl Observer for Nobody {
    fn update_consumer(&self, _: &ConsumerQos) -> oxorb::Result<()> {
        Ok(())
    }

    fn update_supplier(&self, _: &SupplierQos) -> oxorb::Result<()> {
        Ok(())
    }
}
