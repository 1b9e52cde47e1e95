//! Connections of local suppliers and consumers.

use std::fmt;
use std::sync::Arc;

use super::proxies::{ConsumerProxy, SupplierProxy};
use super::refusal::PushError;
use crate::rtec_event_comm::Event;

/// The connection of a consumer. Dropping it disconnects the consumer.
pub struct ConsumerConnection {
    proxy: Arc<ConsumerProxy>,
}

/// The connection of a supplier, through which the supplier pushes events. Dropping it disconnects the supplier.
pub struct SupplierConnection {
    proxy: Arc<SupplierProxy>,
}

impl ConsumerConnection {
    pub(crate) fn new(proxy: Arc<ConsumerProxy>) -> ConsumerConnection {
        ConsumerConnection { proxy }
    }

    pub(crate) fn proxy(&self) -> &ConsumerProxy {
        &self.proxy
    }

    /// Returns the number of the connection, as used in statistics and notices.
    pub fn number(&self) -> u64 {
        self.proxy.number()
    }

    /// Suspends delivery. Events that match the filter are then counted and dropped.
    pub fn suspend(&self) {
        self.proxy.suspend(true);
    }

    /// Resumes delivery.
    pub fn resume(&self) {
        self.proxy.suspend(false);
    }

    /// Reports whether the connection still exists, that is, neither the consumer nor the channel has ended it.
    pub fn is_connected(&self) -> bool {
        self.proxy.is_connected()
    }
}

impl Drop for ConsumerConnection {
    fn drop(&mut self) {
        // This does nothing if the connection has already ended.
        self.proxy.leave();
    }
}

impl SupplierConnection {
    pub(crate) fn new(proxy: Arc<SupplierProxy>) -> SupplierConnection {
        SupplierConnection { proxy }
    }

    /// Returns the number of the connection, as used in statistics and notices.
    pub fn number(&self) -> u64 {
        self.proxy.number()
    }

    /// Pushes events to all consumers whose filters accept them. Each event is filtered separately.
    ///
    /// For local consumers, a push allocates no memory after the first push that follows a change of the consumers. It
    /// takes no lock that another supplier takes.
    ///
    /// # Errors
    /// [`PushError`]. Events that are not accepted are counted as refused, unless the connection has ended.
    pub fn push(&self, events: &[Event]) -> Result<(), PushError> {
        self.proxy.push(events)
    }

    /// Excludes one consumer from the events of this supplier, starting with the next push. A gateway that is both a
    /// supplier and a consumer thus does not receive its own events. A later call replaces the excluded consumer.
    pub fn keep_from(&self, consumer: &ConsumerConnection) {
        self.proxy.keep_from(consumer.number());
    }

    /// Reports whether the connection still exists.
    pub fn is_connected(&self) -> bool {
        self.proxy.connected().is_some()
    }
}

impl Drop for SupplierConnection {
    fn drop(&mut self) {
        self.proxy.disconnect();
    }
}

impl fmt::Debug for ConsumerConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConsumerConnection({})", self.number())
    }
}

impl fmt::Debug for SupplierConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SupplierConnection({})", self.number())
    }
}
