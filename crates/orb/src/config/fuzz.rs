//! Entry point of the fuzz target for access rules. Any text is refused with a reason, or its rules can be applied.

use oxorb_core::interceptor::Interceptors;

use crate::config::access::About;
use crate::config::file::parse_access_rules;

const ORIGIN: &str = "rules.toml";

/// Parses a text as a file of access rules for either protocol, and builds the index by which requests find their
/// rules.
pub fn access_rules(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let lines = 1 + text.matches('\n').count();
    for about in [About::Giop, About::Http] {
        match parse_access_rules(text, ORIGIN, about) {
            Ok(rules) => {
                for rule in &rules.rules {
                    let line =
                        rule.place.strip_prefix(ORIGIN).and_then(|rest| rest.strip_prefix(':'));
                    let line: Option<usize> = line.and_then(|line| line.parse().ok());
                    assert!(line.is_some_and(|line| (1..=lines).contains(&line)), "{rule:?}");
                    assert!(rule.allow || rule.limit.is_none(), "{rule:?}");
                }
                Interceptors::default().set_access_rules(&rules);
            }
            Err(error) => {
                assert!(!error.problem.is_empty());
                assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error}");
            }
        }
    }
}
