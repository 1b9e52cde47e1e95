//! The OMG's Event and Notification Services. They use the same event delivery as the real-time event channel
//! (`oxorb-delivery`).
#![forbid(unsafe_code)]

mod admin;
mod answers;
mod channel;
mod error;
pub mod etcl;
mod event;
mod filter;
mod kind;
mod limits;
mod memory;
mod notify_service;
mod problem;
mod properties;
mod proxy;
mod quality;
mod service;
mod settings;
mod share;
mod side;
mod store;
mod types;
mod unused;

mod idl {
    #![allow(missing_docs, reason = "the IDL says it")]
    oxorb::include_idl!("notify");
}

pub use error::Error;
use idl::notify_store;
pub use idl::{
    cos_event_channel_admin, cos_event_comm, cos_notification, cos_notify_channel_admin,
    cos_notify_comm, cos_notify_filter, notify_ext, time_base,
};
pub use limits::Limits;
pub use notify_service::{CHANNEL_NAME, FACTORY_NAME, NotifyService, POA_NAME};
pub use settings::Settings;
pub use store::Store;

/// Documentation page about notification, whose examples are run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/notification.md")]
struct Page;
