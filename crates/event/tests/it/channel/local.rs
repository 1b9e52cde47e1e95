//! Channels that are used within one process.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use oxorb_event::delivery::{Plan, Qos};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{
    ChannelOptions, ConnectError, EventChannel, Filter, Limits, Notice, PushError, Released,
    SupplierConnection, event_type,
};

use crate::channel::{Record, asks, event, publishes};

#[test]
fn consumers_get_what_they_ask_for_in_the_order_of_the_supplier() {
    let channel = EventChannel::new(ChannelOptions::default());
    let [a, b, all] = [Record::new(), Record::new(), Record::new()];
    let _a = channel.connect_consumer(a.clone(), &asks(&Filter::event_type(17))).unwrap();
    let _b = channel.connect_consumer(b.clone(), &asks(&Filter::event(17, 2))).unwrap();
    let _all = channel.connect_consumer(all.clone(), &asks(&Filter::ALL)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(0, 0)])).unwrap();
    supplier.push(&[event(17, 1, 1), event(17, 2, 2), event(18, 2, 3)]).unwrap();
    assert_eq!(a.events(), [(17, 1, 1), (17, 2, 2)]);
    assert_eq!(b.events(), [(17, 2, 2)]);
    // The events of a set are filtered separately, so each accepted event arrives as a set of its own.
    assert_eq!(all.sets().len(), 3);
}

#[test]
fn a_supplier_reaches_those_whom_its_publications_concern() {
    let reached = |options: ChannelOptions| {
        let channel = EventChannel::new(options);
        let all = Record::new();
        let _all = channel.connect_consumer(all.clone(), &asks(&Filter::event_type(18))).unwrap();
        let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
        supplier.push(&[event(18, 1, 1)]).unwrap();
        all.events().len()
    };
    assert_eq!(reached(ChannelOptions::default()), 0);
    let options = ChannelOptions { supplier_filtering: false, ..ChannelOptions::default() };
    assert_eq!(reached(options), 1);
}

#[test]
fn consumers_that_do_not_match_cost_an_event_nothing() {
    let asked = |others: i32| {
        let channel = EventChannel::new(ChannelOptions::default());
        let consumer = Record::new();
        let connect = |filter| channel.connect_consumer(consumer.clone(), &asks(&filter)).unwrap();
        let _matches = [
            connect(Filter::event(17, 1)),
            connect(Filter::event_type(17)),
            connect(Filter::source(1)),
            connect(Filter::any_of([Filter::event(17, 1), Filter::event_type(17)])),
        ];
        let _others: Vec<_> = (0..others).map(|n| connect(Filter::event(100 + n, 1))).collect();
        let supplier = channel.connect_supplier(None, &publishes([(0, 0)])).unwrap();
        for _ in 0..10 {
            supplier.push(&[event(17, 1, 0)]).unwrap();
        }
        assert_eq!(consumer.events().len(), 40);
        channel.statistics().suppliers[0].asked
    };
    assert_eq!(asked(0), 40);
    assert_eq!(asked(1_000), 40);
}

