//! Interoperable object references (CORBA 3.4, 13.6.2).

use crate::prelude::*;
use core::fmt;
use core::str::FromStr;

use oxorb_cdr::{self as cdr, ByteOrder, Decode, Decoder, Dialect, Encode, Encoder, ErrorKind};

use crate::{CompletionStatus, IiopProfile, SystemException, hex, minor};

/// Object reference: the type it claims to have, and one profile per way to reach it.
///
/// Profiles of unsupported protocols, and all unknown data inside the others, are preserved octet
/// by octet and passed on.
///
/// ```
/// let text = "IOR:00000000000000010000000000000000";
/// let nil: oxorb_object::Ior = text.parse()?;
/// assert!(nil.is_nil());
/// assert_eq!(nil.to_string(), text);
/// # Ok::<(), oxorb_object::IorError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Ior {
    /// Repository id of the most derived interface, as far as the sender knew it; if empty, call
    /// `_is_a`.
    pub type_id: String,
    /// Profiles, each a way to reach the object, best first. Empty for a nil reference.
    pub profiles: Vec<TaggedProfile>,
}

impl Ior {
    /// Creates a nil reference.
    pub const fn nil() -> Self {
        Self { type_id: String::new(), profiles: Vec::new() }
    }

    /// Reports whether the reference is nil.
    pub fn is_nil(&self) -> bool {
        self.profiles.is_empty()
    }

    /// Returns the valid IIOP profiles, in order; skips others.
    pub fn iiop_profiles(&self) -> impl Iterator<Item = IiopProfile> {
        self.profiles.iter().filter_map(|profile| IiopProfile::parse(profile).ok())
    }

    /// Returns the octets that the stringified form contains as digits: an encapsulation,
    /// big-endian. For storing references.
    ///
    /// Allocates.
    pub fn to_octets(&self) -> Vec<u8> {
        let mut e = Encoder::new(Vec::new(), ByteOrder::Big, Dialect::GIOP_1_2);
        e.octet(0);
        self.write(&mut e);
        e.finish().contiguous().to_vec()
    }

    /// Parses the result of [`to_octets`](Self::to_octets), or another ORB's encapsulation of a
    /// reference.
    ///
    /// ```
    /// # use oxorb_object::Ior;
    /// let octets = Ior::nil().to_octets();
    /// assert!(Ior::from_octets(&octets)?.is_nil());
    /// # Ok::<(), oxorb_cdr::Error>(())
    /// ```
    ///
    /// # Errors
    /// The position where the octets are not a valid reference. Octets after the reference are
    /// ignored.
    pub fn from_octets(octets: &[u8]) -> cdr::Result<Self> {
        Self::decode(&mut Decoder::encapsulated(octets, Dialect::GIOP_1_2)?)
    }

    /// Writes the reference. Copies everything.
    pub fn write(&self, e: &mut Encoder<'_>) {
        e.ulong(self.type_id.len() as u32 + 1);
        e.copy_octets(self.type_id.as_bytes());
        e.octet(0);
        e.ulong(self.profiles.len() as u32);
        for profile in &self.profiles {
            e.ulong(profile.tag);
            write_octets(e, &profile.data);
        }
    }
}

impl Encode for Ior {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> cdr::Result<()> {
        self.write(e);
        Ok(())
    }
}

impl<'de> Decode<'de> for Ior {
    const MIN_SIZE: usize = 8;

    /// Allocates for the type id and each profile, never more than the remaining octets.
    fn decode(d: &mut Decoder<'de>) -> cdr::Result<Self> {
        let type_id = text(d)?;
        let count = d.length(None, 8)?;
        let mut profiles = Vec::with_capacity(count.min(PLAUSIBLE_COUNT));
        for _ in 0..count {
            let tag = d.ulong()?;
            let length = d.length(None, 1)?;
            profiles.push(TaggedProfile { tag, data: d.octets(length)?.to_vec() });
        }
        Ok(Self { type_id, profiles })
    }
}

impl fmt::Display for Ior {
    /// Writes `IOR:` and hexadecimal digits, big-endian.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::from("IOR:");
        hex::push(&mut text, &self.to_octets());
        f.write_str(&text)
    }
}

impl FromStr for Ior {
    type Err = IorError;

