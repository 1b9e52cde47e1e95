//! Suppliers with a rate. Events that exceed it are counted, refused or delayed.

use std::time::{Duration, Instant};

use oxorb_event::delivery::{Beyond, Rate};
use oxorb_event::{ChannelOptions, EventChannel, Filter, PushError};

use crate::channel::{Record, asks, event, publishes};

/// Duration that exceeds that of any test.
const LONG: Duration = Duration::from_secs(3_600);

/// Creates a channel that limits the rate of suppliers of type 17.
fn limited(period: Duration, beyond: Beyond) -> EventChannel {
    let channel = EventChannel::new(ChannelOptions::default());
    channel.rates_by(move |supplier| {
        let header = &supplier.publications[0].event.header;
        (header.r#type == 17).then_some(Rate { period, burst: 2, beyond })
    });
    channel
}

#[test]
fn events_beyond_a_rate_are_counted_or_refused() {
    for beyond in [Beyond::Count, Beyond::Refuse, Beyond::Delay(Duration::ZERO)] {
        let channel = limited(LONG, beyond);
        let record = Record::new();
        let _all = channel.connect_consumer(record.clone(), &asks(&Filter::ALL)).unwrap();
        let fast = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
        let other = channel.connect_supplier(None, &publishes([(18, 1)])).unwrap();
        let pushed = fast.push(&[1, 2, 3, 4, 5].map(|number| event(17, 1, number)));
        for number in 0..10 {
            other.push(&[event(18, 1, number)]).unwrap();
        }
        let (answer, passed) = match beyond {
            Beyond::Count => (Ok(()), 5),
            _ => (Err(PushError::Rate(3)), 2),
        };
        assert_eq!(pushed, answer, "{beyond:?}");
        assert_eq!(record.events().len(), passed + 10);
        let counted = channel.statistics().suppliers;
        let refused = 5 - passed as u64;
        assert_eq!((counted[0].beyond_rate, counted[0].refused), (3, refused));
        assert_eq!((counted[1].beyond_rate, counted[1].refused), (0, 0));
    }
}

#[test]
fn events_beyond_a_rate_wait_for_their_turn() {
    let period = Duration::from_millis(20);
    let channel = limited(period, Beyond::Delay(LONG));
    let record = Record::new();
    let _all = channel.connect_consumer(record.clone(), &asks(&Filter::ALL)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    let began = Instant::now();
    for number in 0..5 {
        supplier.push(&[event(17, 1, number)]).unwrap();
    }
    // The burst permits two events at once, and each further event waits for one period. A busy machine can only be
    // slower.
    assert!(began.elapsed() >= 3 * period);
    assert_eq!(record.events().len(), 5);
}
