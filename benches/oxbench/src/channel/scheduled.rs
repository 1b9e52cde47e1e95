//! Schedule of all pairs, computed in a configuration run of the channel, and the run-time scheduling service that
//! serves the schedule.

use std::sync::Arc;
use std::time::Duration;

use oxorb::Orb;
use oxorb::sched::level::Criticality;
use oxorb::sched::repository::Characteristics;
use oxorb::sched::service::Service;
use oxorb::sched::time::MICROSECOND;
use oxorb::sched::{DispatchModel, Strategy};
use oxorb_event::delivery::Plan;
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::scheduler::rtec_scheduler::SchedulerRef;
use oxorb_event::scheduler::{Scheduling, serve};
use oxorb_event::{
    ChannelOptions, ConsumerConnection, EventChannel, Filter, Limits, SupplierConnection, asks_for,
    publishes, scheduled_plan,
};

use crate::Result;

/// Event type of the high pair; the types of the low pairs follow.
const FIRST: i32 = 16;

/// Thread priorities of the schedule.
const PRIORITIES: (i32, i32) = (10, 80);

/// Operations of a pair in the scheduling service.
#[derive(Clone, Copy)]
struct Operations {
    supplier: i32,
    consumer: i32,
}

/// Connected pair.
pub(super) struct Pair {
    pub(super) supplier: SupplierConnection,
    pub(super) event: Event,
    /// Priority of the supplier's thread.
    pub(super) priority: i32,
    _consumer: ConsumerConnection,
}

/// Run-time scheduling service with the schedule of all pairs, the high one first.
pub(super) struct Scheduled {
    strategy: Strategy,
    orb: Orb,
    scheduler: SchedulerRef,
    pairs: Vec<Operations>,
}

/// Consumer that ignores events: a configuration run only makes connections.
struct Nobody;

impl PushConsumer for Nobody {
    fn push(&self, _: &[Event]) {}

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

impl Scheduled {
    /// Makes a channel register the pairs at a scheduling service, and has the service compute the schedule.
    pub(super) fn new(
        strategy: Strategy,
        lows: usize,
        [high, low]: [Duration; 2],
    ) -> Result<Scheduled> {
        let band = Box::new(DispatchModel::Band);
        let scheduling = Scheduling::new(Service::configuration(Box::new(strategy), band));
        let mut pairs = vec![declare(&scheduling, 0, high, Criticality::High)?];
        for number in 1..=lows {
            pairs.push(declare(&scheduling, number, low, Criticality::Low)?);
        }
        let (orb, scheduler) = served(&scheduling)?;
        let configuration = Scheduled { strategy, orb, scheduler, pairs: pairs.clone() };
        let channel = EventChannel::new(options(lows));
        channel.schedule_with(configuration.scheduler.clone());
        let connected: Vec<Pair> = (0..=lows)
            .map(|number| configuration.connect(&channel, number, Arc::new(Nobody)))
            .collect::<Result<_>>()?;
        scheduling.change(|service| service.compute(PRIORITIES.0, PRIORITIES.1))?;
        let table = scheduling.look(|service| service.table())??;
        drop(connected);
        configuration.end()?;
        let (orb, scheduler) = served(&Scheduling::new(Service::run_time(table)?))?;
        Ok(Scheduled { strategy, orb, scheduler, pairs })
    }

    pub(super) fn strategy(&self) -> &'static str {
        self.strategy.name
    }

    pub(super) fn scheduler(&self) -> &SchedulerRef {
        &self.scheduler
    }

    /// Returns the lanes of the schedule's queues.
    pub(super) fn plan(&self) -> Result<Plan> {
        Ok(scheduled_plan(&self.scheduler)?)
    }

    /// Connects a pair, by number.
    pub(super) fn connect(
        &self,
        channel: &EventChannel,
        number: usize,
        consumer: Arc<dyn PushConsumer>,
    ) -> Result<Pair> {
        let operations = self.pairs[number];
        let event_type = FIRST + i32::try_from(number)?;
        let mut wanted = asks_for(&Filter::event(event_type, 1));
        for dependency in &mut wanted.dependencies {
            dependency.rt_info = operations.consumer;
        }
        let mut published = publishes([(event_type, 1)]);
        published.publications[0].dependency_info.rt_info = operations.supplier;
        let mut event = Event::default();
        event.header.r#type = event_type;
        event.header.source = 1;
        event.data.payload = vec![0; 8];
        // Before the schedule is computed, there is no priority.
        let assigned = self.scheduler.priority(operations.supplier);
        Ok(Pair {
            _consumer: channel.connect_consumer(consumer, &wanted)?,
            supplier: channel.connect_supplier(None, &published)?,
            event,
            priority: assigned.map_or(0, |(os_priority, _, _)| os_priority),
        })
    }

    pub(super) fn end(self) -> Result {
        Ok(self.orb.shutdown(true)?)
    }
}

/// Returns the options of a channel with capacity for all pairs.
pub(super) fn options(lows: usize) -> ChannelOptions {
    ChannelOptions {
        limits: Limits { consumers: lows + 1, suppliers: lows + 1, ..Limits::default() },
        ..ChannelOptions::default()
    }
}

fn served(scheduling: &Scheduling) -> Result<(Orb, SchedulerRef)> {
    let orb = Orb::builder().listen("iiop://127.0.0.1:0").build()?;
    let scheduler = serve(&orb, scheduling)?.scheduler().clone();
    Ok((orb, scheduler))
}

/// Declares the operations of a pair; that of the consumer has the rate of the events.
fn declare(
    scheduling: &Scheduling,
    number: usize,
    period: Duration,
    criticality: Criticality,
) -> Result<Operations> {
    let operation = |side: &str, period: Duration| {
        let said = Characteristics {
            criticality,
            worst_case: 20 * MICROSECOND,
            period: u64::try_from(period.as_nanos()).unwrap_or(u64::MAX),
            threads: u32::from(!period.is_zero()),
            ..Characteristics::default()
        };
        scheduling.change(|service| {
            let handle = service.create(&format!("{side}::{number}"))?;
            service.set(handle, said)?;
            Ok(handle.0)
        })
    };
    Ok(Operations {
        supplier: operation("Supplier", period)?,
        consumer: operation("Consumer", Duration::ZERO)?,
    })
}
