//! Profiles of IIOP.

use oxorb_object::{
    IiopEndpoint, IiopProfile, Malformed, TaggedComponent, TaggedProfile, Version, corbaloc,
    profile_tag,
};
use oxorb_transport::{Address, tcp};

use super::{LocatedAddress, Profile, ProfileKind};

/// Profiles of GIOP over TCP (CORBA 3.4, 15.7.2), with TAO's component for lanes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Iiop;

impl ProfileKind for Iiop {
    fn tag(&self) -> u32 {
        profile_tag::INTERNET_IOP
    }

    fn url(&self) -> &'static str {
        "iiop"
    }

    fn read(&self, profile: &TaggedProfile) -> Result<Profile, Malformed> {
        let iiop = IiopProfile::parse(profile)?;
        let address = |at: &IiopEndpoint| tcp::address(&at.host, at.port);
        let lanes = iiop.lanes();
        let lanes = lanes.iter().map(|(at, priority)| (address(at), *priority));
        Ok(Profile {
            addresses: iiop.endpoints().iter().map(address).collect(),
            lanes: lanes.collect(),
            version: iiop.version,
            key: iiop.object_key,
            components: iiop.components,
        })
    }

    fn write(&self, profile: &Profile) -> TaggedProfile {
        let mut all = profile.addresses.iter().map(endpoint);
        // Port 0 means that the object cannot be reached over plain TCP.
        let nowhere = IiopEndpoint { host: String::new(), port: 0 };
        let own = all.next().unwrap_or(nowhere);
        let mut iiop = IiopProfile::new(profile.version, &own.host, own.port, &profile.key);
        // Profiles of GIOP 1.0 cannot contain components.
        if profile.version >= Version::V1_1 {
            iiop.components.clone_from(&profile.components);
            if !profile.lanes.is_empty() {
                let lanes = profile.lanes.iter();
                let lanes: Vec<_> = lanes.map(|(at, priority)| (endpoint(at), *priority)).collect();
                iiop.components.push(TaggedComponent::tao_endpoints(&lanes));
            }
            for alternate in all {
                let component = TaggedComponent::alternate_iiop_address(&alternate);
                iiop.components.push(component);
            }
        }
        iiop.to_profile()
    }

    /// Joins addresses of the same port: clients that ignore alternates still reach the same server
    /// at the first.
    fn joins(&self, profile: &Profile, address: &Address) -> bool {
        let port = |address: &Address| tcp::host_and_port(address).map(|(_, port)| port);
        let own = profile.addresses.first().and_then(port);
        profile.version >= Version::V1_1 && own.is_some() && own == port(address)
    }

    fn locate<'t>(&self, text: &'t str) -> Result<LocatedAddress<'t>, &'static str> {
        let end = text.find([',', '/']).unwrap_or(text.len());
        let (address, rest) = text.split_at(end);
        let corbaloc::Address { version, endpoint } =
            address.parse().map_err(|error| match error {
                corbaloc::Error::Address { why, .. } => why,
                _ => "it is malformed",
            })?;
        Ok(LocatedAddress { version, address: tcp::address(&endpoint.host, endpoint.port), rest })
    }

    fn print(&self, version: Version, address: &Address) -> String {
        let endpoint = endpoint(address);
        format!("iiop:{}", corbaloc::Address { version, endpoint })
    }
}

/// Returns host and port of a TCP address.
fn endpoint(address: &Address) -> IiopEndpoint {
    let (host, port) = tcp::host_and_port(address).unwrap_or((address.place(), 0));
    IiopEndpoint { host: host.to_owned(), port }
}
