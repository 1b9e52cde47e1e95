//! Access rules: which peers may connect.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::PeerId;

/// Access rules by address; the first match decides.
///
/// Without rules every peer is admitted. Without a match, a list with an `allow` refuses and a list
/// of `deny` rules only admits: `allow 10.0.0.0/8` alone admits *only these*, and `deny
/// 10.9.0.0/16` alone admits *all but these*.
///
/// An address identifies the origin of a connection, not the person or program that opened it; behind a NAT all clients
/// have the same address. Rules by address keep a port closed to a network, but do not authenticate peers. Users and
/// groups are those of processes on this host, as the kernel reports them (`uid:1000`, `gid:100`). `tls:alice` matches
/// a peer whose certificate has this name ([`Subject::is_called`](crate::Subject::is_called)), and `tls:*` one with any
/// certificate. Commas separate the rules
/// of a list, so a name in a list contains none. A process always admits itself; a peer of unknown identity matches
/// only `all`.
///
/// ```
/// let rules: oxorb_transport::Access = "deny 10.9.0.0/16, allow 10.0.0.0/8, allow ::1".parse()?;
/// let from = |address: &str| oxorb_transport::PeerId::Ip(address.parse().unwrap());
/// assert!(rules.admits(&from("10.1.2.3")));
/// assert!(!rules.admits(&from("10.9.2.3")));
/// assert!(!rules.admits(&from("192.168.1.1")), "not named");
///
/// let error = "allow 10.0.0.0/40".parse::<oxorb_transport::Access>().unwrap_err();
/// assert_eq!(error.to_string(), "\"10.0.0.0/40\": the prefix of an IPv4 address must have 0 to 32 bits");
/// # Ok::<(), oxorb_transport::AccessError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    allow: bool,
    party: Party,
}

/// Peers that a rule matches.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Party {
    All,
    /// Network: addresses with the same leading bits.
    Network(IpAddr, u8),
    User(u32),
    Group(u32),
    /// Holder of a certificate with this name, as [`Subject::is_called`](crate::Subject::is_called)
    /// matches it.
    Subject(String),
}

impl Access {
    /// Reports whether there are no rules, so that every peer is admitted.
    pub fn is_open(&self) -> bool {
        self.rules.is_empty()
    }

    /// Reports whether a peer may connect. A few comparisons for each rule.
    pub fn admits(&self, peer: &PeerId) -> bool {
        if *peer == PeerId::Process {
            return true;
        }
        match self.rules.iter().find(|rule| rule.party.contains(peer)) {
            Some(rule) => rule.allow,
            None => !self.refuses_others(),
        }
    }

    /// Reports whether peers that no rule matches are refused, because a rule allows others.
    pub fn refuses_others(&self) -> bool {
        self.rules.iter().any(|rule| rule.allow)
    }

    /// Reports whether any rule matches this peer, whether it allows or denies.
    pub fn concerns(&self, peer: &PeerId) -> bool {
        self.rules.iter().any(|rule| rule.party.contains(peer))
    }

    /// Appends a rule for a network such as `10.0.0.0/8`, an address, `uid:NUMBER`, `gid:NUMBER`,
    /// `tls:NAME`, or `all`.
    ///
    /// # Errors
    /// [`AccessError`] if the text is none of these.
    pub fn add(&mut self, allow: bool, party: &str) -> Result<(), AccessError> {
        let party = party.parse()?;
        self.rules.push(Rule { allow, party });
        Ok(())
    }

    /// Returns each rule: whether it allows, and its peers.
    pub(crate) fn rules(&self) -> impl Iterator<Item = (bool, String)> {
        self.rules.iter().map(|rule| (rule.allow, rule.party.to_string()))
    }
}

/// Parses `allow NETWORK` and `deny NETWORK`, separated by commas.
impl FromStr for Access {
    type Err = AccessError;

    fn from_str(text: &str) -> Result<Self, AccessError> {
        let mut access = Access::default();
        for rule in text.split(',').map(str::trim).filter(|rule| !rule.is_empty()) {
            match rule.split_once(char::is_whitespace) {
                Some(("allow", network)) => access.add(true, network.trim())?,
                Some(("deny", network)) => access.add(false, network.trim())?,
                _ => return Err(AccessError::new(rule, "a rule must begin with allow or deny")),
            }
        }
        Ok(access)
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (allow, network)) in self.rules().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            let verb = if allow { "allow" } else { "deny" };
            write!(f, "{separator}{verb} {network}")?;
        }
        Ok(())
    }
}

