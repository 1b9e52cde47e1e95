//! Rules about which clients may call what.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxorb::Orb;
use oxorb::config::Configuration;
use oxorb::settings::{AccessLimits, AccessRequest, AccessRules};
use oxorb_sys::sync::Mutex;

use super::caller::Client;
use super::problem::Problem;
use oxorb_terminal::output::Failed;

/// Access rules, which can be read again.
pub(super) struct Rights {
    path: PathBuf,
    known: Mutex<Arc<KnownRules>>,
}

/// Access rules, and what their limits still admit.
struct KnownRules {
    rules: Arc<AccessRules>,
    limits: AccessLimits,
}

/// Operation that a client wants to call.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'w> {
    /// Name of the object or event channel, or the reference that the client gives.
    pub(super) object: &'w str,
    /// Repository id of the object's interface.
    pub(super) interface: &'w str,
    /// Name of the operation on the wire.
    pub(super) operation: &'w str,
}

impl Rights {
    /// Reads a file with the table `[access]`.
    ///
    /// # Errors
    /// The file cannot be read, or contains anything else than rules of this table.
    pub(super) fn read(path: &Path) -> Result<Rights, Failed> {
        let rules = Configuration::http_access_rules(path)?;
        Ok(Rights::new(path, rules))
    }

    fn new(path: &Path, rules: Arc<AccessRules>) -> Rights {
        Rights { path: path.to_owned(), known: Mutex::new(KnownRules::new(rules)) }
    }

    /// Reads the file again. If that fails, the known rules stay in use. Otherwise each client has the full burst of
    /// each limit again.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub(super) fn reload(&self) -> Result<(), Failed> {
        let known = KnownRules::new(Configuration::http_access_rules(&self.path)?);
        *self.known.lock() = known;
        Ok(())
    }

    /// Checks that a client may call an operation now. A refusal is counted and logged as an incident of the ORB, with
    /// the line of the rule.
    ///
    /// # Errors
    /// The rules deny the call, or the client has exhausted the rate of a rule with a limit.
    pub(super) fn check(
        &self,
        orb: &Orb,
        client: &Client,
        wanted: Wanted<'_>,
    ) -> Result<(), Problem> {
        let known = Arc::clone(&self.known.lock());
        let rules = &known.rules;
        let Wanted { object, interface, operation } = wanted;
        let asked = AccessRequest {
            peer: &client.caller.identity,
            protected: client.caller.is_protected,
            token: client.token.as_deref(),
            interface,
            object,
            operation,
        };
        let peer = || match client.name() {
            Some(name) => format!("{name} at {}", client.caller.address),
            None => client.caller.address.to_string(),
        };
        match rules.decide(&asked) {
            (Some(rule), true) => {
                let Err(report) = known.limits.take(rules, rule, &asked) else {
                    return Ok(());
                };
                let detail = || {
                    let (place, others) = (&rule.place, report.unwrap_or_default());
                    format!(
                        "{operation} of {object} ({interface}): beyond the rate of the rule at {place}; {others} more \
                         since the last report"
                    )
                };
                orb.note_limited(report.is_some(), peer, detail);
                Err(Problem::limited(format!(
                    "this client calls {operation} of {object} more often than the access rules of this gateway permit"
                )))
            }
            (None, true) => Ok(()),
            (rule, false) => {
                let detail = || {
                    let by = match rule {
                        Some(rule) => format!("by the rule at {}", rule.place),
                        None => {
                            let place = &rules.place;
                            format!("because no rule allows it, and the default at {place} is deny")
                        }
                    };
                    format!("{operation} of {object} ({interface}): {by}")
                };
                orb.note_denied(peer, detail);
                Err(Problem::denied(format!(
                    "the access rules of this gateway do not let this client call {operation} of {object}"
                )))
            }
        }
    }
}

impl KnownRules {
    fn new(rules: Arc<AccessRules>) -> Arc<KnownRules> {
        let limits = AccessLimits::new(&rules);
        Arc::new(KnownRules { rules, limits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::http::caller::Caller;
    use oxorb::incident::Incident;

    #[test]
    fn refusals_are_counted_and_the_rules_decide_by_the_token() {
        let rules = AccessRules {
            place: "rules.toml:1".to_owned(),
            allow: false,
            rules: vec![oxorb::settings::AccessRule {
                allow: true,
                tokens: vec!["ada".to_owned()],
                operations: vec!["withdraw".to_owned()],
                ..Default::default()
            }],
        };
        let rights = Rights::new(Path::new("rules.toml"), Arc::new(rules));
        let orb = Orb::builder().build().unwrap();
        let caller = Caller::plain("192.0.2.1:4000".parse().unwrap());
        let may = |token: Option<&str>, operation| {
            let client = Client { caller: caller.clone(), token: token.map(str::to_owned) };
            let wanted = Wanted { object: "Account", interface: "IDL:bank/Account:1.0", operation };
            rights.check(&orb, &client, wanted).is_ok()
        };
        assert!(may(Some("ada"), "withdraw"));
        assert!(!may(Some("ada"), "close") && !may(Some("bob"), "withdraw"));
        assert!(!may(Some(""), "withdraw") && !may(None, "withdraw"));
        assert_eq!(orb.connection_statistics().count(Incident::RequestDenied), 4);
        orb.shutdown(true).unwrap();
    }
}
