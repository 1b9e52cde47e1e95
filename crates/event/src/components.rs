//! Event ports of components, connected through a channel.

use std::any::Any as Anything;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use oxorb::components::{CarriedSource, Deliver, EventCarrier};
use oxorb::rt::Priority;
use oxorb::{Any, CompletionStatus, SystemException, minor};

use crate::rtec_event_comm::{Event, PushConsumer};
use crate::{
    ConnectError, ConsumerDispatch, EventChannel, Filter, PushError, SupplierConnection, asks_for,
    event_type, publishes,
};

/// Carrier of the events of a container's sources through a channel. Each source is a supplier with its own source id,
/// and each consumer of a port subscribes to events with the id of its source. The `any` of an event contains the value
/// of the event type. The priority that a consumer declares is not used: the plan of the channel and
/// [`dispatch_by`](Self::dispatch_by) determine the threads.
///
/// ```
/// use std::sync::Arc;
/// use oxorb::components::Container;
/// use oxorb_event::delivery::{Plan, Qos};
/// use oxorb_event::{ChannelOptions, ComponentEvents, EventChannel};
///
/// let orb = oxorb::Orb::builder().build()?;
/// let channel = EventChannel::queued(ChannelOptions::default(), Plan::pool(2), Qos::default())?;
/// let events = ComponentEvents::new(&channel, 1);
/// let container = Container::builder(orb.root_poa(), "cockpit").events_by(Arc::new(events)).create()?;
/// # container.destroy();
/// # orb.shutdown(true)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ComponentEvents {
    channel: EventChannel,
    next_source: AtomicI32,
    choose: Option<Box<Choose>>,
}

type Choose = dyn Fn(&str) -> Option<ConsumerDispatch> + Send + Sync;

/// Type of all events of components in a channel.
const EVENT_TYPE: i32 = event_type::UNDEFINED;

impl ComponentEvents {
    /// Creates a carrier over a channel. Sources are numbered starting from `first_source`, which is at least 1.
    /// Carriers of the same channel must use disjoint ranges.
    pub fn new(channel: &EventChannel, first_source: i32) -> ComponentEvents {
        ComponentEvents {
            channel: channel.clone(),
            next_source: AtomicI32::new(first_source.max(1)),
            choose: None,
        }
    }

    /// Chooses queue and lane for the consumers of a source, whose name is `instance.port`. If `choose` returns `None`,
    /// the channel chooses them.
    #[must_use]
    pub fn dispatch_by(
        mut self,
        choose: impl Fn(&str) -> Option<ConsumerDispatch> + Send + Sync + 'static,
    ) -> ComponentEvents {
        self.choose = Some(Box::new(choose));
        self
    }
}

impl EventCarrier for ComponentEvents {
    fn open(&self, source: &str) -> Result<Box<dyn CarriedSource>, SystemException> {
        let number = self.next_source.fetch_add(1, Ordering::Relaxed);
        let published = publishes([(EVENT_TYPE, number)]);
        let supplier = self.channel.connect_supplier(None, &published);
        Ok(Box::new(Source {
            supplier: supplier.map_err(refused)?,
            channel: self.channel.clone(),
            number,
            dispatch: self.choose.as_ref().and_then(|choose| choose(source)),
        }))
    }
}

/// An event source, connected to the channel as a supplier.
struct Source {
    supplier: SupplierConnection,
    channel: EventChannel,
    number: i32,
    dispatch: Option<ConsumerDispatch>,
}

impl CarriedSource for Source {
    fn push(&self, event: Any) -> Result<(), SystemException> {
        let mut carried = Event::default();
        carried.header.r#type = EVENT_TYPE;
        carried.header.source = self.number;
        carried.header.ttl = 1;
        carried.data.any_value = event;
        let pushed = self.supplier.push(std::slice::from_ref(&carried));
        pushed.map_err(not_pushed)
    }

    fn connect(
        &self,
        deliver: Deliver,
        _: Option<Priority>,
    ) -> Result<Box<dyn Anything + Send + Sync>, SystemException> {
        let wanted = asks_for(&Filter::source(self.number));
        let consumer = Arc::new(Consumer(deliver));
        let connected = match &self.dispatch {
            Some(dispatch) => {
                let dispatch = dispatch.clone();
                self.channel.connect_consumer_with(consumer, &wanted, dispatch)
            }
            None => self.channel.connect_consumer(consumer, &wanted),
        };
        Ok(Box::new(connected.map_err(refused)?))
    }
}

/// A consumer of a port, connected to the channel.
struct Consumer(Deliver);

impl PushConsumer for Consumer {
    fn push(&self, events: &[Event]) {
        for event in events {
            (self.0)(&event.data.any_value);
        }
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        Ok(())
    }
}

const NOT_CONNECTED: SystemException =
    SystemException::bad_inv_order(minor::bad_inv_order::NOT_CONNECTED, CompletionStatus::No);

/// Returns the exception that a component receives if the channel refuses its event.
fn not_pushed(error: PushError) -> SystemException {
    match error {
        PushError::NotConnected => NOT_CONNECTED,
        PushError::Events(_) | PushError::Octets(_) | PushError::Rate(_) | PushError::Circle(_) => {
            SystemException::imp_limit(minor::imp_limit::EVENT_PUSH, CompletionStatus::No)
        }
    }
}

/// Returns the exception that a client receives if the channel refuses its consumer.
fn refused(error: ConnectError) -> SystemException {
    match error {
        ConnectError::Limit(..) | ConnectError::Queue(_) => {
            SystemException::imp_limit(minor::imp_limit::EVENT_PROXIES, CompletionStatus::No)
        }
        _ => NOT_CONNECTED,
    }
}

#[cfg(test)]
mod tests {
    use oxorb::SystemExceptionKind;

    use super::*;
    use crate::{ChannelOptions, Limits};

    #[test]
    fn an_event_beyond_a_limit_is_told_from_a_connection_that_ended() {
        let push = |limits: Limits, over: bool| {
            let channel = EventChannel::new(ChannelOptions { limits, ..ChannelOptions::default() });
            let source = ComponentEvents::new(&channel, 1).open("gps.position");
            if over {
                channel.destroy();
            }
            let pushed = source.unwrap().push(Any::new("north".to_owned()));
            pushed.map_err(|exception| (exception.kind, exception.minor))
        };
        let limit = SystemExceptionKind::ImpLimit;
        let limit = Err((limit, minor::imp_limit::EVENT_PUSH));
        let few = Limits { events: 0, ..Limits::default() };
        assert_eq!(push(Limits::default(), false), Ok(()));
        assert_eq!(push(few, false), limit);
        let large = not_pushed(PushError::Octets(1));
        assert_eq!(Err((large.kind, large.minor)), limit);
        let ended = Err((NOT_CONNECTED.kind, NOT_CONNECTED.minor));
        assert_eq!(push(Limits::default(), true), ended);
    }
}
