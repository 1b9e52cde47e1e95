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
use oxorb_event::delivery::{Qos, WhenFull};
use oxorb_event::rtec_event_channel_admin::{ConsumerQos, SupplierQos};
use oxorb_event::rtec_event_comm::{Event, PushConsumer};
use oxorb_event::scheduler::rtec_scheduler::SchedulerRef;
use oxorb_event::scheduler::{Scheduling, serve};
use oxorb_event::{
    ChannelOptions, ConsumerConnection, EventChannel, Filter, Limits, SupplierConnection, asks_for,
    publishes, scheduled_plan,
};

use super::load::{PAYLOAD, Supplier};
use crate::Result;

/// Event type of the high pair; the types of the low pairs follow.
const FIRST: i32 = 16;

/// Thread priorities of the schedule.
const PRIORITIES: (i32, i32) = (10, 80);

/// Words for the two sides of a pair in the names of its operations.
const SUPPLIER: &str = "Supplier";
const CONSUMER: &str = "Consumer";

/// Number of events that may wait for a consumer before the pushing thread waits, for at most [`WAIT`].
const QUEUE: usize = 64;

/// Maximum time of a push that waits for a full queue. The channel then drops the event.
const WAIT: Duration = Duration::from_secs(1);

/// Operations of a pair in the scheduling service, and the type of the pair's events.
pub(super) struct Operations {
    event_type: i32,
    supplier: i32,
    consumer: i32,
}

/// Run-time scheduling service with the schedule of all pairs.
pub(super) struct Scheduled {
    strategy: Strategy,
    orb: Orb,
    scheduler: SchedulerRef,
}

/// Consumer that ignores events: a configuration run only makes connections.
struct Nobody;

impl PushConsumer for Nobody {
    fn push(&self, _: &[Event]) {}

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

impl Operations {
    /// Looks up the operations of a pair by the number of the pair. The high pair has the number 0.
    pub(super) fn find(scheduler: &SchedulerRef, number: usize) -> Result<Operations> {
        Ok(Operations {
            event_type: FIRST + i32::try_from(number)?,
            supplier: scheduler.lookup(&entry_point(SUPPLIER, number))?,
            consumer: scheduler.lookup(&entry_point(CONSUMER, number))?,
        })
    }

    /// Returns the priority that the schedule assigns to the supplier.
    pub(super) fn priority(&self, scheduler: &SchedulerRef) -> Result<i16> {
        let (os_priority, _, _) = scheduler.priority(self.supplier)?;
        Ok(i16::try_from(os_priority)?)
    }

    /// Returns the QoS of the consumer.
    pub(super) fn wanted(&self) -> ConsumerQos {
        let mut wanted = asks_for(&Filter::event(self.event_type, 1));
        for dependency in &mut wanted.dependencies {
            dependency.rt_info = self.consumer;
        }
        wanted
    }

    /// Returns the QoS of the supplier.
    pub(super) fn published(&self) -> SupplierQos {
        let mut published = publishes([(self.event_type, 1)]);
        published.publications[0].dependency_info.rt_info = self.supplier;
        published
    }

    /// Returns an event of the supplier.
    pub(super) fn event(&self) -> Event {
        let mut event = Event::default();
        event.header.r#type = self.event_type;
        event.header.source = 1;
        event.data.payload = vec![0; PAYLOAD];
        event
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
        declare(&scheduling, 0, high, Criticality::High)?;
        for number in 1..=lows {
            declare(&scheduling, number, low, Criticality::Low)?;
        }
        let (orb, scheduler) = served(&scheduling)?;
        let configuration = Scheduled { strategy, orb, scheduler };
        let channel = EventChannel::new(options(lows));
        channel.schedule_with(configuration.scheduler.clone());
        let connected: Vec<_> = (0..=lows)
            .map(|number| configuration.connect(&channel, number, Arc::new(Nobody)))
            .collect::<Result<_>>()?;
        scheduling.change(|service| service.compute(PRIORITIES.0, PRIORITIES.1))?;
        let table = scheduling.look(|service| service.table())??;
        drop(connected);
        configuration.end()?;
        let (orb, scheduler) = served(&Scheduling::new(Service::run_time(table)?))?;
        Ok(Scheduled { strategy, orb, scheduler })
    }

    pub(super) fn strategy(&self) -> &'static str {
        self.strategy.name
    }

    pub(super) fn scheduler(&self) -> &SchedulerRef {
        &self.scheduler
    }

    /// Connects a pair, by number, to a channel of this process.
    pub(super) fn connect(
        &self,
        channel: &EventChannel,
        number: usize,
        consumer: Arc<dyn PushConsumer>,
    ) -> Result<(Supplier<SupplierConnection>, ConsumerConnection)> {
        let operations = Operations::find(&self.scheduler, number)?;
        let consumer = channel.connect_consumer(consumer, &operations.wanted())?;
        let supplier = Supplier {
            connection: channel.connect_supplier(None, &operations.published())?,
            event: operations.event(),
            // Operations have no priority before the schedule is computed.
            priority: operations.priority(&self.scheduler).unwrap_or(0),
        };
        Ok((supplier, consumer))
    }

    pub(super) fn end(self) -> Result {
        Ok(self.orb.shutdown(true)?)
    }
}

/// Creates a channel with the queues of the schedule and with capacity for all pairs.
pub(super) fn scheduled_channel(scheduler: &SchedulerRef, lows: usize) -> Result<EventChannel> {
    let queue =
        Qos { events: QUEUE, when_full: WhenFull::DropNewest, wait: WAIT, ..Qos::default() };
    let channel = EventChannel::queued(options(lows), scheduled_plan(scheduler)?, queue)?;
    channel.schedule_with(scheduler.clone());
    Ok(channel)
}

/// Returns the options of a channel with capacity for all pairs. One client may connect all suppliers, or all
/// consumers.
fn options(lows: usize) -> ChannelOptions {
    ChannelOptions {
        limits: Limits {
            consumers: lows + 1,
            suppliers: lows + 1,
            client_share: 100,
            ..Limits::default()
        },
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
) -> Result {
    for (side, period) in [(SUPPLIER, period), (CONSUMER, Duration::ZERO)] {
        let said = Characteristics {
            criticality,
            worst_case: 20 * MICROSECOND,
            period: u64::try_from(period.as_nanos()).unwrap_or(u64::MAX),
            threads: u32::from(!period.is_zero()),
            ..Characteristics::default()
        };
        scheduling.change(|service| {
            let handle = service.create(&entry_point(side, number))?;
            service.set(handle, said)
        })?;
    }
    Ok(())
}

/// Returns the name of an operation in the scheduling service.
fn entry_point(side: &str, number: usize) -> String {
    format!("{side}::{number}")
}
