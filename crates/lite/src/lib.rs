//! GIOPlite/RT: CORBA's messages with less around them, without I/O.
//!
//! [`GIOP_LITE_RT`] is a protocol of OxORB's own: requests of sixteen octets before their arguments, with a byte-order
//! mark, the caller's priority, a deadline, and a number instead of object key and operation. It is a value of
//! `oxorb_giop`'s trait [`Messaging`], and carries its messages. `docs/design/giop-lite-rt.md` says why it is as it is.
//!
//! ```
//! use oxorb_cdr::{ByteOrder, Encoder};
//! use oxorb_giop::{ReplyStatus, Wire};
//!
//! let wire = Wire::Other(oxorb_lite::GIOP_LITE_RT);
//! let mut e = Encoder::new(Vec::new(), ByteOrder::NATIVE, wire.dialect());
//! let begun = wire.begin_reply(&mut e, 7, ReplyStatus::NO_EXCEPTION, &[]);
//! e.long(42);
//! wire.finish(&mut e, begun)?;
//! assert_eq!(e.finish().len(), 16);
//! # Ok::<(), oxorb_giop::Violation>(())
//! ```
#![forbid(unsafe_code)]

#[doc(hidden)]
pub mod fuzz;

mod giop_lite_rt;
mod octets;

pub use oxorb_giop::Messaging;

/// All protocols of this crate.
pub static ALL: &[&dyn Messaging] = &[GIOP_LITE_RT];

/// GIOPlite/RT, version 1.
pub static GIOP_LITE_RT: &dyn Messaging = &giop_lite_rt::GiopLiteRt;

/// Number of aliases that a connection of [`GIOP_LITE_RT`] may define for object keys and operations. Further ones go in
/// full.
pub const ALIASES: u16 = giop_lite_rt::NUMBERS;

/// Most octets that object key and operation of an alias have together. Longer ones go in full.
pub const ALIAS_OCTETS: usize = giop_lite_rt::PAIR_OCTETS;
