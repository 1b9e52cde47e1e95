//! Choice of the hosts that go into a reference.
//!
//! A reference that carries `0.0.0.0`, the loopback address or the wrong one of several interfaces
//! is the oldest complaint about CORBA. The rule here: a named host is published as named; all
//! interfaces means every address that clients could use, the likeliest first.

use std::cmp::Reverse;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use oxorb_sys::interface::{self, InterfaceAddress};

use super::{Place, address, endpoint::host_and_port};
use crate::{Address, Part};

/// Returns the hosts under which clients reach `place`, the likeliest first; always at least one,
/// and never `0.0.0.0` or `::`.
///
/// - `hostname_in_ior`, if given, alone;
/// - a named host or address as named;
/// - for all interfaces, their addresses: first those of the default routes, then the others, then
///   self-assigned IPv4 ones (169.254.0.0/16). Link-local IPv6 addresses mean nothing on another
///   host and are left out. Loopback only if this host has no other address.
///
/// Queries the system's interfaces; not for the request path.
///
/// # Errors
/// The system does not report its interfaces.
pub(super) fn published_hosts(place: &Place) -> io::Result<Vec<String>> {
    if let Some(host) = &place.publish {
        return Ok(vec![host.clone()]);
    }
    if !place.is_wildcard() {
        return Ok(vec![place.host.clone()]);
    }
    let hosts = reachable(
        &interface::addresses()?,
        &interface::default_route_addresses(),
        place.wildcard_families(),
    );
    Ok(hosts.iter().map(ToString::to_string).collect())
}

/// Rule for the hosts published in references instead of the detected addresses (omniORB's
/// `endPointPublish`).
///
/// ```
/// use oxorb_transport::Publish;
///
/// let rules = Publish::parse_list("gateway.example:2809, ipv4, giop:tcp:[2001:db8::1]:4000")?;
/// assert_eq!(rules[0], Publish::Address { host: "gateway.example".to_owned(), port: Some(2809) });
/// assert_eq!(rules[1], Publish::Ipv4);
/// assert!(Publish::parse_list("0.0.0.0").is_err(), "nobody can connect to that");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Publish {
    /// `addr`: addresses of this host that clients can connect to.
    Addresses,
    /// `ipv4`: IPv4 addresses of this host.
    Ipv4,
    /// `ipv6`: IPv6 addresses of this host.
    Ipv6,
    /// `hostname`: name of this host, which clients must be able to resolve.
    Hostname,
    /// `HOST`, `HOST:PORT`, `PROTOCOL://HOST:PORT`, `giop:tcp:HOST:PORT`: address that clients
    /// connect to, whatever the listening endpoint: a port forwarded by a gateway or by Docker.
    Address {
        /// Name, or address without brackets.
        host: String,
        /// Port to publish for the ORB's own endpoints, which the ports of lanes follow; `None`: the listening port.
        port: Option<u16>,
    },
}

impl Publish {
    /// Parses rules separated by commas.
    ///
    /// # Errors
    /// Sentence about the first invalid rule.
    pub fn parse_list(text: &str) -> Result<Vec<Publish>, String> {
        text.split(',').map(str::trim).map(Publish::parse).collect()
    }

    fn parse(text: &str) -> Result<Publish, String> {
        Ok(match text {
            "addr" | "all(addr)" => Publish::Addresses,
            "ipv4" | "all(ipv4)" => Publish::Ipv4,
            "ipv6" | "all(ipv6)" => Publish::Ipv6,
            "hostname" | "name" => Publish::Hostname,
            _ => {
                // The name of a protocol is skipped, because the address is a TCP address whatever the protocol is.
                let address = ["://", ":tcp:"]
                    .iter()
                    .find_map(|end| Some(text.split_once(end)?.1))
                    .unwrap_or(text);
                let (host, port) = host_and_port(Part::new(address))
                    .map_err(|error| format!("{text:?}: {}", error.problem))?;
                let port = port.filter(|port| *port != 0);
                if Place::new(host.as_str(), 0).is_wildcard() {
                    return Err(format!(
                        "{text:?}: expected addr, ipv4, ipv6, hostname, or HOST[:PORT] that clients \
                         can connect to"
                    ));
                }
                Publish::Address { host, port }
            }
        })
    }

