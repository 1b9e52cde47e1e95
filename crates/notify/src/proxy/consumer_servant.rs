//! Operations of the proxies to which suppliers connect.

use oxorb::Any;
use oxorb::servant::DelegatesTo;

use super::ProxyConsumer;
use super::consumer::PushFailure;
use super::link::Refused;
use super::supplier_servant::{raise, suspendable};
use crate::cos_event_channel_admin as events;
use crate::cos_event_channel_admin::AlreadyConnected;
use crate::cos_event_comm as comm;
use crate::cos_event_comm::Disconnected;
use crate::cos_notification::{
    EventType, NamedPropertyRange, Property, QoSAdmin, StructuredEvent, UnsupportedQoS,
};
use crate::cos_notify_channel_admin as notify;
use crate::cos_notify_channel_admin::{
    ConnectionAlreadyActive, ConnectionAlreadyInactive, NotConnected, ObtainInfoMode, ProxyType,
    SupplierAdminRef,
};
use crate::cos_notify_comm as notify_comm;
use crate::cos_notify_filter::FilterAdmin;
use crate::event::Body;
use crate::problem::GONE;
use crate::properties::{Level, Values, check_all};

impl DelegatesTo<dyn QoSAdmin> for ProxyConsumer {
    fn delegate(&self) -> &dyn QoSAdmin {
        &self.quality
    }
}

impl DelegatesTo<dyn FilterAdmin> for ProxyConsumer {
    fn delegate(&self) -> &dyn FilterAdmin {
        &self.filters
    }
}

impl notify_comm::NotifyPublish for ProxyConsumer {
    fn offer_change(
        &self,
        added: &[EventType],
        removed: &[EventType],
    ) -> Result<(), notify_comm::notify_publish::OfferChangeError> {
        Ok(self.change_types(added, removed)?)
    }
}

impl notify::ProxyConsumer for ProxyConsumer {
    fn my_type(&self) -> oxorb::Result<ProxyType> {
        Ok(self.link.form.proxy_type(self.style))
    }

    fn my_admin(&self) -> oxorb::Result<Option<SupplierAdminRef>> {
        Ok(Some(self.admin.upgrade().ok_or(GONE)?.supplier_reference()?))
    }

    fn obtain_subscription_types(&self, mode: ObtainInfoMode) -> oxorb::Result<Vec<EventType>> {
        Ok(self.link.obtain(mode, self.channel.upgrade().ok_or(GONE)?.subscribed_types()))
    }

    fn validate_event_qos(
        &self,
        required_qos: &[Property],
    ) -> Result<Vec<NamedPropertyRange>, notify::proxy_consumer::ValidateEventQosError> {
        let support = self.service()?.support();
        let checked = check_all(Level::Message, required_qos, support);
        checked.map_err(|qos_err| UnsupportedQoS { qos_err })?;
        Ok(Values::others(Level::Message, required_qos, support))
    }
}

macro_rules! pushed {
    ($pushed:expr) => {
        $pushed.map_err(|failure| match failure {
            PushFailure::Disconnected => Disconnected {}.into(),
            PushFailure::System(exception) => exception.into(),
        })
    };
}

impl comm::PushConsumer for ProxyConsumer {
    fn push(&self, data: &Any) -> Result<(), comm::push_consumer::PushError> {
        pushed!(self.accept([Body::Any(data.clone())]))
    }

    fn disconnect_push_consumer(&self) -> oxorb::Result<()> {
        self.disconnect()
    }
}

impl comm::PullConsumer for ProxyConsumer {
    fn disconnect_pull_consumer(&self) -> oxorb::Result<()> {
        self.disconnect()
    }
}

impl events::ProxyPushConsumer for ProxyConsumer {
    fn connect_push_supplier(
        &self,
        push_supplier: Option<&comm::PushSupplierRef>,
    ) -> Result<(), events::proxy_push_consumer::ConnectPushSupplierError> {
        raise!(self.connect(push_supplier) => AlreadyConnected: AlreadyConnected {})
    }
}

impl events::ProxyPullConsumer for ProxyConsumer {
    fn connect_pull_supplier(
        &self,
        pull_supplier: Option<&comm::PullSupplierRef>,
    ) -> Result<(), events::proxy_pull_consumer::ConnectPullSupplierError> {
        raise!(self.connect(pull_supplier) => AlreadyConnected: AlreadyConnected {})
    }
}

