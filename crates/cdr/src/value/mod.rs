//! Valuetypes: graphs of shared values, with cycles, inheritance, truncation and null (CORBA 3.3 part 2, 9.3.4).
//!
//! A [`Value`] is a handle of a value; a [`ValueLink`] is a field of a valuetype in IDL: null, owning,
//! or closing a cycle. Generated code implements [`Valuetype`] for each valuetype of an IDL file
//! and [`ValueState`] for those with a state. Rationale of the mapping:
//! `docs/design/valuetypes.md`.

mod behaviour;
mod boxed;
mod chunks;
mod custom;

pub(crate) mod fuzz;
mod handle;
mod info;
mod read;
mod untyped;
mod write;

pub use behaviour::{Behaviour, NoBehaviour, first_behaviour};
pub use boxed::{StringValue, WstringValue};
pub use custom::{ByHand, CustomMarshal, NotByHand};
pub use handle::{Value, ValueLink};
pub use info::{Factory, Inherits, ValueBase, ValueInfo, ValueRegistry, ValueState, Valuetype};

pub use untyped::ValueKey;

pub(crate) use read::Incoming;
pub(crate) use untyped::{Found, Head, Known, Untyped};
pub(crate) use write::Outgoing;

/// Tags in a value's header (CORBA 3.3 part 2, 9.3.4.1).
mod tag {
    pub(super) const NULL: u32 = 0;
    pub(super) const INDIRECTION: u32 = u32::MAX;
    /// Smallest value tag; smaller nonzero numbers are chunk sizes.
    pub(super) const VALUE: u32 = 0x7FFF_FF00;
    /// Largest value tag; larger numbers are end tags or indirections.
    pub(super) const LAST: u32 = 0x7FFF_FFFF;

    pub(super) const CODEBASE: u32 = 1;
    pub(super) const ONE_ID: u32 = 2;
    pub(super) const ID_LIST: u32 = 6;
    /// Mask of the two bits for repository ids.
    pub(super) const TYPE_INFO: u32 = 6;
    pub(super) const CHUNKED: u32 = 8;
    /// Mask of all defined bits.
    pub(super) const KNOWN: u32 = VALUE | CODEBASE | TYPE_INFO | CHUNKED;
}
