//! The twelve octets every message starts with.

use core::fmt;

use oxorb_cdr::ByteOrder;
use oxorb_object::Version;

use crate::order::{ulong_from, ulong_octets};
use crate::{Misbehaviour, Unsupported, Violation};

/// The header of a message: what it is, in which byte order, and how much follows.
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
    /// GIOP version of this message; of another protocol's, the one whose rules its values follow.
    pub version: Version,
    /// Byte order of the size and of everything after the header.
    pub order: ByteOrder,
    /// Whether Fragment messages with the rest follow (GIOP 1.1 and later).
    pub more_fragments: bool,
    /// What the message is.
    pub kind: MessageType,
    /// Octets of the header itself: [`LEN`](Self::LEN), but in other protocols than GIOP.
    pub len: u8,
    /// Octets after the header.
    pub size: u32,
}

impl Header {
    /// Octets of a GIOP header on the wire.
    pub const LEN: usize = 12;

    /// Reads a header and checks everything that can be known from it alone.
    ///
    /// Costs a few nanoseconds; allocates nothing.
    ///
    /// # Errors
    /// [`Violation::Peer`] for octets that are no GIOP header or contradict themselves, [`Violation::Unsupported`] for
    /// versions, message types and compression we do not know.
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

    /// Reads the header of what nearly every message is: a GIOP 1.2 Request or Reply in one piece. `None`: it may be another
    /// one, or none; [`parse`](Self::parse) says which.
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

    /// Octets of the whole message, header included.
    #[inline]
    pub fn total(&self) -> usize {
        usize::from(self.len) + self.size as usize
    }

    /// The octets of this header, if it is GIOP's.
    #[inline]
    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let flags = u8::from(self.order.flag()) | if self.more_fragments { MORE } else { 0 };
        let [s0, s1, s2, s3] = ulong_octets(self.order, self.size);
        let [m0, m1, m2, m3] = *MAGIC;
        [
            m0,
            m1,
            m2,
            m3,
            self.version.major,
            self.version.minor,
            flags,
            self.kind.0,
            s0,
            s1,
            s2,
            s3,
        ]
    }

    /// A header of a message that is not fragmented, with size 0 to be patched.
    pub(crate) fn new(version: Version, order: ByteOrder, kind: MessageType) -> Self {
        Self {
            version,
            order,
            more_fragments: false,
            kind,
            len: GIOP_LEN,
            size: 0,
        }
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
        // A final 1.1 Fragment may be empty; everything else but the two bare messages has at least a request id.
        let may_be_empty = matches!(self.kind, M::CLOSE_CONNECTION | M::MESSAGE_ERROR)
            || (self.kind == M::FRAGMENT && self.version == Version::V1_1);
        if self.size == 0 && !may_be_empty {
            return Err(Violation::Peer(Misbehaviour::Empty(self.kind)));
        }
        Ok(())
    }
}

/// The kind of a message, as on the wire; unknown values survive.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageType(pub u8);

impl MessageType {
    /// Asks an object for something.
    pub const REQUEST: Self = Self(0);
    /// Answers a Request.
    pub const REPLY: Self = Self(1);
    /// The client no longer waits.
    pub const CANCEL_REQUEST: Self = Self(2);
    /// Asks where an object is.
    pub const LOCATE_REQUEST: Self = Self(3);
    /// Answers a LocateRequest.
    pub const LOCATE_REPLY: Self = Self(4);
    /// Orderly end: nothing unanswered has been processed.
    pub const CLOSE_CONNECTION: Self = Self(5);
    /// The peer could not understand a message.
    pub const MESSAGE_ERROR: Self = Self(6);
    /// Continues a fragmented message.
    pub const FRAGMENT: Self = Self(7);

    /// The specification's name, if the value is one of the eight.
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 8] = [
            "Request",
            "Reply",
            "CancelRequest",
            "LocateRequest",
            "LocateReply",
            "CloseConnection",
            "MessageError",
            "Fragment",
        ];
        NAMES.get(usize::from(self.0)).copied()
    }

    /// Whether a message of this kind may announce that fragments follow.
    #[inline]
    pub fn fragmentable(self, version: Version) -> bool {
        match self {
            Self::REQUEST | Self::REPLY | Self::FRAGMENT => version >= Version::V1_1,
            Self::LOCATE_REQUEST | Self::LOCATE_REPLY => version >= Version::V1_2,
            _ => false,
        }
    }
}

impl fmt::Debug for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "MessageType({:#04x})", self.0),
        }
    }
}

impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "message type {}", self.0),
        }
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

    proptest! {
        /// The two ways of reading a header agree, whatever the octets are.
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
