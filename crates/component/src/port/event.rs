//! Event ports: emitters, publishers and sinks.

use std::sync::Arc;

use oxorb_cdr::{Any, Typed, Value, ValueLink, Valuetype};
use oxorb_core::{Interface, Servant};
use oxorb_object::{CompletionStatus, SystemException, minor};

use super::carrier::Way;
use super::rate::Gate;
use super::table::{Refusal, Table};
use crate::event_consumer_base::PushEventError;
use crate::{
    AlreadyConnected, BadEventType, Cookie, EventBase, ExceededConnectionLimit, InvalidConnection,
    NoConnection,
};

/// An event type with its consumer interface. The IDL compiler implements this trait for each `eventtype`.
pub trait EventType: Valuetype + Typed + Sized {
    /// Reference to a consumer: `TickConsumerRef`.
    type Consumer: Interface;

    /// Calls `push_Tick`.
    ///
    /// # Errors
    /// Exceptions of the call.
    fn push(consumer: &Self::Consumer, event: &ValueLink<Self>) -> Result<(), SystemException>;

    /// Returns a servant of the consumer interface around a function.
    fn consumer(sink: Sink<Self>) -> Arc<dyn Servant>;
}

/// Function behind an event sink.
pub struct Sink<E: EventType>(Box<Function<E>>);

type Function<E> = dyn Fn(&Value<E>) -> Result<(), SystemException> + Send + Sync;

impl<E: EventType> Sink<E> {
    /// Creates a sink that passes events to `function`.
    pub fn new(
        function: impl Fn(&Value<E>) -> Result<(), SystemException> + Send + Sync + 'static,
    ) -> Self {
        Sink(Box::new(function))
    }

    /// Passes on the event of a typed push.
    ///
    /// # Errors
    /// BAD_PARAM for null; exceptions of the executor.
    pub fn push(&self, event: &ValueLink<E>) -> Result<(), SystemException> {
        match event.get() {
            Some(event) => (self.0)(&event),
            None => {
                Err(SystemException::bad_param(minor::bad_param::NULL_EVENT, CompletionStatus::No))
            }
        }
    }

    /// Passes on the event of a push that is typed for a base of the event type.
    ///
    /// # Errors
    /// BAD_PARAM for null, and for an event of another type; exceptions of the executor.
    pub fn push_base<B: Valuetype>(&self, event: &ValueLink<B>) -> Result<(), SystemException> {
        let event = event.get().and_then(|event| event.downcast::<E>());
        self.push(&event.into())
    }

    /// Passes on the event of `push_event`.
    ///
    /// # Errors
    /// BadEventType for null, and for an event of another type; exceptions of the executor.
    pub fn push_event(&self, event: &ValueLink<EventBase>) -> Result<(), PushEventError> {
        let event = event.get().and_then(|event| event.downcast::<E>());
        let expected_event_type = E::INFO.id.to_owned();
        let event = event.ok_or(BadEventType { expected_event_type })?;
        Ok((self.0)(&event)?)
    }
}

/// Counters of one event's deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pushed {
    /// Number of consumers that accepted the event. With an [`EventCarrier`](crate::EventCarrier): number of consumers
    /// for which the carrier accepted the event.
    pub delivered: usize,
    /// Number of consumers that did not accept the event: the call failed, or exceeded the container's `push_timeout`;
    /// the carrier refused the event; or the event exceeded a rate that the container
    /// [enforces](crate::Container::limit_ports).
    pub failed: usize,
}

/// An event source for one consumer: `emits E name`. Clones share the port.
pub struct Emitter<E: EventType>(pub(crate) Source<E>);

/// An event source for several consumers: `publishes E name`. Clones share the port.
pub struct Publisher<E: EventType>(pub(crate) Source<E>);

/// Common state of emitters and publishers.
pub(crate) struct Source<E: EventType> {
    pub(crate) table: Arc<Table<E::Consumer>>,
    /// Number of consecutive failures after which a consumer is disconnected.
    pub(crate) most_failures: u32,
    /// Carrier of the events; `None` if the publishing thread pushes them.
    pub(crate) way: Option<Arc<Way>>,
    /// Enforcement of the source's rate; `None` if the rate is not limited.
    pub(crate) gate: Option<Arc<Gate>>,
}