    /// Returns the rule for a lane whose port is `distance` ports after that of the ORB's endpoint: the published port
    /// is as far from the rule's port. `None` if there is no such port.
    ///
    /// ```
    /// use oxorb_transport::Publish;
    ///
    /// let rule = Publish::parse_list("gateway.example:4000")?.remove(0);
    /// assert_eq!(rule.following(2), Publish::parse_list("gateway.example:4002")?.pop());
    /// # Ok::<(), String>(())
    /// ```
    pub fn following(&self, distance: u32) -> Option<Publish> {
        let Publish::Address { host, port: Some(port) } = self else {
            return Some(self.clone());
        };
        let port = u32::from(*port).checked_add(distance)?;
        let port = u16::try_from(port).ok()?;
        Some(Publish::Address { host: host.clone(), port: Some(port) })
    }

    /// Returns the rule for an endpoint that the rule's port does not describe: it is published at its own port.
    pub fn at_own_port(&self) -> Publish {
        match self {
            Publish::Address { host, .. } => Publish::Address { host: host.clone(), port: None },
            other => other.clone(),
        }
    }
}

/// Returns each address for references to `place`, the likeliest first: by `rules` or, without any,
/// by [`published_hosts`].
///
/// # Errors
/// The system does not report its interfaces or its name, or no address is left to publish.
pub(super) fn published(place: &Place, rules: &[Publish]) -> io::Result<Vec<Address>> {
    let found = |wanted: fn(&IpAddr) -> bool| -> io::Result<Vec<Address>> {
        let hosts = published_hosts(place)?.into_iter();
        let fits = |host: &String| host.parse().map_or(true, |address| wanted(&address));
        Ok(hosts.filter(fits).map(|host| address(&host, place.port)).collect())
    };
    if rules.is_empty() || place.publish.is_some() {
        return found(|_| true);
    }
    let mut addresses: Vec<Address> = Vec::new();
    for rule in rules {
        let more = match rule {
            Publish::Addresses => found(|_| true)?,
            Publish::Ipv4 => found(IpAddr::is_ipv4)?,
            Publish::Ipv6 => found(IpAddr::is_ipv6)?,
            Publish::Hostname => vec![address(&interface::host_name()?, place.port)],
            Publish::Address { host, port } => vec![address(host, port.unwrap_or(place.port))],
        };
        for one in more {
            if !addresses.contains(&one) {
                addresses.push(one);
            }
        }
    }
    if addresses.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::AddrNotAvailable,
            "this host has no address of the kind to publish",
        ));
    }
    Ok(addresses)
}

