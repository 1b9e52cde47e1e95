//! Connections of local suppliers and consumers.

use std::fmt;
use std::sync::Arc;

use super::proxies::{ConsumerProxy, SupplierProxy};
use super::refusal::PushError;
use crate::rtec_event_comm::Event;

/// A consumer's connection. Dropping it disconnects.
pub struct ConsumerConnection {
    proxy: Arc<ConsumerProxy>,
}

/// A supplier's connection, through which it pushes events. Dropping it disconnects.
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

    /// Suspends delivery: further matching events are counted and dropped.
    pub fn suspend(&self) {
        self.proxy.suspend(true);
    }

    /// Resumes delivery.
    pub fn resume(&self) {
        self.proxy.suspend(false);
    }

    /// Reports whether the connection still exists: it was neither ended by the consumer nor released by the channel.
    pub fn is_connected(&self) -> bool {
        self.proxy.is_connected()
    }
}

impl Drop for ConsumerConnection {
    fn drop(&mut self) {
        // The connection may have ended before, or never begun.
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
    /// Allocates nothing for local consumers after the first call since the last change of consumers; takes no lock
    /// that another supplier takes.
    ///
    /// # Errors
    /// [`PushError`]; the events are counted as refused.
    pub fn push(&self, events: &[Event]) -> Result<(), PushError> {
        self.proxy.push(events)
    }

    /// Excludes one consumer from the events of this supplier, from the next push on, so that a gateway that is both
    /// supplier and consumer does not receive its own events. A later call replaces the excluded consumer.
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
