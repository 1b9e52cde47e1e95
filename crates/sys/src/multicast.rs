//! UDP sockets of multicast groups: receivers and senders.

use std::ffi::CString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;

use rustix::net::sockopt;

use crate::datagram::{open, set_level};
use crate::{interface, socket};

/// Interface index, as the kernel numbers interfaces.
pub type Interface = NonZeroU32;

/// Returns the interface with the given name or address.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] where this host has no such interface.
pub fn interface(named: &str) -> io::Result<Interface> {
    let at: Option<IpAddr> = named.parse().ok();
    let name = match at {
        Some(at) => {
            let mut all = interface::addresses()?.into_iter();
            let found = all.find(|it| it.address == at);
            found.ok_or(io::ErrorKind::NotFound)?.interface
        }
        None => named.to_owned(),
    };
    let name = CString::new(name).map_err(|_| io::ErrorKind::NotFound)?;
    // SAFETY: the name ends with a NUL and lives until the call returns.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    Ok(Interface::new(index).ok_or(io::ErrorKind::NotFound)?)
}

/// Joins a group, and receives what is sent to its port, on one interface or the one that the
/// routing table selects. Other sockets of this host may receive the same datagrams.
///
/// # Errors
/// As the kernel reports: [`io::ErrorKind::AddrInUse`] where another socket has the port
/// exclusively, no such device without a route.
pub fn join(group: SocketAddr, on: Option<Interface>) -> io::Result<OwnedFd> {
    let socket = open(group, false)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &group)?;
    let index = on.map_or(0, Interface::get);
    match group.ip() {
        IpAddr::V4(ip) => {
            let request = request(ip, index);
            set_level(&socket, libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP, request)?;
            // By default, the socket would also receive datagrams from interfaces on which only other sockets joined
            // the group.
            set_level(&socket, libc::IPPROTO_IP, IP_MULTICAST_ALL, 0_i32)?;
        }
        IpAddr::V6(ip) => sockopt::set_ipv6_add_membership(&socket, &ip, index)?,
    }
    Ok(socket)
}

/// Opens a socket that sends to a group. `ttl`: one more than the number of routers that a datagram
/// may pass. `loopback`: whether members on this host receive the datagrams.
///
/// # Errors
/// As the kernel reports: no route, no such DSCP.
pub fn sender(
    group: SocketAddr,
    over: Option<Interface>,
    ttl: u8,
    loopback: bool,
    dscp: Option<u8>,
) -> io::Result<OwnedFd> {
    let socket = open(group, false)?;
    if let Some(dscp) = dscp {
        socket::set_dscp_of(&socket, group.is_ipv6(), dscp)?;
    }
    let index = over.map(|interface| interface.get().cast_signed());
    match group {
        SocketAddr::V4(_) => {
            sockopt::set_ip_multicast_ttl(&socket, u32::from(ttl))?;
            sockopt::set_ip_multicast_loop(&socket, loopback)?;
            if let Some(over) = over {
                let request = request(Ipv4Addr::UNSPECIFIED, over.get());
                set_level(&socket, libc::IPPROTO_IP, libc::IP_MULTICAST_IF, request)?;
            }
        }
        SocketAddr::V6(_) => {
            sockopt::set_ipv6_multicast_hops(&socket, u32::from(ttl))?;
            sockopt::set_ipv6_multicast_loop(&socket, loopback)?;
            if let Some(index) = index {
                set_level(&socket, libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_IF, index)?;
            }
        }
    }
    rustix::net::connect(&socket, &group)?;
    Ok(socket)
}

/// Linux option that the libc crate does not define on all of its targets.
const IP_MULTICAST_ALL: i32 = 49;

fn request(group: Ipv4Addr, index: u32) -> libc::ip_mreqn {
    let address = |ip: Ipv4Addr| libc::in_addr { s_addr: u32::from(ip).to_be() };
    libc::ip_mreqn {
        imr_multiaddr: address(group),
        imr_address: address(Ipv4Addr::UNSPECIFIED),
        imr_ifindex: index.cast_signed(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;

    use super::*;
    use crate::datagram::receive_from;

    fn heard(socket: &OwnedFd) -> Option<Vec<u8>> {
        let mut buffer = Vec::new();
        receive_from(socket, &mut buffer, 100, false).ok()??;
        Some(buffer)
    }

    #[test]
    fn each_member_on_the_interface_gets_what_is_sent_unless_loopback_is_off() {
        let lo = interface("127.0.0.1").unwrap();
        assert_eq!(lo, interface("lo").unwrap());
        assert!(interface("no such").is_err());
        for group in ["239.255.77.1:0", "[ff01::4d01]:0"] {
            let mut group: SocketAddr = group.parse().unwrap();
            // The host may have no IPv6.
            let Ok(first) = join(group, Some(lo)) else {
                assert!(group.is_ipv6());
                continue;
            };
            group.set_port(socket::local_address(&first).unwrap().port());
            let second = join(group, Some(lo)).unwrap();
            let Ok(sends) = sender(group, Some(lo), 0, true, Some(10)) else {
                assert!(group.is_ipv6());
                continue;
            };
            socket::send(&sends, &[IoSlice::new(b"all")]).unwrap();
            assert_eq!(heard(&first).as_deref(), Some(&b"all"[..]));
            assert_eq!(heard(&second).as_deref(), Some(&b"all"[..]));
        }
    }
}
