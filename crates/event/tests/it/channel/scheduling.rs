//! Reports of a channel to the scheduling service.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use oxorb::interceptor::{ClientInterceptor, ClientRequest, Interrupt};
use oxorb::{CompletionStatus, Interface as _, Orb, SystemException, minor};
use oxorb_event::delivery::{Beyond, LanePlan, ModuleThreads, Plan, Qos, Rate};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::{ChannelOptions, EventChannel, Filter, TimeoutKind, scheduled_plan};
use oxorb_sched::level::{Criticality, Importance};
use oxorb_sched::repository::Characteristics;
use oxorb_sched::service::Service;
use oxorb_sched::time::MILLISECOND;
use oxorb_sched::{DispatchModel, OsPriorities, Schedule, Strategy, Task};
use oxorb_scheduler::rtec_scheduler::SchedulerRef;
use oxorb_scheduler::{Scheduling, serve};

use crate::channel::{Record, asks, event, publishes};

fn service() -> Scheduling {
    let band = Box::new(DispatchModel::Band);
    Scheduling::new(Service::configuration(Box::new(Strategy::RMS), band))
}

/// Registers an operation. Without a period, events release the operation.
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
            edges.map(|one| (name(one.dependent), name(one.on))).collect::<Vec<_>>()
        });
        look.unwrap()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let rep = pair("Display::show", "Display::show#rep");
    let mut found = edges();
    found.sort();
    assert_eq!(found, [rep.clone(), pair("Display::show#rep", "Sensor::sample")]);
    // The schedule contains the chain: an event releases the channel's operation, which releases the consumer's
    // operation.
    let chain = scheduling.look(|service| {
        let priorities = OsPriorities::range(1, 99).unwrap();
        let repository = service.repository();
        let schedule =
            Schedule::compute(repository, &Strategy::RMS, &DispatchModel::Band, &priorities);
        let mut tasks = schedule.unwrap().tasks.tasks;
        tasks.sort_by(|a, b| a.name.cmp(&b.name));
        let period = |task: &Task| (task.name.clone(), task.after.clone(), task.period);
        tasks.iter().map(period).collect::<Vec<_>>()
    });
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let period = 10 * MILLISECOND;
    let expected: Vec<(String, Vec<String>, u64)> = vec![
        ("Display::show".into(), names(&["Display::show#rep"]), period),
        ("Display::show#rep".into(), names(&["Sensor::sample"]), period),
        ("Sensor::sample".into(), names(&[]), period),
    ];
    assert_eq!(chain.unwrap(), expected);
    // When there is a schedule, consumers get the lane of their operation.
    scheduling.change(|service| service.compute(1, 99)).unwrap();
    let plan = scheduled_plan(served.scheduler()).unwrap();
    assert!(!plan.lanes.is_empty());
    // When a member leaves, its dependencies are withdrawn.
    drop(supplier);
    assert_eq!(edges(), [rep]);
    drop(consumer);
    // When a channel ends, all of its dependencies are withdrawn.
    let _consumer = channel.connect_consumer(Record::new(), &wanted).unwrap();
    let _supplier = channel.connect_supplier(None, &published).unwrap();
    assert_eq!(edges().len(), 2);
    channel.destroy();
    assert_eq!(edges(), []);
    orb.shutdown(true).unwrap();
}

