//! Profiles of places in memory.

use oxorb_object::{Malformed, PlaceProfile, TaggedProfile, profile_tag};
use oxorb_transport::{Address, mem};

use super::{Located, Profile, ProfileKind};

/// Profiles of GIOP over memory: the name of the place, version, key and components.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryProfile;

impl ProfileKind for MemoryProfile {
    fn tag(&self) -> u32 {
        profile_tag::OXORB_MEMORY
    }

    fn url(&self) -> &'static str {
        "mem"
    }

    fn read(&self, profile: &TaggedProfile) -> Result<Profile, Malformed> {
        let read = PlaceProfile::parse(profile)?;
        Ok(Profile {
            addresses: vec![Address::new(mem::SCHEME, &read.place)],
            lanes: Vec::new(),
            version: read.version,
            key: read.object_key,
            components: read.components,
        })
    }

    fn write(&self, profile: &Profile) -> TaggedProfile {
        let place = profile.addresses.first().map_or("", Address::place);
        let written = PlaceProfile {
            tag: self.tag(),
            version: profile.version,
            place: place.to_owned(),
            object_key: profile.key.clone(),
            components: profile.components.clone(),
        };
        written.to_profile()
    }

    fn locate<'t>(&self, text: &'t str) -> Result<Located<'t>, &'static str> {
        let (version, text) = super::url::version(text)?;
        let end = text.find([',', '/']).unwrap_or(text.len());
        let (place, rest) = text.split_at(end);
        if place.is_empty() {
            return Err("it names no place");
        }
        Ok(Located {
            version,
            address: Address::new(mem::SCHEME, place),
            rest,
        })
    }
}
