//! IIOP profile: host, port, object key and components (CORBA 3.4, 15.7.2).

use crate::prelude::*;
use core::fmt;

use oxorb_cdr::tables::TableSet;
use oxorb_cdr::{ByteOrder, Decoder, Dialect, Printable};

use crate::components::DecodedComponent;
use crate::{
    Malformed, TaggedComponent, TaggedProfile, Version, components, ior::profile_tag, ior::text,
    ior::write_octets,
};

/// Profile of an object reachable over TCP.
///
/// ```
/// use oxorb_object::{IiopProfile, Version};
/// let profile = IiopProfile::new(Version::V1_2, "example.org", 2809, b"NameService");
/// assert_eq!(IiopProfile::parse(&profile.to_profile())?, profile);
/// # Ok::<(), oxorb_object::Malformed>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IiopProfile {
    /// Highest GIOP version that the server supports at this address.
    pub version: Version,
    /// Host name or address; IPv6 without brackets.
    pub host: String,
    /// TCP port; 0 when the server offers TLS only.
    pub port: u16,
    /// Object key, which only the server interprets.
    pub object_key: Vec<u8>,
    /// Components, in the server's order; always empty in version 1.0.
    pub components: Vec<TaggedComponent>,
}

impl IiopProfile {
    /// Creates a profile without components.
    pub fn new(version: Version, host: &str, port: u16, object_key: &[u8]) -> Self {
        Self {
            version,
            host: host.to_owned(),
            port,
            object_key: object_key.to_owned(),
            components: Vec::new(),
        }
    }

    /// Parses a profile with tag [`profile_tag::INTERNET_IOP`]. Ignores octets after those that the
    /// version defines. Allocates for each field.
    ///
    /// # Errors
    /// [`Malformed`] for another tag, another major version, or malformed octets.
    pub fn parse(profile: &TaggedProfile) -> Result<Self, Malformed> {
        let tag = profile.tag;
        if tag != profile_tag::INTERNET_IOP {
            return Err(Malformed::NoObjectKey { tag });
        }
        Self::parse_alike(profile)
    }

    /// Parses a profile of another protocol that has the layout of an IIOP profile.
    pub fn parse_alike(profile: &TaggedProfile) -> Result<Self, Malformed> {
        let tag = profile.tag;
        let mut d = Decoder::encapsulated(&profile.data, Dialect::GIOP_1_2)?;
        let version = Version { major: d.octet()?, minor: d.octet()? };
        if version.major != 1 {
            return Err(Malformed::Profile { tag });
        }
        let host = text(&mut d)?;
        let port = d.ushort()?;
        let key = d.length(None, 1)?;
        let object_key = d.octets(key)?.to_vec();
        let components = if version.minor >= 1 { components::read(&mut d)? } else { Vec::new() };
        Ok(Self { version, host, port, object_key, components })
    }

    /// Returns the profile as part of a reference, big-endian. Omits components in version 1.0,
    /// which has none.
    pub fn to_profile(&self) -> TaggedProfile {
        let data = components::encapsulate(|e| {
            e.octet(self.version.major);
            e.octet(self.version.minor);
            components::write_text(e, &self.host);
            e.ushort(self.port);
            write_octets(e, &self.object_key);
            if self.version >= Version::V1_1 {
                components::write(e, &self.components);
            }
        });
        TaggedProfile { tag: profile_tag::INTERNET_IOP, data }
    }

    /// Returns the addresses in this profile that any call may use: its own, those of
    /// TAG_ALTERNATE_IIOP_ADDRESS, and those of TAO_TAG_ENDPOINTS unless they are
    /// [lanes](Self::lanes). Omits addresses with port 0, which means "not over plain TCP", and
    /// duplicates.
    pub fn endpoints(&self) -> Vec<IiopEndpoint> {
        let own = IiopEndpoint { host: self.host.clone(), port: self.port };
        let mut all = vec![own];
        let alternate = self.components.iter();
        all.extend(alternate.filter_map(TaggedComponent::alternate_address));
        let more = self.tao_endpoints();
        if !are_lanes(&more) {
            all.extend(more.into_iter().map(|(endpoint, _)| endpoint));
        }
        distinct(all)
    }

    /// Returns the addresses of TAO_TAG_ENDPOINTS with the priority of the lane at each; none if no
    /// address has a priority, as when TAO lists several addresses of one profile.
    pub fn lanes(&self) -> Vec<(IiopEndpoint, i16)> {
        let mut lanes = self.tao_endpoints();
        lanes.retain(|(endpoint, _)| endpoint.port != 0);
        match are_lanes(&lanes) {
            true => lanes,
            false => Vec::new(),
        }
    }

    /// Returns every address in this profile: [`endpoints`](Self::endpoints) and [`lanes`](Self::lanes).
    pub fn all_addresses(&self) -> Vec<IiopEndpoint> {
        let lanes = self.lanes().into_iter().map(|(endpoint, _)| endpoint);
        distinct(self.endpoints().into_iter().chain(lanes))
    }

    fn tao_endpoints(&self) -> Vec<(IiopEndpoint, i16)> {
        let component = self.component(components::tag::TAO_ENDPOINTS);
        match component.and_then(|component| component.decode().ok()) {
            Some(DecodedComponent::TaoEndpoints(endpoints)) => endpoints,
            _ => Vec::new(),
        }
    }

    /// Returns the first component with this tag.
    pub fn component(&self, tag: u32) -> Option<&TaggedComponent> {
        self.components.iter().find(|component| component.tag == tag)
    }
}

/// Reports whether addresses are those of lanes: one has a priority. TAO writes -1
/// (TAO_INVALID_PRIORITY) for none.
fn are_lanes(endpoints: &[(IiopEndpoint, i16)]) -> bool {
    endpoints.iter().any(|(_, priority)| *priority >= 0)
}

/// Returns the addresses that have a port, without duplicates.
fn distinct(all: impl IntoIterator<Item = IiopEndpoint>) -> Vec<IiopEndpoint> {
    let mut seen = TableSet::new();
    let mut all: Vec<_> = all.into_iter().collect();
    all.retain(|endpoint| endpoint.port != 0 && seen.insert(endpoint.clone()));
    all
}

/// TCP address in a reference.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IiopEndpoint {
    /// Host name or address; IPv6 without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
}

impl fmt::Display for IiopEndpoint {
    /// Writes `host:port`, IPv6 in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = Printable(&self.host);
        if self.host.contains(':') {
            write!(f, "[{host}]:{}", self.port)
        } else {
            write!(f, "{host}:{}", self.port)
        }
    }
}

/// Byte order of all published octets: fixed, so that equal references have equal text.
pub(crate) const PUBLISHED: ByteOrder = ByteOrder::Big;
