//! Limits of access rules, for gateways that receive requests in another protocol than GIOP.

use oxorb_transport::PeerId;

use super::access_rates::ClientRates;
use super::access_rules::{AccessRequest, AccessRule, AccessRules};
use crate::threads::clock;

/// Requests of each client that the [limits](AccessRule::limit) of one set of [`AccessRules`] still admit, for a
/// gateway that receives requests in another protocol than GIOP and [decides](AccessRules::decide) about them itself.
///
/// A client with a named token is identified by this name, and each other client as by an ORB: by the subject of its
/// certificate, or else by its address. The number of clients that are remembered is bounded.
pub struct AccessLimits(ClientRates<LimitedClient>);

#[derive(Clone, PartialEq, Eq, Hash)]
enum LimitedClient {
    Token(String),
    Peer(PeerId),
}

impl AccessLimits {
    /// Creates full buckets for the rules.
    pub fn new(rules: &AccessRules) -> AccessLimits {
        AccessLimits(ClientRates::new(rules.rules.iter().filter_map(|rule| rule.limit)))
    }

    /// Takes a request from the bucket of its client, if the rule that decided about it has a limit. `rules` are those
    /// of [`new`](Self::new), and `rule` is one of them. Takes a lock and a time in proportion to the number of rules.
    ///
    /// # Errors
    /// The client's rate is exhausted. Once a second for each client and rule, the error has the number of the earlier
    /// refusals that no error has reported; otherwise `None`.
    pub fn take(
        &self,
        rules: &AccessRules,
        rule: &AccessRule,
        asked: &AccessRequest<'_>,
    ) -> Result<(), Option<u64>> {
        let mut limited = rules.rules.iter().filter(|rule| rule.limit.is_some());
        let Some(at) = limited.position(|one| std::ptr::eq(one, rule)) else {
            return Ok(());
        };
        let client = match asked.token {
            Some(name) if !name.is_empty() => LimitedClient::Token(name.to_owned()),
            _ => LimitedClient::Peer(asked.peer.client()),
        };
        let buckets = self.0.of_client(client);
        let Some(bucket) = buckets.get(at) else {
            return Ok(());
        };
        let now = clock::monotonic_nanoseconds();
        match bucket.take(now) {
            true => Ok(()),
            false => Err(bucket.refuse(now)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::budget::RequestRate;

    #[test]
    fn each_token_and_each_address_has_its_own_rate() {
        let limit = Some(RequestRate { per_second: 1, burst: 1 });
        let rule = |limit| AccessRule { allow: true, limit, ..AccessRule::default() };
        let place = "rules.toml:1".to_owned();
        let rules = AccessRules { place, allow: false, rules: vec![rule(None), rule(limit)] };
        let limits = AccessLimits::new(&rules);
        let take = |rule: usize, address: &str, token: Option<&str>| {
            let peer = PeerId::Ip(address.parse().unwrap());
            let (interface, object, operation) = ("IDL:T:1.0", "A", "f");
            let protected = false;
            let asked =
                AccessRequest { peer: &peer, protected, token, interface, object, operation };
            limits.take(&rules, &rules.rules[rule], &asked)
        };
        // More requests than a second admits on any machine.
        let is_refused =
            |rule, address, token| (0..10_000).any(|_| take(rule, address, token).is_err());
        assert!(!is_refused(0, "192.0.2.1", None), "it has no limit");
        assert!(is_refused(1, "192.0.2.1", None));
        assert_eq!(take(1, "192.0.2.2", None), Ok(()));
        assert_eq!(take(1, "192.0.2.1", Some("ada")), Ok(()));
        assert!(is_refused(1, "192.0.2.3", Some("ada")), "from another address");
        assert_eq!(take(1, "192.0.2.3", Some("")), Ok(()), "a token without a name");
    }
}
