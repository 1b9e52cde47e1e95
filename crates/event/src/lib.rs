//! The real-time event channel. Suppliers push events, consumers subscribe with filters, and neither side knows the
//! other. The interfaces and the encoding are those of TAO's `RtecEventChannel`.
//!
//! ```text
//! supplier --push--> EventChannel --filters, by type and source--> consumers
//!                        |  serve
//!                        +--> RtecEventChannelAdmin objects <-- suppliers and consumers of any ORB
//! ```
//!
//! * [`EventChannel`] is a channel; [`serve`](EventChannel::serve) makes it available to clients of an ORB.
//! * [`Publisher`] and [`Subscriber`] exchange values of IDL types instead of octets, through a local or a remote
//!   channel ([`RemoteChannel`]).
//! * [`Filter`] selects the events that a consumer gets; [`event_type`] contains the event types that channels
//!   interpret.
//! * [`gateway`] passes events to a remote channel over GIOP, or to any number of receivers in datagrams.
//! * [`in_order`] makes an ORB keep the order of events between processes.
//! * `ComponentEvents`, with the feature `components`, carries the events of components.
//! * [`delivery`] contains the queues and threads of channels that do not deliver in the supplier's thread.
//! * [`rtec_event_comm`], [`rtec_event_channel_admin`] and [`rtec_udp_admin`] contain the interfaces that the IDL
//!   defines.
#![forbid(unsafe_code)]

mod channel;
#[cfg(feature = "components")]
mod components;
mod error;
pub mod event_type;
mod filter;
mod filter_text;
#[doc(hidden)]
pub mod fuzz;
pub mod gateway;
mod give_back;
mod lane;
mod order;
#[cfg(feature = "recording")]
pub mod recording;
mod scheduling;
mod service;
pub mod time;
mod typed;

mod idl {
    #![allow(missing_docs, reason = "the IDL says it")]
    oxorb::include_idl!("rtec");
}

pub use channel::{
    ChannelOptions, ConnectError, ConsumerConnection, ConsumerDispatch, ConsumerStatistics,
    Control, EventChannel, Limits, Notice, PushError, Released, Side, Statistics,
    SupplierConnection, SupplierStatistics,
};
#[cfg(feature = "components")]
pub use components::ComponentEvents;
pub use error::Error;
pub use filter::{
    Filter, FilterError, FilterErrorKind, FilterLimits, Interest, Key, Matched, Program, Progress,
    Syntax, TimeoutKind, Trigger,
};
pub use filter_text::FilterTextError;
pub use idl::{
    EventPayload, RtecEventData, rtec_base, rtec_event_channel_admin, rtec_event_comm,
    rtec_udp_admin, time_base,
};
pub use lane::lane_at;
pub use order::in_order;
pub use oxorb_delivery as delivery;
pub use oxorb_scheduler as scheduler;
pub use scheduling::{SchedulingError, scheduled_plan};
pub use service::{POA_NAME, Served};
pub use typed::{
    Channel, ConsumerEnd, Iter, JoinError, NameCollision, Names, ObserverEnd, PublishError,
    Publisher, RemoteChannel, Sample, Subscriber, SubscriberOptions, Subscription, SupplierEnd,
    WhenFull, decode, encode,
};

use rtec_event_channel_admin::{ConsumerQos, Publication, SupplierQos};

/// Name by which TAO's clients find the channel in the Naming Service, and its key in `corbaloc:` references.
pub const INITIAL_NAME: &str = "EventService";

/// Returns the QoS of a consumer that gets the events that a filter accepts.
pub fn asks_for(filter: &Filter) -> ConsumerQos {
    ConsumerQos { dependencies: filter.to_dependencies(0), is_gateway: false }
}

/// Returns the QoS of a supplier that publishes these types and sources.
pub fn publishes(keys: impl IntoIterator<Item = Key>) -> SupplierQos {
    let publications = keys.into_iter().map(|(event_type, source)| {
        let mut one = Publication::default();
        one.event.header.r#type = event_type;
        one.event.header.source = source;
        one
    });
    SupplierQos { publications: publications.collect(), is_gateway: false }
}

/// Documentation page about events, whose examples are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/events.md")]
struct Page;
