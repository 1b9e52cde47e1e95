//! Profiles whose address is one text, for protocols without a standard profile.

use oxorb_object::components::tag;
use oxorb_object::{Malformed, PlaceProfile, TaggedComponent, TaggedProfile, Version, profile_tag};
use oxorb_transport::{Address, Scheme, mem};

use super::{LocatedAddress, Profile, ProfileKind};

/// Kind of profile that contains the address as the transport's own text, with version, key and components. The
/// addresses of lanes are in TAO's component.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    tag: u32,
    word: &'static str,
    scheme: Scheme,
    /// Characters that end an address in a `corbaloc:` URL.
    ends: &'static [char],
}

impl Placed {
    /// Kind of profile of GIOP over memory.
    pub const MEMORY: Placed = Placed::new(profile_tag::OXORB_MEMORY, "mem", mem::SCHEME);

    /// Returns the kind with this tag, this keyword in `corbaloc:` URLs, and addresses of one
    /// transport.
    pub const fn new(tag: u32, word: &'static str, scheme: Scheme) -> Placed {
        Placed { tag, word, scheme, ends: &[',', '/'] }
    }

    /// Returns this kind for addresses that are paths: `|` ends them in URLs, as in those of UIOP.
    #[must_use]
    pub const fn with_paths(self) -> Placed {
        Placed { ends: &['|'], ..self }
    }

    fn address(&self, place: &str) -> Address {
        Address::new(self.scheme, place)
    }
}

impl ProfileKind for Placed {
    fn tag(&self) -> u32 {
        self.tag
    }

    fn url(&self) -> &'static str {
        self.word
    }

    fn read(&self, profile: &TaggedProfile) -> Result<Profile, Malformed> {
        let read = PlaceProfile::parse(profile)?;
        let lanes = read.components.iter();
        let lanes = lanes.filter(|component| component.tag == tag::TAO_ENDPOINTS);
        let lanes = lanes.filter_map(|component| component.sockets().ok());
        let lanes = lanes.flatten().filter(|(place, _)| !place.is_empty());
        let own = Some(&read.place).filter(|place| !place.is_empty());
        Ok(Profile {
            addresses: own.map(|place| self.address(place)).into_iter().collect(),
            lanes: lanes.map(|(place, priority)| (self.address(&place), priority)).collect(),
            version: read.version,
            key: read.object_key,
            components: read.components,
        })
    }

    fn write(&self, profile: &Profile) -> TaggedProfile {
        let place = profile.addresses.first().map_or("", Address::place);
        let mut components = profile.components.clone();
        // Profiles of GIOP 1.0 cannot contain components.
        if profile.version >= Version::V1_1 && !profile.lanes.is_empty() {
            let lanes = profile.lanes.iter();
            let lanes = lanes.map(|(address, priority)| (address.place(), *priority));
            // The component that the profile was parsed with is replaced.
            components.retain(|it| it.tag != tag::TAO_ENDPOINTS);
            components.push(TaggedComponent::tao_sockets(lanes));
        }
        let written = PlaceProfile {
            tag: self.tag,
            version: profile.version,
            place: place.to_owned(),
            object_key: profile.key.clone(),
            components,
        };
        written.to_profile()
    }

    fn locate<'t>(&self, text: &'t str) -> Result<LocatedAddress<'t>, &'static str> {
        let (version, text) = super::url::version(text)?;
        let end = text.find(self.ends).unwrap_or(text.len());
        let (place, rest) = text.split_at(end);
        if place.is_empty() {
            return Err("it contains no address");
        }
        if place.contains('|') {
            return Err("it contains a |, which URLs of its kind cannot contain");
        }
        Ok(LocatedAddress {
            version,
            address: self.address(place),
            // If another address follows, the `|` that ends this address is skipped. Otherwise the `|` separates the
            // key.
            rest: match rest.starts_with("|,") {
                true => &rest[1..],
                false => rest,
            },
        })
    }

    fn print(&self, version: Version, address: &Address) -> String {
        let end = if self.ends == ['|'] { "|" } else { "" };
        format!("{}:{version}@{}{end}", self.word, address.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Placed = Placed::new(7, "seven", mem::SCHEME);

    #[test]
    fn what_is_written_is_read() {
        let mut profile = Profile::new(KIND.address("bank"), Version::V1_2, b"key");
        let written = KIND.write(&profile);
        assert_eq!(written.tag, 7);
        assert_eq!(KIND.read(&written).unwrap(), profile);

        let lanes = vec![(KIND.address("low"), 0), (KIND.address("high"), 9)];
        profile.lanes.clone_from(&lanes);
        let read = KIND.read(&KIND.write(&profile)).unwrap();
        assert_eq!((read.lanes, read.addresses), (lanes, profile.addresses.clone()));
        profile.version = Version::V1_0;
        assert!(KIND.read(&KIND.write(&profile)).unwrap().lanes.is_empty());
    }

    #[test]
    fn a_path_ends_at_a_bar() {
        let located = KIND.with_paths().locate("1.1@/run/a,b|,mem:c/key").unwrap();
        assert_eq!(located.version, Version::V1_1);
        assert_eq!(located.address, KIND.address("/run/a,b"));
        assert_eq!(located.rest, ",mem:c/key");
        let located = KIND.with_paths().locate("@name|key").unwrap();
        assert_eq!((located.version, located.rest), (Version::V1_2, "|key"));
        assert_eq!(located.address, KIND.address("@name"));
        let printed = KIND.with_paths().print(located.version, &located.address);
        assert_eq!(printed, "seven:1.2@@name|");
        KIND.locate("host:5|uid=7/a").unwrap_err();
        let located = KIND.locate("host:5/a/b").unwrap();
        assert_eq!((located.address.place(), located.rest), ("host:5", "/a/b"));
    }
}
