//! Event datagrams between two hosts joined by a cable, through an IPv6 multicast group: in network namespaces of the
//! test, independent of this machine's routes.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use oxorb_event::gateway::{Destinations, ReceiverOptions, SenderOptions, UdpReceiver, UdpSender};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{ChannelOptions, EventChannel, Filter, asks_for, publishes};
use oxorb_testkit::net::has_ipv6;
use oxorb_testkit::process::{Process, test_name};
use oxorb_testkit::watchdog;

use crate::common::LONG;
use crate::common::world::{self, World};

/// Variable with the group of the sender in a separate process.
const GROUP: &str = "OXORB_FAULTS_GROUP";

/// Addresses of the two ends of the cable; devices are named after them.
const HERE: &str = "10.78.1.1";
const THERE: &str = "10.78.1.2";

/// Payload of a few datagrams.
const OCTETS: usize = 3_000;

/// Pushes numbers until killed, in a process on the other host.
#[test]
fn be_sender() {
    let Ok(group) = std::env::var(GROUP) else {
        return;
    };
    let channel = EventChannel::new(ChannelOptions::default());
    let options = SenderOptions {
        local: "[::]:0".parse().unwrap(),
        interface: device(THERE).parse().unwrap(),
        checksum: true,
        ..SenderOptions::new(Destinations::all(group.parse().unwrap()))
    };
    let sender = UdpSender::connect(&channel, &asks_for(&Filter::ALL), options).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(0, 0)])).unwrap();
    println!("at work");
    for number in 0u64.. {
        let mut event = Event::default();
        (event.header.r#type, event.header.source, event.header.ttl) = (17, 1, 1);
        event.data.payload = vec![7; OCTETS];
        event.data.payload[..8].copy_from_slice(&number.to_le_bytes());
        supplier.push(&[event]).unwrap();
        // A new interface sends nothing until its address is confirmed. Such failures are counted.
        let sent = sender.statistics();
        assert_eq!(sent.events + sent.failed, number + 1, "{sent:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn device(address: &str) -> String {
    format!("to{}", address.replace('.', "-"))
}

/// Numbers received, each with an intact payload.
#[derive(Default)]
struct Numbers(Mutex<Vec<u64>>);

impl PushConsumer for Numbers {
    fn push(&self, events: &[Event]) {
        for event in events {
            let (number, rest) = event.data.payload.split_at(8);
            assert!(rest.len() == OCTETS - 8 && rest.iter().all(|&octet| octet == 7));
            let number = u64::from_le_bytes(number.try_into().unwrap());
            self.0.lock().unwrap().push(number);
        }
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

#[test]
fn events_reach_a_channel_by_a_multicast_group_of_ipv6() {
    let _guard = watchdog(2 * LONG);
    if !has_ipv6() {
        return;
    }
    let Some(world) = World::enter(test_name(events_reach_a_channel_by_a_multicast_group_of_ipv6))
    else {
        return;
    };
    world.host("north");
    world.cable([("", HERE), ("north", THERE)]);
    // Two channels of this host receive from the group. Any number of channels may.
    let channels = [0, 1].map(|_| EventChannel::new(ChannelOptions::default()));
    let mut group: SocketAddr = "[ff02::4242]:0".parse().unwrap();
    let receivers = channels.each_ref().map(|channel| {
        let options = ReceiverOptions {
            interface: device(HERE).parse().unwrap(),
            checksum: true,
            ..ReceiverOptions::new(group)
        };
        let receiver = UdpReceiver::connect(channel, options).unwrap();
        group.set_port(receiver.address().unwrap().port());
        receiver
    });
    let wanted = asks_for(&Filter::event(17, 1));
    let numbers = channels.each_ref().map(|channel| {
        let numbers = Arc::<Numbers>::default();
        let connection = channel.connect_consumer(numbers.clone(), &wanted).unwrap();
        (numbers, connection)
    });
    let mut command = world::role("north", test_name(be_sender));
    command.env(GROUP, group.to_string());
    let mut sender = Process::spawn(command);
    sender.wait_for_line("at work", LONG);
    for (numbers, _) in &numbers {
        until("events of the group", || numbers.0.lock().unwrap().len() >= 100);
    }
    sender.kill();
    for ((numbers, _), receiver) in numbers.iter().zip(&receivers) {
        let got = numbers.0.lock().unwrap().clone();
        let rising = got.windows(2).all(|pair| pair[0] < pair[1]);
        assert!(rising, "{got:?}");
        let counts = receiver.statistics();
        assert_eq!((counts.malformed, counts.undecodable), (0, 0));
        // No event is invented: each event took its own datagrams.
        assert!(counts.datagrams >= 3 * counts.events, "{counts:?}");
    }
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !done() {
        assert!(Instant::now() < end, "not within {LONG:?}: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
