//! Message headers of twelve octets: reading them, and writing messages from header to size.

use oxorb_cdr::{ByteOrder, Encoder};
use oxorb_object::Version;

use crate::order::{ulong_from, ulong_octets};
use crate::{MessageType, Messaging, Misbehaviour, Side, Unsupported, Violation};

/// Header of a message: kind, byte order and size.
///
/// ```
/// use oxorb_giop::{Header, MessageType};
/// use oxorb_object::Version;
/// let header = Header::parse(b"GIOP\x01\x02\x01\x00\x08\x00\x00\x00").unwrap();
/// assert_eq!(header.version, Version::V1_2);
/// assert_eq!(header.kind, MessageType::REQUEST);
/// assert_eq!(header.total(), 20);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// GIOP version of this message; for another protocol, the version whose rules its values
    /// follow.
    pub version: Version,
    /// Byte order of the size and of everything after the header.
    pub order: ByteOrder,
    /// Whether Fragment messages with the rest follow (GIOP 1.1 and later).
    pub more_fragments: bool,
    /// Kind of message.
    pub kind: MessageType,
    /// Length of the header, in octets: [`LEN`](Self::LEN), except in protocols other than GIOP.
    pub len: u8,
    /// Size of the message after the header, in octets.
    pub size: u32,
}

impl Header {
    /// Length of a GIOP header on the wire, in octets.
    pub const LEN: usize = 12;

    /// Parses a header, and checks everything that can be determined from it alone.
    ///
    /// Costs a few nanoseconds; allocates nothing.
    ///
    /// # Errors
    /// [`Violation::Peer`] for octets that are not a GIOP header or contradict themselves,
    /// [`Violation::Unsupported`] for unknown versions, message types and compression.
    #[inline]
    pub fn parse(octets: &[u8; Self::LEN]) -> Result<Self, Violation> {
        let [m0, m1, m2, m3, major, minor, flags, kind, s0, s1, s2, s3] = *octets;
        if [m0, m1, m2, m3] != *MAGIC {
            return Err(not_giop([m0, m1, m2, m3]));
        }
        let version = Version { major, minor };
        if !version.is_supported() {
            return Err(Violation::Unsupported(Unsupported::Version(version)));
        }
        if minor == 0 && flags > 1 {
            return Err(Violation::Peer(Misbehaviour::ByteOrder(flags)));
        }
        let order = ByteOrder::from_flag(flags & LITTLE != 0);
        let size = ulong_from(order, [s0, s1, s2, s3]);
        let header = Self {
            version,
            order,
            more_fragments: flags & MORE != 0,
            kind: MessageType(kind),
            len: GIOP_LEN,
            size,
        };
        header.check()?;
        Ok(header)
    }

    /// Parses the most common header, of a GIOP 1.2 Request or Reply in one piece. Returns `None`
    /// for any other octets, which [`parse`](Self::parse) then checks.
    #[inline(always)]
    pub(crate) fn parse_common(octets: &[u8; Self::LEN]) -> Option<Self> {
        let [m0, m1, m2, m3, major, minor, flags, kind, s0, s1, s2, s3] = *octets;
        let order = ByteOrder::from_flag(flags & LITTLE != 0);
        let size = ulong_from(order, [s0, s1, s2, s3]);
        let common = [m0, m1, m2, m3] == *MAGIC
            && [major, minor] == [1, 2]
            && flags <= LITTLE
            && kind <= MessageType::REPLY.0
            && size != 0;
        common.then_some(Self {
            version: Version::V1_2,
            order,
            more_fragments: false,
            kind: MessageType(kind),
            len: GIOP_LEN,
            size,
        })
    }

    /// Returns the length of the whole message in octets, header included; the largest number if it exceeds the address
    /// space of the processor, as the size in a hostile header may with 32 bits.
    #[inline]
    pub fn total(&self) -> usize {
        // With 64 bits, the compiler knows that this is an addition.
        usize::from(self.len).saturating_add(self.size as usize)
    }

