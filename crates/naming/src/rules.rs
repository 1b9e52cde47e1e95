//! Rules of a naming service: whether names change, and to which other servers it follows them.

use std::fmt;
use std::str::FromStr;

use oxorb::Ior;
use oxorb::protocol::Protocols;

/// Rules of a naming service, beside those of the ORB about connections.
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
    /// Whether every change is refused: NO_PERMISSION, minor `READ_ONLY`. Default false.
    pub read_only: bool,
    /// Servers to which the service follows names. Default [`Federation::None`].
    pub federation: Federation,
}

/// Other servers to which a service follows names that lead through their contexts. To any other one it makes no
/// connection: it answers CannotProceed, with the context and the rest of the name, so that the caller may go there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Federation {
    /// No other server.
    #[default]
    None,
    /// The servers whose every address, as the reference has it, is one of these.
    Hosts(Vec<Host>),
    /// All servers: whoever may bind a name decides where this process connects to.
    Any,
}

/// Address of a server, as references have it: names are compared as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    name: String,
    /// `None` for every port.
    port: Option<u16>,
}

impl Federation {
    /// Reports whether the service may call the object of a reference with these protocols.
    pub(crate) fn allows(&self, ior: &Ior, protocols: &Protocols) -> bool {
        let hosts = match self {
            Federation::None => return false,
            Federation::Any => return true,
            Federation::Hosts(hosts) => hosts,
        };
        let mut profiles = 0;
        let mut endpoints = 0;
        let allowed = ior.iiop_profiles().all(|profile| {
            profiles += 1;
            profile.all_addresses().into_iter().all(|endpoint| {
                endpoints += 1;
                hosts
                    .iter()
                    .any(|host| host.is(&endpoint.host, endpoint.port))
            })
        });
        // A call might use a profile of another protocol, or a socket that a profile tells of.
        allowed
            && endpoints > 0
            && profiles == ior.profiles.len()
            && !tells_of_another_place(ior, protocols)
    }
}

/// Reports whether components of a profile lead to an address of another protocol, such as a UNIX socket.
fn tells_of_another_place(ior: &Ior, protocols: &Protocols) -> bool {
    ior.profiles.iter().any(|tagged| {
        let protocol = protocols.tagged(tagged.tag);
        let profile = protocol.and_then(|protocol| protocol.profile().read(tagged).ok());
        profile.is_some_and(|profile| {
            let mut beside = protocols
                .iter()
                .filter_map(|other| other.profile().found_beside(&profile));
            beside.next().is_some()
        })
    })
}

impl Host {
    fn is(&self, name: &str, port: u16) -> bool {
        self.name.eq_ignore_ascii_case(name) && self.port.is_none_or(|own| own == port)
    }
}

/// Reads `none`, `any`, or servers as `HOST` or `HOST:PORT`, separated by commas.
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
        let wrong =
            || format!("{text:?} is no server: expected HOST, HOST:PORT, [IPv6]:PORT, any or none");
        let (name, port) = match text.strip_prefix('[') {
            Some(behind) => {
                let (name, port) = behind.split_once(']').ok_or_else(wrong)?;
                (
                    name,
                    port.strip_prefix(':').or(port.is_empty().then_some("")),
                )
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
        Ok(Host {
            name: name.to_owned(),
            port,
        })
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
        match (self.name.contains(':'), self.port) {
            (false, None) => f.write_str(&self.name),
            (false, Some(port)) => write!(f, "{}:{port}", self.name),
            (true, None) => write!(f, "[{}]", self.name),
            (true, Some(port)) => write!(f, "[{}]:{port}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_lanes_are_held_against_the_rules_too() {
        // At a:1, with TAO_TAG_ENDPOINTS: a:1 for priority 0, evil:1 for priority 5.
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
        ] {
            assert_eq!(text.parse::<Federation>().unwrap().to_string(), text);
        }
        for wrong in [
            "", "a,", ":1", "a:", "a:x", "a:70000", "::1", "[::1", "[::1]x", "a b", "iiop://a",
        ] {
            wrong.parse::<Federation>().expect_err(wrong);
        }
    }
}
