//! Conversion of plans and packages between documents and the structs of `Deployment.idl`.
//!
//! The structs have indices instead of ids, no optional members, and only one form of resources. In a struct, absent
//! members are empty, names replace ids, a missing `provider` is derived from the kind of the port, and an older
//! `resourceValue` becomes a property with that name. A plan that was read from the structs is therefore not changed by
//! further conversions.

mod package_read;
mod package_size;
mod package_write;
mod read;
mod value;
mod write;

pub use package_read::package_from_wire;
pub use package_write::package_to_wire;
pub use read::from_wire;
pub use value::{from_any, to_any};
pub use write::to_wire;

pub(crate) use value::dynamic;

use std::fmt;

/// Property that holds the value of an older `resourceValue`.
const RESOURCE_VALUE: &str = "resourceValue";

/// Error of a conversion in either direction.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{element}: {reason}")]
pub struct WireError {
    /// Name of the element of the plan or the package.
    pub element: String,
    /// Description of the problem.
    pub reason: String,
}

impl WireError {
    fn new(element: impl Into<String>, reason: impl Into<String>) -> Self {
        WireError { element: element.into(), reason: reason.into() }
    }
}

impl fmt::Debug for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
