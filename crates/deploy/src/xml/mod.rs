//! XML in OMG's and CIAO's schemas.

mod read;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;
