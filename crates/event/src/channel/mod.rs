//! The channel itself, without any CORBA object: who is connected, and how an event gets from a supplier to consumers.
//!
//! ```text
//! SupplierProxy --push--> Routes (by type and source) --> Connected (filter) --> Outgoing --> servant, or message
//! ```

mod connection;
mod consumer;
mod control;
mod core;
mod dispatch;
mod encoded;
mod index;
mod maker;
mod notice;
mod observers;
mod options;
mod proxies;
mod refusal;
mod routes;
mod sets;
mod statistics;
mod supplier;
mod target;
mod teller;

use std::sync::Arc;

use oxorb_delivery::{Beyond, Dispatcher, DispatcherError, Plan, Qos, Rate};

pub use connection::{ConsumerConnection, SupplierConnection};
pub(crate) use core::Core;
use core::Queues;
pub use dispatch::ConsumerDispatch;
pub(crate) use encoded::is_textless;
pub(crate) use maker::Maker;
pub use notice::{Notice, Released, Side};
pub(crate) use observers::Watcher;
pub use options::{ChannelOptions, Control, Limits};
pub(crate) use proxies::{ConsumerProxy, SupplierProxy};
pub use refusal::{ConnectError, PushError};
pub use statistics::{ConsumerStatistics, Statistics, SupplierStatistics};
pub(crate) use supplier::Supplier;
pub(crate) use target::Consumer;

use oxorb_scheduler::rtec_scheduler::SchedulerRef;

use crate::rtec_event_channel_admin::{ConsumerQos, Observer, SupplierQos};
use crate::rtec_event_comm::{PushConsumer, PushSupplier};
use crate::scheduling::Scheduling;

/// A real-time event channel. Cheap to clone: all clones are the same channel.
///
/// ```
/// use std::sync::Arc;
/// use oxorb_event::rtec_event_channel_admin::{ConsumerQos, SupplierQos};
/// use oxorb_event::rtec_event_comm::{Event, PushConsumer};
/// use oxorb_event::{ChannelOptions, EventChannel, Filter};
///
/// struct Display;
///
/// impl PushConsumer for Display {
///     fn push(&self, events: &[Event]) {
///         println!("{} bar", events[0].data.payload[0]);
///     }
///     fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
///         Ok(())
///     }
/// }
///
/// let channel = EventChannel::new(ChannelOptions::default());
/// let wanted = ConsumerQos {
///     dependencies: Filter::event_type(17).to_dependencies(0),
///     is_gateway: false,
/// };
/// let consumer = channel.connect_consumer(Arc::new(Display), &wanted)?;
///
/// let mut pressure = Event::default();
/// pressure.header.r#type = 17;
/// pressure.header.source = 1;
/// pressure.data.payload = vec![3];
/// let supplier = channel.connect_supplier(None, &oxorb_event::publishes([(17, 1)]))?;
/// supplier.push(&[pressure])?;
/// assert_eq!(channel.statistics().consumers[0].delivered, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct EventChannel {
    core: Arc<Core>,
}

impl EventChannel {
    /// Makes a channel for suppliers and consumers of this process; [`serve`](Self::serve) lets others in.
    pub fn new(options: ChannelOptions) -> EventChannel {
        EventChannel { core: Arc::new(Core::new(options, None)) }
    }