impl Party {
    fn contains(&self, peer: &PeerId) -> bool {
        match (self, peer) {
            (Self::All, _) => true,
            (Self::Network(network, bits), _) => {
                peer.ip().is_some_and(|address| within(address.to_canonical(), *network, *bits))
            }
            (Self::User(wanted), PeerId::User { uid, .. }) => uid == wanted,
            (Self::Group(wanted), PeerId::User { gid, .. }) => gid == wanted,
            (Self::Subject(name), PeerId::Subject(subject)) => subject.is_called(name),
            _ => false,
        }
    }
}

fn within(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            let differ = network.to_bits() ^ address.to_bits();
            differ.leading_zeros() >= u32::from(bits)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => {
            let differ = network.to_bits() ^ address.to_bits();
            differ.leading_zeros() >= u32::from(bits)
        }
        _ => false,
    }
}

impl FromStr for Party {
    type Err = AccessError;

    fn from_str(text: &str) -> Result<Self, AccessError> {
        if matches!(text, "all" | "*") {
            return Ok(Self::All);
        }
        let id = |id: &str| {
            let digits = id.bytes().all(|octet| octet.is_ascii_digit());
            let number = id.parse().ok().filter(|_| digits);
            number.ok_or_else(|| {
                AccessError::new(text, "a user or group must be specified by its number")
            })
        };
        if let Some(user) = text.strip_prefix("uid:") {
            return Ok(Self::User(id(user)?));
        }
        if let Some(group) = text.strip_prefix("gid:") {
            return Ok(Self::Group(id(group)?));
        }
        if let Some(name) = text.strip_prefix("tls:") {
            return match name.is_empty() {
                false => Ok(Self::Subject(name.to_owned())),
                true => Err(AccessError::new(text, "tls: needs a name, or * for any")),
            };
        }
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.trim_matches(['[', ']']).parse().map_err(|_| {
            AccessError::new(
                text,
                "expected an address, ADDRESS/BITS, uid:NUMBER, gid:NUMBER, tls:NAME, or all",
            )
        })?;
        let (width, problem) = match address {
            IpAddr::V4(_) => (32, "the prefix of an IPv4 address must have 0 to 32 bits"),
            IpAddr::V6(_) => (128, "the prefix of an IPv6 address must have 0 to 128 bits"),
        };
        let bits: u8 = match bits.map(str::parse) {
            None => width,
            Some(Ok(bits)) if bits <= width => bits,
            Some(_) => return Err(AccessError::new(text, problem)),
        };
        // The addresses of peers are compared in this form, too.
        match address {
            IpAddr::V6(v6) if let Some(v4) = v6.to_ipv4_mapped() => match bits.checked_sub(96) {
                Some(bits) => Ok(Self::Network(v4.into(), bits)),
                None => Err(AccessError::new(
                    text,
                    "::ffff: begins the IPv6 form of IPv4 addresses, which needs a prefix of 96 to 128 bits; write the \
                     network as one of IPv4",
                )),
            },
            _ => Ok(Self::Network(address, bits)),
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Network(address, bits) => write!(f, "{address}/{bits}"),
            Self::User(id) => write!(f, "uid:{id}"),
            Self::Group(id) => write!(f, "gid:{id}"),
            Self::Subject(name) => write!(f, "tls:{name}"),
        }
    }
}

/// Error for a text that is not an access rule.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: {problem}")]
pub struct AccessError {
    /// Rule, or its invalid part.
    pub text: String,
    /// Mistake in the rule.
    pub problem: &'static str,
}

