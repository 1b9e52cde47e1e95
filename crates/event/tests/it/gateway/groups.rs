//! Multicast groups that follow the subscriptions of consumers. The tests use the loopback interface.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use oxorb::Orb;
use oxorb_event::gateway::{
    AskedAddresses, Destinations, GroupOptions, GroupReceiver, NetworkInterface, ReceiverOptions,
    SenderOptions, UdpSender,
};
use oxorb_event::rtec_udp_admin::AddrServerRef;
use oxorb_event::{ChannelOptions, EventChannel, Filter, RemoteChannel, publishes};

use super::{Record, asks, event, until};

fn channel() -> EventChannel {
    EventChannel::new(ChannelOptions::default())
}

/// Returns one group for each of the types 17 and 18, and one for all others, at an unused port.
fn groups(net: u8) -> ([SocketAddr; 3], Destinations) {
    let port = oxorb_testkit::net::free_port();
    let groups = [1, 2, 3].map(|at| SocketAddr::from((Ipv4Addr::new(239, 255, net, at), port)));
    let [a, b, c] = groups;
    let table = Destinations::by_type(&format!("17@{a} 18@{b} *@{c}")).unwrap();
    (groups, table)
}

fn options(destinations: Destinations) -> GroupOptions {
    let options = GroupOptions::new(destinations);
    let receiver = ReceiverOptions {
        interface: NetworkInterface::Address(Ipv4Addr::LOCALHOST),
        ..options.receiver
    };
    GroupOptions { receiver, period: Duration::from_millis(50), ..options }
}

fn sender(channel: &EventChannel, destinations: &Destinations) -> UdpSender {
    let options = SenderOptions {
        local: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        ..SenderOptions::new(destinations.clone())
    };
    UdpSender::connect(channel, &asks(&Filter::ALL), options).unwrap()
}

fn has(receiver: &GroupReceiver, groups: &[SocketAddr]) {
    until(&format!("{groups:?}: {receiver:?}"), || receiver.statistics().groups == groups);
}

#[test]
fn groups_are_joined_and_left_as_consumers_ask() {
    let (source, target) = (channel(), channel());
    let ([a, b, c], table) = groups(21);
    let sender = sender(&source, &table);
    let receiver = GroupReceiver::connect(&target, options(table)).unwrap();
    assert_eq!(receiver.statistics().groups, [], "nobody asks");
    let (seventeen, first) = Record::consumer(&target, &Filter::event_type(17));
    has(&receiver, &[a]);
    let (both, second) = Record::consumer(
        &target,
        &Filter::any_of([Filter::event_type(17), Filter::event_type(18)]),
    );
    has(&receiver, &[a, b]);
    let supplier = source.connect_supplier(None, &publishes([(0, 0)])).unwrap();
    let push = || {
        let events = [17, 18, 40].map(|it| event(it, 1, 2, b"x"));
        supplier.push(&events).unwrap();
    };
    push();
    until("two events", || both.count() == 2);
    until("one event", || seventeen.count() == 1);
    let types = |record: &Record| record.all().iter().map(|it| it.0).collect::<Vec<_>>();
    let mut got = types(&both);
    got.sort_unstable();
    assert_eq!((got, types(&seventeen)), (vec![17, 18], vec![17]));
    assert_eq!(receiver.statistics().received.events, 2, "nobody hears 40");

    drop((first, second));
    has(&receiver, &[]);
    push();
    let (all, everything) = Record::consumer(&target, &Filter::ALL);
    has(&receiver, &[a, b, c]);
    push();
    until("three events", || all.count() == 3);
    assert_eq!(receiver.statistics().received.events, 5, "the left ones count");
    assert_eq!(sender.statistics().events, 9);
    drop(everything);
    has(&receiver, &[]);
    // No group is joined for the subscriptions of a gateway.
    let mut gateway = asks(&Filter::event_type(17));
    gateway.is_gateway = true;
    let quiet = std::sync::Arc::<Record>::default();
    let gateway = target.connect_consumer(quiet, &gateway).unwrap();
    let (_, eighteen) = Record::consumer(&target, &Filter::event_type(18));
    has(&receiver, &[b]);
    drop((gateway, eighteen));
    assert!(receiver.is_connected());
    target.destroy();
    assert!(!receiver.is_connected());
}

#[test]
fn no_more_groups_are_joined_than_are_allowed() {
    let target = channel();
    let ([a, b, c], table) = groups(22);
    let options = GroupOptions { most: 2, ..options(table) };
    let receiver = GroupReceiver::connect(&target, options).unwrap();
    let (_, all) = Record::consumer(&target, &Filter::ALL);
    has(&receiver, &[a, b]);
    until("one is left out", || receiver.statistics().left_out == [c]);
    let (_, last) = Record::consumer(&target, &Filter::event_type(40));
    drop(all);
    has(&receiver, &[c]);
    until("none is left out", || receiver.statistics().left_out.is_empty());
    drop(last);
}

/// Neither of these can be joined: a group that another socket uses exclusively, and a host.
#[test]
fn what_cannot_be_joined_is_told_and_tried_again() {
    let target = channel();
    let ([a, ..], _) = groups(23);
    let holder = UdpSocket::bind(a).unwrap();
    let table = Destinations::by_type(&format!("17@{a} 18@127.0.0.1:9")).unwrap();
    let receiver = GroupReceiver::connect(&target, options(table)).unwrap();
    let (_, consumer) = Record::consumer(
        &target,
        &Filter::any_of([Filter::event_type(17), Filter::event_type(18)]),
    );
    until("it is left out", || receiver.statistics().left_out == [a]);
    assert_eq!(receiver.statistics().groups, []);
    drop(holder);
    has(&receiver, &[a]);
    drop(consumer);
}

/// The channel and the address server are remote for the receiver.
#[test]
fn groups_of_an_address_server_for_a_channel_elsewhere() {
    let listening = || Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let (server, orb) = (listening(), listening());
    let (source, target) = (channel(), channel());
    let ([a, b, _], table) = groups(24);
    let _sender = sender(&source, &table);
    let served = target.serve(&server, "groups").unwrap();
    let reference = oxorb::Interface::to_ior(served.reference());
    let remote = RemoteChannel::at(&orb, &reference).unwrap();
    let addresses: AddrServerRef = server.root_poa().activate(table).unwrap();
    let addresses: AddrServerRef = orb.resolve(&oxorb::Interface::to_ior(&addresses)).unwrap();
    let asked = Destinations::asked(AskedAddresses::new(addresses));
    let receiver = GroupReceiver::connect(&remote, options(asked)).unwrap();
    let (record, consumer) = Record::consumer(&target, &Filter::event_type(18));
    has(&receiver, &[b]);
    let supplier = source.connect_supplier(None, &publishes([(0, 0)])).unwrap();
    supplier.push(&[event(18, 1, 2, b"far")]).unwrap();
    until("the event", || record.count() == 1);
    assert_eq!(record.all(), [(18, 1, 1, b"far".to_vec())]);
    let (_, other) = Record::consumer(&target, &Filter::event_type(17));
    has(&receiver, &[a, b]);
    drop(consumer);
    has(&receiver, &[a]);
    drop(other);
    assert!(receiver.is_connected());
    drop(receiver);
    let (_, last) = Record::consumer(&target, &Filter::event_type(17));
    drop(last);
    orb.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
