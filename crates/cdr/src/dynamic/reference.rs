use crate::prelude::*;
use crate::{Decode, Decoder, Encode, Encoder, ErrorKind, Result, TypeCode, Typed};

/// Object reference as it is sent, without interpretation.
///
/// Everything is preserved octet by octet; upper layers interpret the profiles.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct RawReference {
    /// Repository id of the interface; may be empty.
    pub type_id: String,
    /// Profiles, each a way to reach the object. Empty for a nil reference.
    pub profiles: Vec<RawProfile>,
}

/// Profile of a reference: a way to reach an object.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RawProfile {
    /// Tag that defines the format of `data`.
    pub tag: u32,
    /// Octets of the profile, usually an encapsulation.
    pub data: Vec<u8>,
}

impl RawReference {
    /// Reports whether the reference is nil.
    pub fn is_nil(&self) -> bool {
        self.profiles.is_empty()
    }

    pub(crate) fn write(&self, e: &mut Encoder<'_>) -> Result<()> {
        e.length(self.type_id.len() + 1, None)?;
        e.copy_octets(self.type_id.as_bytes());
        e.octet(0);
        e.length(self.profiles.len(), None)?;
        for profile in &self.profiles {
            e.ulong(profile.tag);
            e.length(profile.data.len(), None)?;
            e.copy_octets(&profile.data);
        }
        Ok(())
    }

    /// Skips a reference.
    pub(crate) fn skip(d: &mut Decoder<'_>) -> Result<()> {
        let length = d.length(None, 1)?;
        d.octets(length)?;
        for _ in 0..d.length(None, 8)? {
            d.ulong()?;
            let length = d.length(None, 1)?;
            d.octets(length)?;
        }
        Ok(())
    }
}

impl Encode for RawReference {
    fn encode<'a>(&'a self, e: &mut Encoder<'a>) -> Result<()> {
        self.write(e)
    }
}

impl<'de> Decode<'de> for RawReference {
    const MIN_SIZE: usize = 8;

    /// A type id that is not UTF-8 is decoded as ISO 8859-1; an invalid one without octets is
    /// decoded as empty.
    fn decode(d: &mut Decoder<'de>) -> Result<Self> {
        let length = d.length(None, 1)?;
        let type_id = match d.octets(length)?.split_last() {
            None => String::new(),
            Some((0, text)) => match core::str::from_utf8(text) {
                Ok(text) => text.into(),
                Err(_) => text.iter().map(|&octet| char::from(octet)).collect(),
            },
            Some(_) => return Err(d.error_back(length, ErrorKind::BadString)),
        };
        let count = d.length(None, 8)?;
        let mut profiles = Vec::with_capacity(count);
        for _ in 0..count {
            profiles.push(RawProfile { tag: d.ulong()?, data: d.sequence(None)? });
        }
        Ok(Self { type_id, profiles })
    }
}

impl Typed for RawReference {
    fn type_code() -> TypeCode {
        TypeCode::OBJECT
    }
}
