//! A trait for local and remote channels, through which publishers and subscribers use them.

use std::fmt;
use std::sync::Arc;

use oxorb::SystemException;

use super::names::{NameCollision, Names};
use super::publisher::PublishError;
use crate::rtec_event_channel_admin::{ConsumerQos, Observer, SupplierQos};
use crate::rtec_event_comm::{Event, PushConsumer};
use crate::{ConnectError, ConsumerConnection, EventChannel, PushError, SupplierConnection};

/// A channel that publishers and subscribers can join: an [`EventChannel`] in this process, or a `RemoteChannel`.
pub trait Channel {
    /// Connects a consumer.
    ///
    /// # Errors
    /// [`JoinError`].
    fn join_consumer(
        &self,
        consumer: Arc<dyn PushConsumer>,
        qos: &ConsumerQos,
    ) -> Result<Box<dyn ConsumerEnd>, JoinError>;

    /// Connects a supplier.
    ///
    /// # Errors
    /// [`JoinError`].
    fn join_supplier(&self, qos: &SupplierQos) -> Result<Box<dyn SupplierEnd>, JoinError>;

    /// Adds an observer. It is notified immediately, and after each change, about the subscriptions of consumers and
    /// the publications of suppliers. Those of gateways are not included.
    ///
    /// # Errors
    /// [`JoinError`].
    fn join_observer(&self, observer: Arc<dyn Observer>)
    -> Result<Box<dyn ObserverEnd>, JoinError>;

    /// Returns the names that this process uses with the channel.
    fn names(&self) -> &Names;
}

/// The connection of a consumer. Dropping it disconnects the consumer.
pub trait ConsumerEnd: Send + Sync {
    /// Suspends or resumes delivery.
    ///
    /// # Errors
    /// The channel cannot be reached.
    fn suspend(&self, suspended: bool) -> Result<(), SystemException>;

    /// Reports whether the connection still exists. Costs one call for a remote channel.
    fn is_connected(&self) -> bool;
}

/// The connection of a supplier. Dropping it disconnects the supplier.
pub trait SupplierEnd: Send + Sync {
    /// Pushes an event to the channel.
    ///
    /// # Errors
    /// [`PushError`] for a local channel; the exception of the call for a remote channel.
    fn push(&self, event: &Event) -> Result<(), PublishError>;

    /// Reports whether the connection still exists. Costs one call for a remote channel.
    fn is_connected(&self) -> bool;
}

/// The registration of an observer with a channel. Dropping it removes the observer.
pub trait ObserverEnd: Send + Sync {
    /// Reports whether the observer is still registered with the channel. Costs one call for a remote channel.
    fn is_connected(&self) -> bool;
}

impl Channel for EventChannel {
    fn join_consumer(
        &self,
        consumer: Arc<dyn PushConsumer>,
        qos: &ConsumerQos,
    ) -> Result<Box<dyn ConsumerEnd>, JoinError> {
        Ok(Box::new(self.connect_consumer(consumer, qos)?))
    }

    fn join_supplier(&self, qos: &SupplierQos) -> Result<Box<dyn SupplierEnd>, JoinError> {
        Ok(Box::new(self.connect_supplier(None, qos)?))
    }

    fn join_observer(
        &self,
        observer: Arc<dyn Observer>,
    ) -> Result<Box<dyn ObserverEnd>, JoinError> {
        let handle = self.append_observer(observer)?;
        Ok(Box::new(LocalObserver { channel: self.clone(), handle }))
    }

    fn names(&self) -> &Names {
        self.core().names()
    }
}

struct LocalObserver {
    channel: EventChannel,
    handle: u32,
}

impl ObserverEnd for LocalObserver {
    fn is_connected(&self) -> bool {
        !self.channel.core().is_destroyed()
    }
}

impl Drop for LocalObserver {
    fn drop(&mut self) {
        self.channel.remove_observer(self.handle);
    }
}

impl ConsumerEnd for ConsumerConnection {
    fn suspend(&self, suspended: bool) -> Result<(), SystemException> {
        match suspended {
            true => ConsumerConnection::suspend(self),
            false => self.resume(),
        }
        Ok(())
    }

    fn is_connected(&self) -> bool {
        ConsumerConnection::is_connected(self)
    }
}

impl SupplierEnd for SupplierConnection {
    fn push(&self, event: &Event) -> Result<(), PublishError> {
        let pushed: Result<(), PushError> =
            SupplierConnection::push(self, std::slice::from_ref(event));
        Ok(pushed?)
    }

    fn is_connected(&self) -> bool {
        SupplierConnection::is_connected(self)
    }
}

/// Reason why a publisher or subscriber could not join a channel.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The local channel refused the peer.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Two names are mapped to the same number.
    #[error(transparent)]
    Name(#[from] NameCollision),
    /// A remote channel refused the peer, or could not be reached.
    #[error("the event channel: {call}: {why}")]
    Remote {
        /// Call that failed.
        call: &'static str,
        /// Exception that the call raised.
        why: String,
    },
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
