//! The objects to which consumers and suppliers connect.

use std::sync::Arc;

use super::{NIL, NOT_CONNECTED, refused};
use crate::channel::{ConnectError, Consumer, ConsumerProxy, Supplier, SupplierProxy};
use crate::rtec_event_channel_admin::proxy_push_consumer::ConnectPushSupplierError;
use crate::rtec_event_channel_admin::proxy_push_supplier::ConnectPushConsumerError;
use crate::rtec_event_channel_admin::{
    AlreadyConnected, ConsumerQos, ProxyPushConsumer, ProxyPushSupplier, SupplierQos, TypeError,
};
use crate::rtec_event_comm::{Event, PushConsumer, PushConsumerRef, PushSupplier, PushSupplierRef};

/// Servant of a consumer's proxy.
pub(super) struct ForConsumer(pub(super) Arc<ConsumerProxy>);

/// Servant of a supplier's proxy.
pub(super) struct ForSupplier(pub(super) Arc<SupplierProxy>);

impl ProxyPushSupplier for ForConsumer {
    fn connect_push_consumer(
        &self,
        consumer: Option<&PushConsumerRef>,
        qos: &ConsumerQos,
    ) -> Result<(), ConnectPushConsumerError> {
        let consumer = Consumer::Object(consumer.ok_or(NIL)?.clone());
        let connected = self.0.connect(consumer, qos, None);
        connected.map_err(|why| match why {
            ConnectError::AlreadyConnected => AlreadyConnected {}.into(),
            ConnectError::Filter(_) => TypeError {}.into(),
            other => refused(other).into(),
        })
    }

    fn suspend_connection(&self) -> oxorb::Result<()> {
        self.0.suspend(true);
        Ok(())
    }

    fn resume_connection(&self) -> oxorb::Result<()> {
        self.0.suspend(false);
        Ok(())
    }
}

impl PushSupplier for ForConsumer {
    fn disconnect_push_supplier(&self) -> oxorb::Result<()> {
        self.0.disconnect().map_err(|_| NOT_CONNECTED)
    }
}

impl ProxyPushConsumer for ForSupplier {
    fn connect_push_supplier(
        &self,
        supplier: Option<&PushSupplierRef>,
        qos: &SupplierQos,
    ) -> Result<(), ConnectPushSupplierError> {
        let supplier = supplier.cloned().map_or(Supplier::Nil, Supplier::Object);
        self.0.connect(supplier, qos).map_err(|why| match why {
            ConnectError::AlreadyConnected => AlreadyConnected {}.into(),
            other => refused(other).into(),
        })
    }
}

impl PushConsumer for ForSupplier {
    /// Pushes the events. Errors are ignored: a oneway has no reply, so refused events are only counted.
    fn push(&self, events: &[Event]) {
        let _ = self.0.push(events);
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        self.0.disconnect();
        Ok(())
    }
}
