//! Events that are sent as datagrams over the loopback interface.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use oxorb_event::gateway::{
    Destinations, GatewayError, NetworkInterface, ReceiverOptions, SenderOptions, UdpReceiver,
    UdpSender,
};
use oxorb_event::{ChannelOptions, EventChannel, Filter, RemoteChannel, publishes};
use oxorb_testkit::net::free_port;

use super::{Record, asks, event, until};

fn channel() -> EventChannel {
    EventChannel::new(ChannelOptions::default())
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

fn sender(channel: &EventChannel, options: SenderOptions) -> UdpSender {
    let options = SenderOptions { local: loopback(0), ..options };
    UdpSender::connect(channel, &asks(&Filter::ALL), options).unwrap()
}

fn push(channel: &EventChannel, events: &[oxorb_event::rtec_event_comm::Event]) {
    let supplier = channel.connect_supplier(None, &publishes([(0, 0)])).unwrap();
    supplier.push(events).unwrap();
}

#[test]
fn events_cross_a_multicast_group_to_all_who_listen() {
    let source = channel();
    let (one, other) = (channel(), channel());
    let receive = |channel: &EventChannel, port| {
        let group = SocketAddr::from((Ipv4Addr::new(239, 255, 17, 1), port));
        let options = ReceiverOptions {
            interface: NetworkInterface::Address(Ipv4Addr::LOCALHOST),
            checksum: true,
            ..ReceiverOptions::new(group)
        };
        UdpReceiver::connect(channel, options).unwrap()
    };
    let first = receive(&one, 0);
    let group = first.address().unwrap();
    let second = receive(&other, group.port());
    let options = SenderOptions {
        dscp: Some(46),
        launch_after: Some(std::time::Duration::from_millis(1)),
        checksum: true,
        mtu: 200,
        ..SenderOptions::new(Destinations::all(group))
    };
    let sender = sender(&source, options);
    let records = [&one, &other].map(|channel| Record::consumer(channel, &Filter::event_type(17)));

    let large = vec![3; 1_000];
    push(
        &source,
        &[
            event(17, 1, 2, &large),
            event(18, 1, 2, b"nobody asks for it"),
            event(17, 2, 1, b"last"),
            event(17, 3, 0, b"it has ended"),
        ],
    );
    for (record, _) in &records {
        until("two events", || record.count() == 2);
        assert_eq!(record.all(), [(17, 1, 1, large.clone()), (17, 2, 0, b"last".to_vec())]);
    }
    until("all are counted", || second.statistics().events == 3);
    let sent = sender.statistics();
    assert_eq!((sent.events, sent.ended, sent.failed), (3, 1, 0));
    // The payload of more than 1,000 octets is split into fragments of at most 168 octets.
    assert_eq!(sent.datagrams, second.statistics().datagrams);
    assert!(sent.datagrams >= 8, "{sent:?}");
    assert_eq!(second.statistics().messages.complete, 3);
}

/// Events over IPv6. The file `tests/faults/tests/it/datagrams.rs` tests IPv6 groups, because many loopback interfaces
/// have no route for them.
#[test]
fn events_cross_ipv6_or_are_counted() {
    if !oxorb_testkit::net::has_ipv6() {
        return;
    }
    let (source, target) = (channel(), channel());
    let options = ReceiverOptions::new("[::1]:0".parse().unwrap());
    let receiver = UdpReceiver::connect(&target, options).unwrap();
    let options = SenderOptions {
        local: "[::]:0".parse().unwrap(),
        interface: "lo".parse().unwrap(),
        hops: 2,
        mtu: 200,
        ..SenderOptions::new(Destinations::all(receiver.address().unwrap()))
    };
    let sender = UdpSender::connect(&source, &asks(&Filter::ALL), options).unwrap();
    let (record, _consumer) = Record::consumer(&target, &Filter::ALL);
    let large = vec![5; 700];
    push(&source, &[event(17, 1, 2, &large)]);
    until("the event", || record.count() == 1);
    assert_eq!(record.all(), [(17, 1, 1, large)]);
    assert!(sender.is_connected() && receiver.is_connected());
    target.destroy();
    assert!(!receiver.is_connected());
    let wrong = "no such thing".parse::<NetworkInterface>().unwrap_err();
    assert!(wrong.to_string().contains("ip link"), "{wrong}");
}

/// The channels are remote for the gateways.
#[test]
fn gateways_join_channels_elsewhere() {
    let listening = || {
        let orb = oxorb::Orb::builder().listen("iiop://127.0.0.1:0");
        orb.build().unwrap()
    };
    let (server, orb) = (listening(), listening());
    let remote = |name: &str| {
        let channel = channel();
        let served = channel.serve(&server, name).unwrap();
        let reference = oxorb::Interface::to_ior(served.reference());
        (channel, RemoteChannel::at(&orb, &reference).unwrap())
    };
    let ((source, from), (target, to)) = (remote("from"), remote("to"));
    let receiver = UdpReceiver::connect(&to, ReceiverOptions::new(loopback(0))).unwrap();
    let options = SenderOptions {
        local: loopback(0),
        ..SenderOptions::new(Destinations::all(receiver.address().unwrap()))
    };
    let wanted = asks(&Filter::event_type(17));
    let sender = UdpSender::connect(&from, &wanted, options).unwrap();
    let (record, _consumer) = Record::consumer(&target, &Filter::ALL);
    push(&source, &[event(18, 1, 2, b"no"), event(17, 1, 2, b"yes")]);
    until("the event", || record.count() == 1);
    assert_eq!(record.all(), [(17, 1, 1, b"yes".to_vec())]);
    assert!(sender.is_connected() && receiver.is_connected());
    source.destroy();
    assert!(!sender.is_connected());
    target.destroy();
    assert!(!receiver.is_connected());
    drop((sender, receiver));
    orb.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn fragments_may_be_lost_doubled_and_out_of_order() {
    let (source, target) = (channel(), channel());
    // A relay between sender and receiver loses, repeats and reorders datagrams.
    let relay = UdpSocket::bind(loopback(0)).unwrap();
    relay.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    let receiver = UdpReceiver::connect(&target, ReceiverOptions::new(loopback(0))).unwrap();
    let to = receiver.address().unwrap();
    let options = SenderOptions {
        mtu: 72,
        ..SenderOptions::new(Destinations::all(relay.local_addr().unwrap()))
    };
    let sender = sender(&source, options);
    let (record, _consumer) = Record::consumer(&target, &Filter::ALL);
    let mut expected = Vec::new();
    for at in 0..20u8 {
        let before = sender.statistics().datagrams;
        push(&source, &[event(20 + i32::from(at), 1, 5, &[at; 200])]);
        let mut fragments = Vec::new();
        for _ in before..sender.statistics().datagrams {
            let mut octets = vec![0; 100];
            let length = relay.recv(&mut octets).unwrap();
            octets.truncate(length);
            fragments.push(octets);
        }
        assert!(fragments.len() > 6);
        match at % 4 {
            0 => fragments.reverse(),
            1 => drop(fragments.remove(usize::from(at) % fragments.len())),
            2 => fragments = fragments.iter().flat_map(|one| [one.clone(), one.clone()]).collect(),
            _ => fragments.rotate_left(3),
        }
        if at % 4 != 1 {
            expected.push((20 + i32::from(at), 1, 4, vec![at; 200]));
        }
        for fragment in &fragments {
            relay.send_to(fragment, to).unwrap();
        }
        // The receiver must not accept a datagram as an event if it does not come from a gateway.
        relay.send_to(b"nonsense", to).unwrap();
    }
    until("all that is whole", || record.count() == expected.len());
    assert_eq!(record.all(), expected);
    until("what is not", || receiver.statistics().messages.incomplete == 5);
    let statistics = receiver.statistics();
    assert_eq!((statistics.malformed, statistics.undecodable), (20, 0));
    assert!(statistics.dropped > 0);
}

/// Two channels send all of their events to each other. Each event crosses as often as its ttl permits.
#[test]
fn an_event_in_a_circle_ends_with_its_ttl() {
    let channels = [channel(), channel()];
    let records = [0, 1].map(|at| Record::consumer(&channels[at], &Filter::ALL));
    let receivers = [0, 1]
        .map(|at| UdpReceiver::connect(&channels[at], ReceiverOptions::new(loopback(0))).unwrap());
    let senders = [0, 1].map(|at| {
        let to = receivers[1 - at].address().unwrap();
        sender(&channels[at], SenderOptions::new(Destinations::all(to)))
    });
    push(&channels[0], &[event(17, 1, 3, b"round")]);
    until("it ends", || senders[1].statistics().ended == 1);
    let ttls = |at: usize| records[at].0.all().iter().map(|one| one.2).collect::<Vec<_>>();
    assert_eq!((ttls(0), ttls(1)), (vec![3, 1], vec![2, 0]));
}

#[test]
fn a_gateway_ignores_itself_and_events_without_a_destination() {
    let channel = channel();
    // Each of them needs the address of the other one before it is started, so choose the receiver's address first.
    let receiver_at = loopback(free_port());
    let destinations = Destinations::by_type(&format!("17@{receiver_at}")).unwrap();
    let sender = sender(&channel, SenderOptions::new(destinations));
    let options = ReceiverOptions {
        ignore: Some(sender.address().unwrap()),
        ..ReceiverOptions::new(receiver_at)
    };
    let receiver = UdpReceiver::connect(&channel, options).unwrap();
    let (record, _consumer) = Record::consumer(&channel, &Filter::ALL);
    push(&channel, &[event(17, 1, 3, b"x"), event(18, 1, 3, b"y")]);
    until("it was ignored", || receiver.statistics().ignored == 1);
    assert_eq!(record.count(), 2);
    assert_eq!((sender.statistics().nowhere, receiver.statistics().events), (1, 0));
}

#[test]
fn senders_that_are_not_permitted_are_ignored() {
    let to = channel();
    let (record, _consumer) = Record::consumer(&to, &Filter::ALL);
    let receivers = ["deny 127.0.0.0/8, allow all", "allow 127.0.0.1"].map(|senders| {
        let options = ReceiverOptions {
            senders: senders.parse().unwrap(),
            ..ReceiverOptions::new(loopback(0))
        };
        UdpReceiver::connect(&to, options).unwrap()
    });
    for (at, receiver) in receivers.iter().enumerate() {
        let from = channel();
        let destinations = Destinations::all(receiver.address().unwrap());
        let _sender = sender(&from, SenderOptions::new(destinations));
        push(&from, &[event(17, 1, 3, b"x")]);
        until("it came", || {
            let statistics = receiver.statistics();
            (statistics.ignored, statistics.events) == [(1, 0), (0, 1)][at]
        });
    }
    assert_eq!(record.count(), 1);
}

#[test]
fn errors_name_the_address_and_the_entry() {
    let channel = channel();
    let holder = UdpReceiver::connect(&channel, ReceiverOptions::new(loopback(0))).unwrap();
    let taken = holder.address().unwrap();
    let error = UdpReceiver::connect(&channel, ReceiverOptions::new(taken)).unwrap_err();
    assert!(matches!(error, GatewayError::Socket { .. }));
    assert!(error.to_string().contains(&format!("cannot listen at {taken}")), "{error}");
    let options = SenderOptions { mtu: 39, ..SenderOptions::new(Destinations::all(taken)) };
    let error = UdpSender::connect(&channel, &asks(&Filter::ALL), options).unwrap_err();
    assert!(error.to_string().contains("the mtu 39 must be from 40 to 65507"), "{error}");
    for wrong in ["17", "x@1.2.3.4:5", "17@1.2.3.4", "17@1.2.3.4:5 17@1.2.3.4:6"] {
        let error = Destinations::by_source(wrong).unwrap_err();
        assert!(error.to_string().contains("write number@address:port"), "{error}");
    }
}