fn reachable(
    interfaces: &[InterfaceAddress],
    preferred: &[IpAddr],
    (ipv4, ipv6): (bool, bool),
) -> Vec<IpAddr> {
    let mut hosts: Vec<IpAddr> = interfaces
        .iter()
        .filter(|at| at.up && !at.loopback && !at.address.is_loopback())
        .map(|at| at.address)
        .filter(|address| match address {
            IpAddr::V4(address) => ipv4 && !address.is_unspecified(),
            IpAddr::V6(address) => ipv6 && !address.is_unicast_link_local(),
        })
        .collect();
    hosts.sort_by_key(|address| {
        let self_assigned = matches!(address, IpAddr::V4(address) if address.is_link_local());
        (self_assigned, Reverse(preferred.contains(address)), address.is_ipv6())
    });
    let mut seen = Vec::new();
    hosts.retain(|address| {
        !seen.contains(address) && {
            seen.push(*address);
            true
        }
    });
    match (hosts.is_empty(), ipv4) {
        (false, _) => hosts,
        (true, true) => vec![Ipv4Addr::LOCALHOST.into()],
        (true, false) => vec![Ipv6Addr::LOCALHOST.into()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: (bool, bool) = (true, true);

    fn place(text: &str) -> Place {
        Place::of(&crate::tcp::endpoint::url(Part::new(text)).unwrap()[0])
    }

    fn interfaces(table: &[(&str, &str)]) -> Vec<InterfaceAddress> {
        let entry = |&(name, address): &(&str, &str)| InterfaceAddress {
            interface: name.to_owned(),
            address: address.parse().unwrap(),
            up: name != "down0",
            loopback: name == "lo",
        };
        table.iter().map(entry).collect()
    }

    fn chosen(table: &[(&str, &str)], preferred: &[&str], families: (bool, bool)) -> Vec<String> {
        let preferred: Vec<_> = preferred.iter().map(|text| text.parse().unwrap()).collect();
        let hosts = reachable(&interfaces(table), &preferred, families);
        hosts.iter().map(ToString::to_string).collect()
    }

    const HOST: &[(&str, &str)] = &[
        ("lo", "127.0.0.1"),
        ("docker0", "172.17.0.1"),
        ("usb0", "169.254.3.4"),
        ("eth0", "192.168.1.7"),
        ("down0", "10.9.9.9"),
        ("lo", "::1"),
        ("eth0", "2001:db8::7"),
        ("eth0", "fe80::1"),
        ("eth0", "192.168.1.7"),
    ];

    #[test]
    fn the_default_route_comes_first_and_self_assigned_last() {
        assert_eq!(
            chosen(HOST, &["192.168.1.7", "2001:db8::7"], BOTH),
            ["192.168.1.7", "2001:db8::7", "172.17.0.1", "169.254.3.4"]
        );
    }

    #[test]
    fn one_family_only() {
        assert_eq!(chosen(HOST, &["192.168.1.7"], (false, true)), ["2001:db8::7"]);
        assert!(chosen(HOST, &[], (true, false)).iter().all(|host| !host.contains(':')));
    }

    #[test]
    fn loopback_only_when_there_is_nothing_else() {
        let alone = &[("lo", "127.0.0.1"), ("lo", "::1"), ("down0", "10.0.0.1")];
        assert_eq!(chosen(alone, &[], BOTH), ["127.0.0.1"]);
        assert_eq!(chosen(alone, &[], (false, true)), ["::1"]);
    }

    #[test]
    fn what_was_named_is_published_as_named() {
        let hosts = |text| published_hosts(&place(text)).unwrap();
        assert_eq!(hosts("localhost:1"), ["localhost"]);
        assert_eq!(hosts("[::1]:1"), ["::1"]);
        assert_eq!(hosts(":1/hostname_in_ior=gateway.example"), ["gateway.example"]);
    }

    #[test]
    fn rules_replace_what_was_found() {
        let at = place("10.0.0.1:4000");
        let by = |rules: &str| published(&at, &Publish::parse_list(rules).unwrap());
        let pair = address;
        assert_eq!(
            by("gateway, gateway:1, gateway").unwrap(),
            [pair("gateway", 4000), pair("gateway", 1)]
        );
        assert_eq!(by("ipv4").unwrap(), [pair("10.0.0.1", 4000)]);
        assert_eq!(by("ipv6").unwrap_err().kind(), io::ErrorKind::AddrNotAvailable);
        assert_eq!(
            by("[2001:db8::1]:9, addr").unwrap(),
            [pair("2001:db8::1", 9), pair("10.0.0.1", 4000)]
        );
        let own = by("hostname").unwrap();
        assert!(own[0].place().len() > 5 && own[0].place().ends_with(":4000"), "{own:?}");
    }

    #[test]
    fn the_ports_of_lanes_follow_a_published_port() {
        let at = place("10.0.0.1:5002");
        let rules = Publish::parse_list("gateway:14000, other, ipv4").unwrap();
        let second: Option<Vec<Publish>> = rules.iter().map(|rule| rule.following(2)).collect();
        assert_eq!(
            published(&at, &second.unwrap()).unwrap(),
            [address("gateway", 14_002), address("other", 5002), address("10.0.0.1", 5002)]
        );
        let own: Vec<Publish> = rules.iter().map(Publish::at_own_port).collect();
        assert_eq!(
            published(&at, &own).unwrap(),
            [address("gateway", 5002), address("other", 5002), address("10.0.0.1", 5002)]
        );
        let last = Publish::parse_list("gateway:65535").unwrap().remove(0);
        assert_eq!(last.following(1), None, "there is no such port");
    }

    #[test]
    fn what_cannot_be_connected_to_is_no_rule() {
        for rule in ["0.0.0.0", "[::]:1", "", "*", "host:x", "giop:tcp::1"] {
            assert!(Publish::parse_list(rule).is_err(), "{rule}");
        }
    }

    #[test]
    fn this_host_never_publishes_a_wildcard() {
        for text in ["", "0.0.0.0:1", "[::]:1"] {
            let hosts = published_hosts(&place(text)).unwrap();
            assert!(!hosts.is_empty());
            for host in hosts {
                assert!(!host.parse::<IpAddr>().unwrap().is_unspecified(), "{text}: {host}");
            }
        }
    }
}
