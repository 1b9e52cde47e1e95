//! Profiles of UNIX sockets.

use oxorb_core::protocol::{LocatedAddress, Profile, ProfileKind};
use oxorb_object::components::{DecodedComponent, tag};
use oxorb_object::{
    Malformed, PlaceProfile, SocketIdentity, TaggedComponent, TaggedProfile, Version, profile_tag,
};
use oxorb_sys::interface;
use oxorb_transport::Address;

use crate::unix::known::Known;
use crate::unix::{Name, SCHEME};

/// Profiles of GIOP over UNIX sockets in TAO's form: a path in place of host and port, and TAO's
/// component for lanes.
///
/// A path does not name its host: on another host it may be a file of that host. So OxORB adds a
/// component with the identity of the socket if the reference has other addresses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uiop;

/// Maximum number of sockets of a profile that are checked, equal to the addresses that a call
/// tries: each is compared with all others.
const MAX_PLACES: usize = 64;

impl ProfileKind for Uiop {
    fn tag(&self) -> u32 {
        profile_tag::TAO_UIOP
    }

    fn url(&self) -> &'static str {
        "uiop"
    }

    fn read(&self, profile: &TaggedProfile) -> Result<Profile, Malformed> {
        let read = PlaceProfile::parse(profile)?;
        let endpoints = read.components.iter().find(|it| it.tag == tag::TAO_ENDPOINTS);
        let endpoints = endpoints.and_then(|component| component.sockets().ok());
        let endpoints = endpoints.unwrap_or_default();
        let addresses = endpoints.iter().take(MAX_PLACES);
        let addresses: Vec<_> =
            addresses.filter_map(|(path, priority)| Some((address(path)?, *priority))).collect();
        // If an address belongs to no lane, TAO writes -1 as its priority.
        let lanes = addresses.iter().any(|(_, priority)| *priority >= 0);
        let (lanes, more): (Vec<_>, Vec<_>) = match lanes {
            true => (addresses, Vec::new()),
            false => {
                let more = addresses.into_iter().map(|(address, _)| address);
                (Vec::new(), more.collect())
            }
        };
        let mut addresses: Vec<Address> = Vec::new();
        for address in address(&read.place).into_iter().chain(more) {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        let mut profile = Profile {
            addresses,
            lanes,
            version: read.version,
            key: read.object_key,
            components: read.components,
        };
        identify(&mut profile);
        Ok(profile)
    }

    fn write(&self, profile: &Profile) -> TaggedProfile {
        let mut components = profile.components.clone();
        let place = |address: &Address| address.name().to_owned();
        // Profiles of version 1.0 have no components.
        if profile.version >= Version::V1_1 {
            let lanes = profile.lanes.iter();
            if !profile.lanes.is_empty() {
                let named = lanes.clone();
                let named = named.map(|(address, priority)| (address.name(), *priority));
                // The component from which the addresses were parsed is replaced by a new one.
                components.retain(|it| it.tag != tag::TAO_ENDPOINTS);
                components.push(TaggedComponent::tao_sockets(named));
            }
            let lanes = lanes.map(|(address, _)| address);
            for address in profile.addresses.iter().chain(lanes) {
                let told = identity(address).filter(|it| !components.contains(it));
                components.extend(told);
            }
        }
        PlaceProfile {
            tag: self.tag(),
            version: profile.version,
            place: profile.addresses.first().map(place).unwrap_or_default(),
            object_key: profile.key.clone(),
            components,
        }
        .to_profile()
    }

    fn print(&self, version: Version, address: &Address) -> String {
        format!("uiop:{version}@{}|", address.name())
    }

    /// Returns omniORB's component, which supports paths only, and OxORB's own. omniORB prefers the
    /// socket to TCP on the host of this name.
    fn beside(&self, address: &Address) -> Vec<TaggedComponent> {
        let omniorb = || match Known::read(address).ok()? {
            (Name::Path(path), _) => Some(TaggedComponent::omniorb_unix(&host_name()?, &path)),
            _ => None,
        };
        omniorb().into_iter().chain(identity(address)).collect()
    }

    fn is_near(&self, address: &Address) -> bool {
        matches!(Known::of(address), Ok(Known::By(identity)) if Known::on_this_host(identity).is_ok())
    }

    /// Finds a socket by OxORB's component if there is one. omniORB's names only the host: its
    /// socket must be of this process's user or of root, unless the profile has no other address.
    fn found_beside(&self, profile: &Profile) -> Option<Result<Address, String>> {
        let mut ours = sockets(profile).peekable();
        if ours.peek().is_some() {
            let mut why = String::new();
            for (name, identity) in ours {
                match Known::on_this_host(identity) {
                    Ok(known) => return Some(Ok(known.address(&name))),
                    Err(difference) => why = difference,
                }
            }
            return Some(Err(why));
        }
        let component = profile.component(tag::OMNIORB_UNIX)?;
        let Ok(DecodedComponent::OmniorbUnix { host, path }) = component.decode() else {
            return None;
        };
        let name = Name::read(&path).ok().filter(|it| !it.is_temporary())?;
        let here = host_name();
        if here.as_deref() != Some(&*host) {
            let here = here.unwrap_or_default();
            return Some(Err(format!(
                "the name of the server's host is {host:?}, and that of this host {here:?}"
            )));
        }
        let known = match profile.addresses.is_empty() {
            true => Known::ByName,
            false => Known::Trusted,
        };
        Some(Ok(known.address(&name)))
    }

    fn locate<'t>(&self, text: &'t str) -> Result<LocatedAddress<'t>, &'static str> {
        let (version, text) = version(text)?;
        if !text.starts_with(['/', '@']) {
            return Err(
                "the path of a UNIX socket must begin with /, or with @ for an abstract name",
            );
        }
        let end = text.find('|').ok_or("its path does not end with |")?;
        let (place, rest) = text.split_at(end);
        let address = address(place)
            .ok_or("a UNIX socket must have a path, or @ and a name, of 1 to 107 octets")?;
        // If another address follows the `|`, the rest begins with the comma before it.
        let rest = match rest.strip_prefix("|,") {
            Some(_) => &rest[1..],
            None => rest,
        };
        Ok(LocatedAddress { version, address, rest })
    }
}

