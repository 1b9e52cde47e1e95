use core::fmt;

use crate::OutsideCodeSet;

/// Result of reading or writing CDR.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Error in decoding octets or in encoding a value, with its position.
///
/// ```
/// use oxorb_cdr::{ByteOrder, Decoder, Dialect, ErrorKind};
///
/// let mut decoder = Decoder::new(&[0, 0, 0], ByteOrder::Big, Dialect::new(2));
/// let error = decoder.ulong().unwrap_err();
/// assert_eq!(error.kind, ErrorKind::Truncated { needed: 4, left: 3 });
/// assert_eq!(error.to_string(), "at octet 0: 4 more octets are needed, only 3 are left");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// Kind of error.
    pub kind: ErrorKind,
    /// Offset of the faulty item from the start of the message, in octets.
    pub at: usize,
}

/// Kinds of errors in octets or in a value.
// The tag is as wide as a register. With a narrower one, a small value in a `Result` without an
// error would share a register with the tag, and the caller would have to separate the two.
#[repr(u64)]
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The octets are truncated within a value, alignment padding included.
    Truncated {
        /// Number of octets that the value needs.
        needed: usize,
        /// Number of octets left.
        left: usize,
    },
    /// A string or sequence is longer than its type, or a CDR length, allows.
    BoundExceeded {
        /// Number of characters or elements found.
        length: usize,
        /// Maximum number of characters or elements.
        bound: usize,
    },
    /// An announced length exceeds what the remaining octets can contain. Nothing was allocated for
    /// it.
    LengthImplausible {
        /// Number of octets or elements announced.
        length: usize,
        /// Number of octets left.
        left: usize,
    },
    /// A boolean that is neither 0 nor 1.
    BadBoolean(u8),
    /// An ordinal that is not in the enumeration.
    BadEnumerator(u32),
    /// A union discriminant that selects no member in a union without a default.
    BadLabel,
    /// A byte-order octet that is neither 0 nor 1.
    BadByteOrder(u8),
    /// A string without its final NUL, with an embedded NUL, or with half a wide character at its
    /// end.
    BadString,
    /// A character that the current code set cannot represent or that is not a single character, or
    /// octets that are invalid in it.
    NotInCodeSet(OutsideCodeSet),
    /// A wide character or string although no code set for them was negotiated.
    WcharUnsupported,
    /// A wide character or string in GIOP 1.0, which does not support them.
    WcharForbidden,
    /// Values nested more deeply than the limit `max_depth`.
    TooDeep {
        /// Maximum depth.
        limit: u16,
    },
    /// Octets after the end of the value.
    TrailingOctets(usize),
    /// A value that CDR could represent but its type does not allow, such as a number outside a
    /// restricted range.
    BadValue,
    /// An object reference read by a decoder without an ORB to bind it to.
    NoScope,
    /// An invalid type code: an open or infinite type, an invalid discriminator type, or an unknown
    /// modifier.
    BadTypeCode,
    /// An unknown number of a kind of type.
    BadTypeKind(u32),
    /// An indirection whose target is not the start of an earlier item of the required kind.
    BadIndirection(i32),
    /// A `fixed` with an invalid digit, without a sign, or with more digits than its type has.
    BadFixed,
    /// A custom valuetype other than null, known only by its type code, which does not describe its
    /// state.
    ValueUnsupported,
    /// Anys depend on other values of the message, or valuetypes and exceptions on long repository
    /// ids, so often that decoding would repeat too much work.
    TooMuchShared,
    /// A value of a local type: a native or a local interface.
    NotMarshallable,
    /// An invalid tag at the start of a value.
    BadValueTag(u32),
    /// A value of an unknown type that cannot be truncated to a known one.
    NoValueFactory,
    /// A value whose type does not inherit from the declared one.
    ValueMismatch,
    /// A chunk that ends within a number, a string or a block of numbers, or a value that ends
    /// before its state does.
    BadChunk,
    /// A value of a custom valuetype without a [`CustomMarshal`](crate::CustomMarshal)
    /// implementation.
    NoCustomMarshal,
    /// A value written while it is still under construction.
    IncompleteValue,
    /// The values of one message take more memory than [`max_memory`](crate::DecoderLimits::max_memory).
    TooMuchMemory {
        /// Maximum number of octets.
        limit: u32,
    },
    /// The values of a client's messages exceed the rest of the memory that they may take together.
    NoMemoryLeft,
    /// Values that do not fit the arena that they are read into.
    ArenaFull {
        /// Size of the arena, in octets.
        octets: usize,
    },
    /// Octets that may only be read in place, but are not in lent memory.
    NotInPlace {
        /// Number of octets.
        octets: usize,
    },
    /// Octets of one message that would have another meaning in a different message: see
    /// [`Relayed`](crate::Relayed).
    NotAlike,
}

