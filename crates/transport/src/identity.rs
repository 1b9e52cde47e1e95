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
    /// Common names and subject alternative names.
    pub names: Arc<[SubjectName]>,
    /// Network address of the peer.
    pub address: Option<IpAddr>,
}

/// Name of the holder of a certificate, with its kind. An authority checks each kind by other means, so a name of one kind never
/// stands for one of another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SubjectName {
    /// Common name of the distinguished name: `alice`.
    Common(String),
    /// Host name: `gateway.bank.example`.
    Host(String),
    /// Network address.
    Address(IpAddr),
    /// Mail address: `alice@bank.example`.
    Mail(String),
    /// URI: `spiffe://bank/alice`.
    Uri(String),
}

impl Subject {
    /// Reports whether the certificate has this name. The form of `name` decides which names are compared:
    ///
    /// | `name` | compared with |
    /// |---|---|
    /// | `cn:alice` | common names |
    /// | an address | addresses |
    /// | contains `://`, or begins with `urn:` | URIs |
    /// | contains `=` | the distinguished name |
    /// | contains `@` | mail addresses |
    /// | anything else | host names; common names if the certificate has no host name |
    ///
    /// A leading `*` matches anything, and `*` alone every certificate.
    ///
    /// ```
    /// use oxorb_transport::{Subject, SubjectName};
    ///
    /// let names = [SubjectName::Common("alice".into()), SubjectName::Mail("alice@bank.example".into())];
    /// let alice = Subject { name: "CN=alice,O=Bank".into(), names: names.into(), address: None };
    /// assert!(alice.is_called("alice") && alice.is_called("CN=alice,O=Bank"));
    /// assert!(alice.is_called("*@bank.example") && !alice.is_called("cn:alice@bank.example"));
    /// ```
    pub fn is_called(&self, name: &str) -> bool {
        if name == "*" {
            return true;
        }
        let fits = |pattern: &str, own: &str| match pattern.strip_prefix('*') {
            Some(end) => own.ends_with(end),
            None => own == pattern,
        };
        let has = |fits: &dyn Fn(&SubjectName) -> bool| self.names.iter().any(fits);
        if let Some(name) = name.strip_prefix("cn:") {
            return has(&|own| matches!(own, SubjectName::Common(own) if fits(name, own)));
        }
        if let Ok(address) = name.parse::<IpAddr>() {
            return has(&|own| matches!(own, SubjectName::Address(own) if *own == address));
        }
        if name.contains("://") || name.starts_with("urn:") {
            return has(&|own| matches!(own, SubjectName::Uri(own) if fits(name, own)));
        }
        if name.contains('=') {
            return fits(name, &self.name);
        }
        if name.contains('@') {
            return has(&|own| matches!(own, SubjectName::Mail(own) if fits(name, own)));
        }
        let has_host = has(&|own| matches!(own, SubjectName::Host(_)));
        has(&|own| match own {
            SubjectName::Host(own) => fits(name, own),
            SubjectName::Common(own) => !has_host && fits(name, own),
            _ => false,
        })
    }
}

impl fmt::Display for SubjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Common(name) | Self::Host(name) | Self::Mail(name) | Self::Uri(name) => {
                f.write_str(name)
            }
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.name, self.names.first()) {
            ("", Some(name)) => name.fmt(f),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_one_kind_never_stands_for_another() {
        let common = |text: &str| SubjectName::Common(text.into());
        let subject = |name: &str, names: Vec<SubjectName>| Subject {
            name: name.into(),
            names: names.into(),
            address: None,
        };
        // An authority may fix the organization and let holders choose their common names.
        for claimed in [
            "CN=alice,O=Bank",
            "alice@bank.example",
            "spiffe://bank/alice",
            "urn:bank:alice",
            "10.1.2.3",
        ] {
            let eve = subject(r"CN=..,O=Evil", vec![common(claimed)]);
            assert!(!eve.is_called(claimed), "{claimed}");
            assert!(eve.is_called(&format!("cn:{claimed}")));
        }
        let eve = subject("CN=x@bank.example,O=Evil", vec![common("x@bank.example")]);
        assert!(!eve.is_called("*@bank.example") && eve.is_called("*"));

        let host = subject(
            "CN=bank.example",
            vec![common("alice"), SubjectName::Host("bank.example".into())],
        );
        assert!(host.is_called("bank.example") && host.is_called("*.example"));
        assert!(!host.is_called("alice"), "a certificate of a host is called by its host names");
        assert!(host.is_called("cn:alice"));
        let names = vec![
            SubjectName::Address("::1".parse().unwrap()),
            SubjectName::Uri("urn:bank:1".into()),
        ];
        let other = subject("", names);
        assert!(
            other.is_called("0:0::1") && other.is_called("urn:bank:1") && !other.is_called("::2")
        );
    }
}
