//! Values that a caller and a servant of one process hand to each other as they are.

use crate::{ObjectRef, Orb, Ref};

/// A value that perhaps cannot be marshalled, or comes out of a message as another one.
///
/// Calls within the process pass it as it is if [`passes`](Self::passes) says so, and marshal it otherwise. For generated
/// code; types whose values always pass do not implement it.
pub trait Passes {
    /// Whether a message of this ORB would bring the same value.
    fn passes(&self, orb: &Orb) -> bool;
}

impl Passes for char {
    /// Reports whether the character is one octet of UTF-8, which is what messages within the
    /// process are written in.
    #[inline]
    fn passes(&self, _: &Orb) -> bool {
        self.is_ascii()
    }
}

impl Passes for Ref {
    /// Messages carry no policies, and what they bring belongs to the ORB that received them.
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

/// Whether a string of at most so many characters can be marshalled. For generated code.
#[inline]
pub fn text_passes(text: &str, bound: u32) -> bool {
    let bound = bound as usize;
    let fits = text.len() <= bound || text.chars().count() <= bound;
    fits && !text.as_bytes().contains(&0)
}
