//! Address servers of TAO's UDP gateway (`RtecUDPAdmin`). The tests call them over TCP, and check their encoding.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use oxorb::cdr::{Dialect, Encode as _, Encoder};
use oxorb::values::ByteOrder;
use oxorb::{CompletionStatus, Interface as _, Orb, SystemException, SystemExceptionKind};
use oxorb_event::gateway::{
    AskedAddresses, Destinations, ReceiverOptions, SenderOptions, UdpReceiver, UdpSender,
};
use oxorb_event::rtec_event_comm::EventHeader;
use oxorb_event::rtec_udp_admin::{AddrServer, AddrServerRef, UdpAddr, UdpAddrV6, UdpAddress};
use oxorb_event::{ChannelOptions, EventChannel, Filter, publishes};

use super::{Record, asks, event, until};

fn listening() -> Orb {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0");
    orb.build().unwrap()
}

/// Serves an address server. Returns its reference in another ORB.
fn remote(server: &Orb, client: &Orb, servant: impl AddrServer + 'static) -> AddrServerRef {
    let served: AddrServerRef = server.root_poa().activate(servant).unwrap();
    client.resolve(&served.to_ior()).unwrap()
}

/// Returns the addresses of a server, with a time limit that suits busy machines.
fn asking(server: AddrServerRef) -> AskedAddresses {
    AskedAddresses::new(server).timeout(Duration::from_secs(60))
}

fn header(event_type: i32, source: i32) -> EventHeader {
    event(event_type, source, 2, &[]).header
}

/// The encoding is that of TAO: a union consists of its discriminator and its member, and an IPv6 address of sixteen
/// octets.
#[test]
fn addresses_are_the_octets_of_taos_interface() {
    let octets = |address: &UdpAddress| {
        let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
        address.encode(&mut e).unwrap();
        let encoded = e.finish();
        let used = encoded.len();
        encoded.into_buffer()[..used].to_vec()
    };
    let v4 = UdpAddress::V4Addr(UdpAddr {
        ipaddr: Ipv4Addr::new(239, 255, 0, 1).to_bits(),
        port: 10_001,
    });
    assert_eq!(
        octets(&v4),
        [0, 0, 0, 0, 239, 255, 0, 1, 0x27, 0x11],
        "Rtec_inet, the address as a number, the port"
    );
    let ipaddr: [u8; 16] = *b"\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\x42\x42";
    let v6 = UdpAddress::V6Addr(UdpAddrV6 { ipaddr, port: 10_001 });
    let expected = [&[0, 0, 0, 1], &ipaddr[..], &[0x27, 0x11]].concat();
    assert_eq!(octets(&v6), expected, "Rtec_inet6");
    assert_eq!(AddrServerRef::REPOSITORY_ID, "IDL:RtecUDPAdmin/AddrServer:1.0");
}

/// The answers of TAO's simple and complex servers: one address for all events, or one for each type or source.
#[test]
fn simple_and_complex_servers_answer_over_the_wire() {
    let (server, client) = (listening(), listening());
    let simple = Destinations::all("239.255.0.1:10001".parse().unwrap());
    let simple = remote(&server, &client, simple);
    let expected = UdpAddr { ipaddr: 0xefff_0001, port: 10_001 };
    assert_eq!(simple.get_addr(&header(17, 1)), Ok(expected));

    let table = "17@[ff02::c2a9]:9000 18@10.0.0.8:9001";
    let complex = remote(&server, &client, Destinations::by_type(table).unwrap());
    // The address contains octets that are not ASCII. They must arrive unchanged, whatever code set the two ORBs
    // negotiate.
    let group: SocketAddr = "[ff02::c2a9]:9000".parse().unwrap();
    match complex.get_address(&header(17, 3)).unwrap() {
        UdpAddress::V6Addr(address) => {
            assert_eq!(SocketAddr::from((address.ipaddr, address.port)), group);
        }
        other => panic!("{other:?}"),
    }
    // The older operation cannot return an IPv6 address, and raises the same exception as in TAO.
    let refused = complex.get_addr(&header(17, 3)).unwrap_err();
    assert_eq!(refused.kind, SystemExceptionKind::DataConversion);
    let nothing = UdpAddr { ipaddr: 0, port: 0 };
    assert_eq!(complex.get_addr(&header(99, 3)), Ok(nothing));

    let by_source = Destinations::by_source("3@10.0.0.7:1 *@10.0.0.9:2").unwrap();
    let by_source = remote(&server, &client, by_source);
    let asked = Destinations::asked(asking(by_source));
    assert_eq!(asked.of(&header(1, 3)), "10.0.0.7:1".parse().ok());
    assert_eq!(asked.of(&header(3, 1)), "10.0.0.9:2".parse().ok());
    let asked = Destinations::asked(asking(complex));
    assert_eq!(asked.of(&header(17, 1)), Some(group));
    assert_eq!(asked.of(&header(99, 1)), None);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// A TAO server that does not support IPv6. It records the calls to it.
struct Old {
    asked: AtomicU32,
    ttls: Mutex<Vec<i32>>,
    port: u16,
    fails: Option<SystemExceptionKind>,
}

impl AddrServer for &'static Old {
    fn get_addr(&self, header: &EventHeader) -> Result<UdpAddr, SystemException> {
        self.asked.fetch_add(1, SeqCst);
        self.ttls.lock().unwrap().push(header.ttl);
        if let Some(kind) = self.fails {
            return Err(SystemException::new(kind, 0, CompletionStatus::No));
        }
        Ok(UdpAddr { ipaddr: Ipv4Addr::LOCALHOST.to_bits(), port: self.port })
    }

    fn get_address(&self, _: &EventHeader) -> Result<UdpAddress, SystemException> {
        let no = CompletionStatus::No;
        Err(SystemException::new(SystemExceptionKind::BadOperation, 0, no))
    }
}

