use core::fmt;

use crate::OutsideCodeSet;

/// Result of reading or writing CDR.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// Why octets are not the value they should be, or a value cannot become octets, and where.
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
    /// Octets from the start of the message to the item that is wrong.
    pub at: usize,
}

/// Kinds of errors in octets or in a value.
// A tag as wide as a register: then what `Result` holds instead of an error never shares one with the tag, and reading a
// number and asking whether that went well stay apart.
#[repr(u64)]
#[non_exhaustive]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The octets end within a value, alignment padding included.
    Truncated {
        /// Octets the value needs.
        needed: usize,
        /// Octets that are there.
        left: usize,
    },
    /// A string or sequence is longer than its type allows, or longer than a CDR length can say.
    BoundExceeded {
        /// Characters or elements found.
        length: usize,
        /// Characters or elements allowed.
        bound: usize,
    },
    /// An announced length cannot be true: that much does not fit into what is left. Nothing was allocated for it.
    LengthImplausible {
        /// Octets or elements announced.
        length: usize,
        /// Octets that are there.
        left: usize,
    },
    /// A boolean that is neither 0 nor 1.
    BadBoolean(u8),
    /// An ordinal that its enumeration does not have.
    BadEnumerator(u32),
    /// A union discriminant that selects nothing in a union without a default.
    BadLabel,
    /// A byte-order octet that is neither 0 nor 1.
    BadByteOrder(u8),
    /// A string without its final NUL, with a NUL inside, or with half a wide character at its end.
    BadString,
    /// A character that the code set in use cannot carry, that is not one character on its own, or octets that are no
    /// characters of it.
    NotInCodeSet(OutsideCodeSet),
    /// A wide character or string although no code set for them was agreed.
    WcharUnsupported,
    /// A wide character or string in GIOP 1.0, which has none.
    WcharForbidden,
    /// Values nested more deeply than the limit `max_depth`.
    TooDeep {
        /// The limit.
        limit: u16,
    },
    /// Octets after the end of the value.
    TrailingOctets(usize),
    /// A value that CDR could carry but its type does not allow, such as a number out of a narrowed range.
    BadValue,
    /// An object reference, read by a decoder that belongs to no ORB: nothing to bind it to.
    NoScope,
    /// A type code that is not one: an open or endless type, a discriminant that cannot be one, a modifier unheard of.
    BadTypeCode,
    /// The number of a kind of type that there is not.
    BadTypeKind(u32),
    /// A reference to something earlier that is not the start of such a thing.
    BadIndirection(i32),
    /// A `fixed` with something that is no digit, without a sign, or with more digits than its type has.
    BadFixed,
    /// A custom valuetype other than null, where only a type code says what it is made of.
    ValueUnsupported,
    /// Values outside an any that is kept by itself are part of it, or of others like it, too many times over.
    TooMuchShared,
    /// A value of a type that stays within a process: a native or a local interface.
    NotMarshallable,
    /// Octets where a value should start that start none.
    BadValueTag(u32),
    /// A value of a type that this side does not know, and that cannot be truncated to one it knows.
    NoValueFactory,
    /// A value whose type does not inherit from the one declared for its place.
    ValueMismatch,
    /// A chunk that ends within a number, a string or a block of numbers, or a value that ends before its state does.
    BadChunk,
    /// A value of a custom valuetype that nobody wrote a [`CustomMarshal`](crate::CustomMarshal) for.
    NoCustomMarshal,
    /// A value written while it is still being made.
    IncompleteValue,
    /// The values of one message take more memory than [`max_memory`](crate::Limits::max_memory).
    TooMuchMemory {
        /// The limit.
        limit: u32,
    },
    /// The values of a client's messages take more memory than is left of what they may take together.
    NoMemoryLeft,
    /// Values that do not fit the arena that they are read into.
    ArenaFull {
        /// Octets of the arena.
        octets: usize,
    },
    /// Octets that may only be read where their sender wrote them, and lie elsewhere.
    NotInPlace {
        /// Number of octets.
        octets: usize,
    },
    /// Octets of one message that would mean something else in another: see [`Relayed`](crate::Relayed).
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
                "{octets} octets do not lie where their sender wrote them, and may be read nowhere else (policy \
                 LargePayloads)"
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

    /// Four registers: whatever reads a value hands its error on.
    #[test]
    fn an_error_is_small() {
        assert!(size_of::<Error>() <= 32, "{}", size_of::<Error>());
        assert_eq!(size_of::<Result<String>>(), size_of::<Error>());
    }
}
