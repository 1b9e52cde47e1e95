//! Filters: local filter objects, and remote filters that clients attach.

mod asking;
mod attached;
mod foreign;
mod home;
mod mapping;
mod object;
mod usage;

pub(crate) use asking::{Answers, Questions};
pub(crate) use attached::{Attached, MappingSlot, both, both_known};
pub(crate) use foreign::Abroad;
pub(crate) use home::Home;
pub(crate) use object::FilterObject;
pub(crate) use usage::FilterUse;
