//! Sharing of events between channels, each event once; late joiners; circles; full queues; hostile samples.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use oxorb_event::delivery::Qos;
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{Filter, asks_for};
use oxorb_event_zenoh::{FederationError, FederationOptions, Priority, ZenohGateway, wire};
use zenoh::Wait;

use super::{Host, Record, event, free_port, patient, until};

#[test]
fn each_event_reaches_each_channel_that_asks_for_it_once() {
    let port = free_port();
    let one = Host::join(port, true, patient());
    let others = [(); 2].map(|()| Host::join(port, false, patient()));
    // The first filter has overlapping expressions, and most of the events match both.
    let both = Filter::any_of([Filter::event_type(17), Filter::event(0, 1)]);
    let records = [(&others[0], &both), (&others[1], &Filter::event(17, 1))]
        .map(|(host, filter)| Record::at(&host.channel, filter));
    let (own, _own) = Record::at(&one.channel, &Filter::ALL);
    for (record, _) in &records {
        one.until_heard(17, record);
    }
    let before = own.all().len();
    let numbers = || (0..50_u8).map(|number| event(17, 1, 5, &[number]));
    one.push(&numbers().collect::<Vec<_>>());
    one.push(&[
        event(18, 2, 5, b"nobody"),
        event(17, 1, 1, b"last hop"),
        event(17, 1, 0, b"no hop"),
    ]);
    // An event without a type is sent to all consumers.
    one.push(&[event(0, 1, 3, b"any")]);
    for (record, _) in &records {
        until("all that is asked for is there", || {
            record.count(b"last hop") == 1 && record.count(b"any") == 1
        });
        let told = record.told();
        let got: Vec<_> = told.iter().filter(|one| one.2.len() == 1).collect();
        let expected: Vec<_> = (0..50).map(|number| (17, 4, vec![number])).collect();
        assert_eq!(got, expected.iter().collect::<Vec<_>>());
        assert_eq!(
            told.iter().filter(|one| one.2 == b"last hop").collect::<Vec<_>>(),
            [&(17, 0, b"last hop".to_vec())]
        );
        assert_eq!(record.count(b"nobody") + record.count(b"no hop"), 0);
    }
    // The other gateways did not send received events out again, so none came back.
    assert_eq!(own.all().len(), before + 54);
    for host in &others {
        until("they find each other", || host.gateway.statistics().neighbours == 2);
        let seen = host.gateway.statistics();
        assert_eq!((seen.sent, seen.ended, seen.malformed, seen.lost), (0, 0, 0, 0), "{seen:?}");
    }
    assert_eq!(one.gateway.statistics().ended, 1);
}

#[test]
fn what_nobody_asks_for_any_more_does_not_come() {
    let port = free_port();
    let [one, other] = [true, false].map(|listens| Host::join(port, listens, patient()));
    let (record, first) = Record::at(&other.channel, &Filter::event_type(17));
    one.until_heard(17, &record);
    assert_eq!(other.gateway.statistics().subscriptions, 2);
    let (later, _second) = Record::at(&other.channel, &Filter::event(18, 1));
    drop(first);
    until("subscriptions change", || other.gateway.statistics().subscriptions == 2);
    one.until_heard(18, &later);
    // `received` is incremented after the delivery, so wait until no event is being delivered.
    let received = || {
        until("nothing is in hand", || other.gateway.statistics().receiving.waiting == 0);
        other.gateway.statistics().received
    };
    let mut asked = 0;
    until("what nobody asks for stays away", || {
        let before = received();
        one.push(&[event(17, 1, 9, b"unasked"), event(18, 1, 9, b"asked")]);
        asked += 1;
        until("the other comes", || later.count(b"asked") == asked);
        received() == before + 1
    });
}