/// Returns the name of this host, if the system reports it.
fn host_name() -> Option<String> {
    interface::host_name().ok()
}

/// Returns the component of a socket with a known identity.
fn identity(address: &Address) -> Option<TaggedComponent> {
    match Known::read(address).ok()? {
        (_, Known::By(identity)) => Some(TaggedComponent::oxorb_socket(address.name(), &identity)),
        _ => None,
    }
}

/// Iterates over the sockets in OxORB's components.
fn sockets(profile: &Profile) -> impl Iterator<Item = (Name, SocketIdentity)> {
    let ours = profile.components.iter();
    let ours = ours.filter(|component| component.tag == tag::OXORB_SOCKET);
    let ours = ours.take(MAX_PLACES);
    ours.filter_map(|component| match component.decode() {
        Ok(DecodedComponent::OxorbSocket { name, identity }) => {
            let name = Name::read(&name).ok().filter(|it| !it.is_temporary())?;
            Some((name, identity))
        }
        _ => None,
    })
}

/// Moves the identities of sockets from the components of a profile into its addresses.
fn identify(profile: &mut Profile) {
    let told: Vec<_> = sockets(profile).collect();
    let lanes = profile.lanes.iter_mut().map(|(address, _)| address);
    for address in profile.addresses.iter_mut().chain(lanes) {
        let mut told = told.iter();
        if let Some((name, identity)) = told.find(|(name, _)| name.address(SCHEME) == *address) {
            *address = Known::By(*identity).address(name);
        }
    }
    profile.components.retain(|it| it.tag != tag::OXORB_SOCKET);
}