/// A consumer that connects again with another filter depends on other suppliers, and no longer on the previous ones.
#[test]
fn who_connects_again_takes_dependencies_back() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let client = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let scheduling = service();
    let scheduler = serve(&orb, &scheduling).unwrap();
    let [left, right] =
        ["Left::sample", "Right::sample"].map(|name| operation(&scheduling, name, 1, 10));
    let display = operation(&scheduling, "Display::show", 1, 0);
    let channel =
        EventChannel::new(ChannelOptions { consumer_reconnect: true, ..ChannelOptions::default() });
    channel.schedule_with(scheduler.scheduler().clone());
    channel.log(|notice| panic!("{notice}"));
    let _suppliers = [(17, left), (18, right)].map(|(event_type, operation)| {
        let mut published = publishes([(event_type, 1)]);
        published.publications[0].dependency_info.rt_info = operation;
        channel.connect_supplier(None, &published).unwrap()
    });
    let served = channel.serve(&orb, "EventService").unwrap();
    let admin = served.reference().for_consumers().unwrap().unwrap();
    let proxy = admin.obtain_push_supplier().unwrap().unwrap();
    let consumer = client.root_poa().activate(Record::new()).unwrap();
    let senders = || {
        let look = scheduling.look(|service| {
            let repository = service.repository();
            let name = |handle| repository.get(handle).unwrap().entry_point.clone();
            let edges = repository.dependencies().map(|one| name(one.on));
            edges.filter(|name| name.ends_with("sample")).collect::<Vec<_>>()
        });
        look.unwrap()
    };
    for (event_type, sender) in [(17, "Left::sample"), (18, "Right::sample")] {
        let mut wanted = asks(&Filter::event_type(event_type));
        wanted.dependencies[0].rt_info = display;
        proxy.connect_push_consumer(Some(&consumer), &wanted).unwrap();
        assert_eq!(senders(), [sender]);
    }
    proxy.disconnect_push_supplier().unwrap();
    assert!(senders().is_empty());
    client.shutdown(true).unwrap();
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
    let every = Filter::Timeout { kind: TimeoutKind::Interval, period: 1_000_000 };
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

/// Records deliveries in order: lane, and first octet. Each lane blocks in its first delivery until the test releases
/// all lanes.
#[derive(Default)]
struct Order {
    came: Mutex<Vec<(String, u8)>>,
    open: Mutex<bool>,
    changed: Condvar,
}

impl Order {
    fn wait(&self, deliveries: usize) -> Vec<(String, u8)> {
        let came = self.came.lock().unwrap();
        let came = self.changed.wait_while(came, |came| came.len() < deliveries);
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

/// Execution time, period, criticality and importance of the consumers, the least urgent first.
const CONSUMERS: [(u64, u64, Criticality, Importance); 6] = [
    (1, 200, Criticality::Low, Importance::Low),
    (2, 100, Criticality::Low, Importance::Low),
    (1, 100, Criticality::Low, Importance::High),
    (2, 100, Criticality::High, Importance::Low),
    (20, 100, Criticality::High, Importance::Low),
    (1, 50, Criticality::VeryHigh, Importance::High),
];

/// Returns, for each lane, the order of delivery under a strategy, and the order that the schedule specifies.
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
            let levels = Characteristics { criticality, importance, ..Characteristics::default() };
            let supplies = Characteristics { period: period * MILLISECOND, threads: 1, ..levels };
            let consumes = Characteristics { worst_case: worst_case * MILLISECOND, ..levels };
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
            (consumer, channel.connect_supplier(None, &published).unwrap())
        });
        pairs.collect::<Vec<_>>()
    };
    // Configuration run: connecting peers are reported to the service, which then computes a schedule.
    let configuration = EventChannel::new(ChannelOptions::default());
    let _told = connect(&configuration);
    scheduling.change(|service| service.compute(1, 99)).unwrap();
    let plan = scheduled_plan(served.scheduler()).unwrap();
    let lanes = plan.lanes.into_iter().map(|lane| LanePlan {
        // The threads have no priorities and no spare threads, so the test checks only the order within each lane,
        // which does not depend on the machine.
        scheduling: ModuleThreads::Inherit,
        spares: 0,
        ..lane
    });
    let plan = Plan::lanes(lanes.collect::<Vec<_>>());
    let channel = EventChannel::queued(ChannelOptions::default(), plan, Qos::default()).unwrap();
    let pairs = connect(&channel);
    let assigned = |at: usize| served.scheduler().priority(operations[at].1).unwrap();
    // The second connect reported the same dependencies, so the schedule is still valid.
    let lane_of = |at: usize| usize::try_from(assigned(at).2).unwrap();
    // The first event for each lane goes to its least urgent consumer, which blocks the lane until the other events are
    // queued.
    let mut first = Vec::new();
    for (at, (_, supplier)) in pairs.iter().enumerate() {
        if !first.contains(&lane_of(at)) {
            first.push(lane_of(at));
            supplier.push(&[event(17 + at as i32, 1, 100)]).unwrap();
        }
    }
    order.wait(first.len());
    for (at, (_, supplier)) in pairs.iter().enumerate() {
        supplier.push(&[event(17 + at as i32, 1, at as u8)]).unwrap();
    }
    *order.open.lock().unwrap() = true;
    order.changed.notify_all();
    let came = order.wait(first.len() + CONSUMERS.len());
    let lane = |name: &str| name.split('-').next_back().unwrap().parse::<usize>().unwrap();
    let came = came.iter().filter(|(_, payload)| *payload < 100);
    let mut came: Vec<_> = came.map(|(name, at)| (lane(name), usize::from(*at))).collect();
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
    // RMS orders by period, and consumers with equal periods by importance.
    let lanes: Vec<usize> = came.iter().map(|(lane, _)| *lane).collect();
    assert_eq!(lanes, [0, 1, 1, 1, 1, 2]);
    assert_eq!((came[1].1, came[5].1), (2, 0));
    assert_eq!(came, computed);
}