impl<E: EventType> Source<E> {
    fn push(&self, event: &ValueLink<E>) -> Pushed {
        if self.gate.as_ref().is_some_and(|gate| !gate.admits()) {
            return Pushed { delivered: 0, failed: self.table.load().len() };
        }
        if let Some(way) = &self.way {
            return self.hand_over(way, event);
        }
        let mut pushed = Pushed::default();
        for connection in self.table.load().iter() {
            let result = E::push(&connection.reference, event);
            match &result {
                Ok(()) => pushed.delivered += 1,
                Err(_) => pushed.failed += 1,
            }
            (self.table).note_push(connection, &result, self.most_failures);
        }
        pushed
    }

    fn hand_over(&self, way: &Way, event: &ValueLink<E>) -> Pushed {
        let consumers = self.table.load().len();
        let is_carried = consumers > 0 && way.push(Any::new(event.clone()));
        Pushed {
            delivered: if is_carried { consumers } else { 0 },
            failed: if is_carried { 0 } else { consumers },
        }
    }

    fn add(&self, consumer: Option<&E::Consumer>) -> Result<ValueLink<Cookie>, Refusal> {
        let consumer = consumer.ok_or(Refusal::Invalid)?;
        self.table.add(consumer.clone())
    }
}

impl<E: EventType> Emitter<E> {
    /// Pushes an event to the consumer, if one is connected. Waits for at most the container's `push_timeout`.
    pub fn push(&self, event: &ValueLink<E>) -> Pushed {
        self.0.push(event)
    }

    /// Connects the consumer.
    ///
    /// # Errors
    /// AlreadyConnected; BAD_PARAM for a nil reference.
    pub fn connect<X>(&self, consumer: Option<&E::Consumer>) -> Result<(), X>
    where
        X: From<AlreadyConnected> + From<SystemException>,
    {
        match self.0.add(consumer) {
            Ok(_) => Ok(()),
            Err(Refusal::System(exception)) => Err(exception.into()),
            Err(Refusal::Invalid) => Err(NIL_CONSUMER.into()),
            Err(_) => Err(AlreadyConnected {}.into()),
        }
    }

    /// Ends the connection and returns the consumer.
    ///
    /// # Errors
    /// NoConnection.
    pub fn disconnect<X: From<NoConnection>>(&self) -> Result<Option<E::Consumer>, X> {
        self.0.table.take().map(Some).ok_or(NoConnection {}.into())
    }
}

impl<E: EventType> Publisher<E> {
    /// Pushes an event to each consumer, in the order of subscription. Waits for each consumer for at most the
    /// container's `push_timeout`; a consumer that fails `push_failures` consecutive times, or no longer exists, is
    /// unsubscribed. A component that is not active refuses the event and stays subscribed.
    pub fn push(&self, event: &ValueLink<E>) -> Pushed {
        self.0.push(event)
    }

    /// Subscribes a consumer.
    ///
    /// # Errors
    /// ExceededConnectionLimit above the container's `max_connections`; BAD_PARAM for a nil reference.
    pub fn subscribe<X>(&self, consumer: Option<&E::Consumer>) -> Result<ValueLink<Cookie>, X>
    where
        X: From<ExceededConnectionLimit> + From<SystemException>,
    {
        match self.0.add(consumer) {
            Ok(cookie) => Ok(cookie),
            Err(Refusal::System(exception)) => Err(exception.into()),
            Err(Refusal::Invalid) => Err(NIL_CONSUMER.into()),
            Err(_) => Err(ExceededConnectionLimit {}.into()),
        }
    }

    /// Ends the subscription with this cookie and returns the consumer.
    ///
    /// # Errors
    /// InvalidConnection for a cookie without a subscription of this port.
    pub fn unsubscribe<X: From<InvalidConnection>>(
        &self,
        cookie: &ValueLink<Cookie>,
    ) -> Result<Option<E::Consumer>, X> {
        let gone = self.0.table.remove(cookie);
        gone.map(Some).ok_or(InvalidConnection {}.into())
    }
}

const NIL_CONSUMER: SystemException =
    SystemException::bad_param(minor::bad_param::NIL_CONSUMER, CompletionStatus::No);
