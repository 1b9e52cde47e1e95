//! Connections of suppliers and consumers of the channel's own process.

use std::fmt;
use std::sync::Arc;

use super::proxies::{ConsumerProxy, SupplierProxy};
use super::refusal::PushError;
use crate::rtec_event_comm::Event;

/// A consumer's connection. Dropping it disconnects.
pub struct ConsumerConnection {
    proxy: Arc<ConsumerProxy>,
}

/// A supplier's connection: where events go in. Dropping it disconnects.
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

    /// Returns the number of the connection, as statistics and notices have it.
    pub fn number(&self) -> u64 {
        self.proxy.number()
    }

    /// Holds back events from now on: those that match are counted and not delivered.
    pub fn suspend(&self) {
        self.proxy.suspend(true);
    }

    /// Lets events through again.
    pub fn resume(&self) {
        self.proxy.suspend(false);
    }

    /// Whether the connection still is: neither disconnected nor let go.
    pub fn is_connected(&self) -> bool {
        self.proxy.is_connected()
    }
}

impl Drop for ConsumerConnection {
    fn drop(&mut self) {
        // It may have ended before, or never begun.
        self.proxy.leave();
    }
}

impl SupplierConnection {
    pub(crate) fn new(proxy: Arc<SupplierProxy>) -> SupplierConnection {
        SupplierConnection { proxy }
    }

    /// Returns the number of the connection, as statistics and notices have it.
    pub fn number(&self) -> u64 {
        self.proxy.number()
    }

    /// Gives events to all consumers whose filters let them pass. Each is filtered on its own.
    ///
    /// Allocates nothing for consumers of this process, once it was called after the last change of consumers; takes no
    /// lock that another supplier takes.
    ///
    /// # Errors
    /// [`PushError`]; the events are counted as refused.
    pub fn push(&self, events: &[Event]) -> Result<(), PushError> {
        self.proxy.push(events)
    }

    /// Keeps the events of this supplier from one consumer, from the next push on: a gateway that is both does not get back
    /// what it brought. A later call names another consumer instead.
    pub fn keep_from(&self, consumer: &ConsumerConnection) {
        self.proxy.keep_from(consumer.number());
    }

    /// Whether the connection still is.
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
