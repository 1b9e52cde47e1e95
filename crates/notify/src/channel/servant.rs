//! Operations of a channel.

use std::borrow::Cow;

use oxorb::Interface as _;
use oxorb::servant::DelegatesTo;

use super::Channel;
use crate::cos_event_channel_admin::{
    ConsumerAdminRef as EventConsumerAdminRef, EventChannel as EventChannelOfEvents,
    SupplierAdminRef as EventSupplierAdminRef,
};
use crate::cos_notification::admin_properties_admin::SetAdminError;
use crate::cos_notification::{AdminPropertiesAdmin, Property, QoSAdmin, UnsupportedAdmin};
use crate::cos_notify_channel_admin::event_channel::{
    GetConsumeradminError, GetSupplieradminError,
};
use crate::cos_notify_channel_admin::{
    AdminId, AdminNotFound, ConsumerAdminRef, EventChannel, EventChannelFactoryRef,
    InterFilterGroupOperator, SupplierAdminRef,
};
use crate::cos_notify_filter::FilterFactoryRef;
use crate::proxy::farewell;
use crate::quality::NotSet;

impl DelegatesTo<dyn QoSAdmin> for Channel {
    fn delegate(&self) -> &dyn QoSAdmin {
        &self.quality
    }
}

impl AdminPropertiesAdmin for Channel {
    fn get_admin(&self) -> oxorb::Result<Vec<Property>> {
        Ok(self.administration.properties())
    }

    fn set_admin(&self, admin: &[Property]) -> Result<(), SetAdminError> {
        self.administration.set(admin).map_err(|not_set| match not_set {
            NotSet::Unsupported(admin_err) => UnsupportedAdmin { admin_err }.into(),
            NotSet::System(exception) => exception.into(),
        })
    }
}

impl EventChannelOfEvents for Channel {
    fn for_consumers(&self) -> oxorb::Result<Option<EventConsumerAdminRef>> {
        Ok(Some(self.default_consumers()?.consumer_reference()?.into()))
    }

    fn for_suppliers(&self) -> oxorb::Result<Option<EventSupplierAdminRef>> {
        Ok(Some(self.default_suppliers()?.supplier_reference()?.into()))
    }

    fn destroy(&self) -> oxorb::Result<()> {
        let service = self.service()?;
        farewell::bid_all(&service, self.end()?);
        service.flush()
    }
}

impl EventChannel for Channel {
    fn my_factory(&self) -> oxorb::Result<Option<EventChannelFactoryRef>> {
        let service = self.service()?;
        Ok(service.factory().cloned().map(EventChannelFactoryRef::from_ref))
    }

    fn default_consumer_admin(&self) -> oxorb::Result<Option<ConsumerAdminRef>> {
        Ok(Some(self.default_consumers()?.consumer_reference()?))
    }

    fn default_supplier_admin(&self) -> oxorb::Result<Option<SupplierAdminRef>> {
        Ok(Some(self.default_suppliers()?.supplier_reference()?))
    }

    fn default_filter_factory(&self) -> oxorb::Result<Option<FilterFactoryRef>> {
        Ok(self.service()?.filter_factory())
    }

    fn new_for_consumers(
        &self,
        op: InterFilterGroupOperator,
    ) -> oxorb::Result<(Option<ConsumerAdminRef>, AdminId)> {
        let admin = self.new_consumer_admin(op)?;
        Ok((Some(admin.consumer_reference()?), admin.id))
    }

    fn new_for_suppliers(
        &self,
        op: InterFilterGroupOperator,
    ) -> oxorb::Result<(Option<SupplierAdminRef>, AdminId)> {
        let admin = self.new_supplier_admin(op)?;
        Ok((Some(admin.supplier_reference()?), admin.id))
    }

    fn get_consumeradmin(
        &self,
        id: AdminId,
    ) -> Result<Option<ConsumerAdminRef>, GetConsumeradminError> {
        // Clients of TAO use the id 0 for the default admin.
        if id == 0 {
            return Ok(self.default_consumer_admin()?);
        }
        let found = self.admins.lock().consumers.get(&id).cloned();
        Ok(Some(found.ok_or(AdminNotFound {})?.consumer_reference()?))
    }

    fn get_supplieradmin(
        &self,
        id: AdminId,
    ) -> Result<Option<SupplierAdminRef>, GetSupplieradminError> {
        if id == 0 {
            return Ok(self.default_supplier_admin()?);
        }
        let found = self.admins.lock().suppliers.get(&id).cloned();
        Ok(Some(found.ok_or(AdminNotFound {})?.supplier_reference()?))
    }

    fn get_all_consumeradmins(&self) -> oxorb::Result<Cow<'_, [i32]>> {
        Ok(self.admins.lock().consumers.keys().copied().collect())
    }

    fn get_all_supplieradmins(&self) -> oxorb::Result<Cow<'_, [i32]>> {
        Ok(self.admins.lock().suppliers.keys().copied().collect())
    }
}
