//! Typed events for Rust: values of any IDL type instead of octets, and names instead of numbers.
//!
//! The payload of an event is a CDR encapsulation of the value. It consists of an octet for the byte order (0 big, 1
//! little) and the value, which is aligned from the start of the payload. Text is in UTF-8 or UTF-16. Other programs
//! can decode it with `IOP::Codec::decode_value` or any CDR stream.

mod join;
mod names;
mod publisher;
mod remote;
mod subscriber;

pub use join::{Channel, ConsumerEnd, JoinError, ObserverEnd, SupplierEnd};
pub use names::{NameCollision, Names};
pub use publisher::{PublishError, Publisher};
pub use remote::RemoteChannel;
pub use subscriber::{Iter, Sample, Subscriber, SubscriberOptions, Subscription, WhenFull};

use oxorb::cdr;
use oxorb::cdr::Dialect;
use oxorb::values::CharSet;

/// CDR dialect of payloads.
const DIALECT: Dialect = Dialect { chars: CharSet::Utf8, ..Dialect::GIOP_1_2 };

/// Decodes the value in a payload.
///
/// # Errors
/// The payload is not an encapsulation of a `T`.
pub fn decode<'p, T: cdr::Decode<'p>>(payload: &'p [u8]) -> cdr::Result<T> {
    let mut d = cdr::Decoder::encapsulated(payload, DIALECT)?;
    T::decode(&mut d)
}

/// Encodes a value as a payload. Replaces the contents of the buffer, and keeps its capacity.
///
/// # Errors
/// The value cannot be encoded, for example a string with a NUL, or a sequence that exceeds its bound. In this case the
/// memory of the buffer is lost.
pub fn encode<T: cdr::Encode>(value: &T, payload: &mut Vec<u8>) -> cdr::Result<()> {
    let order = oxorb::values::ByteOrder::NATIVE;
    let mut e = cdr::Encoder::new(std::mem::take(payload), order, DIALECT);
    e.octet(u8::from(order == oxorb::values::ByteOrder::Little));
    value.encode(&mut e)?;
    let encoded = e.finish();
    let used = encoded.len();
    // The encoder only borrows long sequences, so the encoding may consist of several parts.
    if encoded.is_contiguous() {
        *payload = encoded.into_buffer();
        payload.truncate(used);
    } else {
        *payload = encoded.to_vec();
    }
    Ok(())
}
