//! Plans as documents, and plans as the structs of `Deployment.idl`.
//!
//! The structs have no ids but indices, no options, and one form of resources: what is missing is empty there, ids are the
//! names, `provider` follows the kind of the port where nothing is said, and an older `resourceValue` is a property of that
//! name. So a plan that came from the wire survives every further passage.

mod read;
mod value;
mod write;

pub use read::from_wire;
pub use value::{from_any, to_any};
pub use write::to_wire;

pub(crate) use value::dynamic;

use std::fmt;

/// Property that holds the value of an older `resourceValue`.
const RESOURCE_VALUE: &str = "resourceValue";

/// Why a plan has no form on the wire, or what came has none as a plan.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{element}: {reason}")]
pub struct WireError {
    /// Element of the plan, by name.
    pub element: String,
    /// Description of the mistake.
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
