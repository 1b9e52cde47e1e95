//! Access rules about requests, as a configuration file has them: who may call what.

use std::fmt;

use oxorb_transport::Access;
#[cfg(test)]
use oxorb_transport::PeerId;

/// Rules about requests, of which the first that matches decides.
///
/// They are asked for each request of another process, once its object is known. A process always admits itself. A request is
/// not held against each rule: its operation, interface and object are looked for among the names that the rules say, once
/// each, without allocation or lock; which rules concern its client is found once for each connection.
///
/// They say nothing of who may connect ([`Access`]), nor whether an object exists (LocateRequest).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessRules {
    /// Place of the rules, for people: `oxorb.toml:3`.
    pub place: String,
    /// Whether a request is served that no rule matches.
    pub allow: bool,
    /// The rules, in the order in which they are asked.
    pub rules: Vec<AccessRule>,
}

/// A rule about requests. Those of its conditions that are set have to be met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessRule {
    /// Place of the rule, for people: `oxorb.toml:7`.
    pub place: String,
    /// Whether it serves what it matches, or refuses it.
    pub allow: bool,
    /// Clients that it matches, as `allow` rules of it name them; none: all.
    pub who: Access,
    /// Interfaces of servants, by repository id; a `*` at the end stands for anything. A servant of a derived interface is
    /// matched by its own id alone.
    pub interfaces: Vec<String>,
    /// Objects: names of their POAs below the root, and the id, separated by `/`; an id that is no text is hexadecimal behind `0x`. A `*` at the end stands for anything.
    pub objects: Vec<String>,
    /// Operations, as in IDL; `_get_x` and `_set_x` for attributes.
    pub operations: Vec<String>,
    /// Whether the connection protects what it carries, as TLS does; `None`: it may or not.
    pub protected: Option<bool>,
}

/// A request, as rules see it.
#[cfg(test)]
pub(crate) struct Asked<'r> {
    pub(crate) peer: &'r PeerId,
    pub(crate) protected: bool,
    /// Interface of the servant.
    pub(crate) interface: &'r str,
    /// Names of the POAs, the root's first.
    pub(crate) adapter: &'r [String],
    pub(crate) object_id: &'r [u8],
    pub(crate) operation: &'r str,
}

#[cfg(test)]
impl AccessRules {
    /// Goes through the rules one by one, as the index does not. Returns the rule that decides, if one does, and whether the request is to be served.
    pub(crate) fn decide(&self, asked: &Asked<'_>) -> (Option<&AccessRule>, bool) {
        if *asked.peer == PeerId::Process {
            return (None, true);
        }
        match self.rules.iter().find(|rule| rule.matches(asked)) {
            Some(rule) => (Some(rule), rule.allow),
            None => (None, self.allow),
        }
    }
}

#[cfg(test)]
impl AccessRule {
    fn matches(&self, asked: &Asked<'_>) -> bool {
        let named = |all: &[String], fits: &dyn Fn(&str) -> bool| {
            all.is_empty() || all.iter().any(|one| fits(one))
        };
        self.protected.is_none_or(|wanted| wanted == asked.protected)
            && named(&self.operations, &|it| it == asked.operation)
            && named(&self.interfaces, &|it| fits(it, asked.interface))
            && (self.who.is_open() || self.who.concerns(asked.peer))
            && named(&self.objects, &|it| fits(it, &asked.path()))
    }
}

#[cfg(test)]
impl Asked<'_> {
    pub(crate) fn path(&self) -> String {
        let mut path = String::new();
        let names = self.adapter.iter().skip(1).map(String::as_str);
        write_object(&mut path, names, self.object_id);
        path
    }
}

/// Writes an object as [`AccessRule::objects`] do: the names of its POAs below the root, and its id, in hexadecimal behind `0x`
/// where that is no text.
pub fn write_object<'n>(text: &mut String, names: impl Iterator<Item = &'n str>, id: &[u8]) {
    for name in names {
        text.push_str(name);
        text.push('/');
    }
    match std::str::from_utf8(id) {
        Ok(id) if !id.contains(char::is_control) => text.push_str(id),
        _ => {
            text.push_str("0x");
            let digits = id.iter().flat_map(|octet| [octet >> 4, octet & 15]);
            text.extend(digits.filter_map(|digit| char::from_digit(digit.into(), 16)));
        }
    }
}

#[cfg(test)]
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => pattern == text,
    }
}

/// Writes a line for the log of the ORB's start.
impl fmt::Display for AccessRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.rules.len();
        let verb = if self.allow { "allowed" } else { "denied" };
        let place = &self.place;
        write!(f, "{count} access rules of {place}; what none of them matches is {verb}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(allow: bool, fill: impl FnOnce(&mut AccessRule)) -> AccessRule {
        let mut rule = AccessRule { allow, ..AccessRule::default() };
        fill(&mut rule);
        rule
    }

    fn served(rules: &AccessRules, peer: &PeerId, operation: &str, protected: bool) -> bool {
        let asked = Asked {
            peer,
            protected,
            interface: "IDL:bank/Account:1.0",
            adapter: &["RootPOA".to_owned(), "accounts".to_owned()],
            object_id: b"alice",
            operation,
        };
        rules.decide(&asked).1
    }

    fn user(uid: u32) -> PeerId {
        PeerId::User { uid, gid: 1, pid: 1 }
    }

    #[test]
    fn the_first_rule_that_matches_decides_and_else_the_default() {
        let text = |text: &str| vec![text.to_owned()];
        let rules = AccessRules {
            place: String::new(),
            allow: false,
            rules: vec![
                rule(false, |it| it.operations = text("close")),
                rule(true, |it| {
                    it.who.add(true, "uid:7").unwrap();
                    it.objects = text("accounts/*");
                }),
                rule(true, |it| {
                    it.protected = Some(true);
                    it.interfaces = text("IDL:bank/*");
                }),
                rule(true, |it| it.objects = text("accounts/bob")),
            ],
        };
        assert!(served(&rules, &user(7), "balance", false));
        assert!(!served(&rules, &user(7), "close", true), "an earlier rule");
        assert!(!served(&rules, &user(8), "balance", false), "the default");
        assert!(served(&rules, &user(8), "balance", true));
        assert!(served(&rules, &PeerId::Process, "close", false), "a process admits itself");
        let open = AccessRules { allow: true, ..rules };
        assert!(served(&open, &user(8), "balance", false));
    }
}
