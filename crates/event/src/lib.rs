//! The real-time event channel, as suppliers and consumers written for TAO know it (A17).
#![forbid(unsafe_code)]

mod idl {
    #![allow(missing_docs, reason = "the IDL says it")]
    oxorb::include_idl!("RtecEventChannelAdmin");
}

pub use idl::{
    EventPayload, RtecEventData, rtec_base, rtec_event_channel_admin, rtec_event_comm, time_base,
};
