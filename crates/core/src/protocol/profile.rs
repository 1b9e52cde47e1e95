//! Profiles of protocols in references.

use std::fmt;

use oxorb_object::{Malformed, TaggedComponent, TaggedProfile, Version};
use oxorb_transport::Address;

/// Kind of profile: encodes addresses in references, and decodes them.
///
/// One value serves all references of all ORBs. Not used on the request path.
pub trait ProfileKind: Send + Sync + fmt::Debug {
    /// Returns the tag of its profiles.
    fn tag(&self) -> u32;

    /// Returns the keyword before the addresses of its `corbaloc:` URLs, in lower case, such as
    /// `iiop`.
    fn url(&self) -> &'static str;

    /// Decodes a profile with its tag.
    ///
    /// # Errors
    /// The octets are malformed.
    fn read(&self, profile: &TaggedProfile) -> Result<Profile, Malformed>;

    /// Encodes a profile: the components unchanged, with those that carry lanes and further
    /// addresses.
    fn write(&self, profile: &Profile) -> TaggedProfile;

    /// Reports whether `address` may be added to a profile with other addresses; otherwise the address needs a separate
    /// profile.
    fn joins(&self, profile: &Profile, address: &Address) -> bool {
        let _ = (profile, address);
        false
    }

    /// Reports whether profiles of this kind name groups of objects: requests carry the profile in place of a key, are
    /// never collocated, and have no reply.
    fn names_group(&self) -> bool {
        false
    }

    /// Parses the first address of a `corbaloc:` URL, after `WORD:`. The rest of the URL begins
    /// with `,` before another address, or with the separator of the key (`/`, for UIOP `|`).
    ///
    /// # Errors
    /// Description of the fault, as the rest of a sentence that begins with the address.
    fn locate<'t>(&self, text: &'t str) -> Result<LocatedAddress<'t>, &'static str>;

    /// Formats an address with its keyword, so that [`locate`](Self::locate) parses it again. If the separator of the
    /// key is not `/`, it is the last character.
    fn print(&self, version: Version, address: &Address) -> String {
        format!("{}:{version}@{}", self.url(), address.name())
    }

    /// Returns the components with which IIOP profiles of the same reference publish an address, so
    /// that clients on the same host can choose it.
    fn beside(&self, address: &Address) -> Vec<TaggedComponent> {
        let _ = address;
        Vec::new()
    }

    /// Returns further keywords before the addresses of its `corbaloc:` URLs.
    fn other_urls(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the components with which an IIOP profile of the same reference publishes `addresses` to all clients;
    /// the reference then has no profile of this kind. `None` if it has one.
    fn within_iiop(&self, addresses: &[Address]) -> Option<Vec<TaggedComponent>> {
        let _ = addresses;
        None
    }

    /// Returns the addresses that an IIOP profile publishes in its components. Calls prefer them to the addresses of
    /// the profile, if the transport is [ready](oxorb_transport::Transport::ready).
    fn found_within(&self, profile: &TaggedProfile) -> ComponentAddresses {
        let _ = profile;
        ComponentAddresses::default()
    }

    /// Reports whether a lane's address in a profile of this kind is on this host. Calls prefer such addresses to the
    /// lanes of other profiles, whose components publish no lanes.
    fn is_near(&self, address: &Address) -> bool {
        let _ = address;
        false
    }

    /// Returns the address that the components of another kind's profile publish. Calls prefer it to the addresses of
    /// that profile; connecting verifies everything about it that may change.
    ///
    /// # Errors
    /// Reason why this process cannot reach it, as a sentence.
    fn found_beside(&self, profile: &Profile) -> Option<Result<Address, String>> {
        let _ = profile;
        None
    }
}

/// Addresses that an IIOP profile publishes in its components.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComponentAddresses {
    /// Each address with the priority of its lane, or -1.
    pub addresses: Vec<(Address, i16)>,
    /// Whether the server refuses requests at the profile's own addresses.
    pub required: bool,
}

/// Address parsed from a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocatedAddress<'t> {
    /// Highest GIOP version to use at the address.
    pub version: Version,
    /// Address.
    pub address: Address,
    /// Rest of the text.
    pub rest: &'t str,
}

/// Decoded profile of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Addresses that any call may use, the profile's own first. Empty if the profile has only
    /// lanes or cannot be reached by this protocol.
    pub addresses: Vec<Address>,
    /// Addresses of lanes, with the priority of each. If there are any, the other addresses belong
    /// to no lane.
    pub lanes: Vec<(Address, i16)>,
    /// Highest GIOP version of the server at these addresses.
    pub version: Version,
    /// Object key.
    pub key: Vec<u8>,
    /// Components as decoded. Those that carry `lanes` and further addresses are added when the
    /// profile is encoded.
    pub components: Vec<TaggedComponent>,
}

impl Profile {
    /// Returns the profile without the servers' identities in its addresses.
    pub(crate) fn bare(&self) -> Profile {
        let mut bare = self.clone();
        let lanes = bare.lanes.iter_mut().map(|(address, _)| address);
        for address in bare.addresses.iter_mut().chain(lanes) {
            *address = address.bare();
        }
        bare
    }

    /// Returns a profile of one address, without components.
    pub fn new(address: Address, version: Version, key: &[u8]) -> Self {
        Self {
            addresses: vec![address],
            lanes: Vec::new(),
            version,
            key: key.to_owned(),
            components: Vec::new(),
        }
    }

    /// Returns the first component with a tag.
    pub fn component(&self, tag: u32) -> Option<&TaggedComponent> {
        self.components.iter().find(|component| component.tag == tag)
    }
}
