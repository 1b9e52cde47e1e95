//! Operations of a consumer admin.

use std::borrow::Cow;

use oxorb::Interface as _;

use super::ConsumerAdmin;
use crate::cos_event_channel_admin::{
    ConsumerAdmin as EventConsumerAdmin, ProxyPullSupplierRef, ProxyPushSupplierRef,
};
use crate::cos_notification::EventType;
use crate::cos_notify_channel_admin::consumer_admin::{
    GetProxySupplierError, ObtainNotificationPullSupplierError, ObtainNotificationPushSupplierError,
};
use crate::cos_notify_channel_admin::{
    AdminId, AdminLimitExceeded, ClientType, ConsumerAdmin as NotifyConsumerAdmin, EventChannelRef,
    InterFilterGroupOperator, ProxyId, ProxyNotFound, ProxySupplierRef,
};
use crate::cos_notify_comm::NotifySubscribe;
use crate::cos_notify_comm::notify_subscribe::SubscriptionChangeError;
use crate::cos_notify_filter::MappingFilterRef;
use crate::proxy::{Form, ProxySupplier, Style, farewell};
use crate::quality::Owner as _;
use crate::side::Side;

impl ConsumerAdmin {
    fn ids(&self, style: Style) -> Cow<'_, [i32]> {
        let proxies = self.all();
        let wanted = proxies.iter().filter(|one| one.style == style);
        wanted.map(|one| one.id).collect()
    }

    fn obtain<E>(
        &self,
        client: ClientType,
        style: Style,
    ) -> Result<(Option<ProxySupplierRef>, ProxyId), E>
    where
        E: From<AdminLimitExceeded> + From<oxorb::SystemException>,
    {
        self.channel()?.check_peers(Side::Consumers)?;
        let proxy = ProxySupplier::create(&self.me()?, Form::of(client), style)?;
        let reference = ProxySupplierRef::from_ref(proxy.reference()?);
        Ok((Some(reference), proxy.id))
    }
}

impl EventConsumerAdmin for ConsumerAdmin {
    fn obtain_push_supplier(&self) -> oxorb::Result<Option<ProxyPushSupplierRef>> {
        let proxy = ProxySupplier::create(&self.me()?, Form::Event, Style::Push)?;
        Ok(Some(ProxyPushSupplierRef::from_ref(proxy.reference()?)))
    }

    fn obtain_pull_supplier(&self) -> oxorb::Result<Option<ProxyPullSupplierRef>> {
        let proxy = ProxySupplier::create(&self.me()?, Form::Event, Style::Pull)?;
        Ok(Some(ProxyPullSupplierRef::from_ref(proxy.reference()?)))
    }
}

impl NotifySubscribe for ConsumerAdmin {
    fn subscription_change(
        &self,
        added: &[EventType],
        removed: &[EventType],
    ) -> Result<(), SubscriptionChangeError> {
        let most = self.service()?.limits().event_types;
        self.types.change(added, removed, most)?;
        for proxy in self.all() {
            proxy.change_types(added, removed)?;
        }
        Ok(self.changed()?)
    }
}

impl NotifyConsumerAdmin for ConsumerAdmin {
    fn my_id(&self) -> oxorb::Result<AdminId> {
        Ok(self.id)
    }

    fn my_channel(&self) -> oxorb::Result<Option<EventChannelRef>> {
        Ok(Some(self.channel()?.reference()?))
    }

    fn my_operator(&self) -> oxorb::Result<InterFilterGroupOperator> {
        Ok(self.operator)
    }

    fn priority_filter(&self) -> oxorb::Result<Option<MappingFilterRef>> {
        Ok(self.priority_filter.get())
    }

    fn set_priority_filter(&self, value: Option<&MappingFilterRef>) -> oxorb::Result<()> {
        self.priority_filter.set(value, &*self.service()?);
        self.changed()
    }

    fn lifetime_filter(&self) -> oxorb::Result<Option<MappingFilterRef>> {
        Ok(self.lifetime_filter.get())
    }

    fn set_lifetime_filter(&self, value: Option<&MappingFilterRef>) -> oxorb::Result<()> {
        self.lifetime_filter.set(value, &*self.service()?);
        self.changed()
    }

    fn pull_suppliers(&self) -> oxorb::Result<Cow<'_, [i32]>> {
        Ok(self.ids(Style::Pull))
    }

    fn push_suppliers(&self) -> oxorb::Result<Cow<'_, [i32]>> {
        Ok(self.ids(Style::Push))
    }

    fn get_proxy_supplier(
        &self,
        proxy_id: ProxyId,
    ) -> Result<Option<ProxySupplierRef>, GetProxySupplierError> {
        let proxy = self.proxy(proxy_id).ok_or(ProxyNotFound {})?;
        Ok(Some(ProxySupplierRef::from_ref(proxy.reference()?)))
    }

    fn obtain_notification_pull_supplier(
        &self,
        ctype: ClientType,
    ) -> Result<(Option<ProxySupplierRef>, ProxyId), ObtainNotificationPullSupplierError> {
        self.obtain(ctype, Style::Pull)
    }

    fn obtain_notification_push_supplier(
        &self,
        ctype: ClientType,
    ) -> Result<(Option<ProxySupplierRef>, ProxyId), ObtainNotificationPushSupplierError> {
        self.obtain(ctype, Style::Push)
    }

    fn destroy(&self) -> oxorb::Result<()> {
        let service = self.service()?;
        farewell::bid_all(&service, self.end());
        service.flush()
    }
}
