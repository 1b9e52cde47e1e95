//! The OMG's Event and Notification Services, as fronts of the delivery that the real-time event channel has.
#![forbid(unsafe_code)]

mod idl {
    #![allow(missing_docs, reason = "the IDL says it")]
    oxorb::include_idl!("CosNotifyChannelAdmin");
}

pub use idl::{
    cos_event_channel_admin, cos_event_comm, cos_notification, cos_notify_channel_admin,
    cos_notify_comm, cos_notify_filter,
};
