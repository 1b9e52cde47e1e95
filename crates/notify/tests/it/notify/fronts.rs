//! Events of the Event Service, with all combinations of push and pull.

use std::sync::mpsc::channel;

use oxorb::{Any, Interface as _};
use oxorb_notify::cos_event_comm::pull_supplier::PullError;
use oxorb_notify::cos_event_comm::{PullSupplierRef, PushConsumerRef};

use crate::notify::Served;
use crate::notify::peers::{Heard, PATIENCE, peer, peer_with};

#[test]
fn what_is_pushed_or_pulled_reaches_all_consumers_in_order() {
    let served = Served::new();
    let (first, heard_first) = peer::<PushConsumerRef>(&served.client);
    let (second, heard_second) = peer::<PushConsumerRef>(&served.client);
    for consumer in [&first, &second] {
        served.push_supplier().connect_push_consumer(Some(consumer)).unwrap();
    }
    let pull = served.pull_supplier();
    pull.connect_pull_consumer(None).unwrap();
    let source = served.source();
    for number in 0..100_i32 {
        source.push(&Any::new(number)).unwrap();
    }
    let pulled = (100..110_i32).map(Any::new);
    let (supplier, _heard) = peer_with::<PullSupplierRef>(&served.client, pulled);
    served.pull_consumer().connect_pull_supplier(Some(&supplier)).unwrap();
    for number in 0..110_i32 {
        let expected = Ok(Heard::Any(Any::new(number)));
        assert_eq!(heard_first.recv_timeout(PATIENCE), expected);
        assert_eq!(heard_second.recv_timeout(PATIENCE), expected);
        assert_eq!(pull.pull().unwrap().get::<i32>(), Ok(Some(number)));
    }
    let (nothing, has_event) = pull.try_pull().unwrap();
    assert!(!has_event);
    assert_eq!(nothing.get::<i32>(), Ok(Some(0)));
    let counts = served.service.counts();
    assert!(counts.is_balanced(), "{counts:?}");
    assert_eq!(counts.dropped_in_all(), 0);
}

#[test]
fn a_pull_that_waits_ends_with_its_proxy() {
    let served = Served::new();
    let pull = served.pull_supplier();
    pull.connect_pull_consumer(None).unwrap();
    let waiting = pull.pull_async();
    let source = served.source();
    source.push(&Any::new(7_i32)).unwrap();
    assert_eq!(waiting.wait().unwrap().get::<i32>(), Ok(Some(7)));
    let waiting = pull.pull_async();
    pull.disconnect_pull_supplier().unwrap();
    match waiting.wait() {
        Err(PullError::Disconnected(_)) => {}
        // The pull may also arrive after the disconnect, when the object no longer exists.
        Err(PullError::System(exception)) => {
            assert_eq!(exception.kind, oxorb::SystemExceptionKind::ObjectNotExist);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_dead_and_a_stuck_consumer_delay_nobody() {
    let served = Served::new();
    let dead = served.client.string_to_object("corbaloc::127.0.0.1:1/nobody").unwrap();
    let dead: PushConsumerRef = dead.unchecked_narrow();
    served.push_supplier().connect_push_consumer(Some(&dead)).unwrap();
    let (stuck, release) = channel::<()>();
    let stuck = crate::notify::pulls::Stuck::serve(&served.client, release, stuck);
    served.push_supplier().connect_push_consumer(Some(&stuck.0)).unwrap();
    let (live, heard) = peer::<PushConsumerRef>(&served.client);
    served.push_supplier().connect_push_consumer(Some(&live)).unwrap();
    let source = served.source();
    for number in 0..50_i32 {
        source.push(&Any::new(number)).unwrap();
    }
    for number in 0..50_i32 {
        assert_eq!(heard.recv_timeout(PATIENCE), Ok(Heard::Any(Any::new(number))));
    }
    // All events were delivered while the stuck consumer was still blocked in its first event.
    assert!(stuck.is_held());
    stuck.release();
}