/// Returns the address of a socket that a client may connect to.
fn address(place: &str) -> Option<Address> {
    let name = Name::read(place).ok()?;
    (!name.is_temporary()).then(|| name.address(SCHEME))
}

/// Parses a `MAJOR.MINOR@` at the beginning; TAO's default is 1.2. A path may contain an `@`, and
/// an abstract name begins with one.
fn version(text: &str) -> Result<(Version, &str), &'static str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let version = &text[..text.len() - rest.len()];
    match rest.strip_prefix('@') {
        Some(rest) if !version.is_empty() => {
            let minor = version.strip_prefix("1.").ok_or("only GIOP 1.x is supported")?;
            match minor.parse() {
                Ok(minor) => Ok((Version { major: 1, minor }, rest)),
                Err(_) => Err("its version must have the form MAJOR.MINOR"),
            }
        }
        _ => Ok((Version::V1_2, text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str) -> Address {
        address(path).unwrap()
    }

    #[test]
    fn a_profile_has_the_octets_that_tao_writes() {
        let mut profile = Profile::new(at("/tmp/s"), Version::V1_2, b"key");
        profile.components = vec![TaggedComponent { tag: 7, data: vec![0] }];
        let tagged = Uiop.write(&profile);
        assert_eq!(tagged.tag, 0x5441_4f00);
        let octets =
            b"\0\x01\x02\0\0\0\0\x07/tmp/s\0\0\0\0\0\x03key\0\0\0\0\x01\0\0\0\x07\0\0\0\x01\0";
        assert_eq!(tagged.data, octets);
        assert_eq!(Uiop.read(&tagged).unwrap(), profile);
    }

    #[test]
    fn lanes_and_further_addresses_are_told_apart() {
        let profile = |endpoints: &[(&str, i16)]| {
            let mut profile = Profile::new(at("/a"), Version::V1_2, b"key");
            let sockets = TaggedComponent::tao_sockets(endpoints.iter().copied());
            profile.components = vec![sockets];
            Uiop.read(&Uiop.write(&profile)).unwrap()
        };
        let plain = profile(&[("/a", -1), ("/b", -1), ("", -1)]);
        assert_eq!(plain.addresses, [at("/a"), at("/b")]);
        assert!(plain.lanes.is_empty());
        let lanes = profile(&[("/a", 0), ("/b", 9)]);
        assert_eq!(lanes.addresses, [at("/a")]);
        assert_eq!(lanes.lanes, [(at("/a"), 0), (at("/b"), 9)]);
        let mut own = Profile::new(at("/a"), Version::V1_2, b"key");
        own.lanes.clone_from(&lanes.lanes);
        assert_eq!(Uiop.read(&Uiop.write(&own)).unwrap().lanes, own.lanes);
        own.version = Version::V1_0;
        assert!(Uiop.read(&Uiop.write(&own)).unwrap().lanes.is_empty());
    }

    #[test]
    fn the_component_of_omniorb_is_for_this_host_only() {
        let mut profile = Profile::new(at("/other"), Version::V1_2, b"key");
        profile.components = Uiop.beside(&at("/tmp/s"));
        assert_eq!(profile.components.len(), 1, "nothing is known but the name");
        let trusted = Known::Trusted.address(&Name::read("/tmp/s").unwrap());
        assert_eq!(Uiop.found_beside(&profile), Some(Ok(trusted)));
        profile.addresses.clear();
        assert_eq!(Uiop.found_beside(&profile), Some(Ok(at("/tmp/s"))), "it is all there is");
        profile.components = vec![TaggedComponent::omniorb_unix("another-host", "/tmp/s")];
        let why = Uiop.found_beside(&profile).unwrap().unwrap_err();
        assert!(why.contains("\"another-host\""), "{why}");
        let nameless = TaggedComponent::omniorb_unix(&host_name().unwrap(), "");
        profile.components = vec![nameless];
        assert_eq!(Uiop.found_beside(&profile), None);
        assert_eq!(Uiop.beside(&at("@name")), []);
    }

    #[test]
    fn a_socket_is_known_by_its_identity_beside_a_port_and_in_its_own_profile() {
        for name in ["/tmp/s", "@name"] {
            let name = Name::read(name).unwrap();
            let known = Known::own(&name);
            let Known::By(identity) = known else {
                panic!("the system tells no identity");
            };
            let address = known.address(&name);
            let mut iiop = Profile::new(at("/other"), Version::V1_2, b"key");
            iiop.components = Uiop.beside(&address);
            assert_eq!(Uiop.found_beside(&iiop), Some(Ok(address.clone())));

            let mut elsewhere = identity;
            elsewhere.host[0] ^= 1;
            let told = TaggedComponent::oxorb_socket(&name.to_string(), &elsewhere);
            iiop.components.retain(|it| it.tag != tag::OXORB_SOCKET);
            iiop.components.push(told);
            let why = Uiop.found_beside(&iiop).unwrap().unwrap_err();
            assert!(why.contains("another host"), "whatever omniORB's says: {why}");

            let mut profile = Profile::new(address.clone(), Version::V1_2, b"key");
            let written = Uiop.write(&profile);
            let octets = PlaceProfile::parse(&written).unwrap();
            assert_eq!(octets.place, name.to_string(), "as TAO writes it");
            assert_eq!(octets.components.len(), 1);
            assert_eq!(Uiop.read(&written).unwrap(), profile);
            profile.lanes = vec![(address.clone(), 0), (at("/b"), 9)];
            let read = Uiop.read(&Uiop.write(&profile)).unwrap();
            assert_eq!((&read.addresses, &read.lanes), (&profile.addresses, &profile.lanes));
            assert!(!Uiop.print(Version::V1_2, &address).contains("uid"));
            profile.version = Version::V1_0;
            assert_eq!(Uiop.read(&Uiop.write(&profile)).unwrap().addresses, [address.bare()]);
        }
    }

    #[test]
    fn a_path_that_no_socket_has_is_no_address() {
        let long = format!("/{}", "x".repeat(200));
        for place in ["", "@", &long] {
            let profile = PlaceProfile {
                tag: Uiop.tag(),
                version: Version::V1_2,
                place: place.to_owned(),
                object_key: b"key".to_vec(),
                components: Vec::new(),
            };
            let read = Uiop.read(&profile.to_profile()).unwrap();
            assert!(read.addresses.is_empty(), "{place}");
        }
    }

    #[test]
    fn urls_end_the_path_with_a_bar() {
        for (text, version, place, rest) in [
            ("/run/bank|Key/x", Version::V1_2, "/run/bank", "|Key/x"),
            ("1.1@/a,b@c|", Version::V1_1, "/a,b@c", "|"),
            ("1.0@@bank|,iiop:h:1/k", Version::V1_0, "@bank", ",iiop:h:1/k"),
            ("@b//k|k", Version::V1_2, "@b//k", "|k"),
        ] {
            let located = Uiop.locate(text).unwrap();
            assert_eq!(located.version, version, "{text}");
            assert_eq!(located.address, at(place), "{text}");
            assert_eq!(located.rest, rest, "{text}");
            let printed = Uiop.print(version, &located.address);
            let printed = printed.strip_prefix("uiop:").unwrap();
            assert_eq!(Uiop.locate(printed).unwrap().address, located.address);
        }
        for (text, why) in [
            ("/run/bank/Key", "does not end with |"),
            ("2.0@/a|k", "1.x"),
            ("1.x@/a|k", "begin with /"),
            ("1.999@/a|k", "MAJOR.MINOR"),
            ("|k", "begin with /"),
            ("@|k", "107 octets"),
        ] {
            let error = Uiop.locate(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
