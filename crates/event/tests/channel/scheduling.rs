//! What the scheduling service learns of a channel by itself (A11.18, A17.4).

use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use oxorb::Orb;
use oxorb_event::delivery::{LanePlan, Plan, Qos, Threads};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{ChannelOptions, EventChannel, Filter, TimeoutKind, scheduled_plan};
use oxorb_sched::level::{Criticality, Importance};
use oxorb_sched::repository::Characteristics;
use oxorb_sched::service::Service;
use oxorb_sched::time::MILLISECOND;
use oxorb_sched::{DispatchModel, OsPriorities, Schedule, Strategy, Task};
use oxorb_scheduler::{Scheduling, serve};

use crate::{Record, asks, event, publishes};

fn service() -> Scheduling {
    let band = Box::new(DispatchModel::Band);
    Scheduling::new(Service::configuration(Box::new(Strategy::RMS), band))
}

/// An operation; one without a period is released by events.
fn operation(scheduling: &Scheduling, name: &str, worst_case: u64, period: u64) -> i32 {
    let said = Characteristics {
        worst_case: worst_case * MILLISECOND,
        period: period * MILLISECOND,
        threads: u32::from(period > 0),
        ..Characteristics::default()
    };
    let made = scheduling.change(|service| {
        let handle = service.create(name)?;
        service.set(handle, said)?;
        Ok(handle)
    });
    made.unwrap().0
}

#[test]
fn connecting_makes_a_chain_from_supplier_over_channel_to_consumer() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let scheduling = service();
    let served = serve(&orb, &scheduling).unwrap();
    let sensor = operation(&scheduling, "Sensor::sample", 2, 10);
    let display = operation(&scheduling, "Display::show", 3, 0);
    let channel = EventChannel::new(ChannelOptions::default());
    channel.schedule_with(served.scheduler().clone());
    channel.log(|notice| panic!("{notice}"));
    let mut wanted = asks(&Filter::event_type(17));
    wanted.dependencies[0].rt_info = display;
    let mut published = publishes([(17, 1)]);
    published.publications[0].dependency_info.rt_info = sensor;
    let consumer = channel.connect_consumer(Record::new(), &wanted).unwrap();
    let supplier = channel.connect_supplier(None, &published).unwrap();
    let edges = || {
        let look = scheduling.look(|service| {
            let repository = service.repository();
            let name = |handle| repository.get(handle).unwrap().entry_point.clone();
            let edges = repository.dependencies();
            edges
                .map(|one| (name(one.dependent), name(one.on)))
                .collect::<Vec<_>>()
        });
        look.unwrap()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let rep = pair("Display::show", "Display::show#rep");
    let mut found = edges();
    found.sort();
    assert_eq!(
        found,
        [rep.clone(), pair("Display::show#rep", "Sensor::sample")]
    );
    // The schedule knows the chain: events release the channel's part, and that the consumer's.
    let chain = scheduling.look(|service| {
        let priorities = OsPriorities::range(1, 99).unwrap();
        let repository = service.repository();
        let schedule = Schedule::compute(
            repository,
            &Strategy::RMS,
            &DispatchModel::Band,
            &priorities,
        );
        let mut tasks = schedule.unwrap().tasks.tasks;
        tasks.sort_by(|a, b| a.name.cmp(&b.name));
        let period = |task: &Task| (task.name.clone(), task.after.clone(), task.period);
        tasks.iter().map(period).collect::<Vec<_>>()
    });
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let period = 10 * MILLISECOND;
    let expected: Vec<(String, Vec<String>, u64)> = vec![
        (
            "Display::show".into(),
            names(&["Display::show#rep"]),
            period,
        ),
        (
            "Display::show#rep".into(),
            names(&["Sensor::sample"]),
            period,
        ),
        ("Sensor::sample".into(), names(&[]), period),
    ];
    assert_eq!(chain.unwrap(), expected);
    // Consumers get the lane of their operation, once there is a schedule.
    scheduling.change(|service| service.compute(1, 99)).unwrap();
    let plan = scheduled_plan(served.scheduler()).unwrap();
    assert!(!plan.lanes.is_empty());
    // Who leaves takes the dependency along.
    drop(supplier);
    assert_eq!(edges(), [rep]);
    drop(consumer);
    orb.shutdown(true).unwrap();
}

