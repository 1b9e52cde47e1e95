//! Names of `alloc` that every module of a crate with the standard library has by itself.

pub(crate) use alloc::borrow::ToOwned;
pub(crate) use alloc::format;
pub(crate) use alloc::string::{String, ToString};
pub(crate) use alloc::vec;
pub(crate) use alloc::vec::Vec;
