//! Description of an operation that stub, skeleton and local call share.

use oxorb_cdr::{Decoder, Encoder, Result as CdrResult};
use oxorb_giop::Response;
use oxorb_object::SystemException;

/// Operation of an interface, `'static`, made by the IDL compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// The name on the wire (`withdraw`, `_get_balance`).
    pub name: &'static str,
    /// Whether and when the server answers.
    pub response: Response,
    /// Index of the operation in the list of its interface, all inherited ones first, for servers
    /// of our own; [`NO_SLOT`]: unknown.
    pub slot: u16,
    /// Octets that the arguments take at most, or at least where nothing bounds them: what the IDL compiler worked out, for
    /// the request's buffer to be sized once. Nothing below what any message has room for.
    pub request: u32,
}

/// The place of an operation of which nobody knows it.
pub const NO_SLOT: u16 = u16::MAX;

/// Prefix of the keys that take a slot: those of active transient objects
/// ([`Adapter`](crate::Adapter)).
pub const SLOTTED_KEY: &[u8; 4] = b"OX1a";

/// Length of such keys, without slot. A request of our own client appends two octets,
/// little-endian: the slot of its operation.
pub const SLOTTED_KEY_LEN: usize = 24;

/// A key of an object of ours with the slot of an operation; `None`: the key
/// takes none, or there is none.
#[inline]
pub(crate) fn slotted(key: &[u8], slot: u16) -> Option<[u8; SLOTTED_KEY_LEN + 2]> {
    let key: &[u8; SLOTTED_KEY_LEN] = key.try_into().ok()?;
    if slot == NO_SLOT || !key.starts_with(SLOTTED_KEY) {
        return None;
    }
    let mut slotted = [0; SLOTTED_KEY_LEN + 2];
    slotted[..SLOTTED_KEY_LEN].copy_from_slice(key);
    slotted[SLOTTED_KEY_LEN..].copy_from_slice(&slot.to_le_bytes());
    Some(slotted)
}

/// Returns the slot that a key was [written with](slotted), or [`NO_SLOT`].
pub(crate) fn slot_of(key: &[u8]) -> u16 {
    match key.split_at_checked(SLOTTED_KEY_LEN) {
        Some((own, &[low, high])) if own.starts_with(SLOTTED_KEY) => {
            u16::from_le_bytes([low, high])
        }
        _ => NO_SLOT,
    }
}

impl Op {
    /// An operation whose caller waits for the result.
    pub const fn twoway(name: &'static str) -> Self {
        Op { name, response: Response::WithTarget, slot: NO_SLOT, request: 0 }
    }

    /// An operation declared `oneway`: sent, never answered.
    pub const fn oneway(name: &'static str) -> Self {
        Op { name, response: Response::None, slot: NO_SLOT, request: 0 }
    }

    /// Returns the operation with an index in the list of its interface.
    pub const fn at(self, slot: u16) -> Self {
        Op { slot, ..self }
    }

    /// Returns the operation with arguments that take so many octets.
    #[must_use]
    pub const fn sized(self, request: u32) -> Self {
        Op { request, ..self }
    }
}

/// An operation as a request names it: what an [`Op`] says, or what calls
/// without stubs know at run time only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation<'n> {
    /// The name on the wire.
    pub name: &'n str,
    /// Whether and when the server answers.
    pub response: Response,
    /// Slot, as in [`Op`].
    pub slot: u16,
    /// Octets of the arguments, as in [`Op`]; 0 if nothing is known.
    pub request: u32,
}

impl From<&Op> for Operation<'static> {
    #[inline]
    fn from(op: &Op) -> Self {
        Operation { name: op.name, response: op.response, slot: op.slot, request: op.request }
    }
}

/// The error type of one operation as its client sees it.
///
/// The IDL compiler makes one enum per operation with a `raises` clause;
/// [`SystemException`] itself is the error of all others.
pub trait UserException: Sized + From<SystemException> {
    /// Reads the members of the exception `id` (the id is already read).
    ///
    /// `None` means that the operation does not raise it, which CORBA turns
    /// into `UNKNOWN` for the caller.
    fn read(id: &str, members: &mut Decoder<'_>) -> Option<CdrResult<Self>>;
}

impl UserException for SystemException {
    fn read(_: &str, _: &mut Decoder<'_>) -> Option<CdrResult<Self>> {
        None
    }
}

/// Writes the arguments of a call; may be asked to do so more than once.
pub(crate) type Args<'f, 'a> = &'f dyn Fn(&mut Encoder<'a>) -> CdrResult<()>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_of_a_key_is_found_again() {
        let own = *b"OX1a--------------------";
        for slot in [0, 7, 258, NO_SLOT - 1] {
            assert_eq!(slot_of(&slotted(&own, slot).unwrap()), slot);
        }
        for without in [&own[..], &own[..4], b"", b"ox1a----------------------"] {
            assert_eq!(slot_of(without), NO_SLOT);
        }
    }
}
