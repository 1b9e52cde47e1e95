//! Identity of the object that a reference names, whatever octets the reference is written in.

use crate::prelude::*;
use core::hash::{Hash, Hasher};

use crate::{IiopProfile, Ior, TaggedProfile, ior::profile_tag};

impl Ior {
    /// Reports whether both references certainly name the same object: each has as many profiles, and they are
    /// [equivalent](TaggedProfile::is_equivalent) in order. The type id does not matter. An equivalence relation.
    ///
    /// Next to a profile of IIOP with an address, TAG_MULTIPLE_COMPONENTS does not count: the address names the object.
    /// omniORB adds such a profile to every reference that it receives over a bidirectional connection.
    ///
    /// Octets that are equal cost a comparison; others are parsed, which allocates.
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

    /// Feeds a hasher what [`is_equivalent`](Self::is_equivalent) compares: equivalent references have equal hashes.
    pub fn hash_identity<H: Hasher>(&self, state: &mut H) {
        self.names().hash(state);
    }

    /// Returns what the profiles name, in order, without those that name nothing of their own.
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
    /// Reports whether both profiles certainly name the same object. Profiles of IIOP do if host, port and object key are the
    /// same, whatever version, byte order and components they were written with; all others if their octets are.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self == other || Name::of(self) == Name::of(other)
    }
}

/// Object that a profile names.
#[derive(PartialEq, Hash)]
enum Name<'a> {
    /// Host in lower case, port and object key.
    Address(String, u16, Vec<u8>),
    /// The whole profile, where the three do not name the object alone: in protocols that are not IIOP, and for servers
    /// that can be reached by TLS only, whose port is in a component.
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
