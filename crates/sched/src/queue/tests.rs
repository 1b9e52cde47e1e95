//! List and heap give the same results, in every order and with every policy.

use std::sync::{Arc, Mutex};

use super::*;

const ALL: [Dispatching; 3] = [Dispatching::Static, Dispatching::Deadline, Dispatching::Laxity];

fn timing(deadline: Nanos, execution: Nanos, order: u32) -> Timing {
    Timing { deadline, execution, order }
}

/// Returns numbers that are neither rising nor falling.
fn scattered() -> impl Iterator<Item = u64> {
    (0..500u64).map(|at| at * 7_919 % 997)
}

fn drain<S: Store<Item = u64>>(dispatching: Dispatching) -> Vec<u64> {
    let mut queue: DispatchQueue<S> = DispatchQueue::with_capacity(dispatching, Missed::Run, 500);
    for (at, value) in scattered().enumerate() {
        let timing = timing(10_000 + value, value * 3 % 101, (value % 7) as u32);
        queue.enqueue(at as u64, timing).unwrap();
        // Dequeue some requests while others are still being enqueued.
        if at % 5 == 4 {
            queue.dequeue(0).unwrap();
        }
    }
    std::iter::from_fn(|| match queue.dequeue(0)? {
        Taken::Due(request) => Some(request),
        other => panic!("nothing is late: {other:?}"),
    })
    .collect()
}

#[test]
fn list_and_heap_give_the_same_order() {
    for dispatching in ALL {
        let order = drain::<Heap<u64>>(dispatching);
        assert_eq!(order.len(), 400);
        assert_eq!(order, drain::<List<u64>>(dispatching));
    }
}

fn order<S: Store<Item = char>>(dispatching: Dispatching) -> String {
    let mut queue: DispatchQueue<S> = DispatchQueue::with_capacity(dispatching, Missed::Run, 8);
    // b and c are equally urgent, so they must leave in the order of arrival.
    for (name, timing) in [
        ('a', timing(100, 10, 2)),
        ('b', timing(90, 5, 3)),
        ('c', timing(90, 5, 3)),
        ('d', timing(110, 60, 1)),
    ] {
        queue.enqueue(name, timing).unwrap();
    }
    std::iter::from_fn(|| match queue.dequeue(0)? {
        Taken::Due(name) => Some(name),
        other => panic!("nothing is late: {other:?}"),
    })
    .collect()
}

#[test]
fn each_kind_has_its_order_and_equals_leave_as_they_came() {
    for [stat, deadline, laxity] in [ALL.map(order::<Heap<char>>), ALL.map(order::<List<char>>)] {
        assert_eq!((stat.as_str(), deadline.as_str(), laxity.as_str()), ("dabc", "bcad", "dbca"));
    }
}

#[test]
fn equals_leave_as_they_came_after_any_number_of_others() {
    let mut queue: DispatchQueue<Heap<char>> =
        DispatchQueue::with_capacity(Dispatching::Deadline, Missed::Run, 2);
    queue.arrivals = u32::MAX;
    for name in ['a', 'b'] {
        queue.enqueue(name, timing(90, 5, 3)).unwrap();
    }
    assert_eq!(queue.dequeue(0), Some(Taken::Due('a')));
}

/// Returns the requests dequeued at 50 from a queue of three: one in time, and two that are late by
/// laxity.
fn with<S: Store<Item = char>>(missed: Missed) -> (Vec<Taken<char>>, String) {
    let mut queue: DispatchQueue<S> = DispatchQueue::with_capacity(Dispatching::Laxity, missed, 3);
    let told = Arc::new(Mutex::new(String::new()));
    let log = Arc::clone(&told);
    queue.on_missed(Box::new(move |&name, _| log.lock().unwrap().push(name)));
    queue.enqueue('d', timing(100, 10, 0)).unwrap();
    queue.enqueue('l', timing(60, 15, 0)).unwrap();
    queue.enqueue('m', timing(55, 45, 0)).unwrap();
    assert_eq!(queue.enqueue('x', timing(1, 1, 0)), Err(Full('x')));
    let taken = std::iter::from_fn(|| queue.dequeue(50)).collect();
    assert_eq!((queue.misses(), queue.is_empty()), (2, true));
    let told = told.lock().unwrap().clone();
    (taken, told)
}

#[test]
fn late_requests_are_run_demoted_or_dropped_and_told_once() {
    use Taken::{Dropped, Due, Late};
    for (missed, expected) in [
        (Missed::Run, vec![Late('m'), Late('l'), Due('d')]),
        (Missed::Demote, vec![Due('d'), Late('m'), Late('l')]),
        (Missed::Drop, vec![Dropped('m'), Dropped('l'), Due('d')]),
    ] {
        let found = with::<Heap<char>>(missed);
        assert_eq!(found, (expected, "ml".to_owned()));
        assert_eq!(found, with::<List<char>>(missed));
    }
}

#[test]
fn by_deadline_lateness_shows_at_the_deadline_and_statically_never() {
    let mut queue: DispatchQueue<Heap<u8>> =
        DispatchQueue::with_capacity(Dispatching::Deadline, Missed::Drop, 4);
    queue.enqueue(1, timing(100, 90, 0)).unwrap();
    assert_eq!(queue.dequeue(99), Some(Taken::Due(1)));
    queue.enqueue(2, timing(100, 90, 0)).unwrap();
    assert_eq!(queue.dequeue(100), Some(Taken::Dropped(2)));
    let mut queue: DispatchQueue<List<u8>> =
        DispatchQueue::with_capacity(Dispatching::Static, Missed::Drop, 4);
    queue.enqueue(3, timing(1, 1, 0)).unwrap();
    assert_eq!(queue.dequeue(500), Some(Taken::Due(3)));
}

#[test]
fn work_longer_than_the_clock_has_run_keeps_its_order() {
    let mut queue: DispatchQueue<Heap<char>> =
        DispatchQueue::with_capacity(Dispatching::Laxity, Missed::Run, 4);
    queue.enqueue('a', timing(10, 20, 0)).unwrap();
    queue.enqueue('b', timing(10, 30, 0)).unwrap();
    assert_eq!(queue.dequeue(0), Some(Taken::Late('b')));
}
