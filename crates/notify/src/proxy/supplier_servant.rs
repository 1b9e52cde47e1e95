//! Operations of the proxies to which consumers connect.

use oxorb::Any;
use oxorb::servant::DelegatesTo;

use super::ProxySupplier;
use super::link::Refused;
use super::supplier::PullFailure;
use crate::cos_event_channel_admin as events;
use crate::cos_event_channel_admin::AlreadyConnected;
use crate::cos_event_comm as comm;
use crate::cos_event_comm::Disconnected;
use crate::cos_notification::{
    EventType, NamedPropertyRange, Property, QoSAdmin, StructuredEvent, UnsupportedQoS,
};
use crate::cos_notify_channel_admin as notify;
use crate::cos_notify_channel_admin::{
    ConnectionAlreadyActive, ConnectionAlreadyInactive, ConsumerAdminRef, NotConnected,
    ObtainInfoMode, ProxyType,
};
use crate::cos_notify_comm as notify_comm;
use crate::cos_notify_filter::{FilterAdmin, MappingFilterRef};
use crate::event::{Body, Event};
use crate::problem::GONE;
use crate::properties::{Level, Values, check_all};
use crate::quality::Owner as _;

impl DelegatesTo<dyn QoSAdmin> for ProxySupplier {
    fn delegate(&self) -> &dyn QoSAdmin {
        &self.quality
    }
}

impl DelegatesTo<dyn FilterAdmin> for ProxySupplier {
    fn delegate(&self) -> &dyn FilterAdmin {
        &self.filters
    }
}

impl notify_comm::NotifySubscribe for ProxySupplier {
    fn subscription_change(
        &self,
        added: &[EventType],
        removed: &[EventType],
    ) -> Result<(), notify_comm::notify_subscribe::SubscriptionChangeError> {
        Ok(self.change_types(added, removed)?)
    }
}

impl notify::ProxySupplier for ProxySupplier {
    fn my_type(&self) -> oxorb::Result<ProxyType> {
        Ok(self.link.form.proxy_type(self.style))
    }

    fn my_admin(&self) -> oxorb::Result<Option<ConsumerAdminRef>> {
        Ok(Some(self.admin.upgrade().ok_or(GONE)?.consumer_reference()?))
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

    fn obtain_offered_types(&self, mode: ObtainInfoMode) -> oxorb::Result<Vec<EventType>> {
        Ok(self.link.obtain(mode, self.channel.upgrade().ok_or(GONE)?.offered_types()))
    }

    fn validate_event_qos(
        &self,
        required_qos: &[Property],
    ) -> Result<Vec<NamedPropertyRange>, notify::proxy_supplier::ValidateEventQosError> {
        let support = self.service()?.support();
        let checked = check_all(Level::Message, required_qos, support);
        checked.map_err(|qos_err| UnsupportedQoS { qos_err })?;
        Ok(Values::others(Level::Message, required_qos, support))
    }
}

/// Converts a refusal to an exception that the operation declares.
macro_rules! raise {
    ($refused:expr => $($variant:ident: $exception:expr),*) => {
        $refused.map_err(|refused| match refused {
            $(Refused::$variant => $exception.into(),)*
            Refused::System(exception) => exception.into(),
            // Cannot occur: the operation is refused only for the reasons above.
            _ => GONE.into(),
        })
    };
}

macro_rules! suspendable {
    ($module:ident) => {
        fn suspend_connection(&self) -> Result<(), notify::$module::SuspendConnectionError> {
            raise!(self.suspend() => AlreadyInactive: ConnectionAlreadyInactive {}, NotConnected: NotConnected {})
        }

        fn resume_connection(&self) -> Result<(), notify::$module::ResumeConnectionError> {
            raise!(self.resume() => AlreadyActive: ConnectionAlreadyActive {}, NotConnected: NotConnected {})
        }
    };
}
pub(super) use {raise, suspendable};

macro_rules! pulled {
    ($taken:expr) => {
        match $taken {
            Ok(taken) => taken,
            Err(PullFailure::Disconnected) => return Err(Disconnected {}.into()),
            Err(PullFailure::System(exception)) => return Err(exception.into()),
        }
    };
}

impl comm::PushSupplier for ProxySupplier {
    fn disconnect_push_supplier(&self) -> oxorb::Result<()> {
        self.disconnect()
    }
}

impl comm::PullSupplier for ProxySupplier {
    fn pull(&self) -> Result<Any, comm::pull_supplier::PullError> {
        let taken = pulled!(self.take(true));
        Ok(taken.map_or_else(Any::default, |event| event.as_any().clone()))
    }

    fn try_pull(&self) -> Result<(Any, bool), comm::pull_supplier::TryPullError> {
        Ok(match pulled!(self.take(false)) {
            Some(event) => (event.as_any().clone(), true),
            // The operation must return a value even if there is no event. TAO returns the same one.
            None => (Any::new(0_i32), false),
        })
    }

