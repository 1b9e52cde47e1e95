//! Access rules of an ORB.

use std::fmt;
use std::sync::Arc;

use super::Orb;
use crate::interceptor::access_rules::AccessRules;
use crate::monitoring::LogLevel;

impl Orb {
    /// Returns the access rules in force; `None` if the ORB was made without
    /// [access rules](crate::Options::access_rules).
    pub fn access_rules(&self) -> Option<Arc<AccessRules>> {
        let gate = self.interceptors().access()?;
        Some(Arc::clone(&gate.index().rules))
    }

    /// Replaces the access rules. They decide every request whose servant is called from now on, also over connections
    /// that are open; these stay open, even if the rules allow their clients nothing. Requests that run are completed.
    /// Each client has the whole burst of each rule with a limit again.
    ///
    /// Returns false, and changes nothing, if the ORB was made without
    /// [access rules](crate::Options::access_rules). Allocates, and takes a lock; requests continue meanwhile.
    pub fn replace_access_rules(&self, rules: &Arc<AccessRules>) -> bool {
        let Some(gate) = self.interceptors().access() else {
            return false;
        };
        gate.replace(rules);
        self.log(LogLevel::Info, &rules.to_string());
        true
    }

    /// Logs that new access rules cannot be used. For the crate that reads them from files.
    #[doc(hidden)]
    pub fn keep_access_rules(&self, error: &dyn fmt::Display) {
        let line = format!("{error}; the previous access rules stay in use");
        self.log(LogLevel::Error, &line);
    }
}
