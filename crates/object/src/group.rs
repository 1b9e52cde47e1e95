//! Object groups, and their profiles (MIOP 1.0).

use crate::prelude::*;
use oxorb_cdr::{self as cdr, ByteOrder, Decoder, Dialect};

use crate::components::{self, tag};
use crate::{Malformed, TaggedComponent, TaggedProfile, ior, profile_tag};

/// Group of objects that receive the same requests: the content of the component TAG_GROUP.
///
/// ```
/// use oxorb_object::Group;
///
/// let group = Group { domain: "plant".to_owned(), id: 7, version: 0 };
/// assert_eq!(Group::parse(&group.to_component().data)?, group);
/// # Ok::<(), oxorb_object::Malformed>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Group {
    /// Domain within which the number is unique.
    pub domain: String,
    /// Number of the group.
    pub id: u64,
    /// Version of the group's reference; 0 if unspecified.
    pub version: u32,
}

impl Group {
    /// Parses the octets of a TAG_GROUP. A missing version is 0. Allocates the domain.
    ///
    /// # Errors
    /// [`Malformed`] for a major version other than 1, or malformed octets.
    pub fn parse(octets: &[u8]) -> Result<Self, Malformed> {
        let mut d = Decoder::encapsulated(octets, Dialect::GIOP_1_2)?;
        let major = d.octet()?;
        d.octet()?; // minor
        if major != 1 {
            return Err(Malformed::Profile { tag: profile_tag::UIPMC });
        }
        Ok(Self { domain: ior::text(&mut d)?, id: d.ulonglong()?, version: d.ulong().unwrap_or(0) })
    }

    /// Returns the component, big-endian.
    pub fn to_component(&self) -> TaggedComponent {
        TaggedComponent { tag: tag::GROUP, data: self.encode(ByteOrder::Big) }
    }

    /// Returns the octets of the component in a byte order.
    pub fn encode(&self, order: ByteOrder) -> Vec<u8> {
        components::encapsulate_in(order, |e| {
            e.octet(1);
            e.octet(0);
            components::write_text(e, &self.domain);
            e.ulonglong(self.id);
            e.ulong(self.version);
        })
    }
}

/// Profile for requests to a group over UDP (TAG_UIPMC): an address and components, without an
/// object key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct UipmcProfile {
    /// Numeric address at which the members listen.
    pub address: String,
    /// Port at which the members listen.
    pub port: u16,
    /// Components, including TAG_GROUP.
    pub components: Vec<TaggedComponent>,
}

impl UipmcProfile {
    /// Parses a profile. Allocates for each field.
    ///
    /// # Errors
    /// [`Malformed`] for another tag, a major version of MIOP other than 1, or malformed octets.
    pub fn parse(profile: &TaggedProfile) -> Result<Self, Malformed> {
        let tag = profile.tag;
        let mut d = Decoder::encapsulated(&profile.data, Dialect::GIOP_1_2)?;
        let major = d.octet()?;
        d.octet()?; // minor
        if major != 1 || tag != profile_tag::UIPMC {
            return Err(Malformed::Profile { tag });
        }
        Ok(Self {
            address: ior::text(&mut d)?,
            port: d.ushort()?,
            components: components::read(&mut d)?,
        })
    }

    /// Returns the group of the profile.
    ///
    /// # Errors
    /// [`Malformed`] when the component is missing or malformed.
    pub fn group(&self) -> Result<Group, Malformed> {
        let mut all = self.components.iter();
        let found = all.find(|component| component.tag == tag::GROUP);
        let found = found.ok_or(Malformed::Profile { tag: profile_tag::UIPMC })?;
        Group::parse(&found.data)
    }

    /// Returns the profile as part of a reference, big-endian.
    pub fn to_profile(&self) -> TaggedProfile {
        let data = components::encapsulate(|e| {
            e.octet(1);
            e.octet(0);
            components::write_text(e, &self.address);
            e.ushort(self.port);
            components::write(e, &self.components);
        });
        TaggedProfile { tag: profile_tag::UIPMC, data }
    }

    /// Returns the octets of the TAG_GROUP in a profile, if it has one, in place of an object key.
    /// Allocates nothing.
    ///
    /// # Errors
    /// Truncated octets.
    pub fn find_group(profile: &[u8]) -> cdr::Result<Option<&[u8]>> {
        let mut d = Decoder::encapsulated(profile, Dialect::GIOP_1_2)?;
        d.octets(2)?; // version
        let address = d.length(None, 1)?;
        d.octets(address)?;
        d.ushort()?; // port
        let components = d.length(None, 8)?;
        for _ in 0..components {
            let found = d.ulong()? == tag::GROUP;
            let length = d.length(None, 1)?;
            let octets = d.octets(length)?;
            if found {
                return Ok(Some(octets));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group() -> Group {
        Group { domain: "dom".to_owned(), id: 0x0102_0304_0506_0708, version: 9 }
    }

    #[test]
    fn groups_are_the_same_in_both_byte_orders_and_without_a_version() {
        for order in [ByteOrder::Big, ByteOrder::Little] {
            let octets = group().encode(order);
            assert_eq!(Group::parse(&octets).unwrap(), group());
            let bare = Group::parse(&octets[..octets.len() - 4]).unwrap();
            assert_eq!(bare, Group { version: 0, ..group() });
            for cut in 0..octets.len() - 4 {
                assert!(Group::parse(&octets[..cut]).is_err(), "{cut}");
            }
        }
    }

    #[test]
    fn the_octets_are_those_of_the_specification() {
        let mut octets = vec![0, 1, 0, 0, 0, 0, 0, 4];
        octets.extend(b"dom\0\0\0\0\0");
        octets.extend([1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 9]);
        assert_eq!(group().to_component().data, octets);

        let profile = UipmcProfile {
            address: "239.1.2.3".to_owned(),
            port: 5000,
            components: vec![TaggedComponent::orb_type(5), group().to_component()],
        };
        let written = profile.to_profile();
        assert_eq!(&written.data[..8], [0, 1, 0, 0, 0, 0, 0, 10]);
        assert_eq!(UipmcProfile::parse(&written).unwrap(), profile);
        assert_eq!(profile.group().unwrap(), group());
        let found = UipmcProfile::find_group(&written.data).unwrap();
        assert_eq!(found, Some(&octets[..]));
        for cut in 0..written.data.len() {
            assert!(UipmcProfile::find_group(&written.data[..cut]).is_err(), "{cut}");
        }
    }
}
