use std::sync::Arc;

use oxorb::servant::ServedBy as _;
use oxorb::{Interface as _, Servant};

use super::intake::Intake;
use super::proxies::{ForConsumer, ForSupplier};
use super::{Objects, refused};
use crate::channel::Maker;
use crate::rtec_event_channel_admin::{
    ConsumerAdmin, ConsumerAdminRef, ProxyPushConsumerRef, ProxyPushSupplierRef, SupplierAdmin,
    SupplierAdminRef,
};

/// Servant that creates proxies for consumers.
pub(super) struct Consumers(pub(super) Objects);

/// Servant that creates proxies for suppliers.
pub(super) struct Suppliers(pub(super) Objects);

impl Consumers {
    pub(super) fn servant(self) -> Arc<dyn Servant> {
        ConsumerAdminRef::servant(self)
    }
}

impl Suppliers {
    pub(super) fn servant(self) -> Arc<dyn Servant> {
        SupplierAdminRef::servant(self)
    }
}

impl ConsumerAdmin for Consumers {
    fn obtain_push_supplier(&self) -> oxorb::Result<Option<ProxyPushSupplierRef>> {
        let Consumers(objects) = self;
        let proxy = objects.core.consumer_proxy(Maker::current()).map_err(refused)?;
        let servant = ProxyPushSupplierRef::servant(ForConsumer(Arc::clone(&proxy)));
        let activated = objects.activate(servant);
        let reference = activated.inspect_err(|_| proxy.leave())?;
        let reference = ProxyPushSupplierRef::from_ref(reference);
        let (poa, object) = (objects.proxies.clone(), reference.clone());
        // Ignore the error: the POA may already be destroyed.
        proxy.at_end(move || drop(poa.deactivate(&object)));
        Ok(Some(reference))
    }
}

impl SupplierAdmin for Suppliers {
    fn obtain_push_consumer(&self) -> oxorb::Result<Option<ProxyPushConsumerRef>> {
        let Suppliers(objects) = self;
        let proxy = objects.core.supplier_proxy(Maker::current()).map_err(refused)?;
        let skeleton = ProxyPushConsumerRef::servant(ForSupplier(Arc::clone(&proxy)));
        let servant = Arc::new(Intake::new(Arc::clone(&proxy), skeleton));
        let reference = ProxyPushConsumerRef::from_ref(objects.activate(servant)?);
        let (poa, object) = (objects.proxies.clone(), reference.clone());
        proxy.at_end(move || drop(poa.deactivate(&object)));
        Ok(Some(reference))
    }
}
