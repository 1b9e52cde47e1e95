//! Rules of a naming service: whether names may change, and which other servers it calls to resolve names.

use std::fmt;
use std::str::FromStr;

use oxorb::ior::{Ior, SocketIdentity};
use oxorb::protocol::Protocols;
use oxorb::transport::{Address, tcp};

/// Rules of a naming service, in addition to those of the ORB about connections.
///
/// ```
/// use oxorb_naming::{Federation, Rules};
///
/// let rules = Rules {
///     read_only: true,
///     federation: "north.example, south.example:2809".parse().unwrap(),
/// };
/// assert_ne!(rules.federation, Federation::None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Whether every change is refused with NO_PERMISSION, minor `READ_ONLY`. Default false.
    pub read_only: bool,
    /// Servers that the service may call to resolve names. Default [`Federation::None`].
    pub federation: Federation,
}

/// Servers that a service calls to resolve names through their contexts. For all other servers the service makes no
/// connection and raises CannotProceed, with the context and the rest of the name, so that the caller can continue
/// there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Federation {
    /// No server: names that lead to another server raise CannotProceed.
    #[default]
    None,
    /// Servers whose references contain only addresses listed here.
    Hosts(Vec<Host>),
    /// All servers. Any client that may bind a name then determines which addresses this process connects to.
    Any,
}

/// Address of a server, as its references contain it. Host names are compared as text. Applies to every protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A host of the network. Does not cover UNIX sockets, even those of this host.
    Network {
        /// Name or address.
        name: String,
        /// Port; `None` for any.
        port: Option<u16>,
    },
    /// A UNIX socket, given as a path or as `@` and an abstract name, whichever process listens on it.
    Socket(String),
    /// UNIX sockets of the user with this id. Each connection verifies that the server runs as this user, so the
    /// reference must contain the user's identity ([`SocketIdentity`]).
    User(u32),
}

impl Federation {
    /// Reports whether the service may call the object of a reference over these protocols. All addresses that such a
    /// call might use must belong to the permitted servers. Profiles of other protocols are ignored because the call
    /// does not use them.
    pub(crate) fn allows(&self, ior: &Ior, protocols: &Protocols) -> bool {
        match self {
            Federation::None => false,
            Federation::Any => true,
            Federation::Hosts(hosts) => {
                let addresses = addresses(ior, protocols);
                let named = |at: &Address| hosts.iter().any(|host| host.is(at));
                !addresses.is_empty() && addresses.iter().all(named)
            }
        }
    }
}

/// Returns the addresses that a call to an object might use: those of all its profiles and their lanes, and those that
/// a profile contains for another protocol.
pub(crate) fn addresses(ior: &Ior, protocols: &Protocols) -> Vec<Address> {
    let mut all = Vec::new();
    for tagged in &ior.profiles {
        let protocol = protocols.tagged(tagged.tag);
        let profile = protocol.and_then(|protocol| protocol.profile().read(tagged).ok());
        let Some(profile) = profile else { continue };
        let beside = protocols.iter();
        let beside = beside.filter_map(|other| other.profile().found_beside(&profile)?.ok());
        all.extend(beside);
        for other in protocols.iter() {
            let within = other.profile().found_within(tagged).addresses.into_iter();
            all.extend(within.map(|(address, _)| address));
        }
        all.extend(profile.addresses);
        all.extend(profile.lanes.into_iter().map(|(address, _)| address));
    }
    all
}

impl Host {
    fn is(&self, at: &Address) -> bool {
        match self {
            Host::Network { name, port } => {
                tcp::host_and_port(at).is_some_and(|(there, number)| {
                    name.eq_ignore_ascii_case(there) && port.is_none_or(|port| port == number)
                })
            }
            Host::Socket(name) => socket(at) == Some(name),
            Host::User(uid) => {
                let identity = at.verified().filter(|_| socket(at).is_some());
                let identity = identity.and_then(|text| text.parse::<SocketIdentity>().ok());
                identity.is_some_and(|identity| identity.uid == *uid)
            }
        }
    }
}

