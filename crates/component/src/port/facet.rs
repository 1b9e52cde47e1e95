//! Facets: references that a component provides.

use std::sync::{Arc, OnceLock};

use oxorb_core::{Interface, ObjectRef};

use super::Gate;

/// A facet, or the consumer of an event sink. Clones share the port.
pub struct Facet<R>(pub(crate) Arc<Provided<R>>);

pub(crate) struct Provided<R> {
    /// Repository id of the interface or event type.
    pub(crate) type_id: &'static str,
    pub(crate) reference: OnceLock<R>,
    /// Enforcement of the port's rate; `None` if the rate is not limited.
    pub(crate) gate: Option<Arc<Gate>>,
}

impl<R: Interface> Facet<R> {
    /// Returns the reference; nil only during the component's installation.
    pub fn get(&self) -> Option<R> {
        self.0.reference.get().cloned()
    }
}

/// A facet independent of its reference type.
pub(crate) trait Provides: Send + Sync {
    fn type_id(&self) -> &'static str;
    fn object(&self) -> Option<ObjectRef>;
}

impl<R: Interface> Provides for Provided<R> {
    fn type_id(&self) -> &'static str {
        self.type_id
    }

    fn object(&self) -> Option<ObjectRef> {
        self.reference.get().map(Interface::unchecked_narrow)
    }
}
