//! What the scheduling service learns of a channel by itself (A11.18, A17.4).

use oxorb::Orb;
use oxorb_event::{ChannelOptions, EventChannel, Filter, TimeoutKind, scheduled_plan};
use oxorb_sched::repository::Characteristics;
use oxorb_sched::service::Service;
use oxorb_sched::time::MILLISECOND;
use oxorb_sched::{DispatchModel, OsPriorities, Schedule, Strategy, Task};
use oxorb_scheduler::{Scheduling, serve};

use crate::{Record, asks, publishes};

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
