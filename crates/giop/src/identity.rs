//! Which object a reference names, whatever octets it is written in.

use core::hash::{Hash, Hasher};

use crate::{IiopProfile, Ior, TaggedProfile, ior::profile_tag};

impl Ior {
    /// Reports whether both references certainly name the same object: each has as many profiles, and they are
    /// [equivalent](TaggedProfile::is_equivalent) in order. The type id does not matter. An equivalence relation.
    ///
    /// Octets that are equal cost a comparison; others are parsed, which allocates.
    ///
    /// ```
    /// use oxorb_giop::{IiopProfile, Ior, Version};
    ///
    /// let at = |host| Ior {
    ///     type_id: String::new(),
    ///     profiles: vec![IiopProfile::new(Version::V1_2, host, 2809, b"key").to_profile()],
    /// };
    /// assert!(at("example.org").is_equivalent(&at("Example.ORG")));
    /// assert!(!at("example.org").is_equivalent(&at("example.com")));
    /// ```
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self.profiles.len() == other.profiles.len()
            && core::iter::zip(&self.profiles, &other.profiles)
                .all(|(one, other)| one.is_equivalent(other))
    }

    /// Feeds a hasher what [`is_equivalent`](Self::is_equivalent) compares: equivalent references have equal hashes.
    pub fn hash_identity<H: Hasher>(&self, state: &mut H) {
        self.profiles.len().hash(state);
        for profile in &self.profiles {
            match address(profile) {
                Some(address) => address.hash(state),
                None => profile.hash(state),
            }
        }
    }
}

impl TaggedProfile {
    /// Reports whether both profiles certainly name the same object. Profiles of IIOP do if host, port and object key are the
    /// same, whatever version, byte order and components they were written with; all others if their octets are.
    pub fn is_equivalent(&self, other: &Self) -> bool {
        self == other
            || match (address(self), address(other)) {
                (Some(one), Some(other)) => one == other,
                _ => false,
            }
    }
}

/// Host in lower case, port and object key; `None` where they do not name the object alone: for protocols that are not IIOP,
/// and servers that can be reached by TLS only, whose port is in a component.
fn address(profile: &TaggedProfile) -> Option<(String, u16, Vec<u8>)> {
    if profile.tag != profile_tag::INTERNET_IOP {
        return None;
    }
    let mut iiop = IiopProfile::parse(profile).ok()?;
    iiop.host.make_ascii_lowercase();
    (iiop.port != 0).then_some((iiop.host, iiop.port, iiop.object_key))
}
