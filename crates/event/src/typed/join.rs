//! Channels of this process and elsewhere, alike for publishers and subscribers.

use std::fmt;
use std::sync::Arc;

use oxorb::SystemException;

use super::names::{NameCollision, Names};
use super::publisher::PublishError;
use crate::rtec_event_channel_admin::{ConsumerQos, Observer, SupplierQos};
use crate::rtec_event_comm::{Event, PushConsumer};
use crate::{ConnectError, ConsumerConnection, EventChannel, PushError, SupplierConnection};

/// A channel that publishers and subscribers may join: [`EventChannel`] in this process, `RemoteChannel` elsewhere.
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

    /// Appends an observer: it learns what consumers ask for and suppliers publish that are no gateways, at once and after each
    /// change.
    ///
    /// # Errors
    /// [`JoinError`].
    fn join_observer(&self, observer: Arc<dyn Observer>)
    -> Result<Box<dyn ObserverEnd>, JoinError>;

    /// Returns the names that this process uses with the channel.
    fn names(&self) -> &Names;
}

/// A consumer's connection; dropping it disconnects.
pub trait ConsumerEnd: Send + Sync {
    /// Holds back events, or lets them through again.
    ///
    /// # Errors
    /// The channel cannot be reached.
    fn suspend(&self, suspended: bool) -> Result<(), SystemException>;

    /// Whether the connection still is. Asks a channel elsewhere: one call.
    fn is_connected(&self) -> bool;
}

/// A supplier's connection; dropping it disconnects.
pub trait SupplierEnd: Send + Sync {
    /// Gives an event to the channel.
    ///
    /// # Errors
    /// [`PushError`] of a channel in this process; the exception of one elsewhere.
    fn push(&self, event: &Event) -> Result<(), PublishError>;

    /// Whether the connection still is. Asks a channel elsewhere: one call.
    fn is_connected(&self) -> bool;
}

/// An observer's place at a channel; dropping it takes the observer away.
pub trait ObserverEnd: Send + Sync {
    /// Whether the channel still knows the observer. Asks a channel elsewhere: one call.
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

/// Why a publisher or subscriber could not join a channel.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// The channel refused.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Two names have the same number.
    #[error(transparent)]
    Name(#[from] NameCollision),
    /// A channel elsewhere refused, or could not be reached: what was tried, and why it failed.
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
