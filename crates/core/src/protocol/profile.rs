//! Protocols in references.

use std::fmt;

use oxorb_object::{Malformed, TaggedComponent, TaggedProfile, Version};
use oxorb_transport::Address;

/// A kind of profile: writes addresses into references and reads them out again.
///
/// One value serves all references of all ORBs. Off the request path.
pub trait ProfileKind: Send + Sync + fmt::Debug {
    /// Tag of its profiles.
    fn tag(&self) -> u32;

    /// Word before the addresses of its `corbaloc:` URLs, in lower case: `iiop`.
    fn url(&self) -> &'static str;

    /// Reads a profile with its tag.
    ///
    /// # Errors
    /// When the octets are none.
    fn read(&self, profile: &TaggedProfile) -> Result<Profile, Malformed>;

    /// Writes a profile: the components as they are, and whatever carries the addresses after the
    /// first, and the lanes.
    fn write(&self, profile: &Profile) -> TaggedProfile;

    /// Whether `address` may be written into a profile beside the addresses that it has; otherwise it
    /// gets one of its own.
    fn joins(&self, profile: &Profile, address: &Address) -> bool {
        let _ = (profile, address);
        false
    }

    /// Reports whether its profiles name groups of objects: requests carry the profile in place of a key, they never stay
    /// within the process, and nobody answers.
    fn names_group(&self) -> bool {
        false
    }

    /// Reads the first address of a `corbaloc:` URL, from behind `WORD:`. The rest of it begins with
    /// `,` before another address, or with the character that separates the key (`/`, for UIOP `|`).
    ///
    /// # Errors
    /// The fault, as the rest of a sentence that begins with the address.
    fn locate<'t>(&self, text: &'t str) -> Result<Located<'t>, &'static str>;

    /// Writes an address, with the word before it, so that [`locate`](Self::locate) reads it back. Where
    /// another character than `/` separates the key, it is the last one.
    fn print(&self, version: Version, address: &Address) -> String {
        format!("{}:{version}@{}", self.url(), address.name())
    }

    /// Returns the components by which IIOP's profiles of the same reference tell of an address, so
    /// that clients on the same host choose it by themselves.
    fn beside(&self, address: &Address) -> Vec<TaggedComponent> {
        let _ = address;
        Vec::new()
    }

    /// Further words before the addresses of its `corbaloc:` URLs.
    fn other_urls(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the components by which an IIOP profile of the same reference tells of all of `addresses`, of the first
    /// connections as of any other client. The reference then has no profile of this kind besides. `None`: it has one.
    fn within_iiop(&self, addresses: &[Address]) -> Option<Vec<TaggedComponent>> {
        let _ = addresses;
        None
    }

    /// Returns the addresses of which an IIOP profile tells in this way. Calls prefer them to the addresses of that profile,
    /// where the transport is [ready](oxorb_transport::Transport::ready).
    fn found_within(&self, profile: &TaggedProfile) -> Within {
        let _ = profile;
        Within::default()
    }

    /// Reports whether the address of a lane in a profile of this kind is one of this host, which calls prefer to the lanes of
    /// other profiles: no component of theirs tells of lanes.
    fn is_near(&self, address: &Address) -> bool {
        let _ = address;
        false
    }

    /// Returns the address that a profile of another kind tells of in this way. Calls prefer it to the
    /// addresses of that profile; connecting verifies whatever of it can change.
    ///
    /// # Errors
    /// The reason for which this process does not reach it, as a sentence.
    fn found_beside(&self, profile: &Profile) -> Option<Result<Address, String>> {
        let _ = profile;
        None
    }
}

/// Addresses that an IIOP profile tells of by its components.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Within {
    /// Each with the priority of the lane behind it, or -1.
    pub addresses: Vec<(Address, i16)>,
    /// Whether the server refuses requests that come to the profile's own addresses.
    pub required: bool,
}

/// An address out of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located<'t> {
    /// Highest version to speak there.
    pub version: Version,
    /// The address.
    pub address: Address,
    /// Text behind it.
    pub rest: &'t str,
}

/// A profile of whatever kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Addresses that any call may use, the profile's own first. None, where the profile has only
    /// lanes or is not reached by this protocol.
    pub addresses: Vec<Address>,
    /// Addresses of lanes, with the priority of each. Where there are some, the other addresses
    /// belong to none of them.
    pub lanes: Vec<(Address, i16)>,
    /// Highest version the server speaks there.
    pub version: Version,
    /// The server's name for the object.
    pub key: Vec<u8>,
    /// Components, all of them as read; those that `lanes` and further addresses take are made when
    /// the profile is written.
    pub components: Vec<TaggedComponent>,
}

impl Profile {
    /// Returns the profile whose addresses lead to whoever has their names.
    pub(crate) fn bare(&self) -> Profile {
        let mut bare = self.clone();
        let lanes = bare.lanes.iter_mut().map(|(address, _)| address);
        for address in bare.addresses.iter_mut().chain(lanes) {
            *address = address.bare();
        }
        bare
    }

    /// A profile of one address, without components.
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