#[test]
fn who_joins_late_gets_the_last_event_of_each_topic_once() {
    let port = free_port();
    let options = || FederationOptions {
        latest: 10,
        refresh: std::time::Duration::from_millis(200),
        ..patient()
    };
    let one = Host::join(port, true, options());
    for number in 0..5_u8 {
        one.push(&[event(17, 1, 9, &[number]), event(17, 2, 9, &[10 + number])]);
    }
    until("all are sent", || one.gateway.statistics().sent == 10);
    let late = Host::join(port, false, options());
    let (record, _connection) = Record::at(&late.channel, &Filter::event_type(17));
    until("the last ones come", || record.all().len() >= 2);
    one.until_heard(17, &record);
    until("it was asked again", || one.gateway.statistics().asked >= 3);
    let mut told: Vec<u8> =
        record.told().into_iter().filter(|one| one.2.len() == 1).map(|one| one.2[0]).collect();
    told.sort_unstable();
    assert_eq!(told, [4, 14]);
    assert_eq!(late.gateway.statistics().lost, 0);
}

#[test]
fn events_in_a_circle_of_federations_end() {
    let ports = [free_port(), free_port()];
    let options = |prefix: &str| FederationOptions { prefix: prefix.to_owned(), ..patient() };
    let hosts = [true, false].map(|listens| Host::join(ports[0], listens, options("left")));
    // A second federation connects the same channels under another prefix, which closes a circle.
    let back = hosts.each_ref().map(|host| {
        ZenohGateway::start(&host.channel, &host.federation, options("right")).unwrap()
    });
    let records = hosts.each_ref().map(|host| Record::at(&host.channel, &Filter::event_type(17)));
    hosts[0].until_heard(17, &records[1].0);
    until("all four ways are there", || {
        hosts[0].push(&[event(17, 1, 2, b"all ways")]);
        let ways = hosts.iter().map(|host| &host.gateway).chain(&back);
        ways.into_iter().all(|way| way.statistics().received > 0)
    });
    hosts[0].push(&[event(17, 1, 4, b"round")]);
    // The event takes both ways to the other host. Each copy returns by the other way with a decremented ttl, and so
    // on.
    let ttls = |at: usize| {
        let told = records[at].0.told();
        let mut ttls: Vec<i32> =
            told.iter().filter(|one| one.2 == b"round").map(|one| one.1).collect();
        ttls.sort_unstable();
        ttls
    };
    until("it went round", || (ttls(0), ttls(1)) == (vec![0, 0, 2, 2, 4], vec![1, 1, 3, 3]));
    let ended = || back[0].statistics().ended + hosts[0].gateway.statistics().ended;
    until("it ended", || ended() >= 2);
    assert_eq!((ttls(0), ttls(1)), (vec![0, 0, 2, 2, 4], vec![1, 1, 3, 3]));
}

/// Consumer that blocks the pushing thread until the test releases it.
struct Stuck {
    open: Mutex<mpsc::Receiver<()>>,
    record: Arc<Record>,
}

