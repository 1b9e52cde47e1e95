//! Profiles of datagrams.

use oxorb_core::protocol::{Iiop, LocatedAddress, Profile, ProfileKind};
use oxorb_object::components::{DecodedComponent, tag};
use oxorb_object::{
    IiopEndpoint, IiopProfile, Malformed, TaggedComponent, TaggedProfile, Version, profile_tag,
};
use oxorb_transport::{Address, tcp};

use crate::datagram::place::USUAL_MOST;
use crate::datagram::transport::{address, to_tcp};

/// Profiles of GIOP over UDP in TAO's form: IIOP profiles with another tag. If the largest datagram
/// that a server accepts differs from TAO's, a component of OxORB contains its size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Diop;

impl ProfileKind for Diop {
    fn tag(&self) -> u32 {
        profile_tag::TAO_DIOP
    }

    fn url(&self) -> &'static str {
        "diop"
    }

    fn read(&self, profile: &TaggedProfile) -> Result<Profile, Malformed> {
        let read = IiopProfile::parse_alike(profile)?;
        let told = read.component(tag::OXORB_DATAGRAM);
        let most = match told.and_then(|component| component.decode().ok()) {
            Some(DecodedComponent::OxorbDatagram(most)) => {
                usize::try_from(most).unwrap_or(USUAL_MOST)
            }
            _ => USUAL_MOST,
        };
        let address = |at: &IiopEndpoint| address(&at.host, at.port, most);
        let lanes = read.lanes();
        let lanes = lanes.iter().map(|(at, priority)| (address(at), *priority));
        Ok(Profile {
            addresses: read.endpoints().iter().map(address).collect(),
            lanes: lanes.collect(),
            version: read.version,
            key: read.object_key,
            components: read.components,
        })
    }

    fn write(&self, profile: &Profile) -> TaggedProfile {
        let mut all = profile.addresses.iter().filter_map(endpoint);
        let nowhere = IiopEndpoint { host: String::new(), port: 0 };
        let own = all.next().unwrap_or(nowhere);
        let mut written = IiopProfile::new(profile.version, &own.host, own.port, &profile.key);
        // Profiles of version 1.0 have no components.
        if profile.version >= Version::V1_1 {
            written.components.clone_from(&profile.components);
            // The components from which the addresses were parsed are replaced by new ones.
            let made = [tag::OXORB_DATAGRAM, tag::TAO_ENDPOINTS];
            written.components.retain(|it| !made.contains(&it.tag));
            let lanes = profile.lanes.iter();
            let addresses = profile.addresses.iter().chain(lanes.clone().map(|(at, _)| at));
            let most = addresses.filter_map(|at| Some(to_tcp(at)?.1)).min();
            if let Some(most) = most.filter(|most| *most != USUAL_MOST) {
                let most = u32::try_from(most).unwrap_or(u32::MAX);
                written.components.push(TaggedComponent::oxorb_datagram(most));
            }
            let lanes: Vec<_> =
                lanes.filter_map(|(at, priority)| Some((endpoint(at)?, *priority))).collect();
            if !lanes.is_empty() {
                written.components.push(TaggedComponent::tao_endpoints(&lanes));
            }
        }
        TaggedProfile { tag: self.tag(), ..written.to_profile() }
    }

    fn locate<'t>(&self, text: &'t str) -> Result<LocatedAddress<'t>, &'static str> {
        let located = Iiop.locate(text)?;
        let (named, _) = text.split_at(text.len() - located.rest.len());
        let (host, port) = tcp::host_and_port(&located.address).ok_or("it is malformed")?;
        Ok(LocatedAddress {
            address: address(host, port, USUAL_MOST),
            // A URL without a version means GIOP 1.2, as in TAO. With IIOP it would mean 1.0.
            version: match named.contains('@') {
                true => located.version,
                false => Version::V1_2,
            },
            ..located
        })
    }

    fn print(&self, version: Version, address: &Address) -> String {
        let printed = to_tcp(address).map(|(address, _)| Iiop.print(version, &address));
        let printed = printed.unwrap_or_default();
        format!("diop{}", printed.strip_prefix("iiop").unwrap_or(":"))
    }
}

/// Returns host and port of a datagram address.
fn endpoint(address: &Address) -> Option<IiopEndpoint> {
    let (address, _) = to_tcp(address)?;
    let (host, port) = tcp::host_and_port(&address)?;
    Some(IiopEndpoint { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for most in [USUAL_MOST, 1400, 65_507] {
            let mut profile = Profile::new(address("10.0.0.7", 2809, most), Version::V1_2, b"key");
            let written = Diop.write(&profile);
            assert_eq!(written.tag, 0x5441_4f04);
            let read = Diop.read(&written).unwrap();
            assert_eq!((&read.addresses, &read.key), (&profile.addresses, &profile.key));
            assert_eq!(Diop.read(&Diop.write(&read)).unwrap(), read);

            // Hosts in profiles come from untrusted peers, so they may contain the separators of an address.
            for host in ["h/max=9", "h:1/max=9", "/max=", "h/max=x"] {
                let odd = Profile::new(address(host, 5, most), Version::V1_2, b"key");
                let read = Diop.read(&Diop.write(&odd)).unwrap();
                assert_eq!(read.addresses, odd.addresses);
            }

            profile.lanes = vec![(address("h", 1, most), 0), (address("h", 2, most), 9)];
            assert_eq!(Diop.read(&Diop.write(&profile)).unwrap().lanes, profile.lanes);
        }
    }

    #[test]
    fn the_octets_are_those_of_tao() {
        let profile = Profile::new(address("10.0.0.7", 1306, USUAL_MOST), Version::V1_2, b"key!");
        let mut octets = vec![0, 1, 2, 0, 0, 0, 0, 9];
        octets.extend(b"10.0.0.7\0\0");
        octets.extend([5, 26, 0, 0, 0, 4]);
        octets.extend(b"key!");
        octets.extend([0; 4]);
        assert_eq!(Diop.write(&profile).data, octets);
    }

    #[test]
    fn urls_are_those_of_tao() {
        let located = Diop.locate("1.1@[::1]:1306/a/b").unwrap();
        assert_eq!(located.address, address("::1", 1306, USUAL_MOST));
        assert_eq!((located.version, located.rest), (Version::V1_1, "/a/b"));
        let printed = Diop.print(located.version, &located.address);
        assert_eq!(printed, "diop:1.1@[::1]:1306");
        assert_eq!(Diop.locate("h:1/k@k").unwrap().version, Version::V1_2);
        assert!(Diop.locate("h:x/key").is_err());
    }
}
