//! Proxies, to which the suppliers and consumers of a channel connect.

mod consumer;
mod consumer_servant;
pub(crate) mod farewell;
mod link;
mod peer;
mod persistent;
mod pulling;
mod push_sink;
mod receipts;
mod supplier;
mod supplier_servant;

pub(crate) use consumer::ProxyConsumer;
pub(crate) use peer::Peer;
pub(crate) use supplier::ProxySupplier;

use crate::cos_notify_channel_admin::{ClientType, ProxyType};

/// Form in which a peer sends or receives events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Anys, through the interfaces of the Event Service.
    Event,
    Any,
    Structured,
    Sequence,
}

/// Style of transfer: which side initiates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Push,
    Pull,
}

impl Form {
    pub(crate) fn of(client: ClientType) -> Form {
        match client {
            ClientType::AnyEvent => Form::Any,
            ClientType::StructuredEvent => Form::Structured,
            ClientType::SequenceEvent => Form::Sequence,
        }
    }

    fn proxy_type(self, style: Style) -> ProxyType {
        match (self, style) {
            (Form::Event | Form::Any, Style::Push) => ProxyType::PushAny,
            (Form::Event | Form::Any, Style::Pull) => ProxyType::PullAny,
            (Form::Structured, Style::Push) => ProxyType::PushStructured,
            (Form::Structured, Style::Pull) => ProxyType::PullStructured,
            (Form::Sequence, Style::Push) => ProxyType::PushSequence,
            (Form::Sequence, Style::Pull) => ProxyType::PullSequence,
        }
    }
}