#[test]
fn suspended_consumers_get_nothing_and_it_is_counted() {
    let channel = EventChannel::new(ChannelOptions::default());
    let record = Record::new();
    let consumer = channel.connect_consumer(record.clone(), &asks(&Filter::ALL)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    consumer.suspend();
    supplier.push(&[event(17, 1, 1)]).unwrap();
    consumer.resume();
    supplier.push(&[event(17, 1, 2)]).unwrap();
    assert_eq!(record.events(), [(17, 1, 2)]);
    let counted = &channel.statistics().consumers[0];
    assert_eq!((counted.matched, counted.suspended, counted.delivered), (2, 1, 1));
}

#[test]
fn destroy_tells_everybody_and_ends_everything() {
    let channel = EventChannel::new(ChannelOptions::default());
    let [consumer, supplier] = [Record::new(), Record::new()];
    let connected = channel.connect_consumer(consumer.clone(), &asks(&Filter::ALL)).unwrap();
    let pushing = channel.connect_supplier(Some(supplier.clone()), &publishes([(17, 1)])).unwrap();
    channel.destroy();
    assert_eq!((consumer.disconnects(), supplier.disconnects()), (1, 1));
    assert!(!connected.is_connected() && !pushing.is_connected());
    assert_eq!(pushing.push(&[event(17, 1, 1)]), Err(PushError::NotConnected));
    let refused = channel.connect_consumer(consumer, &asks(&Filter::ALL)).unwrap_err();
    assert_eq!(refused, ConnectError::Destroyed);
    channel.destroy();
    assert_eq!(supplier.disconnects(), 1);
}

/// The end of such a time limit cannot be represented as a time.
#[test]
fn destroy_tells_everybody_even_without_an_end_of_the_time_limit() {
    let options = ChannelOptions { call_timeout: Duration::MAX, ..ChannelOptions::default() };
    let queued = EventChannel::queued(options.clone(), Plan::pool(1), Qos::default()).unwrap();
    for channel in [EventChannel::new(options), queued] {
        let record = Record::new();
        let _connected = channel.connect_consumer(record.clone(), &asks(&Filter::ALL)).unwrap();
        channel.destroy();
        assert_eq!(record.disconnects(), 1);
    }
}

/// A consumer that destroys its channel when it receives the first event.
struct Ender {
    channel: Mutex<Option<EventChannel>>,
    disconnects: Mutex<u32>,
}

impl PushConsumer for Ender {
    fn push(&self, _: &[Event]) {
        let channel = self.channel.lock().unwrap().take();
        if let Some(channel) = channel {
            channel.destroy();
        }
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        *self.disconnects.lock().unwrap() += 1;
        Ok(())
    }
}

/// If a channel is destroyed while a set of events is being delivered, every member is notified exactly once, in any
/// dispatch mode.
#[test]
fn destroy_while_dispatching_tells_everybody_once() {
    let options = || ChannelOptions {
        call_timeout: std::time::Duration::from_millis(50),
        ..ChannelOptions::default()
    };
    let queued = EventChannel::queued(options(), Plan::pool(2), Qos::default());
    for channel in [EventChannel::new(options()), queued.unwrap()] {
        let ender = Arc::new(Ender {
            channel: Mutex::new(Some(channel.clone())),
            disconnects: Mutex::default(),
        });
        let [before, after, supplier] = [(); 3].map(|()| Record::new());
        let wanted = asks(&Filter::ALL);
        let _before = channel.connect_consumer(before.clone(), &wanted).unwrap();
        let _ender = channel.connect_consumer(ender.clone(), &wanted).unwrap();
        let _after = channel.connect_consumer(after.clone(), &wanted).unwrap();
        let pushing =
            channel.connect_supplier(Some(supplier.clone()), &publishes([(17, 1)])).unwrap();
        let all = [1, 2, 3].map(|number| event(17, 1, number));
        let _ = pushing.push(&all);
        crate::channel::until("everybody is told", || {
            [&before, &after, &supplier].iter().all(|one| one.disconnects() == 1)
                && *ender.disconnects.lock().unwrap() == 1
        });
        assert_eq!(pushing.push(&all), Err(PushError::NotConnected));
        // Some events may have been dropped, but those that arrived precede them in the order of the push.
        let came = before.events();
        assert_eq!(came[..], [(17, 1, 1), (17, 1, 2), (17, 1, 3)][..came.len()]);
    }
}

#[test]
fn limits_are_named() {
    let channel = EventChannel::new(ChannelOptions {
        limits: Limits {
            consumers: 1,
            suppliers: 1,
            publications: 1,
            events: 2,
            octets: 3,
            ..Limits::default()
        },
        ..ChannelOptions::default()
    });
    let record = Record::new();
    let connect = || channel.connect_consumer(record.clone(), &asks(&Filter::ALL));
    let one = connect().unwrap();
    let refused = connect().unwrap_err();
    assert_eq!(refused, ConnectError::Limit("consumers", 1));
    assert!(refused.to_string().contains("Limits::consumers"));
    drop(one);
    let _one = connect().unwrap();
    let refused = channel.connect_supplier(None, &publishes([(17, 1), (18, 1)])).unwrap_err();
    assert_eq!(refused, ConnectError::Limit("publications", 1));
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    let refused = channel.connect_supplier(None, &publishes([])).unwrap_err();
    assert_eq!(refused, ConnectError::Limit("suppliers", 1));
    let three = [event(17, 1, 1), event(17, 1, 1), event(17, 1, 1)];
    assert_eq!(supplier.push(&three), Err(PushError::Events(2)));
    let mut long = event(17, 1, 1);
    long.data.payload = vec![0; 4];
    assert_eq!(supplier.push(&[long]), Err(PushError::Octets(3)));
    assert_eq!(channel.statistics().suppliers[0].refused, 4);
    assert!(record.events().is_empty());
}

#[test]
fn a_consumer_that_panics_harms_nobody_and_is_let_go() {
    struct Panics;
    impl oxorb_event::rtec_event_comm::PushConsumer for Panics {
        fn push(&self, _: &[oxorb_event::rtec_event_comm::Event]) {
            panic!("a consumer's own affair");
        }
        fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
            Ok(())
        }
    }
    let channel = EventChannel::new(ChannelOptions::default());
    let notices = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&notices);
    channel.log(move |notice| log.lock().unwrap().push(notice.clone()));
    let record = Record::new();
    let panics = channel.connect_consumer(Arc::new(Panics), &asks(&Filter::ALL)).unwrap();
    let _other = channel.connect_consumer(record.clone(), &asks(&Filter::ALL)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    for n in 0..5 {
        supplier.push(&[event(17, 1, n)]).unwrap();
    }
    assert_eq!(record.events().len(), 5);
    assert!(!panics.is_connected());
    let notices = notices.lock().unwrap();
    assert!(matches!(notices[..], [Notice::Released { why: Released::Failures(3, _), .. }]));
}

