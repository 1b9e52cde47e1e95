//! All that generated code names. Not for use by hand: it changes with the generator.

pub use oxorb_core::__gen::*;

/// The run time of components.
#[cfg(feature = "components")]
pub use oxorb_component as components;