impl Old {
    fn new(port: u16, fails: Option<SystemExceptionKind>) -> &'static Old {
        Box::leak(Box::new(Old { asked: AtomicU32::new(0), ttls: Mutex::default(), port, fails }))
    }
}

#[test]
fn a_gateway_sends_where_a_server_of_ipv4_alone_says() {
    let (server, client) = (listening(), listening());
    let [source, target] = [0, 1].map(|_| EventChannel::new(ChannelOptions::default()));
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let receiver = UdpReceiver::connect(&target, ReceiverOptions::new(listen)).unwrap();
    let old = Old::new(receiver.address().unwrap().port(), None);
    let asked = asking(remote(&server, &client, old)).keep(Duration::from_secs(3_600));
    let options = SenderOptions { local: listen, ..SenderOptions::new(Destinations::asked(asked)) };
    let sender = UdpSender::connect(&source, &asks(&Filter::ALL), options).unwrap();
    let (record, _consumer) = Record::consumer(&target, &Filter::ALL);
    let supplier = source.connect_supplier(None, &publishes([(0, 0)])).unwrap();
    for number in 0..5 {
        supplier.push(&[event(17, 1, 3, &[number])]).unwrap();
    }
    supplier.push(&[event(18, 1, 3, b"x")]).unwrap();
    until("all events", || record.count() == 6);
    assert_eq!(old.asked.load(SeqCst), 2, "once for each type and source");
    assert_eq!(*old.ttls.lock().unwrap(), [2, 2], "as the events will have it");
    assert_eq!(sender.statistics().events, 6);
    drop((sender, receiver));
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

/// A server that does not answer delays only one event, whatever the types and sources of the others. It is not called
/// for an event whose ttl has ended.
#[test]
fn a_silent_server_is_not_asked_for_other_events_either() {
    let (server, client) = (listening(), listening());
    let channel = EventChannel::new(ChannelOptions::default());
    let silent = Old::new(1, Some(SystemExceptionKind::Timeout));
    let asked = asking(remote(&server, &client, silent)).keep(Duration::from_secs(3_600));
    let options = SenderOptions::new(Destinations::asked(asked));
    let sender = UdpSender::connect(&channel, &asks(&Filter::ALL), options).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(0, 0)])).unwrap();
    for ttl in [0, i32::MIN] {
        supplier.push(&[event(17, 1, ttl, b"x")]).unwrap();
    }
    assert_eq!((sender.statistics().ended, silent.asked.load(SeqCst)), (2, 0));
    for (event_type, source) in [(17, 1), (18, 1), (17, 2), (17, 1)] {
        supplier.push(&[event(event_type, source, 3, b"x")]).unwrap();
    }
    assert_eq!((sender.statistics().nowhere, silent.asked.load(SeqCst)), (4, 1));
    // The smallest ttl must not overflow when it is decremented for the call.
    let old = Old::new(1, None);
    let asked = Destinations::asked(asking(remote(&server, &client, old)));
    let mut least = header(17, 1);
    least.ttl = i32::MIN;
    assert!(asked.of(&least).is_some());
    assert_eq!(*old.ttls.lock().unwrap(), [i32::MIN]);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}

#[test]
fn a_server_that_fails_is_not_asked_for_every_event() {
    let (server, client) = (listening(), listening());
    let channel = EventChannel::new(ChannelOptions::default());
    let old = Old::new(1, Some(SystemExceptionKind::NoResources));
    let asked = asking(remote(&server, &client, old)).keep(Duration::from_secs(3_600));
    let options = SenderOptions::new(Destinations::asked(asked));
    let sender = UdpSender::connect(&channel, &asks(&Filter::ALL), options).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(0, 0)])).unwrap();
    for _ in 0..10 {
        supplier.push(&[event(17, 1, 3, b"x")]).unwrap();
    }
    assert_eq!((sender.statistics().nowhere, old.asked.load(SeqCst)), (10, 1));
    // If answers are valid for no time, each event causes a call.
    let always = asking(remote(&server, &client, old)).keep(Duration::ZERO);
    let always = Destinations::asked(always);
    assert_eq!([0, 1, 2].map(|_| always.of(&header(17, 1))), [None; 3]);
    assert_eq!(old.asked.load(SeqCst), 4);
    client.shutdown(true).unwrap();
    server.shutdown(true).unwrap();
}