impl AccessError {
    fn new(text: &str, problem: &'static str) -> Self {
        Self { text: text.to_owned(), problem }
    }
}

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(rules: &str, peer: &str) -> bool {
        rules.parse::<Access>().unwrap().admits(&PeerId::Ip(peer.parse().unwrap()))
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let rules = "deny 10.9.0.0/16, allow 10.0.0.0/8, deny all";
        assert!(admits(rules, "10.8.255.255"));
        assert!(!admits(rules, "10.9.0.1"));
        assert!(!admits(rules, "11.0.0.1"));
        assert!(!admits(rules, "::1"));
    }

    #[test]
    fn what_no_rule_names() {
        assert!(admits("", "1.2.3.4"), "no rule: everybody");
        assert!(admits("deny 10.0.0.0/8", "1.2.3.4"), "all but these");
        assert!(!admits("allow 10.0.0.0/8", "1.2.3.4"), "nobody but these");
        for (rules, refuses) in
            [("", false), ("deny 10.0.0.0/8", false), ("deny 10.9.0.0/16, allow 10.0.0.0/8", true)]
        {
            assert_eq!(rules.parse::<Access>().unwrap().refuses_others(), refuses, "{rules}");
        }
    }

    #[test]
    fn both_families_and_every_width() {
        assert!(admits("allow fd00::/8", "fdff::1"));
        assert!(!admits("allow fd00::/8", "fe00::1"));
        assert!(admits("allow 0.0.0.0/0", "255.1.2.3"));
        assert!(!admits("allow 0.0.0.0/0", "::1"));
        assert!(admits("allow ::/0", "::1"));
        assert!(admits("allow 1.2.3.4", "1.2.3.4"));
        assert!(!admits("allow 1.2.3.4", "1.2.3.5"));
        assert!(admits("allow 1.2.3.4", "::ffff:1.2.3.4"), "as a dual-stack socket says it");
    }

    #[test]
    fn errors_name_the_rule() {
        for (text, part) in [
            ("allow", "allow"),
            ("permit all", "permit all"),
            ("allow somewhere", "somewhere"),
            ("deny ::1/129", "::1/129"),
            ("deny 1.2.3.4/", "1.2.3.4/"),
            ("allow uid:root", "uid:root"),
            ("allow gid:+5", "gid:+5"),
        ] {
            assert_eq!(text.parse::<Access>().unwrap_err().text, part);
        }
    }

    #[test]
    fn display_reads_back() {
        let text = "deny 10.9.0.0/16, allow uid:1000, deny gid:7, allow fd00::/8, deny all";
        let rules: Access = text.parse().unwrap();
        assert_eq!(rules.to_string(), text);
    }

    #[test]
    fn networks_of_ipv4_in_the_form_of_ipv6_are_those_of_ipv4() {
        let peers = ["10.1.2.3", "::ffff:10.1.2.3"].map(|it| PeerId::Ip(it.parse().unwrap()));
        for network in
            ["10.0.0.0/8", "::ffff:10.0.0.0/104", "::ffff:10.1.2.3", "::ffff:a01:203/128"]
        {
            let rules: Access = format!("deny {network}").parse().unwrap();
            assert!(!peers.iter().any(|peer| rules.admits(peer)), "{network}");
        }
        let error = "deny ::ffff:0:0/95".parse::<Access>().unwrap_err();
        assert!(error.problem.contains("96 to 128 bits"), "{error}");
    }

    #[test]
    fn subjects_by_any_of_their_names_and_by_network() {
        let alice = PeerId::Subject(crate::Subject {
            name: "CN=alice,O=Bank".into(),
            names: [
                crate::SubjectName::Common("alice".to_owned()),
                crate::SubjectName::Mail("alice@bank.example".to_owned()),
            ]
            .into(),
            address: Some("10.1.2.3".parse().unwrap()),
        });
        let admits = |rules: &str| {
            let mut access = Access::default();
            for rule in rules.split('|') {
                let (verb, party) = rule.split_once(' ').unwrap();
                access.add(verb == "allow", party).unwrap();
            }
            access.admits(&alice)
        };
        assert!(admits("allow tls:alice"));
        assert!(admits("allow tls:CN=alice,O=Bank"));
        assert!(admits("allow tls:*@bank.example") && admits("allow tls:*"));
        assert!(!admits("allow tls:bob") && !admits("deny tls:alice|allow all"));
        assert!(admits("allow 10.0.0.0/8") && !admits("deny 10.0.0.0/8"));
        assert!(!"allow tls:*".parse::<Access>().unwrap().admits(&PeerId::Unknown));
        assert_eq!("allow tls:".parse::<Access>().unwrap_err().text, "tls:");
    }

    #[test]
    fn peers_without_an_address() {
        let user = |uid, gid| PeerId::User { uid, gid, pid: 1 };
        let admits = |rules: &str, peer| rules.parse::<Access>().unwrap().admits(&peer);
        assert!(admits("allow uid:1000", user(1000, 5)));
        assert!(!admits("allow uid:1000", user(5, 1000)));
        assert!(admits("deny uid:1000, allow gid:5", user(7, 5)));
        assert!(!admits("allow 0.0.0.0/0, allow ::/0", user(0, 0)));
        assert!(!admits("allow 10.0.0.0/8", PeerId::Unknown));
        assert!(admits("allow all", PeerId::Unknown));
        assert!(admits("deny all", PeerId::Process), "a process admits itself");
    }
}