    /// Returns the octets of this header, which must be a GIOP header.
    #[inline]
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let flags = u8::from(self.order.flag()) | if self.more_fragments { MORE } else { 0 };
        let [s0, s1, s2, s3] = ulong_octets(self.order, self.size);
        let [m0, m1, m2, m3] = *MAGIC;
        [m0, m1, m2, m3, self.version.major, self.version.minor, flags, self.kind.0, s0, s1, s2, s3]
    }

    /// Returns the header of an unfragmented message, with size 0 to be patched.
    pub(crate) fn new(version: Version, order: ByteOrder, kind: MessageType) -> Self {
        Self { version, order, more_fragments: false, kind, len: GIOP_LEN, size: 0 }
    }

    #[inline]
    fn check(&self) -> Result<(), Violation> {
        use MessageType as M;
        if self.kind.0 > M::FRAGMENT.0 {
            return Err(Violation::Unsupported(Unsupported::MessageType(self.kind)));
        }
        if self.kind == M::FRAGMENT && self.version == Version::V1_0 {
            return Err(Violation::Peer(Misbehaviour::NotFragmentable {
                kind: self.kind,
                version: self.version,
            }));
        }
        if self.more_fragments && !self.kind.fragmentable(self.version) {
            return Err(Violation::Peer(Misbehaviour::NotFragmentable {
                kind: self.kind,
                version: self.version,
            }));
        }
        // The last Fragment of a GIOP 1.1 message may be empty, and CloseConnection and MessageError have no body. All
        // other messages contain at least a request id.
        let may_be_empty = matches!(self.kind, M::CLOSE_CONNECTION | M::MESSAGE_ERROR)
            || (self.kind == M::FRAGMENT && self.version == Version::V1_1);
        if self.size == 0 && !may_be_empty {
            return Err(Violation::Peer(Misbehaviour::Empty(self.kind)));
        }
        Ok(())
    }
}

/// Position of the body of a started message, to be passed to [`finish`].
// The fields occupy two words, so that a value is returned in registers.
#[must_use = "the message has no size before `finish`"]
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// End of the header fields.
    fields_end: usize,
    /// Padding between header fields and body, in octets.
    padding: u8,
    /// Header length and offset of the size, if the protocol needs nothing else to finish the
    /// message.
    plain: Option<(u8, u8)>,
}

impl Begun {
    /// Returns the offset of the body's first octet from the start of the message.
    #[inline]
    pub fn body(&self) -> usize {
        self.fields_end + usize::from(self.padding)
    }

    /// Marks a message of another protocol than GIOP as one that [`finish_at`] can finish with
    /// these numbers, without a call of the messaging.
    #[inline]
    pub fn plain(self, len: u8, size_at: u8) -> Self {
        Self { plain: Some((len, size_at)), ..self }
    }

    #[inline]
    fn new(fields_end: usize, body: usize) -> Self {
        Self { fields_end, padding: (body - fields_end) as u8, plain: None }
    }

    /// Ends the header fields before a body aligned to 8, as in GIOP 1.2 Requests and Replies.
    #[inline]
    pub fn aligned(e: &mut Encoder<'_>) -> Self {
        let fields_end = e.position();
        e.align(8);
        Self::new(fields_end, e.position())
    }

    /// Starts a body as [`aligned`](Self::aligned) does, after `first` zero octets, padding to 4,
    /// and `second` zero octets.
    #[inline]
    pub(crate) fn after_zeros(e: &mut Encoder<'_>, first: usize, second: usize) -> Self {
        let from = e.position();
        let fields_end = (from + first).next_multiple_of(4) + second;
        let body = fields_end.next_multiple_of(8);
        // The copy has a constant length, so that it takes two stores. The excess is then truncated.
        e.copy_octets(&[0; 16]);
        e.truncate(body);
        Self::new(fields_end, body)
    }

    /// Returns the position of header fields that are already written, and of their body.
    #[inline(always)]
    pub(crate) fn at(fields_end: usize, body: usize) -> Self {
        Self::new(fields_end, body)
    }

    /// Returns the end of the header fields and the start of the body.
    pub(crate) fn ends(self) -> (usize, usize) {
        (self.fields_end, self.body())
    }

    /// Ends the header fields before a body that follows immediately.
    #[inline]
    pub fn unaligned(e: &mut Encoder<'_>) -> Self {
        let fields_end = e.position();
        Self::new(fields_end, fields_end)
    }
}

/// Finishes a message: removes padding not followed by a body, and fills in the size.
///
/// Gathered segments count; the header is always in the encoder's own part. Costs a few
/// nanoseconds.
///
/// # Errors
/// [`Violation::Limit`] on the sending side when the size does not fit the header's 32 bits. A
/// smaller limit is checked by [`MessageLimits::check_outgoing`](crate::MessageLimits::check_outgoing).
// Inlined, because the error type makes the result large, and a call would have to pass it through memory.
#[inline(always)]
pub fn finish(e: &mut Encoder<'_>, begun: Begun) -> Result<(), Violation> {
    finish_at(e, begun, Header::LEN, SIZE_AT)
}

