//! Values that a caller and a servant of one process can exchange without marshalling.

use crate::{ObjectRef, Orb, Ref};

/// Value that marshalling might reject or change.
///
/// Collocated calls pass the value unchanged if [`passes`](Self::passes) returns true, and marshal it otherwise. For
/// generated code; types whose values are never changed do not implement this trait.
pub trait Passes {
    /// Reports whether a message of this ORB would carry the value unchanged.
    fn passes(&self, orb: &Orb) -> bool;
}

impl Passes for char {
    /// Reports whether the character is one octet of UTF-8, the code set of messages within the
    /// process.
    #[inline]
    fn passes(&self, _: &Orb) -> bool {
        self.is_ascii()
    }
}

impl Passes for Ref {
    /// Reports whether the reference has no policies, which messages do not carry, and belongs to `orb`, as a received
    /// reference would.
    #[inline]
    fn passes(&self, orb: &Orb) -> bool {
        self.is_plain() && self.orb().is(orb)
    }
}

impl Passes for ObjectRef {
    #[inline]
    fn passes(&self, orb: &Orb) -> bool {
        crate::Interface::reference(self).passes(orb)
    }
}

/// Reports whether a string bounded to `bound` characters can be marshalled. For generated code.
#[inline]
pub fn text_passes(text: &str, bound: u32) -> bool {
    let bound = bound as usize;
    let fits = text.len() <= bound || text.chars().count() <= bound;
    fits && !text.as_bytes().contains(&0)
}