    /// Makes a channel that delivers from queues: one for each consumer, emptied by the threads of a plan. A consumer that
    /// is slow, stopped or dead then costs its own queue, and never another consumer or a supplier. `queue` is the size and
    /// policy of each, unless [`dispatch_by`](Self::dispatch_by) or
    /// [`connect_consumer_with`](Self::connect_consumer_with) gives it one of its own; `batch` is 1.
    ///
    /// ```
    /// use oxorb_event::delivery::{Plan, Qos, WhenFull};
    /// use oxorb_event::{ChannelOptions, EventChannel, Publisher, Subscriber};
    ///
    /// let queue = Qos { events: 64, when_full: WhenFull::DropOldest, ..Qos::default() };
    /// let channel = EventChannel::queued(ChannelOptions::default(), Plan::pool(2), queue)?;
    /// let levels = Subscriber::<u32>::new(&channel, "level")?;
    /// Publisher::<u32>::new(&channel, "level", "tank 1")?.publish(&7)?;
    /// assert_eq!(levels.iter().next().unwrap().value, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The threads do not start.
    pub fn queued(
        options: ChannelOptions,
        plan: Plan,
        queue: Qos,
    ) -> Result<EventChannel, DispatcherError> {
        let plan = Plan { outlets: plan.outlets.max(options.limits.consumers), ..plan };
        let queues =
            Queues { dispatcher: Dispatcher::start(plan)?, qos: Qos { batch: 1, ..queue } };
        Ok(EventChannel { core: Arc::new(Core::new(options, Some(queues))) })
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Returns how the channel behaves.
    pub fn options(&self) -> &ChannelOptions {
        &self.core.options
    }

    /// Connects a consumer of this process: gets events in the thread that pushes them, without a copy or a message.
    ///
    /// It may push and connect from within, and should return soon. One that panics counts as failed.
    ///
    /// # Errors
    /// [`ConnectError`]: the filter is none, there are too many consumers, or the channel was destroyed.
    pub fn connect_consumer(
        &self,
        consumer: Arc<dyn PushConsumer>,
        qos: &ConsumerQos,
    ) -> Result<ConsumerConnection, ConnectError> {
        self.connect_local(consumer, qos, None)
    }

    /// Connects a consumer of this process to a [`queued`](Self::queued) channel, with a queue, lane and urgency of its own.
    /// Neither a schedule nor [`dispatch_by`](Self::dispatch_by) changes them.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use oxorb_event::delivery::{LanePlan, Plan, Qos};
    /// use oxorb_event::rtec_event_comm::{Event, PushConsumer};
    /// use oxorb_event::{ChannelOptions, ConsumerDispatch, EventChannel, Filter, asks_for};
    ///
    /// struct Alarm;
    ///
    /// impl PushConsumer for Alarm {
    ///     fn push(&self, _: &[Event]) {}
    ///     fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let plan = Plan::lanes([LanePlan::new("low"), LanePlan::new("high")]);
    /// let channel = EventChannel::queued(ChannelOptions::default(), plan, Qos::default())?;
    /// let high = ConsumerDispatch {
    ///     queue: Qos { lane: 1, ..Qos::default() },
    ///     ..ConsumerDispatch::default()
    /// };
    /// let wanted = asks_for(&Filter::event_type(17));
    /// let _alarm = channel.connect_consumer_with(Arc::new(Alarm), &wanted, high)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ConnectError`]: as [`connect_consumer`](Self::connect_consumer), and [`ConnectError::NoQueues`] or
    /// [`ConnectError::Queue`] if the channel has no such queue or lane.
    pub fn connect_consumer_with(
        &self,
        consumer: Arc<dyn PushConsumer>,
        qos: &ConsumerQos,
        dispatch: ConsumerDispatch,
    ) -> Result<ConsumerConnection, ConnectError> {
        self.connect_local(consumer, qos, Some(dispatch))
    }

    fn connect_local(
        &self,
        consumer: Arc<dyn PushConsumer>,
        qos: &ConsumerQos,
        dispatch: Option<ConsumerDispatch>,
    ) -> Result<ConsumerConnection, ConnectError> {
        let proxy = self.core.consumer_proxy(Maker::local())?;
        let connection = ConsumerConnection::new(proxy);
        let consumer = Consumer::Local(consumer);
        connection.proxy().connect(consumer, qos, dispatch)?;
        Ok(connection)
    }

    /// Connects a supplier of this process. The servant, if there is one, is told when the channel ends.
    ///
    /// # Errors
    /// [`ConnectError`]: there are too many suppliers or publications, or the channel was destroyed.
    pub fn connect_supplier(
        &self,
        supplier: Option<Arc<dyn PushSupplier>>,
        qos: &SupplierQos,
    ) -> Result<SupplierConnection, ConnectError> {
        let proxy = self.core.supplier_proxy(Maker::local())?;
        let supplier = supplier.map_or(Supplier::Anonymous, Supplier::Local);
        proxy.connect(supplier, qos)?;
        Ok(SupplierConnection::new(proxy))
    }

    /// Appends an observer of this process: it learns at once, and after each change, what consumers ask for and suppliers
    /// publish that are no gateways. Returns its handle.
    ///
    /// # Errors
    /// [`ConnectError::Limit`], [`ConnectError::Destroyed`].
    pub fn append_observer(&self, observer: Arc<dyn Observer>) -> Result<u32, ConnectError> {
        self.core.append_observer(Watcher::Local(observer), Maker::local())
    }

    /// Forgets an observer; `false` if there is none with this handle.
    pub fn remove_observer(&self, handle: u32) -> bool {
        self.core.remove_observer(handle)
    }

    /// Calls `log` with everything that peers only hear an empty exception of, or nothing: refused filters, peers that
    /// were let go, and a channel that a peer destroyed. Once for each channel; later ones are not taken. Must be short.
    pub fn log(&self, log: impl Fn(&Notice) + Send + Sync + 'static) {
        self.core.set_log(Box::new(log));
    }

    /// Tells a scheduling service of everybody who connects from now on with an `rt_info`: for each operation of a consumer the
    /// channel has one, named `ENTRY#rep`; it depends on the operations of the suppliers whose events concern the consumer,
    /// and on one for each timeout. Consumers of a [`queued`](Self::queued) channel get the lane of their operation, once
    /// it is scheduled, and move to another lane when the schedule changes
    /// ([`reschedule`](ChannelOptions::reschedule)), with what waits for them and in its order. The number of lanes and the
    /// priorities of their threads stay those of the plan. Once for each channel; before anybody connects.
    ///
    /// Costs two to four calls for each consumer and one for each pair, when they connect; none takes longer than
    /// [`call_timeout`](ChannelOptions::call_timeout).
    pub fn schedule_with(&self, scheduler: SchedulerRef) {
        let scheduler = self.core.timed(&scheduler);
        self.core.set_scheduling(Scheduling::new(scheduler));
    }

    /// Calls `choose` with each consumer that connects from now on to a [`queued`](Self::queued) channel, of this process or
    /// elsewhere, and uses the dispatch that it returns. The second argument is the dispatch that the consumer would have:
    /// the queue of the channel, in the lane of the consumer's operation where a [schedule](Self::schedule_with) has one. The
    /// first event type, source and `rt_info` of a consumer are in its dependencies. A lane that does not exist refuses the
    /// consumer. Once for each channel; later functions are not taken.
    pub fn dispatch_by(
        &self,
        choose: impl Fn(&ConsumerQos, ConsumerDispatch) -> ConsumerDispatch + Send + Sync + 'static,
    ) {
        self.core.set_chooser(Box::new(choose));
    }

    /// Calls `choose` with each supplier that connects from now on, of this process or elsewhere, and has it keep the rate
    /// that it returns: events beyond are counted, refused ([`PushError::Rate`]) or delayed in the thread that pushes. The
    /// types, sources and `rt_info` of a supplier are in its publications. Once for each channel; later functions are not
    /// taken. Costs suppliers with a rate a reading of the clock for each event.
    ///
    /// ```
    /// use std::time::Duration;
    /// use oxorb_event::delivery::{Beyond, Rate};
    /// use oxorb_event::{ChannelOptions, EventChannel};
    ///
    /// let channel = EventChannel::new(ChannelOptions::default());
    /// channel.rates_by(|supplier| {
    ///     let is_video = supplier.publications.iter().any(|one| one.event.header.r#type == 17);
    ///     is_video.then_some(Rate {
    ///         period: Duration::from_millis(40),
    ///         burst: 2,
    ///         beyond: Beyond::Refuse,
    ///     })
    /// });
    /// ```
    pub fn rates_by(&self, choose: impl Fn(&SupplierQos) -> Option<Rate> + Send + Sync + 'static) {
        self.core.set_rates(Box::new(choose));
    }

    /// Holds suppliers that connect from now on with an `rt_info` to the period of that operation,
    /// as the [scheduling service](Self::schedule_with) knows it when they connect: `beyond`
    /// happens to further events. Rates of several operations add up, and as many events as
    /// operations may come at once. A rate that [`rates_by`](Self::rates_by) chooses goes before.
    /// Operations without a period have no rate. A service that does not answer when a supplier
    /// connects leaves it without a limit until it connects again. Once for each channel.
    pub fn enforce_declared_rates(&self, beyond: Beyond) {
        self.core.enforce_declared(beyond);
    }

    /// Ends the channel: tells each consumer and supplier with its `disconnect_...`, several side by side, and takes its
    /// dependencies back from the scheduling service. Calls to peers that do not answer take up to `call_timeout` each, and ten
    /// times that for all: whom it has not reached by then is not told. Later connects and pushes are refused.
    pub fn destroy(&self) {
        self.core.destroy();
    }

    /// Whether the channel was destroyed.
    pub fn is_destroyed(&self) -> bool {
        self.core.is_destroyed()
    }
}

impl std::fmt::Debug for EventChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventChannel")
            .field("destroyed", &self.is_destroyed())
            .finish_non_exhaustive()
    }
}
