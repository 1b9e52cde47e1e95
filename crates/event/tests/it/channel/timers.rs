//! Timeouts in filters. The tests check only events and their order, and no durations.

use oxorb_event::{
    ChannelOptions, ConnectError, EventChannel, Filter, Limits, TimeoutKind, event_type,
};

use crate::channel::{Record, asks, event, publishes};

fn timeout(kind: TimeoutKind, milliseconds: u64) -> Filter {
    Filter::Timeout { kind, period: milliseconds * 10_000 }
}

#[test]
fn timeouts_come_once_or_again_and_again_and_end_with_their_consumer() {
    let channel = EventChannel::new(ChannelOptions::default());
    let [once, often] = [Record::new(), Record::new()];
    let one_shot = timeout(TimeoutKind::OneShot, 5);
    let _once = channel.connect_consumer(once.clone(), &asks(&one_shot)).unwrap();
    let interval = timeout(TimeoutKind::Interval, 5);
    let connected = channel.connect_consumer(often.clone(), &asks(&interval)).unwrap();
    let came = often.wait(4);
    assert_eq!(came[0], (event_type::INTERVAL_TIMEOUT, 0, 0));
    assert_eq!(once.wait(1), [(event_type::TIMEOUT, 0, 0)]);
    drop(connected);
    let before = often.sets().len();
    let other = Record::new();
    let _other = channel.connect_consumer(other.clone(), &asks(&interval)).unwrap();
    other.wait(3);
    // One delivery may have been in progress when the consumer was disconnected.
    assert!(often.sets().len() <= before + 1);
    assert_eq!(once.sets().len(), 1);
}

#[test]
fn a_conjunction_with_a_timeout_waits_for_both() {
    let channel = EventChannel::new(ChannelOptions::default());
    let record = Record::new();
    let filter = Filter::each_of([Filter::event_type(17), timeout(TimeoutKind::Interval, 5)]);
    let _both = channel.connect_consumer(record.clone(), &asks(&filter)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    supplier.push(&[event(17, 1, 9)]).unwrap();
    let mut set = record.wait(1);
    set.sort_unstable();
    assert_eq!(set, [(event_type::INTERVAL_TIMEOUT, 0, 0), (17, 1, 9)]);
}

#[test]
fn events_put_a_deadline_off_and_silence_meets_it() {
    let channel = EventChannel::new(ChannelOptions::default());
    let record = Record::new();
    let filter = Filter::any_of([Filter::event_type(17), timeout(TimeoutKind::Deadline, 200)]);
    let _guarded = channel.connect_consumer(record.clone(), &asks(&filter)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    for n in 0..20 {
        supplier.push(&[event(17, 1, n)]).unwrap();
    }
    let came = record.wait(21);
    assert_eq!(came.last(), Some(&(event_type::DEADLINE_TIMEOUT, 0, 0)));
}

#[test]
fn the_number_of_timeouts_is_limited() {
    let channel = EventChannel::new(ChannelOptions {
        limits: Limits { timers: 1, ..Limits::default() },
        ..ChannelOptions::default()
    });
    let interval = timeout(TimeoutKind::Interval, 1_000);
    let connect = || channel.connect_consumer(Record::new(), &asks(&interval));
    let one = connect().unwrap();
    assert_eq!(connect().unwrap_err(), ConnectError::Limit("timers", 1));
    drop(one);
    connect().unwrap();
}

/// The timers of a suspended consumer continue to run. Their events are counted and dropped.
#[test]
fn timeouts_of_a_suspended_consumer_are_held_back() {
    let channel = EventChannel::new(ChannelOptions::default());
    let record = Record::new();
    let filter = Filter::any_of([
        Filter::event_type(17),
        timeout(TimeoutKind::Interval, 5),
        timeout(TimeoutKind::OneShot, 50),
    ]);
    let connected = channel.connect_consumer(record.clone(), &asks(&filter)).unwrap();
    connected.suspend();
    let before = record.sets().len();
    let held_back = || channel.statistics().consumers[0].suspended;
    // By now more than 50 ms have passed, so the single timeout has occurred and was dropped too.
    crate::channel::until("timeouts that are held back", || held_back() > 20);
    // One delivery may have been in progress when the consumer was suspended.
    let held = record.sets().len();
    assert!(held <= before + 1);
    connected.resume();
    let came = record.wait(held + 3);
    let one_shots = came.iter().filter(|one| one.0 == event_type::TIMEOUT);
    assert!(one_shots.count() <= 1);
    let counted = &channel.statistics().consumers[0];
    assert!(counted.suspended > 20, "{counted:?}");
}

/// A conjunction that is completed while its consumer is suspended restarts. None of its events is kept.
#[test]
fn a_group_that_is_complete_while_suspended_starts_anew() {
    let channel = EventChannel::new(ChannelOptions::default());
    let record = Record::new();
    let filter = Filter::each_of([Filter::event_type(17), timeout(TimeoutKind::Interval, 5)]);
    let connected = channel.connect_consumer(record.clone(), &asks(&filter)).unwrap();
    let supplier = channel.connect_supplier(None, &publishes([(17, 1)])).unwrap();
    connected.suspend();
    supplier.push(&[event(17, 1, 1)]).unwrap();
    let held_back = || channel.statistics().consumers[0].suspended;
    crate::channel::until("the group", || held_back() == 2);
    connected.resume();
    assert_eq!(record.sets().len(), 0);
    supplier.push(&[event(17, 1, 2)]).unwrap();
    let set = record.wait(1);
    assert!(set.contains(&(17, 1, 2)) && set.len() == 2, "{set:?}");
    assert_eq!(held_back(), 2);
}

/// A deadline in a conjunction restarts with each event, even if the consumer is suspended and resumed.
#[test]
fn a_deadline_in_a_group_is_met_by_silence_after_a_pause() {
    let channel = EventChannel::new(ChannelOptions::default());
    let record = Record::new();
    let filter = Filter::any_of([
        Filter::event_type(17),
        Filter::all_of([timeout(TimeoutKind::Deadline, 30)]),
    ]);
    let connected = channel.connect_consumer(record.clone(), &asks(&filter)).unwrap();
    connected.suspend();
    let held_back = || channel.statistics().consumers[0].suspended;
    crate::channel::until("silence", || held_back() >= 2);
    connected.resume();
    let came = record.wait(2);
    assert!(came.iter().all(|one| one.0 == event_type::DEADLINE_TIMEOUT), "{came:?}");
}
