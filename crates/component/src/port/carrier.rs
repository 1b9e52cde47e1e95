//! Carriers of events from sources to consumers. A carrier replaces calls by the publishing thread.

use std::any::Any as Anything;
use std::sync::{Arc, OnceLock, Weak};

use oxorb_cdr::{Any, ValueLink};
use oxorb_core::Interface;
use oxorb_object::SystemException;
use oxorb_rt::Priority;

use super::event::EventType;
use super::table::{Connection, Table};

/// Carrier of the events of a container's sources to their consumers: an event channel with its queues and threads.
pub trait EventCarrier: Send + Sync + 'static {
    /// Opens the path of one event source before its first consumer is connected; `source` is `instance.port`. If two
    /// threads connect the first consumers concurrently, both may call this function. One of the two paths is then
    /// dropped without being used.
    ///
    /// # Errors
    /// The exception that the connecting consumer receives.
    fn open(&self, source: &str) -> Result<Box<dyn CarriedSource>, SystemException>;
}

/// Path of the events of one source. Dropping it closes the path.
pub trait CarriedSource: Send + Sync {
    /// Passes an event on. `event` holds the value with the type that the port declares.
    ///
    /// # Errors
    /// An exception if the carrier cannot accept the event, which is then lost.
    fn push(&self, event: Any) -> Result<(), SystemException>;

    /// Calls `deliver` for each later event, until the returned value is dropped. `priority` is the priority that the
    /// reference of the consumer declares (`server_priority` of its priority model); `None` if it declares none. A call
    /// of `deliver` waits until the consumer has processed the event.
    ///
    /// # Errors
    /// An exception if the consumer cannot be connected.
    fn connect(
        &self,
        deliver: Deliver,
        priority: Option<Priority>,
    ) -> Result<Box<dyn Anything + Send + Sync>, SystemException>;
}

/// Function that delivers an event to a consumer.
pub type Deliver = Box<dyn Fn(&Any) + Send + Sync>;

/// Function that creates the path of a new connection.
pub(crate) type Attach<R> = Box<
    dyn Fn(&Connection<R>) -> Result<Arc<dyn Anything + Send + Sync>, SystemException>
        + Send
        + Sync,
>;

/// Path of the events of one source through the carrier, opened for the first consumer.
pub(crate) struct Way {
    carrier: Arc<dyn EventCarrier>,
    name: String,
    opened: OnceLock<Box<dyn CarriedSource>>,
}

impl Way {
    pub(crate) fn new(carrier: Arc<dyn EventCarrier>, name: String) -> Arc<Self> {
        Arc::new(Way { carrier, name, opened: OnceLock::new() })
    }

    /// Passes an event on, and returns `false` if it is lost. Before the first consumer is connected, events are
    /// discarded.
    pub(crate) fn push(&self, event: Any) -> bool {
        self.opened.get().is_none_or(|way| way.push(event).is_ok())
    }

    fn open(&self) -> Result<&dyn CarriedSource, SystemException> {
        if self.opened.get().is_none() {
            let way = self.carrier.open(&self.name)?;
            // If another thread has opened a path concurrently, `set` drops this one, which closes it.
            let _ = self.opened.set(way);
        }
        let way = self.opened.get();
        Ok(&**way.expect("opened above"))
    }

    /// Returns the function that attaches consumers to the path.
    pub(crate) fn attach<E: EventType>(
        self: &Arc<Self>,
        table: Weak<Table<E::Consumer>>,
        most_failures: u32,
    ) -> Attach<E::Consumer> {
        let way = Arc::clone(self);
        Box::new(move |connection| {
            let model = connection.reference.reference().priority_model();
            let priority = model.and_then(|model| Priority::new(model.server_priority).ok());
            let (table, connection) = (table.clone(), connection.clone());
            let deliver: Deliver = Box::new(move |any| {
                let (Some(table), Some(event)) = (table.upgrade(), event::<E>(any)) else {
                    return;
                };
                let pushed = E::push(&connection.reference, &event);
                table.note_push(&connection, &pushed, most_failures);
            });
            Ok(Arc::from(way.open()?.connect(deliver, priority)?))
        })
    }
}

/// Extracts the event from an any, which was pushed in this process or received from another one.
fn event<E: EventType>(any: &Any) -> Option<ValueLink<E>> {
    match any.downcast_ref::<ValueLink<E>>() {
        Some(event) => Some(event.clone()),
        None => any.get::<ValueLink<E>>().ok().flatten(),
    }
}
