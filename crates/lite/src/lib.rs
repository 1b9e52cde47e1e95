//! GIOPlite and GIOPlite/RT: CORBA's messages with smaller headers, without I/O.
//!
//! * [`GIOP_LITE`] writes exactly the octets of TAO's former protocol: a header of five octets, no
//!   service contexts, no byte order.
//! * [`GIOP_LITE_RT`] is specific to OxORB: requests of sixteen octets before their arguments, with a byte-order flag,
//!   the caller's priority, a deadline, and an alias instead of object key and operation.
//!
//! Both implement `oxorb_giop`'s trait [`Messaging`], and carry its messages. `docs/protocols.md`
//! explains when to use them, `docs/design/giop-lite-rt.md` the rationale of the latter.
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

/// List of all protocols of this crate.
pub static ALL: &[&dyn Messaging] = &[GIOP_LITE_RT, GIOP_LITE];

/// GIOPlite as TAO had it until its release 1.5.10.
pub static GIOP_LITE: &dyn Messaging = &giop_lite::GiopLite;

/// GIOPlite/RT, version 1.
pub static GIOP_LITE_RT: &dyn Messaging = &giop_lite_rt::GiopLiteRt;

/// Number of aliases that a connection of [`GIOP_LITE_RT`] may define for object keys and operations. Further object
/// keys and operations are sent in full.
pub const ALIASES: u16 = giop_lite_rt::NUMBERS;

/// Maximum length of the object key and operation of an alias together, in octets. Longer object keys and operations
/// are sent in full.
pub const ALIAS_OCTETS: usize = giop_lite_rt::PAIR_OCTETS;
