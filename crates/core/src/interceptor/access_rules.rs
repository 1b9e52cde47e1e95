//! Access rules from a configuration file, which state which clients may call which operations of which objects.

use std::fmt;

use oxorb_transport::{Access, PeerId};

use crate::scheduler::budget::RequestRate;

/// Rules about requests; the first rule that matches decides.
///
/// The rules are applied to each request from another process, once its object is known. Requests from the process
/// itself are always served. No request is compared with each rule: its operation, interface and object are each looked
/// up once among the names in the rules, without allocation or lock; the rules that concern its client are found once
/// per connection.
///
/// The rules restrict neither connections ([`Access`]) nor queries for the existence of an object (LocateRequest).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessRules {
    /// Position of the rules in their file, for messages: `oxorb.toml:3`.
    pub place: String,
    /// Whether a request that matches no rule is served.
    pub allow: bool,
    /// Rules, in order of evaluation.
    pub rules: Vec<AccessRule>,
}

/// Rule about requests. A request matches if it meets all conditions that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessRule {
    /// Position of the rule in its file, for messages: `oxorb.toml:7`.
    pub place: String,
    /// Whether a request that matches is served or refused.
    pub allow: bool,
    /// Rate of the matching requests of each client that are served, if the rule allows; further requests raise
    /// TRANSIENT (minor `CLIENT_RATE`), COMPLETED_NO. `None` if unlimited. All processes of a user count as one client,
    /// and so do all addresses of a subject.
    pub limit: Option<RequestRate>,
    /// Clients that match, as `allow` rules of [`Access`]. If there are none, every client matches.
    pub who: Access,
    /// Interfaces of servants that match, by repository id; a `*` at the end stands for any text. A servant of a
    /// derived interface matches by its own id only.
    pub interfaces: Vec<String>,
    /// Objects that match: names of their POAs below the root, and the id, separated by `/`; an id that is not text is
    /// hexadecimal after `0x`. A `*` at the end stands for any text.
    pub objects: Vec<String>,
    /// Names of operations that match, as in IDL; a `*` at the end stands for any text. The operations of attribute `x`
    /// are `_get_x` and `_set_x`. `_non_existent` also matches `_not_existent`, its earlier spelling.
    pub operations: Vec<String>,
    /// Whether the connection must be protected, for example by TLS, or unprotected. If `None`, both match.
    pub protected: Option<bool>,
    /// Names of bearer tokens that match; a `*` at the end stands for any text. A request without a token, as each
    /// request of GIOP, matches only a rule without names of tokens.
    pub tokens: Vec<String>,
}

/// Properties of a request that the rules test, for a gateway that receives requests in another protocol than GIOP.
#[derive(Clone, Copy, Debug)]
pub struct AccessRequest<'r> {
    /// Client.
    pub peer: &'r PeerId,
    /// Whether the connection is protected, for example by TLS.
    pub protected: bool,
    /// Name of the client's bearer token, which is empty for a token without a name; `None` without a token.
    pub token: Option<&'r str>,
    /// Repository id of the object's interface.
    pub interface: &'r str,
    /// Name of the object, in the form of [`AccessRule::objects`].
    pub object: &'r str,
    /// Name of the operation, as in [`AccessRule::operations`].
    pub operation: &'r str,
}

impl AccessRules {
    /// Returns the deciding rule, if any, and whether a request is to be served.
    ///
    /// Evaluates the rules one by one, without limits, in a time proportional to their number. An ORB evaluates its own
    /// rules by an index.
    pub fn decide(&self, asked: &AccessRequest<'_>) -> (Option<&AccessRule>, bool) {
        if *asked.peer == PeerId::Process {
            return (None, true);
        }
        match self.rules.iter().find(|rule| rule.matches(asked)) {
            Some(rule) => (Some(rule), rule.allow),
            None => (None, self.allow),
        }
    }
}

impl AccessRule {
    fn matches(&self, asked: &AccessRequest<'_>) -> bool {
        let named = |all: &[String], fits: &dyn Fn(&str) -> bool| {
            all.is_empty() || all.iter().any(|one| fits(one))
        };
        let has_token = match asked.token {
            Some(token) => named(&self.tokens, &|it| fits(it, token)),
            None => self.tokens.is_empty(),
        };
        has_token
            && self.protected.is_none_or(|wanted| wanted == asked.protected)
            && named(&self.operations, &|it| fits(it, usual(asked.operation)))
            && named(&self.interfaces, &|it| fits(it, asked.interface))
            && (self.who.is_open() || self.who.concerns(asked.peer))
            && named(&self.objects, &|it| fits(it, asked.object))
    }
}

/// Writes an object in the form of [`AccessRule::objects`]: the names of its POAs below the root, and its id, in
/// hexadecimal after `0x` unless it is text.
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

/// Returns the usual name of an operation that has two.
pub(super) fn usual(operation: &str) -> &str {
    match operation {
        // The spelling of CORBA 2.2, which servers still answer.
        "_not_existent" => "_non_existent",
        other => other,
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => pattern == text,
    }
}

/// Writes the line that is logged when the ORB starts.
impl fmt::Display for AccessRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.rules.len();
        let verb = if self.allow { "allowed" } else { "denied" };
        let place = &self.place;
        write!(f, "{count} access rules of {place}; requests that match none of them are {verb}")
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
        served_with(rules, peer, None, operation, protected)
    }

    fn served_with(
        rules: &AccessRules,
        peer: &PeerId,
        token: Option<&str>,
        operation: &str,
        protected: bool,
    ) -> bool {
        let (interface, object) = ("IDL:bank/Account:1.0", "accounts/alice");
        let asked = AccessRequest { peer, protected, token, interface, object, operation };
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

    #[test]
    fn a_rule_that_names_tokens_matches_no_request_without_one() {
        let token = |text: &str| vec![text.to_owned()];
        let rules = AccessRules {
            place: String::new(),
            allow: false,
            rules: vec![
                rule(true, |it| it.tokens = token("ada")),
                rule(true, |it| {
                    it.tokens = token("plant *");
                    it.operations = vec!["balance".to_owned()];
                }),
                rule(true, |it| {
                    it.tokens = token("*");
                    it.operations = vec!["rate".to_owned()];
                }),
            ],
        };
        let served = |name, operation| served_with(&rules, &user(7), name, operation, true);
        assert!(served(Some("ada"), "close"));
        assert!(served(Some("plant 7"), "balance") && !served(Some("plant 7"), "close"));
        assert!(served(Some(""), "rate") && !served(Some(""), "balance"));
        assert!(!served(None, "rate"));
    }
}