/// Returns the name of a server's UNIX socket, which carries the messages (`unix`) or serves to share memory (`shm`).
fn socket(at: &Address) -> Option<&str> {
    let name = at.name();
    match at.scheme() {
        "unix" => Some(name),
        // If the sizes of the shared memory differ from the defaults, they precede the name, followed by a colon.
        "shm" if !name.starts_with(['/', '@']) => Some(name.split_once(':')?.1),
        "shm" => Some(name),
        _ => None,
    }
}

/// Reads `none`, `any`, or servers as `HOST`, `HOST:PORT`, `/PATH`, `@NAME` or `uid:NUMBER`, separated by commas.
impl FromStr for Federation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "none" => Ok(Federation::None),
            "any" => Ok(Federation::Any),
            text => text
                .split(',')
                .map(|one| one.trim().parse())
                .collect::<Result<_, _>>()
                .map(Federation::Hosts),
        }
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is not a server: expected HOST, HOST:PORT, [IPv6]:PORT, /PATH or @NAME of a UNIX socket, \
                 uid:NUMBER, any or none"
            )
        };
        if text.starts_with(['/', '@']) {
            let named = text.len() > 1 && !text.contains(['|', '\0']);
            return named.then(|| Host::Socket(text.to_owned())).ok_or_else(wrong);
        }
        if let Some(uid) = text.strip_prefix("uid:") {
            return uid.parse().map(Host::User).map_err(|_| wrong());
        }
        let (name, port) = match text.strip_prefix('[') {
            Some(behind) => {
                let (name, port) = behind.split_once(']').ok_or_else(wrong)?;
                (name, port.strip_prefix(':').or(port.is_empty().then_some("")))
            }
            None => match text.split_once(':') {
                Some((_, port)) if port.contains(':') => return Err(wrong()),
                Some((name, port)) => (name, (!port.is_empty()).then_some(port)),
                None => (text, Some("")),
            },
        };
        let port = match port.ok_or_else(wrong)? {
            "" => None,
            port => Some(port.parse().map_err(|_| wrong())?),
        };
        let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"/#@;".contains(c);
        if name.is_empty() || !name.chars().all(plain) {
            return Err(wrong());
        }
        Ok(Host::Network { name: name.to_owned(), port })
    }
}

impl fmt::Display for Federation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Federation::None => f.write_str("none"),
            Federation::Any => f.write_str("any"),
            Federation::Hosts(hosts) => {
                for (index, host) in hosts.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(f, "{separator}{host}")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Socket(name) => f.write_str(name),
            Host::User(uid) => write!(f, "uid:{uid}"),
            Host::Network { name, port } => {
                match name.contains(':') {
                    true => write!(f, "[{name}]")?,
                    false => f.write_str(name)?,
                }
                port.map_or(Ok(()), |port| write!(f, ":{port}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_lanes_are_held_against_the_rules_too() {
        // A reference to a:1 whose TAO_TAG_ENDPOINTS component lists a:1 for priority 0 and evil:1 for priority 5.
        let lanes = "IOR:000000000000000100000000000000010000000000000042000102000000000261000001000000016b00\
            00000000000154414f02000000220000000000000002000000026100000100000000000000056576696c0000\
            00010005";
        let lanes: Ior = lanes.parse().unwrap();
        for (rule, allowed) in [("a", false), ("a, evil", true)] {
            let rule: Federation = rule.parse().unwrap();
            let protocols = Protocols::default();
            assert_eq!(rule.allows(&lanes, &protocols), allowed, "{rule}");
        }
    }

    #[test]
    fn rules_are_read_and_written() {
        for text in [
            "none",
            "any",
            "a",
            "a:1, b",
            "[::1]:2809",
            "[::1]",
            "10.0.0.7:2809",
            "/run/naming, @naming, uid:1000, a:1",
        ] {
            assert_eq!(text.parse::<Federation>().unwrap().to_string(), text);
        }
        for wrong in [
            "", "a,", ":1", "a:", "a:x", "a:70000", "::1", "[::1", "[::1]x", "a b", "iiop://a",
            "/", "@", "uid:", "uid:me", "/a|b",
        ] {
            wrong.parse::<Federation>().expect_err(wrong);
        }
    }
}
