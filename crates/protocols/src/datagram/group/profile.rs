//! Profiles and URLs of groups.

use oxorb_core::protocol::{LocatedAddress, Profile, ProfileKind};
use oxorb_object::components::tag;
use oxorb_object::{Group, Malformed, TaggedProfile, UipmcProfile, Version, profile_tag};
use oxorb_transport::Address;

use super::SCHEME;
use super::place::group;

/// Profiles of groups (TAG_UIPMC). Their addresses contain the group after the address of its
/// members: it replaces the object key, which these profiles lack.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uipmc;

impl ProfileKind for Uipmc {
    fn tag(&self) -> u32 {
        profile_tag::UIPMC
    }

    fn url(&self) -> &'static str {
        "miop"
    }

    fn read(&self, profile: &TaggedProfile) -> Result<Profile, Malformed> {
        let read = UipmcProfile::parse(profile)?;
        let named = read.group()?;
        let ip =
            read.address.parse().map_err(|_| Malformed::Profile { tag: profile_tag::UIPMC })?;
        let at = std::net::SocketAddr::new(ip, read.port);
        // If the address is not a multicast group, the profile gets no address, because a reference must not make this
        // process send packets to any other host.
        let addresses = match ip.is_multicast() {
            true => vec![Address::new(SCHEME, &format!("{at}/{}", text_of(&named)))],
            false => Vec::new(),
        };
        Ok(Profile {
            addresses,
            lanes: Vec::new(),
            version: Version::V1_2,
            key: named.to_component().data,
            components: read.components,
        })
    }

    fn write(&self, profile: &Profile) -> TaggedProfile {
        let place = profile.addresses.first().and_then(split);
        let (address, port, named) = match place {
            Some((at, named)) => (at.ip().to_string(), at.port(), Some(named)),
            None => (String::new(), 0, None),
        };
        let mut components = profile.components.clone();
        if let Some(named) = named {
            match components.iter_mut().find(|it| it.tag == tag::GROUP) {
                // The component names the same group. It is kept as it was parsed, in its own byte order.
                Some(known) if Group::parse(&known.data).as_ref() == Ok(&named) => {}
                Some(known) => *known = named.to_component(),
                None => components.push(named.to_component()),
            }
        }
        UipmcProfile { address, port, components }.to_profile()
    }

    fn names_group(&self) -> bool {
        true
    }

    fn locate<'t>(&self, text: &'t str) -> Result<LocatedAddress<'t>, &'static str> {
        let text = match text.split_once('@') {
            Some(("1.0", rest)) => rest,
            Some(_) => return Err("only MIOP 1.0 is supported"),
            None => text,
        };
        let (named, rest) = text
            .split_once('/')
            .ok_or("a group must have the form 1.0-DOMAIN-NUMBER[-VERSION]/ADDRESS:PORT")?;
        let named = group_of(named)?;
        let end = rest.find([',', ';', '/']).unwrap_or(rest.len());
        let (at, rest) = rest.split_at(end);
        let at = group(at).ok_or(
            "the group must be followed by a multicast address and a port, such as 239.255.0.1:5000",
        )?;
        Ok(LocatedAddress {
            version: Version::V1_2,
            address: Address::new(SCHEME, &format!("{at}/{}", text_of(&named))),
            rest,
        })
    }

    fn print(&self, _: Version, address: &Address) -> String {
        match split(address) {
            Some((at, named)) => format!("miop:1.0@1.0-{}/{at}", text_of(&named)),
            None => "miop:".to_owned(),
        }
    }
}

/// Returns the text of a group in addresses and URLs, without the version of the component.
fn text_of(group: &Group) -> String {
    let Group { domain, id, version } = group;
    let plain = |octet: u8| octet.is_ascii_alphanumeric() || b"._~".contains(&octet);
    let escaped = domain.bytes().map(|octet| match plain(octet) {
        true => char::from(octet).to_string(),
        false => format!("%{octet:02x}"),
    });
    let domain: String = escaped.collect();
    match version {
        0 => format!("{domain}-{id}"),
        _ => format!("{domain}-{id}-{version}"),
    }
}

/// Parses a group with the version of the component before it.
fn group_of(text: &str) -> Result<Group, &'static str> {
    let rest = text
        .strip_prefix("1.0-")
        .ok_or("a group must begin with the version of its component, 1.0-")?;
    let named = parse(rest).filter(|named| !named.domain.is_empty());
    named.ok_or("a group must have the form 1.0-DOMAIN-NUMBER[-VERSION]")
}

/// Parses a group. The domain may be empty: other ORBs' profiles may have such a group, and it is
/// written as it was read.
fn parse(text: &str) -> Option<Group> {
    let mut parts = text.split('-');
    let (domain, id, version) = (parts.next()?, parts.next()?, parts.next());
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let number = version.unwrap_or("0");
    if parts.next().is_some() || !digits(id) || !digits(number) {
        return None;
    }
    let domain = oxorb_object::unescape_key(domain)?;
    Some(Group {
        domain: String::from_utf8(domain).ok()?,
        id: id.parse().ok()?,
        version: number.parse().ok()?,
    })
}

/// Splits an address into socket address and group.
pub(crate) fn split(address: &Address) -> Option<(std::net::SocketAddr, Group)> {
    let (at, named) = address.of(SCHEME)?.split_once('/')?;
    Some((at.parse().ok()?, parse(named)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_without_a_domain_is_written_as_it_was_read() {
        let located = Uipmc.locate("1.0-plant-7/239.255.0.7:5999").unwrap();
        let profile = Profile::new(located.address, located.version, b"");
        let mut named = UipmcProfile::parse(&Uipmc.write(&profile)).unwrap();
        let nowhere = Group { domain: String::new(), id: 7, version: 0 };
        named.components = vec![nowhere.to_component()];
        let read = Uipmc.read(&named.to_profile()).unwrap();
        assert_eq!(Uipmc.write(&read), named.to_profile());
        assert!(Uipmc.locate("1.0--7/239.255.0.7:5999").is_err());
    }

    #[test]
    fn urls_become_profiles_and_urls_again() {
        for url in [
            "1.0@1.0-TestDomain-1/224.1.239.2:1234",
            "1.0@1.0-domain-18446744073709551615-4294967295/[ff01::101]:16000",
        ] {
            let located = Uipmc.locate(url).unwrap();
            assert_eq!(located.rest, "");
            let profile = Profile::new(located.address.clone(), located.version, b"");
            let read = Uipmc.read(&Uipmc.write(&profile)).unwrap();
            assert_eq!(read.addresses, [located.address]);
            let printed = Uipmc.print(read.version, &read.addresses[0]);
            assert_eq!(printed, format!("miop:{url}"));
            assert_eq!(Uipmc.read(&Uipmc.write(&read)).unwrap(), read);
        }
        let located = Uipmc.locate("1.0-d-1/239.1.2.3:5,iiop:h:1/k").unwrap();
        assert_eq!(located.rest, ",iiop:h:1/k");
    }

    #[test]
    fn what_is_no_group_is_refused() {
        for fault in [
            "2.0@1.0-d-1/239.1.2.3:5",
            "1.1-d-1/239.1.2.3:5",
            "1.0-d/239.1.2.3:5",
            "1.0--1/239.1.2.3:5",
            "1.0-d-x/239.1.2.3:5",
            "1.0-d-1-2-3/239.1.2.3:5",
            "1.0-d-1/10.1.2.3:5",
            "1.0-d-1/h:5",
            "1.0-d-1/239.1.2.3",
            "1.0-d-1",
        ] {
            assert!(Uipmc.locate(fault).is_err(), "{fault}");
        }
    }
}