/// Finishes a message of another protocol than GIOP: removes padding not followed by a body, and
/// fills in the number of octets after a header of `len` octets as an unsigned long at offset
/// `size_at`.
///
/// # Errors
/// Those of [`finish`].
#[inline(always)]
pub fn finish_at(
    e: &mut Encoder<'_>,
    begun: Begun,
    len: usize,
    size_at: usize,
) -> Result<(), Violation> {
    // If the body is empty, the padding is removed, because strict receivers reject octets after the header fields.
    let mut end = e.position();
    if begun.padding != 0 && end == begun.body() {
        e.truncate(begun.fields_end);
        end = begun.fields_end;
    }
    let size = end - len;
    match u32::try_from(size) {
        Ok(size) => {
            e.patch_ulong(size_at, size);
            Ok(())
        }
        Err(_) => Err(beyond_header(size)),
    }
}

/// Finishes a message of another protocol than GIOP.
///
/// # Errors
/// Those of [`finish`].
#[inline(always)]
pub(crate) fn finish_other(
    e: &mut Encoder<'_>,
    begun: Begun,
    messaging: &'static dyn Messaging,
) -> Result<(), Violation> {
    match begun.plain {
        Some((len, size_at)) => finish_at(e, begun, len.into(), size_at.into()),
        None => messaging.finish(e, begun),
    }
}

/// Writes the header of a message with size 0.
#[inline]
pub(crate) fn begin(e: &mut Encoder<'_>, version: Version, kind: MessageType) {
    let octets = octets_of(e, version, kind);
    e.copy_octets(&octets);
}

/// Returns the header of a message with size 0, for the start of this encoder.
#[inline]
pub(crate) fn octets_of(e: &Encoder<'_>, version: Version, kind: MessageType) -> [u8; Header::LEN] {
    debug_assert_eq!(e.position(), 0, "a message starts at the beginning of its encoder");
    Header::new(version, e.order(), kind).to_bytes()
}

/// Offset of the size in the header.
pub(crate) const SIZE_AT: usize = 8;

#[cold]
fn beyond_header(size: usize) -> Violation {
    Violation::Limit {
        what: "size in octets of a message",
        size: size as u64,
        limit: u64::from(u32::MAX),
        setting: "fixed",
        side: Side::Sent,
    }
}

const GIOP_LEN: u8 = Header::LEN as u8;
const MORE: u8 = 2;
const LITTLE: u8 = 1;
const MAGIC: &[u8; 4] = b"GIOP";
const COMPRESSED_MAGIC: &[u8; 4] = b"ZIOP";

#[cold]
fn not_giop(magic: [u8; 4]) -> Violation {
    if magic == *COMPRESSED_MAGIC {
        Violation::Unsupported(Unsupported::Compression)
    } else {
        Violation::Peer(Misbehaviour::Magic(magic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// With 32 bits, the length of these messages does not fit into the address space.
    #[test]
    fn a_message_of_nearly_4_gib_is_too_large_and_not_short() {
        for size in [u32::MAX, u32::MAX - 7, u32::MAX - 11] {
            for kind in 0..=MessageType::FRAGMENT.0 {
                let header = Header {
                    size,
                    ..Header::new(Version::V1_2, ByteOrder::Big, MessageType(kind))
                };
                assert!(header.total() >= size as usize);
                let mut inbox = crate::Inbox::new(&crate::MessageLimits::default());
                let (buffer, _) = inbox.room();
                buffer.extend_from_slice(&header.to_bytes());
                buffer.extend_from_slice(&[0; 8]);
                assert!(matches!(inbox.poll(), Err(Violation::Limit { .. })), "{header:?}");
            }
        }
    }

    proptest! {
        /// The fast path and the general path read every header in the same way.
        #[test]
        fn the_common_way_and_the_general_way_agree(
            minor in 0..4u8,
            flags in 0..5u8,
            kind in 0..9u8,
            size in prop::array::uniform4(0..2u8),
            damage in prop::option::of((0..Header::LEN, any::<u8>())),
        ) {
            let mut octets = *b"GIOP\x01\0\0\0\0\0\0\0";
            octets[5..8].copy_from_slice(&[minor, flags, kind]);
            octets[8..].copy_from_slice(&size);
            if let Some((at, value)) = damage {
                octets[at] = value;
            }
            let general = Header::parse(&octets);
            match Header::parse_common(&octets) {
                Some(common) => prop_assert_eq!(Ok(common), general),
                None => {
                    let usual = general.is_ok_and(|header| {
                        header.version == Version::V1_2
                            && header.kind.0 <= MessageType::REPLY.0
                            && octets[6] <= LITTLE
                    });
                    prop_assert!(!usual);
                }
            }
        }
    }
}
