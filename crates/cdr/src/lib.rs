//! Common Data Representation: the octets of every CORBA type (CORBA 3.3 part 2, 9.3).
//!
//! An [`Encoder`] writes values into a buffer and a [`Decoder`] reads them from one; generated code
//! implements [`Encode`] and [`Decode`] for the types of an IDL file. This crate has no messages,
//! sockets, clocks, threads or locks. Unsafe code is confined to the modules of `raw`, behind
//! functions that are safe for any arguments.
//!
//! ```text
//!   values -- Encode --> Encoder --> Encoded --> io_slices()        octets -- Decoder -- Decode --> values
//!                          |            own octets, and slices                  |
//!                          |            of the caller's memory                  `-- borrows &[u8], &str, &[i32], ...
//!                          `-- reused buffer, block copies, one check per fixed-size value
//! ```
//!
//! - Numbers are aligned to their size (up to eight) from the start of the message or
//!   encapsulation, in the order of the sender ([`ByteOrder`]).
//! - Characters depend on negotiated code sets: see [`Dialect`].
//! - Types of fixed layout use [`Fixed`], which makes sequences of structs fast.
//! - Generated code is either compiled, or consists of tables for an interpreter:
//!   [`mod@interpreted`].
//! - Types and values known only at run time are [`TypeCode`]s, [`Any`]s and [`Dynamic`]s; IDL
//!   `fixed` is a [`Decimal`].
//! - Octets from a peer are never trusted: see [`Decoder::length`], [`DecoderLimits`] and [`ErrorKind`].
//!
//! Real-time cost: with a buffer large enough from an earlier message, encoding allocates nothing;
//! decoding allocates only for owned strings and sequences. There are no locks and no system calls.
//!
//! Builds without the standard library, but with an allocator: `default-features = false, features
//! = ["spin"]`. Messages are then copied into one piece (no `io_slices`), and AVX2 is not used.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;
/// Crate `alloc`, for code that macros generate in crates which do not declare it.
#[doc(hidden)]
pub extern crate alloc as __alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod any;
mod arena;
mod array;
mod bits;
mod budget;
mod byte_order;
mod codec;
pub mod copies;
mod decimal;
mod decoder;
mod dialect;
mod dynamic;
mod encoder;
mod error;
mod fixed;
mod gap;
mod gather;
pub mod interpreted;
mod large;
mod limits;
mod long_double;
mod map;
mod model;
mod nilable;
mod octet_seq;
mod octets;
#[doc(hidden)]
pub mod once;
mod pieces;
mod prelude;
mod primitive;
mod printable;
mod rare;
mod raw;
mod relayed;
mod scope;
mod small;
#[doc(hidden)]
pub mod tables;
mod text;
mod traits;
mod typecode;
mod value;

#[doc(hidden)]
pub mod fuzz;

pub use any::Any;
pub use arena::Arena;
pub use bits::{BitReader, BitWriter};
pub use byte_order::ByteOrder;
pub use codec::Codec;
pub use decimal::{Decimal, DecimalError, FixedPoint};
pub use decoder::Decoder;
pub use dialect::{CharSet, Dialect, WcharSet};
pub use dynamic::{
    Dynamic, DynamicError, DynamicErrorKind, DynamicValue, Field, RawProfile, RawReference,
    Selected, skip,
};
pub use encoder::Encoder;
pub use error::{Error, ErrorKind, Result};
pub use fixed::{Fixed, FixedReader, FixedWriter, Layout};
pub use gap::Gap;
pub use gather::Encoded;
pub use large::{LARGE_BUFFER, on_large_buffer};
pub use limits::DecoderLimits;
pub use long_double::LongDouble;
pub use nilable::Nilable;
pub use octet_seq::OctetSeq;
pub use octets::Octets;
pub use oxorb_lend::{Room, SealedRoom};
pub use pieces::PieceTable;
pub use printable::Printable;
pub use raw::plain_str;
pub use relayed::Relayed;
pub use scope::Scope;
pub use text::{CodeSet, Found, OutsideCodeSet};
pub use traits::{Decode, Encode};
pub use typecode::{
    Label, MemberRef, Shape, TcKind, TypeCode, TypeRef, Typed, ValueModifier, Visibility, Wchar,
    Wstring,
};
pub use value::{
    Behaviour, ByHand, CustomMarshal, Factory, Inherits, NoBehaviour, NotByHand, StringValue,
    Value, ValueBase, ValueInfo, ValueKey, ValueLink, ValueRegistry, ValueState, Valuetype,
    WstringValue, first_behaviour,
};
