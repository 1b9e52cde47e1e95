//! XML as OMG's and CIAO's schemas have it.

mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;
