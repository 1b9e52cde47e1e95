//! The channel without CORBA objects: its members, and the path of an event from a supplier to consumers.
//!
//! ```text
//! SupplierProxy --push--> Routes (by type and source) --> Connected (filter) --> Outgoing --> servant, or message
//! ```

mod consumer;
mod control;
mod core;
mod dispatch;
mod encoded;
mod maker;
mod notice;
mod observers;
mod options;
mod proxies;
mod refusal;
mod routes;
mod statistics;
mod supplier;
mod target;
mod teller;

use std::sync::Arc;

use oxorb_delivery::{Beyond, Dispatcher, DispatcherError, Plan, Qos, Rate};

pub(crate) use core::Core;
use core::Queues;
pub use dispatch::ConsumerDispatch;
pub(crate) use encoded::is_textless;
pub(crate) use maker::Maker;
pub use notice::{Notice, Released, Side};
pub(crate) use observers::Watcher;
pub use options::{ChannelOptions, Control, Limits};
pub use proxies::ConsumerConnection;
pub(crate) use proxies::ConsumerProxy;
pub use refusal::{ConnectError, PushError};
pub use statistics::{ConsumerStatistics, Statistics, SupplierStatistics};
pub use supplier::SupplierConnection;
pub(crate) use supplier::{Supplier, SupplierProxy};
pub(crate) use target::Consumer;

use oxorb_scheduler::rtec_scheduler::SchedulerRef;

use crate::rtec_event_channel_admin::{ConsumerQos, Observer, SupplierQos};
use crate::rtec_event_comm::{PushConsumer, PushSupplier};
use crate::scheduling::Scheduling;

