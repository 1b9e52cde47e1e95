//! Identities of peers, as far as their transports know them.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// Identity of the other end of a link: the basis of access rules, limits for each client and
/// request filters.
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
    /// Network address. All clients behind one NAT have the same address.
    Ip(IpAddr),
    /// Process of this host, as reported by the kernel.
    User {
        /// User id.
        uid: u32,
        /// Group id.
        gid: u32,
        /// Process id; 0 if it has none in this PID namespace.
        pid: u32,
    },
    /// Subject of a certificate that is signed by a trusted root and whose key the peer proved to
    /// hold.
    Subject(Subject),
    /// Own process.
    Process,
    /// Peer of unknown identity.
    Unknown,
}

impl PeerId {
    /// Returns the identity for limits per client: all processes of a user count as one client, and
    /// so do all addresses of a subject.
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

    /// Returns the subject of the peer's certificate, if it presented one.
    pub fn subject(&self) -> Option<&Subject> {
        match self {
            Self::Subject(subject) => Some(subject),
            _ => None,
        }
    }
}

/// Subject of a certificate, and its other names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    /// Distinguished name in the form of RFC 4514, `CN=alice,O=Bank`; empty if the certificate has
    /// none.
    pub name: Arc<str>,
    /// Common names and subject alternative names: `alice`, `alice@bank.example`, `spiffe://bank/alice`.
    pub names: Arc<[String]>,
    /// Network address of the peer.
    pub address: Option<IpAddr>,
}

impl Subject {
    /// Reports whether `name` is the subject's distinguished name or one of its names. A leading
    /// `*` in `name` matches anything.
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