#[test]
fn timeouts_are_operations_with_a_period() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let scheduling = service();
    let served = serve(&orb, &scheduling).unwrap();
    let poll = operation(&scheduling, "Poll::run", 1, 0);
    let channel = EventChannel::new(ChannelOptions::default());
    channel.schedule_with(served.scheduler().clone());
    channel.log(|notice| panic!("{notice}"));
    let every = Filter::Timeout {
        kind: TimeoutKind::Interval,
        period: 1_000_000,
    };
    let mut wanted = asks(&every);
    wanted.dependencies[0].rt_info = poll;
    let _consumer = channel.connect_consumer(Record::new(), &wanted).unwrap();
    let period = scheduling.look(|service| {
        let timer = service.lookup("TIMEOUT:1000000").unwrap();
        service.get(timer).unwrap().characteristics.period
    });
    assert_eq!(period.unwrap(), 100 * MILLISECOND);
    orb.shutdown(true).unwrap();
}

/// Deliveries as they came: lane, and first octet. Each lane stops at its first one, until all are let go.
#[derive(Default)]
struct Order {
    came: Mutex<Vec<(String, u8)>>,
    open: Mutex<bool>,
    changed: Condvar,
}

impl Order {
    fn wait(&self, deliveries: usize) -> Vec<(String, u8)> {
        let came = self.came.lock().unwrap();
        let came = self
            .changed
            .wait_while(came, |came| came.len() < deliveries);
        came.unwrap().clone()
    }
}

