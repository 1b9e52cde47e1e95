//! All properties of quality of service and of administration, tested end to end by a remote client.

use std::time::{SystemTime, UNIX_EPOCH};

use oxorb::{Any, Interface as _, SystemExceptionKind as Kind, minor};
use oxorb_delivery::Cause;
use oxorb_notify::cos_notification::{Property, StructuredEvent};
use oxorb_notify::cos_notify_channel_admin::structured_proxy_pull_supplier::ConnectStructuredPullConsumerError;
use oxorb_notify::cos_notify_channel_admin::{
    ClientType, SequenceProxyPushConsumerRef, SequenceProxyPushSupplierRef,
    StructuredProxyPullSupplierRef,
};
use oxorb_notify::cos_notify_comm::SequencePushConsumerRef;
use oxorb_notify::time_base::UtcT;

use crate::notify::Served;
use crate::notify::peers::{Heard, PATIENCE, peer};
use crate::notify::structured::{event, numbers, property};

/// Number of `TimeBase` units in a second.
const SECOND: u64 = 10_000_000;

/// Duration in `TimeBase` units that exceeds that of any test.
const HOUR: i64 = 3600 * SECOND as i64;

fn with(number: i32, header: impl IntoIterator<Item = Property>) -> StructuredEvent {
    let mut event = event("d", "t", number);
    event.header.variable_header = header.into_iter().collect();
    event
}

fn priority(priority: i16) -> Property {
    property("Priority", Any::new(priority))
}

fn timeout(seconds: u64) -> Property {
    property("Timeout", Any::new(seconds * SECOND))
}

/// Returns a time property whose value is relative to the current time.
fn moment(name: &str, later: i64) -> Property {
    /// Time between 15 October 1582 and 1 January 1970, in `TimeBase` units.
    const GREGORIAN: i64 = 122_192_928_000_000_000;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = GREGORIAN + i64::try_from(since.as_nanos() / 100).unwrap();
    let time = u64::try_from(now + later).unwrap();
    let moment = UtcT { time, inacclo: 0, inacchi: 0, tdf: 0 };
    property(name, Any::new(moment))
}

/// Returns the proxy of a consumer that is connected and pulls, with these properties.
fn puller(served: &Served, qos: &[Property]) -> StructuredProxyPullSupplierRef {
    let pull = served.structured_pull();
    pull.set_qos(qos).unwrap();
    pull.connect_structured_pull_consumer(None).unwrap();
    pull
}

fn push(served: &Served, events: impl IntoIterator<Item = StructuredEvent>) {
    let source = served.structured_source();
    for event in events {
        source.push_structured_event(&event).unwrap();
    }
    source.disconnect_structured_push_consumer().unwrap();
}

#[test]
fn order_policy() {
    let served = Served::new();
    let sent = [(1_i16, 300), (5, 100), (3, 200), (5, 400), (2, 50)];
    for (order, expected) in
        [(0_i16, [1, 2, 3, 4, 5]), (1, [1, 2, 3, 4, 5]), (2, [2, 4, 3, 5, 1]), (3, [5, 2, 3, 1, 4])]
    {
        let pull = puller(&served, &[property("OrderPolicy", Any::new(order))]);
        let events = sent.into_iter().enumerate();
        let events = events.map(|(at, (urgency, seconds))| {
            with(at as i32 + 1, [priority(urgency), timeout(seconds)])
        });
        push(&served, events);
        assert_eq!(numbers(&pull), expected, "order {order}");
        pull.disconnect_structured_pull_supplier().unwrap();
    }
}

#[test]
fn discard_policy_and_most_events() {
    let served = Served::new();
    let sent = [(1_i16, 300), (5, 100), (3, 200), (5, 400), (2, 50)];
    for (discard, expected) in [
        (0_i16, [3, 4, 5]),
        (1, [3, 4, 5]),
        (2, [2, 3, 4]),
        // Drop the event with the earliest deadline, even if this is the new event.
        (3, [1, 3, 4]),
        (4, [1, 2, 3]),
    ] {
        let before = served.service.counts().dropped_in_all();
        let qos = [
            property("OrderPolicy", Any::new(1_i16)),
            property("DiscardPolicy", Any::new(discard)),
            property("MaxEventsPerConsumer", Any::new(3_i32)),
        ];
        let pull = puller(&served, &qos);
        let events = sent.into_iter().enumerate();
        let events = events.map(|(at, (urgency, seconds))| {
            with(at as i32 + 1, [priority(urgency), timeout(seconds)])
        });
        push(&served, events);
        assert_eq!(numbers(&pull), expected, "discard {discard}");
        let counts = served.service.counts();
        assert_eq!(counts.dropped_in_all() - before, 2, "discard {discard}");
        assert!(counts.is_balanced(), "{counts:?}");
        pull.disconnect_structured_pull_supplier().unwrap();
    }
}

#[test]
fn priority_of_a_proxy_is_that_of_events_without_one() {
    let served = Served::new();
    let pull = puller(&served, &[priority(5)]);
    let events = [with(1, [priority(4)]), with(2, []), with(3, [priority(6)])];
    push(&served, events);
    assert_eq!(numbers(&pull), [3, 2, 1]);
}

