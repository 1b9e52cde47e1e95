//! Facets: references that a component hands out.

use std::sync::{Arc, OnceLock};

use oxorb_core::{Interface, ObjectRef};

/// A facet, or the consumer of an event sink. Clones are the same port.
pub struct Facet<R>(pub(crate) Arc<Provided<R>>);

pub(crate) struct Provided<R> {
    /// Repository id of the interface or event type.
    pub(crate) type_id: &'static str,
    pub(crate) reference: OnceLock<R>,
}

impl<R: Interface> Facet<R> {
    /// Returns the reference; nil only while the component is being installed.
    pub fn get(&self) -> Option<R> {
        self.0.reference.get().cloned()
    }
}

/// A facet whose reference type is not known.
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