#[test]
fn consumers_push_and_leave_from_within() {
    use oxorb_event::rtec_event_comm::{Event, PushConsumer};
    use std::sync::{Mutex, OnceLock};

    /// Answers each event of type 17 with an event of type 18, and disconnects after two.
    #[derive(Default)]
    struct Answers {
        supplier: OnceLock<oxorb_event::SupplierConnection>,
        own: Mutex<Option<oxorb_event::ConsumerConnection>>,
    }
    impl PushConsumer for Answers {
        fn push(&self, events: &[Event]) {
            let first = events[0].data.payload[0];
            self.supplier.get().unwrap().push(&[event(18, 1, first)]).unwrap();
            if first == 2 {
                drop(self.own.lock().unwrap().take());
            }
        }
        fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
            Ok(())
        }
    }
    let channel = EventChannel::new(ChannelOptions::default());
    let (answers, record) = (Arc::new(Answers::default()), Record::new());
    let answering = channel.connect_supplier(None, &publishes([(18, 1)])).unwrap();
    answers.supplier.set(answering).unwrap();
    // Use a filter with state, because its lock must not be held while an event is delivered.
    let filter =
        Filter::any_of([Filter::each_of([Filter::event_type(17)]), Filter::event_type(19)]);
    let own = channel.connect_consumer(answers.clone(), &asks(&filter)).unwrap();
    *answers.own.lock().unwrap() = Some(own);
    let _record = channel.connect_consumer(record.clone(), &asks(&Filter::event_type(18))).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    for n in 1..=3 {
        supplier.push(&[event(17, 1, n)]).unwrap();
    }
    assert_eq!(record.events(), [(18, 1, 1), (18, 1, 2)]);
}

#[test]
fn timestamps_are_written_on_wish() {
    let channel =
        EventChannel::new(ChannelOptions { timestamps: true, ..ChannelOptions::default() });
    struct Looks;
    impl oxorb_event::rtec_event_comm::PushConsumer for Looks {
        fn push(&self, events: &[oxorb_event::rtec_event_comm::Event]) {
            let header = events[0].header;
            assert!(0 < header.ec_recv_time && header.ec_recv_time <= header.ec_send_time);
        }
        fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
            Ok(())
        }
    }
    let _looks = channel.connect_consumer(Arc::new(Looks), &asks(&Filter::ALL)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    supplier.push(&[event(17, 1, 1)]).unwrap();
    assert_eq!(channel.statistics().consumers[0].delivered, 1);
}

#[test]
fn wildcards_in_events_reach_everybody() {
    let channel = EventChannel::new(ChannelOptions::default());
    let record = Record::new();
    let _some = channel.connect_consumer(record.clone(), &asks(&Filter::event(17, 2))).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(0, 0)])).unwrap();
    supplier.push(&[event(event_type::ANY, 2, 1), event(17, 0, 2), event(18, 0, 3)]).unwrap();
    assert_eq!(record.events(), [(0, 2, 1), (17, 0, 2)]);
}

#[test]
fn a_gateway_does_not_get_back_what_it_brought() {
    let channel = EventChannel::new(ChannelOptions::default());
    let [gateway, other] = [Record::new(), Record::new()];
    let out = channel.connect_consumer(gateway.clone(), &asks(&Filter::ALL)).unwrap();
    let _other = channel.connect_consumer(other.clone(), &asks(&Filter::ALL)).unwrap();
    let [brought, own] = [(), ()].map(|()| {
        let connected = channel.connect_supplier(None, &publishes([(0, 0)]));
        connected.unwrap()
    });
    // The first push determines the routes, which `keep_from` must change.
    brought.push(&[event(17, 1, 1)]).unwrap();
    brought.keep_from(&out);
    brought.push(&[event(17, 1, 2)]).unwrap();
    own.push(&[event(17, 1, 3)]).unwrap();
    assert_eq!(gateway.events(), [(17, 1, 1), (17, 1, 3)]);
    assert_eq!(other.events().len(), 3);
}

/// A consumer that pushes its events back into the channel.
#[derive(Default)]
struct Echo {
    supplier: OnceLock<SupplierConnection>,
    refused: Mutex<Vec<PushError>>,
}

impl PushConsumer for Echo {
    fn push(&self, events: &[Event]) {
        let again = self.supplier.get().expect("connected").push(events);
        self.refused.lock().unwrap().extend(again.err());
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

#[test]
fn an_event_that_goes_in_a_circle_comes_to_an_end() {
    let channel = EventChannel::new(ChannelOptions::default());
    let (echo, record) = (Arc::<Echo>::default(), Record::new());
    let _echo = channel.connect_consumer(echo.clone(), &asks(&Filter::ALL)).unwrap();
    let _record = channel.connect_consumer(record.clone(), &asks(&Filter::ALL)).unwrap();
    let again = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    assert!(echo.supplier.set(again).is_ok());
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    supplier.push(&[event(17, 1, 1)]).unwrap();
    assert_eq!(*echo.refused.lock().unwrap(), [PushError::Circle(16)]);
    assert_eq!(record.events().len(), 16);
    // The circle leaves no state behind: the next push has the same effect.
    supplier.push(&[event(17, 1, 2)]).unwrap();
    assert_eq!(record.events().len(), 32);
}