#[test]
fn timeout_of_an_event_and_of_a_proxy() {
    let served = Served::new();
    let own = puller(&served, &[]);
    let short = puller(&served, &[property("Timeout", Any::new(1_u64))]);
    let soon = property("Timeout", Any::new(1_u64));
    push(&served, [with(1, [soon]), with(2, []), with(3, [timeout(3600)])]);
    assert_eq!(numbers(&own), [2, 3]);
    assert_eq!(numbers(&short), [3]);
    let counts = served.service.counts();
    assert_eq!(counts.dropped(Cause::Expired), 3, "{counts:?}");
    assert!(counts.is_balanced(), "{counts:?}");
}

#[test]
fn start_and_stop_time() {
    let served = Served::new();
    let pull = puller(&served, &[]);
    let events = [
        with(1, [moment("StartTime", HOUR)]),
        with(2, [moment("StartTime", -HOUR)]),
        with(3, [moment("StopTime", HOUR)]),
        with(4, [moment("StopTime", -HOUR)]),
    ];
    push(&served, events);
    assert_eq!(numbers(&pull), [2, 3], "1 waits, 4 is too late");
    let counts = served.service.counts();
    assert_eq!((counts.waiting, counts.dropped(Cause::Expired)), (1, 1));
    // An event with a start time is delivered when this time is reached.
    let soon = served.structured_pull();
    soon.connect_structured_pull_consumer(None).unwrap();
    push(&served, [with(5, [moment("StartTime", SECOND as i64 / 5)])]);
    let came = soon.pull_structured_event().unwrap();
    assert_eq!(came.remainder_of_body.get::<i32>(), Ok(Some(5)));
}

#[test]
fn start_and_stop_time_where_they_are_not_supported() {
    let served = Served::new();
    let unsupported = ["StartTimeSupported", "StopTimeSupported"];
    let unsupported = unsupported.map(|name| property(name, Any::new(false)));
    let pull = puller(&served, &unsupported);
    let events = [with(1, [moment("StartTime", HOUR)]), with(2, [moment("StopTime", -HOUR)])];
    push(&served, events);
    assert_eq!(numbers(&pull), [1, 2]);
}

/// A batch is sent when its interval has ended, even if the batch is not full.
#[test]
fn pacing_interval_and_batch_size() {
    let served = Served::new();
    let admin = served.channel.default_consumer_admin().unwrap().unwrap();
    let form = ClientType::SequenceEvent;
    let (proxy, _) = admin.obtain_notification_push_supplier(form).unwrap();
    let proxy: SequenceProxyPushSupplierRef = proxy.unwrap().unchecked_narrow();
    let qos = [
        property("MaximumBatchSize", Any::new(4_i32)),
        property("PacingInterval", Any::new(SECOND / 20)),
    ];
    proxy.set_qos(&qos).unwrap();
    let (consumer, heard) = peer::<SequencePushConsumerRef>(&served.client);
    proxy.connect_sequence_push_consumer(Some(&consumer)).unwrap();
    let suppliers = served.channel.default_supplier_admin().unwrap().unwrap();
    let (source, _) = suppliers.obtain_notification_push_consumer(form).unwrap();
    let source: SequenceProxyPushConsumerRef = source.unwrap().unchecked_narrow();
    source.connect_sequence_push_supplier(None).unwrap();
    let sent: Vec<_> = (0..7).map(|number| event("d", "t", number)).collect();
    source.push_structured_events(&sent).unwrap();
    let mut got = Vec::new();
    while got.len() < sent.len() {
        match heard.recv_timeout(PATIENCE).expect("a batch") {
            Heard::Batch(batch) => {
                assert!(batch.len() <= 4, "{}", batch.len());
                got.extend(batch);
            }
            Heard::Types(..) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(got, sent);
}

#[test]
fn most_consumers_and_length_of_queues() {
    let served = Served::new();
    let admin =
        [property("MaxConsumers", Any::new(1_i32)), property("MaxQueueLength", Any::new(2_i32))];
    served.channel.set_admin(&admin).unwrap();
    let other = served.structured_pull();
    let pull = puller(&served, &[]);
    match other.connect_structured_pull_consumer(None) {
        Err(ConnectStructuredPullConsumerError::System(exception)) => {
            let limit = (Kind::ImpLimit, minor::imp_limit::EVENT_PEERS);
            assert_eq!((exception.kind, exception.minor), limit);
        }
        found => panic!("{found:?}"),
    }
    push(&served, (1..6).map(|number| event("d", "t", number)));
    assert_eq!(numbers(&pull), [4, 5]);
    // A change of the property also applies to existing queues.
    let longer = property("MaxQueueLength", Any::new(3_i32));
    served.channel.set_admin(&[longer]).unwrap();
    push(&served, (1..6).map(|number| event("d", "t", number)));
    assert_eq!(numbers(&pull), [3, 4, 5]);
    assert!(served.service.counts().waiting == 0);
}
