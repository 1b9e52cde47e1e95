//! Items that generated code refers to. Not for direct use: they change with the generator.

pub use oxorb_core::__gen::*;

/// The run time of components.
#[cfg(feature = "components")]
pub use oxorb_component as components;
