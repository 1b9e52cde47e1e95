//! Addresses that look unreachable from other hosts.

use std::net::{IpAddr, Ipv6Addr};

/// Returns why clients cannot reach an address, if that follows from the address alone. Does no I/O.
pub(crate) fn doubt(host: &str, port: u16) -> Option<&'static str> {
    if port == 0 {
        return Some("no port: port 0 accepts no connections");
    }
    let (address, zone) = host.split_once('%').unwrap_or((host, ""));
    let Ok(address) = address.parse::<IpAddr>() else {
        return match host {
            "" => Some("no host: the server published none"),
            "localhost" => Some(LOOPBACK),
            _ => None,
        };
    };
    match address.to_canonical() {
        address if address.is_unspecified() => Some(
            "no address: it means any address of the server; make the server publish one (OxORB: -ORBEndPointPublish, \
             omniORB: -ORBendPointPublish, TAO: hostname_in_ior)",
        ),
        address if address.is_loopback() => Some(LOOPBACK),
        IpAddr::V4(address) if address.is_link_local() => {
            Some("self-assigned: reached only on the server's own network segment")
        }
        IpAddr::V6(address) if is_link_local(address) && zone.is_empty() => {
            Some("link-local: ambiguous without the network interface that leads there")
        }
        address if address.is_multicast() => Some("multicast: IIOP connects to one host"),
        _ => None,
    }
}

const LOOPBACK: &str = "loopback: reached only from the server's own host";

fn is_link_local(address: Ipv6Addr) -> bool {
    address.is_unicast_link_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_gives_away() {
        let said = |host: &str| doubt(host, 1).map(|why| why.split(':').next().unwrap());
        assert_eq!(said("0.0.0.0"), Some("no address"));
        assert_eq!(said("::"), Some("no address"));
        assert_eq!(said("127.0.0.1"), Some("loopback"));
        assert_eq!(said("::1"), Some("loopback"));
        assert_eq!(said("localhost"), Some("loopback"));
        assert_eq!(said("169.254.1.1"), Some("self-assigned"));
        assert_eq!(said("fe80::1"), Some("link-local"));
        assert_eq!(said("fe80::1%eth0"), None);
        assert_eq!(said("192.168.1.7"), None);
        assert_eq!(said("server.example"), None);
        assert!(doubt("server.example", 0).is_some());
    }
}