impl PushConsumer for Stuck {
    fn push(&self, events: &[Event]) {
        let _ = self.open.lock().unwrap().recv();
        self.record.push(events);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stuck_consumer_fills_a_bounded_queue_whose_drops_are_counted() {
    let port = free_port();
    // The sender's queue is large enough for all events, so that they are lost only in the receiver's queue.
    let sending =
        FederationOptions { sending: Qos { events: 10_000, ..Qos::default() }, ..patient() };
    let receiving =
        FederationOptions { receiving: Qos { events: 100, ..Qos::default() }, ..patient() };
    let (one, other) = (Host::join(port, true, sending), Host::join(port, false, receiving));
    let (probe, probing) = Record::at(&other.channel, &Filter::event(17, 1));
    one.until_heard(17, &probe);
    let (go, open) = mpsc::channel();
    let record = Arc::<Record>::default();
    let stuck = Arc::new(Stuck { open: Mutex::new(open), record: Arc::clone(&record) });
    let _stuck = other.channel.connect_consumer(stuck, &asks_for(&Filter::event(17, 1))).unwrap();
    // Drop the probing consumer only now, so that the topic remains subscribed throughout.
    drop(probing);
    until("it is asked for", || other.gateway.statistics().subscriptions == 2);
    let offered = other.gateway.statistics().receiving.offered;
    for number in 0..1_000_u32 {
        one.push(&[event(17, 1, 9, &number.to_be_bytes())]);
    }
    until("all have come", || other.gateway.statistics().receiving.offered == offered + 1_000);
    drop(go);
    until("the rest is delivered", || other.gateway.statistics().receiving.waiting == 0);
    let seen = other.gateway.statistics();
    assert_eq!(seen.lost, 0, "{seen:?}");
    let numbers: Vec<_> = record.told().into_iter().map(|one| one.2).collect();
    assert!(numbers.is_sorted(), "in order");
    assert_eq!(numbers.last().unwrap(), &999_u32.to_be_bytes(), "the oldest go");
    assert!((100..=101).contains(&numbers.len()), "{}", numbers.len());
    assert_eq!(numbers.len() as u64 + seen.receiving.dropped_in_all(), 1_000);
}

#[test]
fn hostile_samples_are_refused_and_counted() {
    let port = free_port();
    let small = FederationOptions { sample_octets: 4_096, ..patient() };
    let (one, other) = (Host::join(port, true, patient()), Host::join(port, false, small));
    let (record, _connection) = Record::at(&other.channel, &Filter::ALL);
    one.until_heard(17, &record);
    let good = wire::write(&[1; 16], 0, Priority::Data, &event(17, 1, 9, b"good")).unwrap();
    let put = |topic: &str, octets: Vec<u8>| {
        let put = one.federation.session().put(format!("oxorb/events/{topic}"), octets);
        put.congestion_control(zenoh::qos::CongestionControl::Block).wait().unwrap();
    };
    let mut malformed = 0;
    let mut bad = |topic: &str, octets: &[u8]| {
        put(topic, octets.to_vec());
        malformed += 1;
    };
    bad("17/x", &good);
    bad("0/1", &good);
    bad("17/2", &good);
    for length in [0, 1, 31, 32, 33, good.len() - 1] {
        bad("17/1", &good[..length]);
    }
    // Magic number, version, byte order, priority (too low and too high), reserved octet, and the first and the last
    // octet of the number of events.
    for (at, octet) in [(0, b'x'), (4, 9), (5, 7), (6, 0), (6, 8), (7, 1), (32, 0xff), (35, 0xff)] {
        let mut changed = good.clone();
        changed[at] = octet;
        bad("17/1", &changed);
    }
    let own = wire::write(&[1; 16], 0, Priority::Data, &event(8, 1, 9, b"designator")).unwrap();
    bad("8/1", &own);
    put("17/1", vec![0; 5_000]);
    put("17/1", good.clone());
    until("the good one comes", || record.count(b"good") == 1);
    let seen = other.gateway.statistics();
    assert_eq!((seen.malformed, seen.oversized), (malformed, 1), "{seen:?}");
    assert_eq!(
        record
            .all()
            .iter()
            .filter(|one| ![&b"probe"[..], b"settled"].contains(&&one.data.payload[..]))
            .count(),
        1
    );
}

#[test]
fn prefixes_and_sizes_that_cannot_be_are_refused() {
    let host = Host::join(free_port(), true, patient());
    let start = |options| ZenohGateway::start(&host.channel, &host.federation, options).map(drop);
    for prefix in ["", "/", "a//b", "a*", "a/$b"] {
        let options = FederationOptions { prefix: prefix.to_owned(), ..patient() };
        let refused = start(options);
        assert!(matches!(refused, Err(FederationError::Declare(_))), "{prefix:?}: {refused:?}");
    }
    let none = Qos { events: 0, ..Qos::default() };
    let refused = start(FederationOptions { sending: none, ..patient() });
    assert!(matches!(refused, Err(FederationError::Queue(_))), "{refused:?}");
}
