//! GIOPlite and GIOPlite/RT: CORBA's messages with less around them, without I/O.
//!
//! * [`GIOP_LITE`] writes octet for octet what TAO once had: a header of five octets, no service contexts, no byte order.
//! * [`GIOP_LITE_RT`] is a protocol of OxORB's own: requests of sixteen octets before their arguments, with a byte-order
//!   mark, the caller's priority, a deadline, and a number instead of object key and operation.
//!
//! Both are values of `oxorb_giop`'s trait [`Messaging`], and carry its messages. `docs/protocols.md` says when to use
//! them, `docs/design/giop-lite-rt.md` why the second is as it is.
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

mod giop_lite;
mod giop_lite_rt;
mod octets;

pub use oxorb_giop::Messaging;

/// All protocols of this crate.
pub static ALL: &[&dyn Messaging] = &[GIOP_LITE_RT, GIOP_LITE];

/// GIOPlite as TAO had it until its release 1.5.10.
pub static GIOP_LITE: &dyn Messaging = &giop_lite::GiopLite;

/// GIOPlite/RT, version 1.
pub static GIOP_LITE_RT: &dyn Messaging = &giop_lite_rt::GiopLiteRt;

/// Number of aliases that a connection of [`GIOP_LITE_RT`] may define for object keys and operations. Further ones go in
/// full.
pub const ALIASES: u16 = giop_lite_rt::NUMBERS;

/// Most octets that object key and operation of an alias have together. Longer ones go in full.
pub const ALIAS_OCTETS: usize = giop_lite_rt::PAIR_OCTETS;
