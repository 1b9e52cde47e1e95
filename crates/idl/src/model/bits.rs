//! Bitmasks and bitsets (IDL 4.2, 7.4.13.4).

use super::{Annotation, Basic, DefId};
use crate::source::Span;
use std::sync::Arc;

/// `bitmask`: set of named flags.
#[derive(Debug, Clone, Default)]
pub struct BitMask {
    /// Number of bits, from `@bit_bound`: 1 to 64, by default 32. Marshalled as the smallest unsigned integer that
    /// holds them.
    pub bit_bound: u16,
    /// Flags in order of declaration, which need not be the order of positions.
    pub flags: Vec<Flag>,
}

/// Flag of a bitmask.
#[derive(Debug, Clone)]
pub struct Flag {
    /// Name without escape.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// Comment before the declaration.
    pub doc: Arc<str>,
    /// All applied annotations.
    pub annotations: Arc<[Annotation]>,
    /// Position of the bit, from `@position` or one more than that of the previous flag; less than the bound.
    pub position: u16,
}

/// `bitset`: small numbers in one integer, the first in the low bits.
#[derive(Debug, Clone, Default)]
pub struct BitSet {
    /// Base, whose fields precede the own fields.
    pub base: Option<DefId>,
    /// Own fields, in order.
    pub fields: Vec<BitField>,
}

/// Field of a bitset.
#[derive(Debug, Clone)]
pub struct BitField {
    /// Name without escape; `None` for padding.
    pub name: Option<String>,
    /// Span of the name, or of the word `bitfield`.
    pub span: Span,
    /// Comment before the declaration.
    pub doc: Arc<str>,
    /// All applied annotations.
    pub annotations: Arc<[Annotation]>,
    /// Number of bits: 1 to 64.
    pub bits: u16,
    /// Type of the field's value: as declared, or `boolean` for one bit, otherwise the smallest of `octet`, `unsigned
    /// short`, `unsigned long` and `unsigned long long` that holds it.
    pub ty: Basic,
}