    /// Parses `IOR:` and digits, each in either case; ignores surrounding white space.
    fn from_str(text: &str) -> Result<Self, IorError> {
        let text = text.trim();
        let digits = match text.split_at_checked(4) {
            Some((prefix, digits)) if prefix.eq_ignore_ascii_case("IOR:") => digits,
            _ => return Err(IorError::Prefix),
        };
        let octets = hex::parse(digits).map_err(|at| IorError::Digit { at: at + 4 })?;
        Self::from_octets(&octets).map_err(IorError::Content)
    }
}

/// Profile: the tag of a protocol, and the data with which that protocol reaches the object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TaggedProfile {
    /// Tag of the protocol; see [`profile_tag`].
    pub tag: u32,
    /// Data of the protocol, unchanged.
    pub data: Vec<u8>,
}

/// Tags of profiles, as assigned by the OMG and by the vendors (TAO, JacORB, OCI, OxORB).
pub mod profile_tag {
    /// IIOP over TCP; see [`IiopProfile`](crate::IiopProfile).
    pub const INTERNET_IOP: u32 = 0;
    /// Components that belong to all profiles.
    pub const MULTIPLE_COMPONENTS: u32 = 1;
    /// Multicast (MIOP).
    pub const UIPMC: u32 = 3;
    /// TAO over Unix sockets.
    pub const TAO_UIOP: u32 = 0x5441_4f00;
    /// TAO over shared memory.
    pub const TAO_SHMIOP: u32 = 0x5441_4f02;
    /// TAO over UDP.
    pub const TAO_DIOP: u32 = 0x5441_4f04;
    /// TAO over SCTP.
    pub const TAO_SCIOP: u32 = 0x5441_4f0e;
    /// OxORB: a name in the memory of the server's process (`PlaceProfile`).
    pub const OXORB_MEMORY: u32 = 0x4f58_4f10;
    /// OxORB: GIOP over shared memory. The address is that of the UNIX socket at which client and
    /// server connect: a path, or `@` and an abstract name. It is preceded by the size of a ring in
    /// octets and a colon, unless the size is the default.
    pub const OXORB_SHM: u32 = 0x4f58_4f11;
    /// OxORB: GIOPlite over TCP. The address is `HOST:PORT`.
    pub const OXORB_LITE_TCP: u32 = 0x4f58_4f20;
    /// OxORB: GIOPlite over UNIX sockets. The address is a path, or `@` and an abstract name.
    pub const OXORB_LITE_UNIX: u32 = 0x4f58_4f21;
    /// OxORB: GIOPlite over memory.
    pub const OXORB_LITE_MEMORY: u32 = 0x4f58_4f22;
    /// OxORB: GIOPlite over shared memory. The address is as in [`OXORB_SHM`].
    pub const OXORB_LITE_SHM: u32 = 0x4f58_4f23;
    /// OxORB: GIOPlite/RT over TCP.
    pub const OXORB_LITE_RT_TCP: u32 = 0x4f58_4f28;
    /// OxORB: GIOPlite/RT over UNIX sockets.
    pub const OXORB_LITE_RT_UNIX: u32 = 0x4f58_4f29;
    /// OxORB: GIOPlite/RT over memory.
    pub const OXORB_LITE_RT_MEMORY: u32 = 0x4f58_4f2a;
    /// OxORB: GIOPlite/RT over shared memory. The address is as in [`OXORB_SHM`].
    pub const OXORB_LITE_RT_SHM: u32 = 0x4f58_4f2b;
    /// OxORB: GIOP over TLS. Used only in policies about protocols, never in a profile: IIOP
    /// profiles contain the TLS components.
    pub const OXORB_TLS: u32 = 0x4f58_4f30;
    /// OxORB: octets without a meaning. A gateway adds such a profile to a reference whose size must equal that of
    /// another reference modulo eight.
    pub const OXORB_PADDING: u32 = 0x4f58_4f31;

    /// Reports whether OxORB's profiles with this tag are `PlaceProfile`s.
    pub fn is_placed(tag: u32) -> bool {
        matches!(
            tag,
            OXORB_MEMORY..=OXORB_SHM | OXORB_LITE_TCP..=OXORB_LITE_SHM | OXORB_LITE_RT_TCP..=OXORB_LITE_RT_SHM
        )
    }