impl ErrorKind {
    /// Returns an error of this kind at an offset from the start of the message.
    #[inline]
    pub const fn at(self, at: usize) -> Error {
        Error { kind: self, at }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at octet {}: {}", self.at, self.kind)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { needed, left } => {
                write!(f, "{needed} more octets are needed, only {left} are left")
            }
            Self::BoundExceeded { length, bound } => {
                write!(f, "a length of {length} exceeds the bound of {bound}")
            }
            Self::LengthImplausible { length, left } => {
                write!(
                    f,
                    "a length of {length} is announced, but only {left} octets are left"
                )
            }
            Self::BadBoolean(octet) => write!(f, "a boolean must be 0 or 1, not {octet}"),
            Self::BadEnumerator(ordinal) => {
                write!(f, "the enumeration has no member number {ordinal}")
            }
            Self::BadLabel => {
                f.write_str("the discriminant selects no member, and the union has no default")
            }
            Self::BadByteOrder(octet) => {
                write!(f, "a byte order must be 0 (big) or 1 (little), not {octet}")
            }
            Self::BadString => f.write_str(
                "the string lacks its final NUL, has a NUL inside, or ends within a character",
            ),
            Self::NotInCodeSet(outside) => outside.fmt(f),
            Self::WcharUnsupported => f.write_str(
                "a wide character needs a code set that both sides agreed on, and there is none",
            ),
            Self::WcharForbidden => f.write_str("GIOP 1.0 has no wide characters"),
            Self::TooDeep { limit } => write!(f, "values are nested more than {limit} deep"),
            Self::TrailingOctets(octets) => {
                write!(f, "{octets} octets follow the end of the value")
            }
            Self::BadTypeCode => f.write_str("the type code does not describe a type of values"),
            Self::BadTypeKind(number) => write!(f, "there is no kind of type number {number}"),
            Self::BadIndirection(offset) => {
                write!(
                    f,
                    "nothing that could be meant starts {offset} octets from here"
                )
            }
            Self::BadFixed => f.write_str(
                "the fixed-point number has a wrong digit, no sign, or more digits than its type",
            ),
            Self::ValueUnsupported => f.write_str(
                "the state of a custom valuetype cannot be read or written by its type code alone",
            ),
            Self::TooMuchShared => f.write_str(
                "anys share more of what is outside them than may be repeated for each of them",
            ),
            Self::NotMarshallable => {
                f.write_str("values of native types and local interfaces cannot be sent")
            }
            Self::BadValue => f.write_str("the value is not one that its type allows"),
            Self::NoScope => {
                f.write_str("an object reference can only be read from a message of an ORB")
            }
            Self::BadValueTag(tag) => write!(f, "no value starts with {tag:#010x}"),
            Self::NoValueFactory => f.write_str(
                "the type of the value is unknown here, and so are those it can be truncated to",
            ),
            Self::ValueMismatch => {
                f.write_str("the type of the value does not inherit from the one declared")
            }
            Self::BadChunk => {
                f.write_str("a chunk ends within an item, or the value ends before its state does")
            }
            Self::NoCustomMarshal => f.write_str(
                "the valuetype is custom, and the application has no CustomMarshal for it",
            ),
            Self::IncompleteValue => {
                f.write_str("the value is still being made and has no state yet")
            }
            Self::TooMuchMemory { limit } => write!(
                f,
                "the values of the message take more than {limit} octets of memory (setting MaxDecoded)"
            ),
            Self::NoMemoryLeft => f.write_str(
                "the values of this client's messages take as much memory as they may (setting MaxOctetsPerClient)",
            ),
            Self::ArenaFull { octets } => write!(
                f,
                "the values of the message need more memory than the {octets} octets of the arena (settings ValueArena and \
                 ValueArenaFull)"
            ),
            Self::NotAlike => f.write_str(
                "the octets would mean something else in the other message: its byte order, code sets or alignment differ",
            ),
            Self::NotInPlace { octets } => write!(
                f,
                "{octets} octets were copied, but may be read only in the memory of their sender (policy LargePayloads)"
            ),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// Four registers, since every reader passes errors on.
    #[test]
    fn an_error_is_small() {
        assert!(size_of::<Error>() <= 32, "{}", size_of::<Error>());
        assert_eq!(size_of::<Result<String>>(), size_of::<Error>());
    }
}