impl PushConsumer for Order {
    fn push(&self, events: &[Event]) {
        let name = thread::current().name().unwrap_or_default().to_owned();
        let mut came = self.came.lock().unwrap();
        came.push((name, events[0].data.payload[0]));
        drop(came);
        self.changed.notify_all();
        let open = self.open.lock().unwrap();
        drop(self.changed.wait_while(open, |open| !*open).unwrap());
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

/// Consumers with execution time, period, criticality and importance; the least urgent first.
const CONSUMERS: [(u64, u64, Criticality, Importance); 6] = [
    (1, 200, Criticality::Low, Importance::Low),
    (2, 100, Criticality::Low, Importance::Low),
    (1, 100, Criticality::Low, Importance::High),
    (2, 100, Criticality::High, Importance::Low),
    (20, 100, Criticality::High, Importance::Low),
    (1, 50, Criticality::VeryHigh, Importance::High),
];

/// Orders of delivery under a strategy: for each lane the consumers, and the schedule's own order of the same.
fn delivered(strategy: Strategy) -> [Vec<(usize, usize)>; 2] {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let band = Box::new(DispatchModel::Band);
    let scheduling = Scheduling::new(Service::configuration(Box::new(strategy), band));
    let served = serve(&orb, &scheduling).unwrap();
    let operations = CONSUMERS.iter().enumerate().map(|(at, said)| {
        let &(worst_case, period, criticality, importance) = said;
        let [supplier, consumer] = ["Supplier", "Consumer"].map(|side| format!("{side}::{at}"));
        let made = scheduling.change(|service| {
            let [supplier, consumer] = [service.create(&supplier)?, service.create(&consumer)?];
            let levels = Characteristics {
                criticality,
                importance,
                ..Characteristics::default()
            };
            let supplies = Characteristics {
                period: period * MILLISECOND,
                threads: 1,
                ..levels
            };
            let consumes = Characteristics {
                worst_case: worst_case * MILLISECOND,
                ..levels
            };
            service.set(supplier, supplies)?;
            service.set(consumer, consumes)?;
            Ok((supplier.0, consumer.0))
        });
        made.unwrap()
    });
    let operations: Vec<(i32, i32)> = operations.collect();
    let order = Arc::new(Order::default());
    let connect = |channel: &EventChannel| {
        channel.schedule_with(served.scheduler().clone());
        channel.log(|notice| panic!("{notice}"));
        let pairs = operations.iter().enumerate().map(|(at, (from, to))| {
            let event_type = 17 + at as i32;
            let mut wanted = asks(&Filter::event_type(event_type));
            wanted.dependencies[0].rt_info = *to;
            let mut published = publishes([(event_type, 1)]);
            published.publications[0].dependency_info.rt_info = *from;
            let consumer = channel.connect_consumer(order.clone(), &wanted).unwrap();
            (
                consumer,
                channel.connect_supplier(None, &published).unwrap(),
            )
        });
        pairs.collect::<Vec<_>>()
    };
    // A configuration run: connecting tells the service, which computes.
    let configuration = EventChannel::new(ChannelOptions::default());
    let _told = connect(&configuration);
    scheduling.change(|service| service.compute(1, 99)).unwrap();
    let plan = scheduled_plan(served.scheduler()).unwrap();
    let lanes = plan.lanes.into_iter().map(|lane| LanePlan {
        // Without priorities and spare threads the order within each lane alone is looked at, wherever this runs.
        scheduling: Threads::Inherit,
        spares: 0,
        ..lane
    });
    let plan = Plan::lanes(lanes.collect::<Vec<_>>());
    let channel = EventChannel::queued(ChannelOptions::default(), plan, Qos::default()).unwrap();
    let pairs = connect(&channel);
    let assigned = |at: usize| served.scheduler().priority(operations[at].1).unwrap();
    // Connecting once more has changed nothing.
    let lane_of = |at: usize| usize::try_from(assigned(at).2).unwrap();
    // The first event of each lane is in the hands of its least urgent consumer when the others come.
    let mut first = Vec::new();
    for (at, (_, supplier)) in pairs.iter().enumerate() {
        if !first.contains(&lane_of(at)) {
            first.push(lane_of(at));
            supplier.push(&[event(17 + at as i32, 1, 100)]).unwrap();
        }
    }
    order.wait(first.len());
    for (at, (_, supplier)) in pairs.iter().enumerate() {
        supplier
            .push(&[event(17 + at as i32, 1, at as u8)])
            .unwrap();
    }
    *order.open.lock().unwrap() = true;
    order.changed.notify_all();
    let came = order.wait(first.len() + CONSUMERS.len());
    let lane = |name: &str| {
        name.split('-')
            .next_back()
            .unwrap()
            .parse::<usize>()
            .unwrap()
    };
    let came = came.iter().filter(|(_, payload)| *payload < 100);
    let mut came: Vec<_> = came
        .map(|(name, at)| (lane(name), usize::from(*at)))
        .collect();
    came.sort_by_key(|(lane, _)| *lane);
    let mut computed: Vec<usize> = (0..CONSUMERS.len()).collect();
    computed.sort_by_key(|&at| (assigned(at).2, -assigned(at).1));
    let computed = computed.into_iter().map(|at| (lane_of(at), at)).collect();
    orb.shutdown(true).unwrap();
    [came, computed]
}

#[test]
fn events_are_delivered_in_the_order_that_rms_computed() {
    let [came, computed] = delivered(Strategy::RMS);
    // By period, and then by importance.
    let lanes: Vec<usize> = came.iter().map(|(lane, _)| *lane).collect();
    assert_eq!(lanes, [0, 1, 1, 1, 1, 2]);
    assert_eq!((came[1].1, came[5].1), (2, 0));
    assert_eq!(came, computed);
}

#[test]
fn events_are_delivered_in_the_order_that_muf_computed() {
    let [came, computed] = delivered(Strategy::MUF);
    // By criticality, and then by laxity: 49, 80, 98 among the critical ones.
    let critical: Vec<usize> = came[..3].iter().map(|(_, at)| *at).collect();
    assert_eq!(critical, [5, 4, 3]);
    assert_eq!(came, computed);
}