    fn disconnect_pull_supplier(&self) -> oxorb::Result<()> {
        self.disconnect()
    }
}

impl events::ProxyPushSupplier for ProxySupplier {
    fn connect_push_consumer(
        &self,
        push_consumer: Option<&comm::PushConsumerRef>,
    ) -> Result<(), events::proxy_push_supplier::ConnectPushConsumerError> {
        raise!(self.connect(push_consumer) => AlreadyConnected: AlreadyConnected {})
    }
}

impl events::ProxyPullSupplier for ProxySupplier {
    fn connect_pull_consumer(
        &self,
        pull_consumer: Option<&comm::PullConsumerRef>,
    ) -> Result<(), events::proxy_pull_supplier::ConnectPullConsumerError> {
        raise!(self.connect(pull_consumer) => AlreadyConnected: AlreadyConnected {})
    }
}

impl notify_comm::PushSupplier for ProxySupplier {}
impl notify_comm::PullSupplier for ProxySupplier {}

impl notify_comm::StructuredPushSupplier for ProxySupplier {
    fn disconnect_structured_push_supplier(&self) -> oxorb::Result<()> {
        self.disconnect()
    }
}

impl notify_comm::SequencePushSupplier for ProxySupplier {
    fn disconnect_sequence_push_supplier(&self) -> oxorb::Result<()> {
        self.disconnect()
    }
}

impl notify_comm::StructuredPullSupplier for ProxySupplier {
    fn pull_structured_event(
        &self,
    ) -> Result<StructuredEvent, notify_comm::structured_pull_supplier::PullStructuredEventError>
    {
        let taken = pulled!(self.take(true));
        Ok(taken.map_or_else(nothing, |event| event.as_structured().clone()))
    }

    fn try_pull_structured_event(
        &self,
    ) -> Result<
        (StructuredEvent, bool),
        notify_comm::structured_pull_supplier::TryPullStructuredEventError,
    > {
        Ok(match pulled!(self.take(false)) {
            Some(event) => (event.as_structured().clone(), true),
            None => (nothing(), false),
        })
    }

    fn disconnect_structured_pull_supplier(&self) -> oxorb::Result<()> {
        self.disconnect()
    }
}

impl notify_comm::SequencePullSupplier for ProxySupplier {
    fn pull_structured_events(
        &self,
        max_number: i32,
    ) -> Result<Vec<StructuredEvent>, notify_comm::sequence_pull_supplier::PullStructuredEventsError>
    {
        Ok(pulled!(self.take_several(true, max_number)))
    }

    fn try_pull_structured_events(
        &self,
        max_number: i32,
    ) -> Result<
        (Vec<StructuredEvent>, bool),
        notify_comm::sequence_pull_supplier::TryPullStructuredEventsError,
    > {
        let events = pulled!(self.take_several(false, max_number));
        let has_event = !events.is_empty();
        Ok((events, has_event))
    }

    fn disconnect_sequence_pull_supplier(&self) -> oxorb::Result<()> {
        self.disconnect()
    }
}

impl ProxySupplier {
    /// Takes up to `most` waiting events. If `wait` is set, waits for the first one.
    fn take_several(&self, wait: bool, most: i32) -> Result<Vec<StructuredEvent>, PullFailure> {
        let limit = self.service()?.limits().batch;
        let most = match usize::try_from(most) {
            Ok(0) | Err(_) => limit,
            Ok(most) => most.min(limit),
        };
        let mut pull = self.begin_pull();
        let mut events = Vec::new();
        while events.len() < most {
            match self.next_event(wait && events.is_empty(), &mut pull) {
                Ok(Some(event)) => events.push(event.as_structured().clone()),
                Ok(None) => break,
                Err(failure) if events.is_empty() => return Err(failure),
                Err(_) => break,
            }
        }
        Ok(events)
    }
}

/// Returns an empty event, which is sent if there is no event.
fn nothing() -> StructuredEvent {
    Event::new(Body::Any(Any::default()), &Default::default()).as_structured().clone()
}

impl notify::ProxyPushSupplier for ProxySupplier {
    fn connect_any_push_consumer(
        &self,
        push_consumer: Option<&comm::PushConsumerRef>,
    ) -> Result<(), notify::proxy_push_supplier::ConnectAnyPushConsumerError> {
        raise!(self.connect(push_consumer) => AlreadyConnected: AlreadyConnected {})
    }

    suspendable!(proxy_push_supplier);
}

impl notify::StructuredProxyPushSupplier for ProxySupplier {
    fn connect_structured_push_consumer(
        &self,
        push_consumer: Option<&notify_comm::StructuredPushConsumerRef>,
    ) -> Result<(), notify::structured_proxy_push_supplier::ConnectStructuredPushConsumerError>
    {
        raise!(self.connect(push_consumer) => AlreadyConnected: AlreadyConnected {})
    }

    suspendable!(structured_proxy_push_supplier);
}

impl notify::SequenceProxyPushSupplier for ProxySupplier {
    fn connect_sequence_push_consumer(
        &self,
        push_consumer: Option<&notify_comm::SequencePushConsumerRef>,
    ) -> Result<(), notify::sequence_proxy_push_supplier::ConnectSequencePushConsumerError> {
        raise!(self.connect(push_consumer) => AlreadyConnected: AlreadyConnected {})
    }

    suspendable!(sequence_proxy_push_supplier);
}

impl notify::ProxyPullSupplier for ProxySupplier {
    fn connect_any_pull_consumer(
        &self,
        pull_consumer: Option<&comm::PullConsumerRef>,
    ) -> Result<(), notify::proxy_pull_supplier::ConnectAnyPullConsumerError> {
        raise!(self.connect(pull_consumer) => AlreadyConnected: AlreadyConnected {})
    }
}

impl notify::StructuredProxyPullSupplier for ProxySupplier {
    fn connect_structured_pull_consumer(
        &self,
        pull_consumer: Option<&notify_comm::StructuredPullConsumerRef>,
    ) -> Result<(), notify::structured_proxy_pull_supplier::ConnectStructuredPullConsumerError>
    {
        raise!(self.connect(pull_consumer) => AlreadyConnected: AlreadyConnected {})
    }
}

impl notify::SequenceProxyPullSupplier for ProxySupplier {
    fn connect_sequence_pull_consumer(
        &self,
        pull_consumer: Option<&notify_comm::SequencePullConsumerRef>,
    ) -> Result<(), notify::sequence_proxy_pull_supplier::ConnectSequencePullConsumerError> {
        raise!(self.connect(pull_consumer) => AlreadyConnected: AlreadyConnected {})
    }
}
