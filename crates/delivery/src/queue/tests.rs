//! Order, policies and expiry of a queue, compared with a simple model: a vector that is searched linearly.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Offer(Attributes),
    Take,
    PutBack,
    Pass(u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Waiting {
    number: u64,
    /// Number that increases in the order in which events became ready.
    ready: i64,
    about: Attributes,
}

/// The model of a queue, which states each rule directly.
struct Plain {
    qos: Qos,
    now: u64,
    waiting: Vec<Waiting>,
    next: i64,
    front: i64,
}

impl Plain {
    fn octets(&self) -> u64 {
        let each = self.waiting.iter();
        each.map(|event| u64::from(event.about.octets)).sum()
    }

    fn is_held(event: &Waiting) -> bool {
        event.about.start.is_some()
    }

    fn start(&mut self) {
        let mut due: Vec<usize> = (0..self.waiting.len())
            .filter(|&at| self.waiting[at].about.start.is_some_and(|start| start <= self.now))
            .collect();
        due.sort_by_key(|&at| (self.waiting[at].about.start, self.waiting[at].number));
        for at in due {
            self.next += 1;
            self.waiting[at].ready = self.next;
            self.waiting[at].about.start = None;
        }
    }

    fn remove(&mut self, number: u64) -> Waiting {
        let at = self.waiting.iter().position(|event| event.number == number);
        self.waiting.remove(at.unwrap())
    }

    /// Drops events until the offered one can be queued or is dropped itself. Returns the dropped events in order.
    fn offer(&mut self, number: u64, about: Attributes) -> Vec<(Cause, u64)> {
        let mut gone = Vec::new();
        loop {
            let Some((cause, victim)) = self.in_the_way(number, &about) else {
                self.next += 1;
                let ready = self.next;
                self.waiting.push(Waiting { number, ready, about });
                return gone;
            };
            gone.push((cause, victim));
            if victim == number {
                return gone;
            }
            self.remove(victim);
        }
    }

    fn in_the_way(&self, number: u64, about: &Attributes) -> Option<(Cause, u64)> {
        if u64::from(about.octets) > self.qos.octets {
            return Some((Cause::TooLarge, number));
        }
        let all = || self.waiting.iter();
        if self.qos.when_full == WhenFull::KeepLatest
            && let Some(same) = all().rev().find(|event| event.about.source == about.source)
        {
            return Some((Cause::Superseded, same.number));
        }
        if all().count() < self.qos.events
            && self.octets() + u64::from(about.octets) <= self.qos.octets
        {
            return None;
        }
        let expired = all().filter(|event| event.about.expiry.is_some_and(|at| at <= self.now));
        if let Some(first) = expired.min_by_key(|event| (event.about.expiry, event.number)) {
            return Some((Cause::Expired, first.number));
        }
        let deadline = |about: &Attributes| about.deadline.unwrap_or(u64::MAX);
        Some(match self.qos.when_full {
            WhenFull::DropNewest => (Cause::Newest, number),
            WhenFull::DropOldest | WhenFull::KeepLatest => {
                let oldest = all()
                    .min_by_key(|event| (Plain::is_held(event), event.about.start, event.ready));
                (Cause::Oldest, oldest.unwrap().number)
            }
            WhenFull::DropLeastUrgent => {
                let rank = |about: &Attributes, number: u64| {
                    (about.priority, std::cmp::Reverse((deadline(about), number)))
                };
                let least = all().min_by_key(|event| rank(&event.about, event.number));
                let least =
                    least.filter(|event| rank(&event.about, event.number) < rank(about, number));
                (Cause::LeastUrgent, least.map_or(number, |event| event.number))
            }
            WhenFull::DropEarliestDeadline => {
                let first = all().min_by_key(|event| (deadline(&event.about), event.number));
                let first = first.filter(|event| deadline(&event.about) <= deadline(about));
                (Cause::EarliestDeadline, first.map_or(number, |event| event.number))
            }
        })
    }

    fn take(&mut self) -> Option<Waiting> {
        let ready = self.waiting.iter().filter(|event| !Plain::is_held(event));
        let first =
            match self.qos.order {
                Order::Fifo => ready.min_by_key(|event| event.ready),
                Order::Priority => ready
                    .min_by_key(|event| (std::cmp::Reverse(event.about.priority), event.number)),
                Order::Deadline => ready
                    .min_by_key(|event| (event.about.deadline.unwrap_or(u64::MAX), event.number)),
            };
        let number = first?.number;
        Some(self.remove(number))
    }

    fn put_back(&mut self, mut event: Waiting) -> bool {
        let same = |other: &Waiting| other.about.source == event.about.source;
        if self.qos.when_full == WhenFull::KeepLatest && self.waiting.iter().any(same) {
            return false;
        }
        self.front -= 1;
        event.ready = self.front;
        let at = self.waiting.partition_point(|other| other.number < event.number);
        self.waiting.insert(at, event);
        true
    }
}

fn qos() -> impl Strategy<Value = Qos> {
    let order = prop_oneof![Just(Order::Fifo), Just(Order::Priority), Just(Order::Deadline)];
    let policy = prop_oneof![
        Just(WhenFull::DropNewest),
        Just(WhenFull::DropOldest),
        Just(WhenFull::DropLeastUrgent),
        Just(WhenFull::DropEarliestDeadline),
        Just(WhenFull::KeepLatest)
    ];
    (1..6usize, 8..40u64, order, policy).prop_map(|(events, octets, order, when_full)| Qos {
        events,
        octets,
        order,
        when_full,
        ..Qos::default()
    })
}

fn step() -> impl Strategy<Value = Step> {
    let attributes = (
        prop_oneof![Just(i16::MIN + 1), -2..3i16, Just(i16::MAX)],
        option::of(0..6u64),
        option::weighted(0.3, 0..30u64),
        option::weighted(0.3, 0..30u64),
        0..4u64,
        0..12u32,
    );
    let attributes = attributes.prop_map(|(priority, deadline, start, expiry, source, octets)| {
        Attributes { priority, deadline, start, expiry, source, octets }
    });
    prop_oneof![
        5 => attributes.prop_map(Step::Offer),
        3 => Just(Step::Take),
        1 => Just(Step::PutBack),
        1 => (1..6u64).prop_map(Step::Pass),
    ]
}

fn offer(queue: &mut Queue<u64>, number: u64, about: Attributes, now: u64) -> Vec<(Cause, u64)> {
    let mut gone = Vec::new();
    loop {
        match queue.room(&about, now, false, false) {
            Room::Free => {
                queue.push(number, about);
                return gone;
            }
            Room::Evicted(cause, entry) => gone.push((cause, entry.event)),
            Room::Refused(cause) => {
                gone.push((cause, number));
                return gone;
            }
            Room::Full => panic!("nobody wanted to wait"),
        }
    }
}

fn run(qos: Qos, steps: Vec<Step>) {
    let mut queue = Queue::new(&qos, 1);
    let mut plain = Plain { qos, now: 0, waiting: Vec::new(), next: 0, front: 0 };
    let mut taken: Option<(Entry<u64>, Waiting)> = None;
    let mut number = 0;
    for step in steps {
        match step {
            Step::Offer(about) => {
                let start = about.start.filter(|&start| start > plain.now);
                let about = Attributes { start, ..about };
                let expected = plain.offer(number, about);
                // Neither the queue nor the model assigns an arrival number to an event that it rejects.
                assert_eq!(offer(&mut queue, number, about, plain.now), expected);
                number += 1;
            }
            Step::Take => {
                let (real, model) = (queue.take(), plain.take());
                assert_eq!(
                    real.as_ref().map(|entry| entry.event),
                    model.as_ref().map(|event| event.number)
                );
                taken = real.zip(model).or(taken);
            }
            Step::PutBack => {
                if let Some((entry, event)) = taken.take() {
                    let back = queue.put_back(entry).is_none();
                    assert_eq!(back, plain.put_back(event));
                }
            }
            Step::Pass(time) => {
                plain.now += time;
                queue.start(plain.now);
                plain.start();
                let mut expired: Vec<u64> = std::iter::from_fn(|| queue.take_expired(plain.now))
                    .map(|entry| entry.event)
                    .collect();
                expired.sort_unstable();
                let now = plain.now;
                let is_over = |event: &Waiting| event.about.expiry.is_some_and(|at| at <= now);
                let mut expected: Vec<u64> = plain
                    .waiting
                    .iter()
                    .filter(|event| is_over(event))
                    .map(|event| event.number)
                    .collect();
                expected.sort_unstable();
                plain.waiting.retain(|event| !is_over(event));
                assert_eq!(expired, expected);
            }
        }
        assert_eq!((queue.len(), queue.octets()), (plain.waiting.len(), plain.octets()));
        let held = plain.waiting.iter().filter(|event| Plain::is_held(event));
        assert_eq!(queue.ready(), plain.waiting.len() - held.count());
    }
    let left = std::iter::from_fn(|| queue.take_any()).count();
    assert_eq!(left, plain.waiting.len());
    assert_eq!((queue.len(), queue.octets()), (0, 0));
}

proptest! {
    #[test]
    fn the_queue_does_what_the_plain_model_does(qos in qos(), steps in vec(step(), 0..60)) {
        run(qos, steps);
    }
}

#[test]
fn the_least_urgent_is_the_newest_of_the_lowest_priority() {
    let qos = Qos { events: 2, when_full: WhenFull::DropLeastUrgent, ..Qos::default() };
    let mut queue = Queue::new(&qos, 0);
    let about = |priority| Attributes { priority, ..Attributes::default() };
    assert_eq!(offer(&mut queue, 0, about(1), 0), []);
    assert_eq!(offer(&mut queue, 1, about(1), 0), []);
    assert_eq!(offer(&mut queue, 2, about(1), 0), [(Cause::LeastUrgent, 2)]);
    assert_eq!(offer(&mut queue, 3, about(2), 0), [(Cause::LeastUrgent, 1)]);
    assert_eq!(offer(&mut queue, 4, about(0), 0), [(Cause::LeastUrgent, 4)]);
}

#[test]
fn an_event_larger_than_the_queue_drops_no_other() {
    let qos = Qos { octets: 10, ..Qos::default() };
    let mut queue = Queue::new(&qos, 0);
    let about = |octets| Attributes { octets, ..Attributes::default() };
    assert_eq!(offer(&mut queue, 0, about(10), 0), []);
    assert_eq!(offer(&mut queue, 1, about(11), 0), [(Cause::TooLarge, 1)]);
    assert_eq!(offer(&mut queue, 2, about(10), 0), [(Cause::Oldest, 0)]);
}
