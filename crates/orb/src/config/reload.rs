//! Reload of the file of access rules.

use std::sync::{Mutex, PoisonError};

use crate::config::ConfigError;
use crate::config::access::About;
use crate::config::file::read_access_rules;

/// Lock that admits one reload at a time. It is held from the reading of a file to the replacement of the rules, so
/// that a slow reload does not replace newer rules by those that it has read earlier.
static RELOADING: Mutex<()> = Mutex::new(());

/// Reads the file of an ORB's access rules again, and replaces the rules. Logs the result. Waits for a reload that
/// another thread has begun.
pub(crate) fn reload_access_rules(orb: &oxorb_core::Orb) -> Result<(), ConfigError> {
    let _one_at_a_time = RELOADING.lock().unwrap_or_else(PoisonError::into_inner);
    let read = match &orb.options().access_file {
        Some(file) => read_access_rules(file, About::Giop),
        None => Err(ConfigError {
            origin: "-ORBAccessRules".to_owned(),
            line: None,
            problem: "does not name a file; only rules from a file can be read again".to_owned(),
        }),
    };
    match &read {
        Ok(rules) => {
            orb.replace_access_rules(rules);
        }
        Err(error) => orb.keep_access_rules(error),
    }
    read.map(drop)
}
