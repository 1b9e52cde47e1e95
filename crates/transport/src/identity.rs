//! Identity of a peer, as far as its transport can tell.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

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
///
/// Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// Subject of a certificate that a trusted root vouches for, and whose key the peer proved to
    /// have.
    Subject(Subject),
    /// The present process itself.
    Process,
    /// A peer of which the transport knows nothing.
    Unknown,
}

impl PeerId {
    /// Returns the client that the limits for each client count the peer as: all processes of a
    /// user are one, whoever they work for, and all addresses of a subject.
    #[must_use]
    pub fn client(&self) -> Self {
        match self {
            Self::User { uid, .. } => Self::User { uid: *uid, gid: 0, pid: 0 },
            Self::Subject(subject) => Self::Subject(Subject { address: None, ..subject.clone() }),
            other => other.clone(),
        }
    }

    /// Returns the network address, if the peer has one.
    pub fn ip(&self) -> Option<IpAddr> {
        match self {
            Self::Ip(address) => Some(*address),
            Self::Subject(subject) => subject.address,
            _ => None,
        }
    }

    /// Returns the subject of the peer's certificate, if it has shown one.
    pub fn subject(&self) -> Option<&Subject> {
        match self {
            Self::Subject(subject) => Some(subject),
            _ => None,
        }
    }
}

/// Subject of a certificate, and the names that it vouches for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    /// Distinguished name as RFC 4514 writes it, `CN=alice,O=Bank`; empty where the certificate has none.
    pub name: Arc<str>,
    /// Common names and subject alternative names: `alice`, `alice@bank.example`, `spiffe://bank/alice`.
    pub names: Arc<[String]>,
    /// Network address from which it came.
    pub address: Option<IpAddr>,
}

impl Subject {
    /// Reports whether this is what the subject is called: its distinguished name, or one of its names. A `*` at the
    /// beginning of `name` stands for anything.
    pub fn is_called(&self, name: &str) -> bool {
        let fits = |own: &str| match name.strip_prefix('*') {
            Some(end) => own.ends_with(end),
            None => own == name,
        };
        fits(&self.name) || self.names.iter().any(|own| fits(own))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.name, self.names.first()) {
            ("", Some(name)) => f.write_str(name),
            ("", None) => f.write_str("a certificate without a name"),
            (name, _) => f.write_str(name),
        }
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::User { uid, gid, pid: 0 } => write!(f, "uid {uid}, gid {gid}"),
            Self::User { uid, gid, pid } => write!(f, "uid {uid}, gid {gid}, pid {pid}"),
            Self::Subject(subject) => subject.fmt(f),
            Self::Process => f.write_str("this process"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}
