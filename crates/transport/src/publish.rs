//! Which hosts go into a reference.
//!
//! A reference that carries `0.0.0.0`, the loopback address or the wrong one of several interfaces
//! is the oldest complaint about CORBA. The rule here: what the user named is published as named;
//! all interfaces means every address by which a client could come, the likeliest first.

use std::cmp::Reverse;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use oxorb_sys::interface::{self, InterfaceAddress};

use crate::Endpoint;

/// The hosts under which clients reach `endpoint`, the likeliest first; never empty, and never
/// `0.0.0.0` or `::`.
///
/// - `hostname_in_ior`, if given, alone;
/// - a host or address that was named, as it was named;
/// - for all interfaces, their addresses: first those of the default routes, then the others, then
///   self-assigned IPv4 ones (169.254.0.0/16). Link-local IPv6 addresses mean nothing on another
///   host and are left out. Loopback only if this host has nothing else.
///
/// Asks the system for its interfaces; off the request path.
///
/// # Errors
/// When the system does not tell its interfaces.
pub fn published_hosts(endpoint: &Endpoint) -> io::Result<Vec<String>> {
    if let Some(host) = &endpoint.publish {
        return Ok(vec![host.clone()]);
    }
    if !endpoint.is_wildcard() {
        return Ok(vec![endpoint.host.clone()]);
    }
    let hosts = reachable(
        &interface::addresses()?,
        &interface::default_route_addresses(),
        endpoint.wildcard_families(),
    );
    Ok(hosts.iter().map(ToString::to_string).collect())
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
        (
            self_assigned,
            Reverse(preferred.contains(address)),
            address.is_ipv6(),
        )
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
        assert_eq!(
            chosen(HOST, &["192.168.1.7"], (false, true)),
            ["2001:db8::7"]
        );
        assert!(
            chosen(HOST, &[], (true, false))
                .iter()
                .all(|host| !host.contains(':'))
        );
    }

    #[test]
    fn loopback_only_when_there_is_nothing_else() {
        let alone = &[("lo", "127.0.0.1"), ("lo", "::1"), ("down0", "10.0.0.1")];
        assert_eq!(chosen(alone, &[], BOTH), ["127.0.0.1"]);
        assert_eq!(chosen(alone, &[], (false, true)), ["::1"]);
    }

    #[test]
    fn what_was_named_is_published_as_named() {
        let hosts = |text: &str| published_hosts(&text.parse().unwrap()).unwrap();
        assert_eq!(hosts("iiop://localhost:1"), ["localhost"]);
        assert_eq!(hosts("iiop://[::1]:1"), ["::1"]);
        assert_eq!(
            hosts("iiop://:1/hostname_in_ior=gateway.example"),
            ["gateway.example"]
        );
    }

    #[test]
    fn this_host_never_publishes_a_wildcard() {
        for text in ["iiop://", "iiop://0.0.0.0:1", "iiop://[::]:1"] {
            let hosts = published_hosts(&text.parse().unwrap()).unwrap();
            assert!(!hosts.is_empty());
            for host in hosts {
                assert!(
                    !host.parse::<IpAddr>().unwrap().is_unspecified(),
                    "{text}: {host}"
                );
            }
        }
    }
}
