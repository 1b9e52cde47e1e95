//! Addresses of this host.

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::ptr;

/// Address of a network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// Name of the interface, such as `eth0`.
    pub interface: String,
    /// The address.
    pub address: IpAddr,
    /// Whether the interface is up.
    pub up: bool,
    /// Whether the interface is a loopback.
    pub loopback: bool,
}

/// Returns the name of this host as the system reports it.
pub fn host_name() -> io::Result<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
    Ok(name.trim_end().to_owned())
}

/// Returns all IPv4 and IPv6 addresses of all interfaces, in the order in which the kernel lists them.
pub fn addresses() -> io::Result<Vec<InterfaceAddress>> {
    let mut head = ptr::null_mut();
    // SAFETY: `getifaddrs` writes one pointer to the given place; on success it is the head of a
    // list that lives until `freeifaddrs`.
    if unsafe { libc::getifaddrs(&mut head) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let list = List(head);
    let mut found = Vec::new();
    let mut next = list.0;
    // SAFETY: `next` is null or an entry of `list`, which lives until the end of this function.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: `ifa_addr` is null or an address whose family determines its type.
        let Some(address) = (unsafe { ip_address(entry.ifa_addr) }) else {
            continue;
        };
        // SAFETY: every entry has a name that ends with a NUL and lives as long as `list`.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) };
        let has = |flag: libc::c_int| entry.ifa_flags & flag.cast_unsigned() != 0;
        found.push(InterfaceAddress {
            interface: name.to_string_lossy().into_owned(),
            address,
            up: has(libc::IFF_UP),
            loopback: has(libc::IFF_LOOPBACK),
        });
    }
    Ok(found)
}

/// Returns the source addresses for traffic outside this host's networks: those of the interfaces
/// of the default routes, IPv4 first. Sends nothing.
pub fn default_route_addresses() -> Vec<IpAddr> {
    // These addresses are reserved for documentation, so no host has them, but the kernel selects a route for them as
    // for any other address.
    let targets: [(IpAddr, IpAddr); 2] = [
        (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into()),
        (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()),
    ];
    let source = |(any, target): (IpAddr, IpAddr)| {
        let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
        socket.connect(SocketAddr::new(target, 9)).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    targets.into_iter().filter_map(source).collect()
}

/// # Safety
/// `address` is null, or points to a socket address as large as its family wants.
unsafe fn ip_address(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: see above; all address types begin with the family.
    let family = unsafe { address.as_ref() }?.sa_family;
    match libc::c_int::from(family) {
        libc::AF_INET => {
            // SAFETY: the family shows that it is one of these; `getifaddrs` aligns it.
            let address = unsafe { &*address.cast::<libc::sockaddr_in>() };
            Some(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family shows that it is one of these; `getifaddrs` aligns it.
            let address = unsafe { &*address.cast::<libc::sockaddr_in6>() };
            Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// List of `getifaddrs`, freed on drop.
struct List(*mut libc::ifaddrs);

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `getifaddrs` and is freed once, here.
        unsafe { libc::freeifaddrs(self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_among_them() {
        let all = addresses().unwrap();
        let loopback = all.iter().find(|a| a.address == IpAddr::V4(Ipv4Addr::LOCALHOST));
        assert!(loopback.is_some_and(|a| a.loopback && a.up), "{all:?}");
    }

    #[test]
    fn the_default_route_leads_to_one_of_them() {
        let all = addresses().unwrap();
        for address in default_route_addresses() {
            assert!(all.iter().any(|a| a.address == address), "{address} in {all:?}");
        }
    }
}
