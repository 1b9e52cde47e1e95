//! Operations of a supplier admin.

use std::borrow::Cow;

use oxorb::Interface as _;

use super::SupplierAdmin;
use crate::cos_event_channel_admin::{
    ProxyPullConsumerRef, ProxyPushConsumerRef, SupplierAdmin as EventSupplierAdmin,
};
use crate::cos_notification::EventType;
use crate::cos_notify_channel_admin::supplier_admin::{
    GetProxyConsumerError, ObtainNotificationPullConsumerError, ObtainNotificationPushConsumerError,
};
use crate::cos_notify_channel_admin::{
    AdminId, AdminLimitExceeded, ClientType, EventChannelRef, InterFilterGroupOperator,
    ProxyConsumerRef, ProxyId, ProxyNotFound, SupplierAdmin as NotifySupplierAdmin,
};
use crate::cos_notify_comm::NotifyPublish;
use crate::cos_notify_comm::notify_publish::OfferChangeError;
use crate::proxy::{Form, ProxyConsumer, Style, farewell};
use crate::quality::Owner as _;
use crate::side::Side;

impl SupplierAdmin {
    fn ids(&self, style: Style) -> Cow<'_, [i32]> {
        let proxies = self.all();
        let wanted = proxies.iter().filter(|one| one.style == style);
        wanted.map(|one| one.id).collect()
    }

    fn obtain<E>(
        &self,
        client: ClientType,
        style: Style,
    ) -> Result<(Option<ProxyConsumerRef>, ProxyId), E>
    where
        E: From<AdminLimitExceeded> + From<oxorb::SystemException>,
    {
        self.channel()?.check_peers(Side::Suppliers)?;
        let proxy = ProxyConsumer::create(&self.me()?, Form::of(client), style)?;
        let reference = ProxyConsumerRef::from_ref(proxy.reference()?);
        Ok((Some(reference), proxy.id))
    }
}

impl EventSupplierAdmin for SupplierAdmin {
    fn obtain_push_consumer(&self) -> oxorb::Result<Option<ProxyPushConsumerRef>> {
        let proxy = ProxyConsumer::create(&self.me()?, Form::Event, Style::Push)?;
        Ok(Some(ProxyPushConsumerRef::from_ref(proxy.reference()?)))
    }

    fn obtain_pull_consumer(&self) -> oxorb::Result<Option<ProxyPullConsumerRef>> {
        let proxy = ProxyConsumer::create(&self.me()?, Form::Event, Style::Pull)?;
        Ok(Some(ProxyPullConsumerRef::from_ref(proxy.reference()?)))
    }
}

impl NotifyPublish for SupplierAdmin {
    fn offer_change(
        &self,
        added: &[EventType],
        removed: &[EventType],
    ) -> Result<(), OfferChangeError> {
        let most = self.service()?.limits().event_types;
        self.types.change(added, removed, most)?;
        for proxy in self.all() {
            proxy.change_types(added, removed)?;
        }
        Ok(self.changed()?)
    }
}

impl NotifySupplierAdmin for SupplierAdmin {
    fn my_id(&self) -> oxorb::Result<AdminId> {
        Ok(self.id)
    }

    fn my_channel(&self) -> oxorb::Result<Option<EventChannelRef>> {
        Ok(Some(self.channel()?.reference()?))
    }

    fn my_operator(&self) -> oxorb::Result<InterFilterGroupOperator> {
        Ok(self.operator)
    }

    fn pull_consumers(&self) -> oxorb::Result<Cow<'_, [i32]>> {
        Ok(self.ids(Style::Pull))
    }

    fn push_consumers(&self) -> oxorb::Result<Cow<'_, [i32]>> {
        Ok(self.ids(Style::Push))
    }

    fn get_proxy_consumer(
        &self,
        proxy_id: ProxyId,
    ) -> Result<Option<ProxyConsumerRef>, GetProxyConsumerError> {
        let proxy = self.proxy(proxy_id).ok_or(ProxyNotFound {})?;
        Ok(Some(ProxyConsumerRef::from_ref(proxy.reference()?)))
    }

    fn obtain_notification_pull_consumer(
        &self,
        ctype: ClientType,
    ) -> Result<(Option<ProxyConsumerRef>, ProxyId), ObtainNotificationPullConsumerError> {
        self.obtain(ctype, Style::Pull)
    }

    fn obtain_notification_push_consumer(
        &self,
        ctype: ClientType,
    ) -> Result<(Option<ProxyConsumerRef>, ProxyId), ObtainNotificationPushConsumerError> {
        self.obtain(ctype, Style::Push)
    }

    fn destroy(&self) -> oxorb::Result<()> {
        let service = self.service()?;
        farewell::bid_all(&service, self.end());
        service.flush()
    }
}
