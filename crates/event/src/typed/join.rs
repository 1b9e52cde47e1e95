//! Local and remote channels behind one trait, for publishers and subscribers.

use std::fmt;
use std::sync::Arc;

use oxorb::SystemException;

use super::names::{NameCollision, Names};
use super::publisher::PublishError;
use crate::rtec_event_channel_admin::{ConsumerQos, Observer, SupplierQos};
use crate::rtec_event_comm::{Event, PushConsumer};
use crate::{ConnectError, ConsumerConnection, EventChannel, PushError, SupplierConnection};

/// A channel that publishers and subscribers may join: [`EventChannel`] in this process, `RemoteChannel` in another.
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

    /// Adds an observer: it is notified, at once and after each change, of the subscriptions of consumers and the
    /// publications of suppliers, without those of gateways.
    ///
    /// # Errors
    /// [`JoinError`].
    fn join_observer(&self, observer: Arc<dyn Observer>)
    -> Result<Box<dyn ObserverEnd>, JoinError>;

    /// Returns the names that this process uses for the channel.
    fn names(&self) -> &Names;
}

/// A consumer's connection; dropping it disconnects.
pub trait ConsumerEnd: Send + Sync {
    /// Suspends or resumes delivery.
    ///
    /// # Errors
    /// The channel cannot be reached.
    fn suspend(&self, suspended: bool) -> Result<(), SystemException>;

    /// Reports whether the connection still exists. Costs one call for a remote channel.
    fn is_connected(&self) -> bool;
}

/// A supplier's connection; dropping it disconnects.
pub trait SupplierEnd: Send + Sync {
    /// Pushes an event to the channel.
    ///
    /// # Errors
    /// [`PushError`] of a local channel; the exception of a remote one.
    fn push(&self, event: &Event) -> Result<(), PublishError>;

    /// Reports whether the connection still exists. Costs one call for a remote channel.
    fn is_connected(&self) -> bool;
}

/// Registration of an observer at a channel; dropping it removes the observer.
pub trait ObserverEnd: Send + Sync {
    /// Reports whether the channel still knows the observer. Costs one call for a remote channel.
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

/// Reason for which a publisher or subscriber could not join a channel.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The channel refused.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Two names have the same number.
    #[error(transparent)]
    Name(#[from] NameCollision),
    /// A remote channel refused, or could not be reached.
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
