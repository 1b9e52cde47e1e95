//! Publishers, which send values of one IDL type as events of one type and source.

use std::fmt;
use std::marker::PhantomData;

use oxorb::{SystemException, cdr};
use oxorb_sys::sync::Mutex;

use super::join::{Channel, JoinError, SupplierEnd};
use crate::rtec_event_comm::{Event, EventHeader};
use crate::{PushError, publishes, time};

/// A supplier of values of an IDL type. Its events have a type and a source with names.
///
/// ```
/// use oxorb_event::{ChannelOptions, EventChannel, Publisher, Subscriber};
///
/// let channel = EventChannel::new(ChannelOptions::default());
/// let levels = Subscriber::<f64>::new(&channel, "level")?;
/// let tank = Publisher::<f64>::new(&channel, "level", "tank 1")?;
/// tank.publish(&0.75)?;
/// assert_eq!(levels.try_recv().unwrap().value, 0.75);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Publisher<T> {
    end: Box<dyn SupplierEnd>,
    header: EventHeader,
    /// Event that is reused for each value.
    event: Mutex<Event>,
    of: PhantomData<fn(&T)>,
}

impl<T: cdr::Encode> Publisher<T> {
    /// Joins a channel. Type and source of the events are given by names.
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn new(
        channel: &(impl Channel + ?Sized),
        event_type: &str,
        source: &str,
    ) -> Result<Publisher<T>, JoinError> {
        let names = channel.names();
        Publisher::on(channel, names.event_type(event_type)?, names.source(source)?)
    }

    /// Joins a channel. Type and source of the events are given by numbers, as in programs for TAO.
    ///
    /// # Errors
    /// [`JoinError`].
    pub fn on(
        channel: &(impl Channel + ?Sized),
        event_type: i32,
        source: i32,
    ) -> Result<Publisher<T>, JoinError> {
        let end = channel.join_supplier(&publishes([(event_type, source)]))?;
        let header = EventHeader { r#type: event_type, source, ttl: 1, ..EventHeader::default() };
        Ok(Publisher { end, header, event: Mutex::default(), of: PhantomData })
    }

    /// Publishes a value. Encodes it once for all consumers, in a buffer that is reused.
    ///
    /// # Errors
    /// [`PublishError`].
    pub fn publish(&self, value: &T) -> Result<(), PublishError> {
        // If another thread, or a consumer called by this one, is publishing, the shared event is in use. Create
        // another one then.
        match self.event.try_lock() {
            Some(mut event) => self.send(&mut event, value),
            None => self.send(&mut Event::default(), value),
        }
    }

    fn send(&self, event: &mut Event, value: &T) -> Result<(), PublishError> {
        super::encode(value, &mut event.data.payload).map_err(PublishError::Value)?;
        event.header = EventHeader { creation_time: time::now(), ..self.header };
        self.end.push(event)
    }
}

/// Reason why a value was not published.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The value cannot be encoded, for example a string with a NUL, or a sequence that exceeds its bound.
    #[error("the value cannot be encoded: {0}")]
    Value(cdr::Error),
    /// The local channel refused the event.
    #[error(transparent)]
    Push(#[from] PushError),
    /// The remote channel could not be reached in time.
    #[error("the event channel: push: {0}")]
    System(SystemException),
}

impl fmt::Debug for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<SystemException> for PublishError {
    fn from(why: SystemException) -> Self {
        PublishError::System(why)
    }
}

impl<T> fmt::Debug for Publisher<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher")
            .field("type", &self.header.r#type)
            .field("source", &self.header.source)
            .finish_non_exhaustive()
    }
}
