//! Profiles of shared memory.

use crate::unix::Known;
use oxorb_core::protocol::{LocatedAddress, Placed, Profile, ProfileKind};
use oxorb_object::components::{DecodedComponent, tag};
use oxorb_object::{
    Malformed, SocketIdentity, TaggedComponent, TaggedProfile, Version, profile_tag,
};
use oxorb_sys::unix;
use oxorb_transport::Address;

use crate::shm::{Place, SCHEME};

/// Profiles of GIOP over shared memory, and the component of IIOP profiles that offers shared
/// memory to clients of the same host.
///
/// A client uses an offered shared memory only with servers of its own user and of root: a process
/// that shares memory may change it at any time. References without other addresses, and
/// `corbaloc:` URLs, are used with any server that accepts the connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShmProfile;

const PLACED: Placed = Placed::new(profile_tag::OXORB_SHM, "shm", SCHEME).with_paths();

/// Maximum number of components of a profile that are checked, equal to the addresses that a call
/// tries.
const MAX_PLACES: usize = 64;

impl ProfileKind for ShmProfile {
    fn tag(&self) -> u32 {
        PLACED.tag()
    }

    fn url(&self) -> &'static str {
        PLACED.url()
    }

    fn read(&self, profile: &TaggedProfile) -> Result<Profile, Malformed> {
        PLACED.read(profile)
    }

    fn write(&self, profile: &Profile) -> TaggedProfile {
        PLACED.write(profile)
    }

    fn locate<'t>(&self, text: &'t str) -> Result<LocatedAddress<'t>, &'static str> {
        PLACED.locate(text)
    }

    fn print(&self, version: Version, address: &Address) -> String {
        PLACED.print(version, address)
    }

    /// Returns the component that offers this address to clients, if the identity of the segment is known.
    fn beside(&self, address: &Address) -> Vec<TaggedComponent> {
        let component = || match Known::of(address).ok()? {
            Known::By(identity) => {
                let bare = address.bare();
                Some(TaggedComponent::oxorb_shm_socket(bare.place(), &identity))
            }
            _ => None,
        };
        component().into_iter().collect()
    }

    fn is_near(&self, address: &Address) -> bool {
        matches!(Known::of(address), Ok(Known::By(identity)) if near(identity).is_ok())
    }

    fn found_beside(&self, profile: &Profile) -> Option<Result<Address, String>> {
        let mut why = None;
        for (place, identity) in places(profile) {
            match near(identity) {
                Ok(known) => return Some(Ok(known.address_at(SCHEME, &place))),
                Err(difference) => why = Some(Err(difference)),
            }
        }
        why
    }
}

/// Iterates over the places in components.
fn places(profile: &Profile) -> impl Iterator<Item = (String, SocketIdentity)> {
    let ours = profile.components.iter();
    let ours = ours.filter(|component| component.tag == tag::OXORB_SHM_SOCKET);
    let ours = ours.take(MAX_PLACES);
    ours.filter_map(|component| match component.decode() {
        Ok(DecodedComponent::OxorbShmSocket { place, identity }) => {
            let read = Place::at(&Address::new(SCHEME, &place)).ok()?;
            // Only the canonical text of a place is accepted, which contains no identity.
            let address = (!read.name.is_temporary()).then(|| read.address())?;
            (address.place() == place).then_some((place, identity))
        }
        _ => None,
    })
}

/// Returns the identification of a socket whose server may be offered shared memory unasked.
fn near(identity: SocketIdentity) -> Result<Known, String> {
    let known = Known::on_this_host(identity)?;
    let (server, own) = (identity.uid, unix::own_credentials().uid);
    match server == 0 || server == own {
        true => Ok(known),
        false => Err(format!(
            "the server belongs to user {server}, and this process to user {own}: memory is shared by default only \
             with servers of the same user and of root"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the address and identity of a place of this process.
    fn address(place: &str) -> (Address, SocketIdentity) {
        let read = Place::at(&Address::new(SCHEME, place)).unwrap();
        let known = Known::own(&read.name);
        let Known::By(identity) = known else {
            panic!("the system tells no identity");
        };
        (known.address_at(SCHEME, place), identity)
    }

    fn iiop(component: TaggedComponent) -> Profile {
        let other = Address::new(SCHEME, "/other");
        let mut profile = Profile::new(other, Version::V1_2, b"key");
        profile.components = vec![component];
        profile
    }

    #[test]
    fn a_profile_beside_tells_of_the_place_its_ring_and_its_identity() {
        for place in ["/tmp/a", "4096:/tmp/a", "4096+0:@a"] {
            let (address, _) = address(place);
            let beside = ShmProfile.beside(&address);
            assert_eq!(beside.len(), 1);
            let found = ShmProfile.found_beside(&iiop(beside[0].clone()));
            assert_eq!(found, Some(Ok(address.clone())));
            assert_eq!(ShmProfile.beside(&address.bare()), [], "any of this name");
            let own = Profile::new(address, Version::V1_2, b"key");
            assert_eq!(ShmProfile.read(&ShmProfile.write(&own)).unwrap(), own);
        }
        let (address, _) = address("/tmp/a");
        let nothing = Profile::new(address, Version::V1_2, b"key");
        assert_eq!(ShmProfile.found_beside(&nothing), None);
    }

    #[test]
    fn servers_of_others_and_of_other_hosts_are_not_near_and_nonsense_is_passed_over() {
        let (_, identity) = address("/tmp/a");
        let found = |place: &str, change: &dyn Fn(&mut SocketIdentity)| {
            let mut identity = identity;
            change(&mut identity);
            let component = TaggedComponent::oxorb_shm_socket(place, &identity);
            ShmProfile.found_beside(&iiop(component))
        };
        let why = |change: &dyn Fn(&mut SocketIdentity)| found("/a", change).unwrap();
        why(&|_| ()).unwrap();
        why(&|it| it.uid = 0).unwrap();
        let said = why(&|it| it.uid = identity.uid + 1).unwrap_err();
        assert!(said.contains("of the same user and of root"), "{said}");
        let said = why(&|it| it.host[0] ^= 1).unwrap_err();
        assert!(said.contains("another host"), "{said}");
        let said = why(&|it| it.users += 1).unwrap_err();
        assert!(said.contains("user namespace"), "{said}");
        let wrong = ["5000:/a", "0:/a", "131072:/a", "4096+1:/a", "", "@", "4096:", "/a|trusted"];
        for place in wrong {
            assert_eq!(found(place, &|_| ()), None, "{place}");
        }
        let cut = TaggedComponent { tag: tag::OXORB_SHM_SOCKET, data: vec![1, 0, 0] };
        assert_eq!(ShmProfile.found_beside(&iiop(cut)), None);
    }
}
