//! Network interfaces of this host, for multicast groups.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::str::FromStr;

use rustix::net::{netdevice, sockopt};

/// Network interface through which datagrams of multicast groups are sent or received.
///
/// ```
/// use oxorb_event::gateway::NetworkInterface;
///
/// let loopback: NetworkInterface = "lo".parse()?;
/// assert!(matches!(loopback, NetworkInterface::Index(_)));
/// assert_eq!("10.0.0.7".parse(), Ok(NetworkInterface::Address([10, 0, 0, 7].into())));
/// # Ok::<(), oxorb_event::gateway::InterfaceError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkInterface {
    /// The interface that the system chooses.
    #[default]
    Any,
    /// The interface with this address. Only for IPv4 groups.
    Address(Ipv4Addr),
    /// The interface with this index, which is in the first column of `ip link`. For IPv4 and IPv6 groups.
    Index(u32),
}

/// Error for a text that is not the name of an interface of this host.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a network interface of this host: specify its name, as `ip link` shows it, or its IPv4 address"
)]
pub struct InterfaceError {
    text: String,
}

impl FromStr for NetworkInterface {
    type Err = InterfaceError;

    /// Parses an IPv4 address, or the name of an interface of this host.
    fn from_str(text: &str) -> Result<NetworkInterface, InterfaceError> {
        if let Ok(address) = text.parse() {
            return Ok(NetworkInterface::Address(address));
        }
        let index = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|socket| Ok(netdevice::name_to_index(&socket, text)?));
        index.map(NetworkInterface::Index).map_err(|_| InterfaceError { text: text.to_owned() })
    }
}

impl NetworkInterface {
    /// Joins an IPv4 group.
    pub(super) fn join_v4(self, socket: &UdpSocket, group: &Ipv4Addr) -> io::Result<()> {
        let any = &Ipv4Addr::UNSPECIFIED;
        match self {
            NetworkInterface::Any => socket.join_multicast_v4(group, any),
            NetworkInterface::Address(address) => socket.join_multicast_v4(group, &address),
            NetworkInterface::Index(index) => {
                Ok(sockopt::set_ip_add_membership_with_ifindex(socket, group, any, index)?)
            }
        }
    }

    /// Selects the interface for sending to IPv4 groups.
    pub(super) fn send_v4(self, socket: &UdpSocket) -> io::Result<()> {
        let any = &Ipv4Addr::UNSPECIFIED;
        match self {
            NetworkInterface::Any => Ok(()),
            NetworkInterface::Address(address) => {
                Ok(sockopt::set_ip_multicast_if(socket, &address)?)
            }
            NetworkInterface::Index(index) => {
                Ok(sockopt::set_ip_multicast_if_with_ifindex(socket, any, any, index)?)
            }
        }
    }

    /// Returns the index of the interface for IPv6 groups; 0 if the system chooses it.
    ///
    /// # Errors
    /// The interface is identified by an IPv4 address.
    pub(super) fn index(self) -> io::Result<u32> {
        match self {
            NetworkInterface::Any => Ok(0),
            NetworkInterface::Index(index) => Ok(index),
            NetworkInterface::Address(address) => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("specify the interface of an IPv6 group by its name, not by {address}"),
            )),
        }
    }
}

impl fmt::Debug for InterfaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
