//! Profiles whose address is one string: UIOP as TAO writes it, and the transports that have no
//! profile type of their own.

use crate::prelude::*;
use oxorb_cdr::{Decoder, Dialect};

use crate::{Malformed, TaggedComponent, TaggedProfile, Version, components, ior};

/// Profile with the layout of an IIOP profile, except for one string in place of host and port.
///
/// ```
/// use oxorb_object::{PlaceProfile, Version, profile_tag};
///
/// let profile = PlaceProfile {
///     tag: profile_tag::TAO_UIOP,
///     version: Version::V1_2,
///     place: "/run/bank".to_owned(),
///     object_key: b"teller".to_vec(),
///     components: Vec::new(),
/// };
/// assert_eq!(PlaceProfile::parse(&profile.to_profile())?, profile);
/// # Ok::<(), oxorb_object::Malformed>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PlaceProfile {
    /// Tag of the profile.
    pub tag: u32,
    /// Highest GIOP version that the server supports at the address.
    pub version: Version,
    /// Address in the notation of its protocol: a path, for UIOP.
    pub place: String,
    /// Object key, which only the server interprets.
    pub object_key: Vec<u8>,
    /// Components, in the server's order; always empty in version 1.0.
    pub components: Vec<TaggedComponent>,
}

impl PlaceProfile {
    /// Parses a profile with any tag. Ignores octets after those that the version defines.
    /// Allocates for each field.
    ///
    /// # Errors
    /// [`Malformed`] for a major version other than 1, or malformed octets.
    pub fn parse(profile: &TaggedProfile) -> Result<Self, Malformed> {
        let tag = profile.tag;
        let mut d = Decoder::encapsulated(&profile.data, Dialect::GIOP_1_2)?;
        let version = Version { major: d.octet()?, minor: d.octet()? };
        if version.major != 1 {
            return Err(Malformed::Profile { tag });
        }
        let place = ior::text(&mut d)?;
        let key = d.length(None, 1)?;
        let object_key = d.octets(key)?.to_vec();
        let components = match version.minor {
            0 => Vec::new(),
            _ => components::read(&mut d)?,
        };
        Ok(Self { tag, version, place, object_key, components })
    }

    /// Returns the profile as part of a reference, big-endian. Omits components in version 1.0,
    /// which has none.
    pub fn to_profile(&self) -> TaggedProfile {
        let data = components::encapsulate(|e| {
            e.octet(self.version.major);
            e.octet(self.version.minor);
            components::write_text(e, &self.place);
            ior::write_octets(e, &self.object_key);
            if self.version >= Version::V1_1 {
                components::write(e, &self.components);
            }
        });
        TaggedProfile { tag: self.tag, data }
    }
}