/// A real-time event channel. Cheap to clone. All clones refer to the same channel.
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
    /// Creates a channel for suppliers and consumers in this process. [`serve`](Self::serve) makes it available to
    /// remote peers.
    pub fn new(options: ChannelOptions) -> EventChannel {
        EventChannel { core: Arc::new(Core::new(options, None)) }
    }

    /// Creates a channel that delivers from queues. Each consumer has a queue, and the threads of a plan empty the
    /// queues. A slow, stopped or dead consumer therefore affects only its own queue, and no other consumer or
    /// supplier. `queue` specifies size and policy of each queue, unless [`dispatch_by`](Self::dispatch_by) or
    /// [`connect_consumer_with`](Self::connect_consumer_with) chooses other values. Its `batch` is ignored: it is
    /// always 1.
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
    /// The threads cannot be started.
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

    /// Returns the options of the channel.
    pub fn options(&self) -> &ChannelOptions {
        &self.core.options
    }

    /// Connects a local consumer. It receives events in the thread that pushes them, without a copy or a message.
    ///
    /// During a call the consumer may push events and connect peers. It should return quickly. A panic counts as a
    /// failure.
    ///
    /// # Errors
    /// [`ConnectError`]: the filter is invalid, there are too many consumers, or the channel was destroyed.
    pub fn connect_consumer(
        &self,
        consumer: Arc<dyn PushConsumer>,
        qos: &ConsumerQos,
    ) -> Result<ConsumerConnection, ConnectError> {
        self.connect_local(consumer, qos, None)
    }

    /// Connects a local consumer to a [`queued`](Self::queued) channel, with its own queue, lane and urgency. Neither a
    /// schedule nor [`dispatch_by`](Self::dispatch_by) changes these settings.
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
    /// The errors of [`connect_consumer`](Self::connect_consumer); [`ConnectError::NoQueues`] or
    /// [`ConnectError::Queue`] if the channel has no queues or no such lane.
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

    /// Connects a local supplier. If there is a servant, it is notified when the channel ends.
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

    /// Adds a local observer, and returns its handle. The observer is notified immediately, and after each change,
    /// about the subscriptions of consumers and the publications of suppliers. Those of gateways are not included.
    ///
    /// # Errors
    /// [`ConnectError::Limit`], [`ConnectError::Destroyed`].
    pub fn append_observer(&self, observer: Arc<dyn Observer>) -> Result<u32, ConnectError> {
        self.core.append_observer(Watcher::Local(observer), Maker::local())
    }

    /// Removes an observer. Returns `false` if no observer has this handle.
    pub fn remove_observer(&self, handle: u32) -> bool {
        self.core.remove_observer(handle)
    }

    /// Installs a log function. It receives incidents about which peers receive only an exception without details, or
    /// no information: refused filters, released peers, and a channel that a peer destroyed. The function must return
    /// quickly. It can be installed once for each channel; later calls have no effect.
    pub fn log(&self, log: impl Fn(&Notice) + Send + Sync + 'static) {
        self.core.set_log(Box::new(log));
    }

    /// Reports each peer that connects after this call with an `rt_info` to a scheduling service. For each operation of
    /// a consumer, the channel declares an operation of its own, named `ENTRY#rep`. It depends on the operations of the
    /// suppliers whose events may match the consumer's filter, and on one operation for each timeout.
    ///
    /// Consumers of a [`queued`](Self::queued) channel get the lane of their operation when it is scheduled. When the
    /// schedule changes ([`reschedule`](ChannelOptions::reschedule)), they move to another lane, and their waiting
    /// events move with them in order. The number of lanes and the priorities of their threads remain those of the
    /// plan. Call this function once for each channel, before any peer connects.
    ///
    /// When peers connect, the channel makes two to four calls to the service for each consumer, and one for each pair
    /// of a supplier and a consumer. No call takes longer than [`call_timeout`](ChannelOptions::call_timeout).
    pub fn schedule_with(&self, scheduler: SchedulerRef) {
        let scheduler = self.core.timed(&scheduler);
        self.core.set_scheduling(Scheduling::new(scheduler));
    }

    /// Calls `choose` for each local or remote consumer that connects after this call to a [`queued`](Self::queued)
    /// channel, and uses the dispatch that it returns. The second argument is the default dispatch: the queue of the
    /// channel, in the lane of the consumer's operation if a [schedule](Self::schedule_with) assigns one. The
    /// dependencies of a consumer contain its event types, sources and `rt_info`. If the returned lane does not exist,
    /// the consumer is refused. The function can be set once for each channel; later calls have no effect.
    pub fn dispatch_by(
        &self,
        choose: impl Fn(&ConsumerQos, ConsumerDispatch) -> ConsumerDispatch + Send + Sync + 'static,
    ) {
        self.core.set_chooser(Box::new(choose));
    }

    /// Calls `choose` for each local or remote supplier that connects after this call, and enforces the rate that it
    /// returns. Events beyond the rate are counted, refused ([`PushError::Rate`]) or delayed in the thread that pushes
    /// them. The publications of a supplier contain its event types, sources and `rt_info`. The function can be set
    /// once for each channel; later calls have no effect. For a supplier with a rate, enforcement costs one clock
    /// reading for each event.
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

    /// Limits the rates of suppliers that connect after this call with an `rt_info`. The limit is the period of this
    /// operation, as declared in the [scheduling service](Self::schedule_with) when the supplier connects; `beyond`
    /// specifies the treatment of further events. If a supplier has several operations, their rates are added, and a
    /// burst may contain as many events as there are operations. A rate that [`rates_by`](Self::rates_by) chooses takes
    /// precedence. Operations without a period have no limit. If the service does not answer when a supplier connects,
    /// this supplier is not limited until it connects again. Only the first call for a channel has an effect.
    pub fn enforce_declared_rates(&self, beyond: Beyond) {
        self.core.enforce_declared(beyond);
    }

    /// Ends the channel. Calls the `disconnect_...` operation of each consumer and supplier, several concurrently, and
    /// withdraws the channel's dependencies from the scheduling service. A call to a peer that does not answer takes up
    /// to `call_timeout`, and all calls together take up to ten times this time. Peers that have not been called by
    /// then are not notified. Later connects and pushes are refused.
    pub fn destroy(&self) {
        self.core.destroy();
    }

    /// Reports whether the channel was destroyed.
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
