//! Filters: objects of this service, and those of others that clients attach.

mod attached;
mod foreign;
mod home;
mod mapping;
mod object;

pub(crate) use attached::{Attached, MappingSlot, both};
pub(crate) use home::Home;
pub(crate) use object::FilterObject;
