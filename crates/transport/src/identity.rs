//! Who a peer is, as far as its transport can tell.

use std::fmt;
use std::net::IpAddr;

/// Identity of the other end of a link: what access rules, limits for each client and request
/// filters decide by.
///
/// ```
/// use oxorb_transport::PeerId;
///
/// let clerk = |pid| PeerId::User { uid: 1000, gid: 100, pid };
/// assert_ne!(clerk(7), clerk(8));
/// assert_eq!(clerk(7).client(), clerk(8).client(), "limits count users, not processes");
/// assert_eq!(clerk(7).to_string(), "uid 1000, gid 100, pid 7");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerId {
    /// A network address. All clients behind one NAT have the same.
    Ip(IpAddr),
    /// A process of this host, as the kernel vouches.
    User {
        /// User id.
        uid: u32,
        /// Group id.
        gid: u32,
        /// Process id; 0 if it has none here (another PID namespace).
        pid: u32,
    },
    /// This process itself.
    Process,
    /// A peer of which the transport knows nothing.
    Unknown,
}

impl PeerId {
    /// Returns the client that the limits for each client count the peer as: all processes of a
    /// user are one, whoever they work for.
    #[must_use]
    pub fn client(self) -> Self {
        match self {
            Self::User { uid, .. } => Self::User {
                uid,
                gid: 0,
                pid: 0,
            },
            other => other,
        }
    }

    /// Returns the network address, if the peer has one.
    pub fn ip(self) -> Option<IpAddr> {
        match self {
            Self::Ip(address) => Some(address),
            _ => None,
        }
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::User { uid, gid, pid: 0 } => write!(f, "uid {uid}, gid {gid}"),
            Self::User { uid, gid, pid } => write!(f, "uid {uid}, gid {gid}, pid {pid}"),
            Self::Process => f.write_str("this process"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}
