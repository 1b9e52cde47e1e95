//! Identity of the object that a reference denotes, independent of the encoding of the reference.

use crate::prelude::*;
use core::hash::{Hash, Hasher};

use crate::{IiopProfile, Ior, TaggedProfile, ior::profile_tag};

impl Ior {
    /// Reports whether both references certainly denote the same object: the same number of
    /// profiles, pairwise [equivalent](TaggedProfile::is_equivalent). The type id is ignored. This
    /// is an equivalence relation.
    ///
    /// If an IIOP profile contains an address, TAG_MULTIPLE_COMPONENTS is ignored, because the
    /// address identifies the object. omniORB adds such a profile to every reference that it
    /// receives over a bidirectional connection.
    ///
    /// If the profiles are equal octet by octet, this costs one comparison; otherwise they are
    /// parsed, which allocates.
    ///
    /// ```
    /// use oxorb_object::{IiopProfile, Ior, Version};
    ///
    /// let at = |host| Ior {
    ///     type_id: String::new(),
    ///     profiles: vec![IiopProfile::new(Version::V1_2, host, 2809, b"key").to_profile()],
    /// };
    /// assert!(at("example.org").is_equivalent(&at("Example.ORG")));
    /// assert!(!at("example.org").is_equivalent(&at("example.com")));
    /// ```
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self.profiles == other.profiles || self.names() == other.names()
    }

    /// Feeds a hasher the identity that [`is_equivalent`](Self::is_equivalent) compares: equivalent
    /// references have equal hashes.
    pub fn hash_identity<H: Hasher>(&self, state: &mut H) {
        self.names().hash(state);
    }

    /// Returns the names in the profiles, in order, without profiles that identify nothing.
    fn names(&self) -> Vec<Name<'_>> {
        let mut names: Vec<_> = self.profiles.iter().map(Name::of).collect();
        if names.iter().any(|name| matches!(name, Name::Address(..))) {
            names.retain(|name| {
                !matches!(name, Name::Octets(profile) if profile.tag == profile_tag::MULTIPLE_COMPONENTS)
            });
        }
        names
    }
}

impl TaggedProfile {
    /// Reports whether both profiles certainly denote the same object. IIOP profiles do if host,
    /// port and object key are equal, regardless of version, byte order and components. Other
    /// profiles do if their octets are equal.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self == other || Name::of(self) == Name::of(other)
    }
}

/// Name of the object in a profile.
#[derive(PartialEq, Hash)]
enum Name<'a> {
    /// Host in lower case, port and object key.
    Address(String, u16, Vec<u8>),
    /// Complete profile, if host, port and key do not identify the object: in protocols other than
    /// IIOP, and for servers reachable only by TLS, whose port is in a component.
    Octets(&'a TaggedProfile),
}

impl<'a> Name<'a> {
    fn of(profile: &'a TaggedProfile) -> Self {
        Self::address(profile).unwrap_or(Self::Octets(profile))
    }

    fn address(profile: &TaggedProfile) -> Option<Self> {
        if profile.tag != profile_tag::INTERNET_IOP {
            return None;
        }
        let mut iiop = IiopProfile::parse(profile).ok()?;
        iiop.host.make_ascii_lowercase();
        (iiop.port != 0).then_some(Self::Address(iiop.host, iiop.port, iiop.object_key))
    }
}
