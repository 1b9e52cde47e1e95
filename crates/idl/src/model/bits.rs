//! Bitmasks and bitsets (IDL 4.2, 7.4.13.4).

use super::{Annotation, Basic, DefId};
use crate::source::Span;

/// `bitmask`: a set of named flags.
#[derive(Debug, Clone, Default)]
pub struct BitMask {
    /// Number of bits, from `@bit_bound`: 1 to 64, 32 if not said. On the wire it is the smallest
    /// unsigned integer that holds them.
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
    /// The comment before it.
    pub doc: String,
    /// All that were applied.
    pub annotations: Vec<Annotation>,
    /// Position of the bit, from `@position` or one more than the flag before; less than the bound.
    pub position: u16,
}

/// `bitset`: small numbers in one integer, the first one in the low bits.
#[derive(Debug, Clone, Default)]
pub struct BitSet {
    /// Base, whose fields come before.
    pub base: Option<DefId>,
    /// Own ones, in order.
    pub fields: Vec<BitField>,
}

/// Field of a bitset.
#[derive(Debug, Clone)]
pub struct BitField {
    /// Name without escape; `None` is padding.
    pub name: Option<String>,
    /// Span of the name, or of the word `bitfield`.
    pub span: Span,
    /// The comment before it.
    pub doc: String,
    /// All that were applied.
    pub annotations: Vec<Annotation>,
    /// Number of bits: 1 to 64.
    pub bits: u16,
    /// Type as which it is seen: as declared, or `boolean` for one bit, else the smallest of
    /// `octet`, `unsigned short`, `unsigned long` and `unsigned long long` that holds it.
    pub ty: Basic,
}