#[test]
fn events_are_delivered_in_the_order_that_muf_computed() {
    let [came, computed] = delivered(Strategy::MUF);
    // MUF orders by criticality, and the critical consumers by laxity (49, 80, 98).
    let critical: Vec<usize> = came[..3].iter().map(|(_, at)| *at).collect();
    assert_eq!(critical, [5, 4, 3]);
    assert_eq!(came, computed);
}

/// Records the numbers of received events, with the delivering thread.
#[derive(Default)]
struct Lanes(Mutex<Vec<(u32, String)>>);

impl PushConsumer for Lanes {
    fn push(&self, events: &[Event]) {
        let name = thread::current().name().unwrap_or_default().to_owned();
        for event in events {
            let number = u32::from_le_bytes(event.data.payload[..4].try_into().unwrap());
            self.0.lock().unwrap().push((number, name.clone()));
        }
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

/// A later schedule gives one chain a higher priority than another one. Connected consumers follow it, and miss no
/// event.
#[test]
fn consumers_follow_another_schedule_without_losing_an_event() {
    follow(&Misses::default(), 0);
}

/// A check finds a new schedule, but the service then does not answer for one consumer. The next check places this
/// consumer.
#[test]
fn a_consumer_is_placed_again_after_a_missed_call() {
    follow(&Misses::default(), 1);
}

/// Makes calls for the placement of an operation fail.
#[derive(Clone, Default)]
struct Misses(Arc<AtomicUsize>);

impl ClientInterceptor for Misses {
    fn name(&self) -> &str {
        "misses"
    }

    fn send_request(&self, request: &mut ClientRequest<'_>) -> Result<(), Interrupt> {
        let one_less = |left: usize| left.checked_sub(1);
        if request.operation() == "priority"
            && self.0.fetch_update(SeqCst, SeqCst, one_less).is_ok()
        {
            return Err(Interrupt::Raise(SystemException::transient(
                minor::transient::CONNECT_FAILED,
                CompletionStatus::No,
            )));
        }
        Ok(())
    }
}

/// Has a channel follow a second schedule while `missed` calls fail.
fn follow(misses: &Misses, missed: usize) {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let scheduling = service();
    let served = serve(&orb, &scheduling).unwrap();
    let client = Orb::builder().client_interceptor(misses.clone());
    let client = client.build().unwrap();
    let ior = served.scheduler().to_ior();
    let scheduler: SchedulerRef = client.resolve(&ior).unwrap();
    let chains = ["Slow", "Fast"].map(|name| {
        let period = if name == "Slow" { 100 } else { 10 };
        let supplier = operation(&scheduling, &format!("{name}::sample"), 1, period);
        let consumer = operation(&scheduling, &format!("{name}::show"), 1, 0);
        (supplier, consumer)
    });
    let connect = |channel: &EventChannel| {
        channel.schedule_with(scheduler.clone());
        channel.log(|notice| panic!("{notice}"));
        [0, 1].map(|at| {
            let (supplier, consumer) = chains[at];
            let event_type = 17 + at as i32;
            let mut wanted = asks(&Filter::event_type(event_type));
            wanted.dependencies[0].rt_info = consumer;
            let mut published = publishes([(event_type, 1)]);
            published.publications[0].dependency_info.rt_info = supplier;
            let lanes = Arc::<Lanes>::default();
            let consumer = channel.connect_consumer(lanes.clone(), &wanted).unwrap();
            let supplier = channel.connect_supplier(None, &published).unwrap();
            (lanes, consumer, supplier)
        })
    };
    let configuration = EventChannel::new(ChannelOptions::default());
    let _told = connect(&configuration);
    scheduling.change(|service| service.compute(1, 99)).unwrap();
    let plan = scheduled_plan(&scheduler).unwrap();
    let lanes =
        plan.lanes.into_iter().map(|lane| LanePlan { scheduling: ModuleThreads::Inherit, ..lane });
    let plan = Plan::lanes(lanes.collect::<Vec<_>>());
    assert_eq!(plan.lanes.len(), 2);
    let options = ChannelOptions {
        reschedule: Some(std::time::Duration::from_millis(20)),
        ..ChannelOptions::default()
    };
    let queue = Qos { events: 100_000, ..Qos::default() };
    let channel = EventChannel::queued(options, plan, queue).unwrap();
    let [slow, fast] = connect(&channel);
    let mut number = 0u32;
    let mut push_until = |what: &str, lane_of_slow: &str, lane_of_fast: &str| {
        crate::channel::until(what, || {
            for (at, (_, _, supplier)) in [&slow, &fast].into_iter().enumerate() {
                let mut event = event(17 + at as i32, 1, 0);
                event.data.payload = number.to_le_bytes().to_vec();
                supplier.push(&[event]).unwrap();
            }
            number += 1;
            let on = |lanes: &Lanes, lane: &str| {
                let came = lanes.0.lock().unwrap();
                came.last().is_some_and(|(_, thread)| thread.contains(lane))
            };
            on(&slow.0, lane_of_slow) && on(&fast.0, lane_of_fast)
        });
    };
    push_until("the first schedule", "events-1", "events-0");
    let (raised, said) = (
        chains[0].0,
        Characteristics {
            worst_case: MILLISECOND,
            period: 5 * MILLISECOND,
            threads: 1,
            ..Characteristics::default()
        },
    );
    scheduling
        .change(|service| service.set(oxorb_sched::repository::Handle(raised), said))
        .unwrap();
    misses.0.store(missed, SeqCst);
    scheduling.change(|service| service.compute(1, 99)).unwrap();
    push_until("the second schedule", "events-0", "events-1");
    assert_eq!(misses.0.load(SeqCst), 0, "no call was missed");
    for (lanes, _, _) in [&slow, &fast] {
        crate::channel::until("all events", || lanes.0.lock().unwrap().len() == number as usize);
        let came = lanes.0.lock().unwrap();
        assert!(came.iter().map(|(number, _)| *number).eq(0..number));
    }
    channel.destroy();
    client.shutdown(true).unwrap();
    orb.shutdown(true).unwrap();
}

/// The declared period of an operation limits the rate of its supplier, unless the owner of the channel chooses a rate.
#[test]
fn a_declared_period_is_the_rate_of_a_supplier() {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build().unwrap();
    let scheduling = service();
    let served = serve(&orb, &scheduling).unwrap();
    let hour = 3_600_000;
    let slow = operation(&scheduling, "Slow::sample", 1, hour);
    let slower = operation(&scheduling, "Slower::sample", 1, 2 * hour);
    let free = operation(&scheduling, "Free::sample", 1, 0);
    let channel = EventChannel::new(ChannelOptions::default());
    channel.schedule_with(served.scheduler().clone());
    channel.enforce_declared_rates(Beyond::Refuse);
    channel.rates_by(|supplier| {
        let chosen = supplier.publications[0].event.header.r#type == 20;
        chosen.then_some(Rate {
            period: std::time::Duration::from_secs(3_600),
            burst: 5,
            beyond: Beyond::Refuse,
        })
    });
    let taken = |event_type: i32, operations: &[i32]| {
        let mut published = publishes([(event_type, 1), (event_type, 2)]);
        for (publication, operation) in published.publications.iter_mut().zip(operations) {
            publication.dependency_info.rt_info = *operation;
        }
        let supplier = channel.connect_supplier(None, &published).unwrap();
        let pushed = (0..10).map(|number| supplier.push(&[event(event_type, 1, number)]));
        pushed.filter(Result::is_ok).count()
    };
    assert_eq!(taken(17, &[slow]), 1);
    assert_eq!(taken(18, &[slow, slower]), 2);
    assert_eq!(taken(19, &[free]), 10);
    assert_eq!(taken(20, &[slow]), 5, "the owner's choice");
    assert_eq!(taken(21, &[]), 10);
    orb.shutdown(true).unwrap();
}
