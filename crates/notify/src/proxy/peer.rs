//! Suppliers and consumers, which their proxies call.

use oxorb::client::AsyncReply;
use oxorb::{Interface as _, Ref, SystemException, SystemExceptionKind};

use super::{Form, Style};
use crate::cos_event_comm::{
    PullConsumerRef, PullSupplierRef, PushConsumerRef, PushSupplierRef, push_consumer,
};
use crate::cos_notification::EventType;
use crate::cos_notify_comm::{
    NotifyPublishRef, NotifySubscribeRef, SequencePullConsumerRef, SequencePullSupplierRef,
    SequencePushConsumerRef, SequencePushSupplierRef, StructuredPullConsumerRef,
    StructuredPullSupplierRef, StructuredPushConsumerRef, StructuredPushSupplierRef,
    notify_publish, notify_subscribe, sequence_push_consumer, structured_push_consumer,
};
use crate::side::Side;
use crate::store::Item;

/// A connected supplier or consumer.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) reference: Ref,
    pub(crate) side: Side,
    pub(crate) form: Form,
    /// Style of the peer's proxy.
    pub(crate) style: Style,
}

/// Failure of a call to a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failure {
    /// The peer has reported that it is no longer connected.
    Disconnected,
    System(SystemException),
}

impl Failure {
    /// Reports whether the peer no longer exists.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Failure::Disconnected => true,
            Failure::System(exception) => matches!(
                exception.kind,
                SystemExceptionKind::ObjectNotExist | SystemExceptionKind::InvObjref
            ),
        }
    }

    /// Reports whether the peer could not be reached or did not answer.
    pub(crate) fn is_unreachable(&self) -> bool {
        match self {
            Failure::Disconnected => false,
            Failure::System(exception) => matches!(
                exception.kind,
                SystemExceptionKind::Transient
                    | SystemExceptionKind::CommFailure
                    | SystemExceptionKind::Timeout
                    | SystemExceptionKind::NoResponse
            ),
        }
    }
}

impl Peer {
    /// Pushes events to a consumer. Only a consumer of sequences accepts more than one event. The request propagates
    /// the quality of service of its first event.
    pub(crate) fn push(&self, events: &[Item]) -> Result<(), Failure> {
        let reference = || self.reference.clone();
        match self.form {
            Form::Event | Form::Any => {
                let consumer = PushConsumerRef::from_ref(reference());
                for event in events {
                    let sent = event.event.qos.within(|| consumer.push(event.event.as_any()));
                    sent.map_err(|error| match error {
                        push_consumer::PushError::Disconnected(_) => Failure::Disconnected,
                        push_consumer::PushError::System(exception) => Failure::System(exception),
                    })?;
                }
                Ok(())
            }
            Form::Structured => {
                use structured_push_consumer::PushStructuredEventError as Error;
                let consumer = StructuredPushConsumerRef::from_ref(reference());
                for event in events {
                    let push = || consumer.push_structured_event(event.event.as_structured());
                    let sent = event.event.qos.within(push);
                    sent.map_err(|error| match error {
                        Error::Disconnected(_) => Failure::Disconnected,
                        Error::System(exception) => Failure::System(exception),
                    })?;
                }
                Ok(())
            }
            Form::Sequence => {
                use sequence_push_consumer::PushStructuredEventsError as Error;
                let consumer = SequencePushConsumerRef::from_ref(reference());
                let batch: Vec<_> =
                    events.iter().map(|one| one.event.as_structured().clone()).collect();
                let qos = events.first().map(|first| first.event.qos).unwrap_or_default();
                let sent = qos.within(|| consumer.push_structured_events(&batch));
                sent.map_err(|error| match error {
                    Error::Disconnected(_) => Failure::Disconnected,
                    Error::System(exception) => Failure::System(exception),
                })
            }
        }
    }

    /// Starts a call to the peer's disconnect operation.
    pub(crate) fn disconnect(&self) -> AsyncReply<(), SystemException> {
        let reference = self.reference.clone();
        match (self.side, self.style, self.form) {
            (Side::Consumers, Style::Push, Form::Event | Form::Any) => {
                PushConsumerRef::from_ref(reference).disconnect_push_consumer_async()
            }
            (Side::Consumers, Style::Push, Form::Structured) => {
                StructuredPushConsumerRef::from_ref(reference)
                    .disconnect_structured_push_consumer_async()
            }
            (Side::Consumers, Style::Push, Form::Sequence) => {
                SequencePushConsumerRef::from_ref(reference)
                    .disconnect_sequence_push_consumer_async()
            }
            (Side::Consumers, Style::Pull, Form::Event | Form::Any) => {
                PullConsumerRef::from_ref(reference).disconnect_pull_consumer_async()
            }
            (Side::Consumers, Style::Pull, Form::Structured) => {
                StructuredPullConsumerRef::from_ref(reference)
                    .disconnect_structured_pull_consumer_async()
            }
            (Side::Consumers, Style::Pull, Form::Sequence) => {
                SequencePullConsumerRef::from_ref(reference)
                    .disconnect_sequence_pull_consumer_async()
            }
            (Side::Suppliers, Style::Push, Form::Event | Form::Any) => {
                PushSupplierRef::from_ref(reference).disconnect_push_supplier_async()
            }
            (Side::Suppliers, Style::Push, Form::Structured) => {
                StructuredPushSupplierRef::from_ref(reference)
                    .disconnect_structured_push_supplier_async()
            }
            (Side::Suppliers, Style::Push, Form::Sequence) => {
                SequencePushSupplierRef::from_ref(reference)
                    .disconnect_sequence_push_supplier_async()
            }
            (Side::Suppliers, Style::Pull, Form::Event | Form::Any) => {
                PullSupplierRef::from_ref(reference).disconnect_pull_supplier_async()
            }
            (Side::Suppliers, Style::Pull, Form::Structured) => {
                StructuredPullSupplierRef::from_ref(reference)
                    .disconnect_structured_pull_supplier_async()
            }
            (Side::Suppliers, Style::Pull, Form::Sequence) => {
                SequencePullSupplierRef::from_ref(reference)
                    .disconnect_sequence_pull_supplier_async()
            }
        }
    }

    /// Notifies the peer of changed types of the other side.
    pub(crate) fn tell(
        &self,
        added: &[EventType],
        removed: &[EventType],
    ) -> Result<(), SystemException> {
        let reference = self.reference.clone();
        match self.side {
            Side::Consumers => {
                use notify_publish::OfferChangeError as Error;
                let told = NotifyPublishRef::from_ref(reference).offer_change(added, removed);
                match told {
                    // Ignore InvalidEventType: notifications are informational, so the consumer's objection has no
                    // effect.
                    Ok(()) | Err(Error::InvalidEventType(_)) => Ok(()),
                    Err(Error::System(exception)) => Err(exception),
                }
            }
            Side::Suppliers => {
                use notify_subscribe::SubscriptionChangeError as Error;
                let supplier = NotifySubscribeRef::from_ref(reference);
                match supplier.subscription_change(added, removed) {
                    Ok(()) | Err(Error::InvalidEventType(_)) => Ok(()),
                    Err(Error::System(exception)) => Err(exception),
                }
            }
        }
    }
}