impl notify_comm::PushConsumer for ProxyConsumer {}
impl notify_comm::PullConsumer for ProxyConsumer {}

impl notify_comm::StructuredPushConsumer for ProxyConsumer {
    fn push_structured_event(
        &self,
        notification: &StructuredEvent,
    ) -> Result<(), notify_comm::structured_push_consumer::PushStructuredEventError> {
        pushed!(self.accept([Body::Structured(notification.clone())]))
    }

    fn disconnect_structured_push_consumer(&self) -> oxorb::Result<()> {
        self.disconnect()
    }
}

impl notify_comm::SequencePushConsumer for ProxyConsumer {
    fn push_structured_events(
        &self,
        notifications: &[StructuredEvent],
    ) -> Result<(), notify_comm::sequence_push_consumer::PushStructuredEventsError> {
        pushed!(self.accept(notifications.iter().cloned().map(Body::Structured)))
    }

    fn disconnect_sequence_push_consumer(&self) -> oxorb::Result<()> {
        self.disconnect()
    }
}

impl notify_comm::StructuredPullConsumer for ProxyConsumer {
    fn disconnect_structured_pull_consumer(&self) -> oxorb::Result<()> {
        self.disconnect()
    }
}

impl notify_comm::SequencePullConsumer for ProxyConsumer {
    fn disconnect_sequence_pull_consumer(&self) -> oxorb::Result<()> {
        self.disconnect()
    }
}

impl notify::ProxyPushConsumer for ProxyConsumer {
    fn connect_any_push_supplier(
        &self,
        push_supplier: Option<&comm::PushSupplierRef>,
    ) -> Result<(), notify::proxy_push_consumer::ConnectAnyPushSupplierError> {
        raise!(self.connect(push_supplier) => AlreadyConnected: AlreadyConnected {})
    }
}

impl notify::StructuredProxyPushConsumer for ProxyConsumer {
    fn connect_structured_push_supplier(
        &self,
        push_supplier: Option<&notify_comm::StructuredPushSupplierRef>,
    ) -> Result<(), notify::structured_proxy_push_consumer::ConnectStructuredPushSupplierError>
    {
        raise!(self.connect(push_supplier) => AlreadyConnected: AlreadyConnected {})
    }
}

impl notify::SequenceProxyPushConsumer for ProxyConsumer {
    fn connect_sequence_push_supplier(
        &self,
        push_supplier: Option<&notify_comm::SequencePushSupplierRef>,
    ) -> Result<(), notify::sequence_proxy_push_consumer::ConnectSequencePushSupplierError> {
        raise!(self.connect(push_supplier) => AlreadyConnected: AlreadyConnected {})
    }
}

impl notify::ProxyPullConsumer for ProxyConsumer {
    fn connect_any_pull_supplier(
        &self,
        pull_supplier: Option<&comm::PullSupplierRef>,
    ) -> Result<(), notify::proxy_pull_consumer::ConnectAnyPullSupplierError> {
        raise!(self.connect(pull_supplier) => AlreadyConnected: AlreadyConnected {})
    }

    suspendable!(proxy_pull_consumer);
}

impl notify::StructuredProxyPullConsumer for ProxyConsumer {
    fn connect_structured_pull_supplier(
        &self,
        pull_supplier: Option<&notify_comm::StructuredPullSupplierRef>,
    ) -> Result<(), notify::structured_proxy_pull_consumer::ConnectStructuredPullSupplierError>
    {
        raise!(self.connect(pull_supplier) => AlreadyConnected: AlreadyConnected {})
    }

    suspendable!(structured_proxy_pull_consumer);
}

impl notify::SequenceProxyPullConsumer for ProxyConsumer {
    fn connect_sequence_pull_supplier(
        &self,
        pull_supplier: Option<&notify_comm::SequencePullSupplierRef>,
    ) -> Result<(), notify::sequence_proxy_pull_consumer::ConnectSequencePullSupplierError> {
        raise!(self.connect(pull_supplier) => AlreadyConnected: AlreadyConnected {})
    }

    suspendable!(sequence_proxy_pull_consumer);
}