    /// Returns the name of a known tag.
    pub fn name(tag: u32) -> Option<&'static str> {
        Some(match tag {
            INTERNET_IOP => "TAG_INTERNET_IOP",
            MULTIPLE_COMPONENTS => "TAG_MULTIPLE_COMPONENTS",
            2 => "TAG_SCCP_IOP",
            UIPMC => "TAG_UIPMC",
            TAO_UIOP => "TAO UIOP (Unix sockets)",
            TAO_SHMIOP => "TAO SHMIOP (shared memory)",
            TAO_DIOP => "TAO DIOP (UDP)",
            0x5441_4f05 => "TAO COIOP",
            TAO_SCIOP => "TAO SCIOP (SCTP)",
            OXORB_MEMORY => "OxORB memory",
            OXORB_SHM => "OxORB shared memory",
            OXORB_LITE_TCP => "OxORB GIOPlite over TCP",
            OXORB_LITE_UNIX => "OxORB GIOPlite over UNIX sockets",
            OXORB_LITE_MEMORY => "OxORB GIOPlite over memory",
            OXORB_LITE_SHM => "OxORB GIOPlite over shared memory",
            OXORB_LITE_RT_TCP => "OxORB GIOPlite/RT over TCP",
            OXORB_LITE_RT_UNIX => "OxORB GIOPlite/RT over UNIX sockets",
            OXORB_LITE_RT_MEMORY => "OxORB GIOPlite/RT over memory",
            OXORB_LITE_RT_SHM => "OxORB GIOPlite/RT over shared memory",
            OXORB_PADDING => "OxORB padding",
            0x4f43_4902 => "OCI HTIOP (HTTP tunnel)",
            0x3039 => "Tandem NSKFS",
            0x303a => "Tandem NSKPW",
            0x4a41_4300..=0x4a41_430f => "JacORB",
            _ => return None,
        })
    }
}

/// Reason why text is not a valid stringified reference.
#[derive(Clone, PartialEq, Eq)]
pub enum IorError {
    /// The text does not start with `IOR:`.
    Prefix,
    /// A character is not a hexadecimal digit, or the number of digits is odd.
    Digit {
        /// Offset of the character in the text, in octets.
        at: usize,
    },
    /// The digits do not encode a reference.
    Content(cdr::Error),
}

impl IorError {
    /// Returns the exception that `string_to_object` raises for the error.
    pub fn to_exception(&self) -> SystemException {
        match self {
            Self::Prefix => {
                SystemException::bad_param(minor::bad_param::URL_SCHEME, CompletionStatus::No)
            }
            Self::Digit { .. } => SystemException::bad_param(
                minor::bad_param::URL_SCHEME_SPECIFIC,
                CompletionStatus::No,
            ),
            Self::Content(_) => {
                SystemException::inv_objref(minor::inv_objref::MALFORMED, CompletionStatus::No)
            }
        }
    }
}

impl fmt::Debug for IorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for IorError {}

impl fmt::Display for IorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix => f.write_str("a stringified reference starts with \"IOR:\""),
            Self::Digit { at } => write!(
                f,
                "after \"IOR:\" only pairs of hexadecimal digits may follow; the text breaks that at character {at}: \
                 was it cut short or wrapped?"
            ),
            Self::Content(error) => write!(
                f,
                "the digits after \"IOR:\" are not an object reference ({error}): was part of the text lost?"
            ),
        }
    }
}

/// Writes a sequence of octets: their number, and a copy of them.
#[inline]
pub fn write_octets(e: &mut Encoder<'_>, octets: &[u8]) {
    e.ulong(octets.len() as u32);
    e.copy_octets(octets);
}

/// Maximum number of profiles or components for which memory is reserved in advance. The declared
/// number may be false, and an element takes fewer octets on the wire than in memory.
pub(crate) const PLAUSIBLE_COUNT: usize = 16;

/// Reads an identifier or a host name as text, without code set conversion; octets that are not
/// UTF-8 are decoded as ISO 8859-1.
pub(crate) fn text(d: &mut Decoder<'_>) -> cdr::Result<String> {
    let length = d.length(None, 1)?;
    let octets = match d.octets(length)? {
        [text @ .., 0] => text,
        [] => &[], // illegal, but some send an empty string so
        _ => return Err(d.error_back(length, ErrorKind::BadString)),
    };
    Ok(match core::str::from_utf8(octets) {
        Ok(text) => text.to_owned(),
        Err(_) => octets.iter().copied().map(char::from).collect(),
    })
}
