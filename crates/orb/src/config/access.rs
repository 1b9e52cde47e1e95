//! `[access]`: rules that allow, limit or deny calls.

use oxorb_core::{AccessRule, AccessRules, RequestRate};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::ConfigError;
use crate::config::file::Source;

const KNOWN: [&str; 2] = ["default", "rule"];
const KNOWN_OF_RULE: [&str; 9] = [
    "allow",
    "deny",
    "limit",
    "requests",
    "burst",
    "interface",
    "object",
    "operation",
    "protected",
];
const KNOWN_OF_HTTP: [&str; 10] = [
    "allow",
    "deny",
    "limit",
    "requests",
    "burst",
    "interface",
    "object",
    "operation",
    "protected",
    "token",
];

/// Requests that rules are about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// Requests of GIOP, which have no tokens.
    Giop,
    /// Requests of HTTP, which can have tokens.
    Http,
}

/// Maximum number of rules. It bounds the memory of their index, and the time to find the rules for a new connection.
const MOST: usize = 1024;

/// Maximum number of rules with a limit. It bounds the memory for each client.
const MOST_LIMITS: usize = 64;

/// Largest number of requests in a second, and of requests at once.
const MOST_REQUESTS: u64 = 1_000_000_000;

/// Reads the table `[access]`, which begins at octet `at`.
pub(crate) fn read(
    source: &Source<'_>,
    table: &DeTable<'_>,
    at: usize,
    about: About,
) -> Result<AccessRules, ConfigError> {
    let mut rules = AccessRules { place: place(source, at), allow: false, rules: Vec::new() };
    let mut default = None;
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "default" => default = Some(verdict(source, value)?),
            "rule" => {
                let DeValue::Array(all) = value.get_ref() else {
                    return Err(source
                        .error(value.span().start, "rules must be written as [[access.rule]]"));
                };
                if all.len() > MOST {
                    let problem = format!("the file has more than {MOST} rules");
                    return Err(source.error(value.span().start, problem));
                }
                for one in all {
                    rules.rules.push(rule(source, one, about)?);
                }
                if rules.rules.iter().filter(|rule| rule.limit.is_some()).count() > MOST_LIMITS {
                    let problem = format!("more than {MOST_LIMITS} rules have a limit");
                    return Err(source.error(value.span().start, problem));
                }
            }
            _ => return Err(source.unknown(key, &KNOWN)),
        }
    }
    rules.allow = default.ok_or_else(|| {
        source.error(
            at,
            "default is missing: \"deny\" or \"allow\", for requests that no rule matches",
        )
    })?;
    Ok(rules)
}

fn rule(
    source: &Source<'_>,
    value: &Spanned<DeValue<'_>>,
    about: About,
) -> Result<AccessRule, ConfigError> {
    let table = source.table(value)?;
    // Use the position of the first key, because the span that the parser reports for a table in an
    // array is unreliable.
    let at = table.keys().map(|key| key.span().start).min();
    let at = at.unwrap_or(value.span().start);
    let mut rule = AccessRule { place: place(source, at), ..AccessRule::default() };
    let mut verb = None;
    let (mut requests, mut burst) = (None, None);
    for (key, value) in table {
        let known: &[&str] = match about {
            About::Giop => &KNOWN_OF_RULE,
            About::Http => &KNOWN_OF_HTTP,
        };
        let name: &str = key.get_ref().as_ref();
        if !known.contains(&name) {
            return Err(match name {
                "token" => source.error(
                    key.span().start,
                    "only requests of HTTP have tokens: `token` is for the rules of `oxorb gateway http --access-rules`",
                ),
                _ => source.unknown(key, known),
            });
        }
        match name {
            "allow" | "deny" | "limit" => {
                if verb.replace(name).is_some() {
                    let problem = "a rule can have only one of allow, deny and limit";
                    return Err(source.error(at, problem));
                }
                for (text, at) in texts(source, value)? {
                    rule.who
                        .add(true, &text)
                        .map_err(|error| source.error(at, error.to_string()))?;
                }
            }
            "requests" => requests = Some(count(source, value)?),
            "burst" => burst = Some(count(source, value)?),
            "interface" => rule.interfaces = names(source, value, interface)?,
            "object" => rule.objects = names(source, value, |_| None)?,
            "operation" => rule.operations = names(source, value, operation)?,
            "token" => rule.tokens = names(source, value, |_| None)?,
            // `known` has no further name.
            _ => rule.protected = Some(source.yes_or_no(value)?),
        }
    }
    let verb = verb.ok_or_else(|| {
        source.error(
            at,
            "the rule does not name its clients: add allow, limit or deny = [..]; [\"all\"] means all clients",
        )
    })?;
    rule.allow = verb != "deny";
    rule.limit = match (verb, requests, burst) {
        // The default burst is the number of requests in 10 ms, as for budgets.
        ("limit", Some(per_second), burst) => {
            Some(RequestRate { per_second, burst: burst.unwrap_or(per_second.div_ceil(100)) })
        }
        ("limit", None, _) => {
            let problem = "a rule with limit needs requests = N, the number of requests per second of each client, and \
                           can have burst = N";
            return Err(source.error(at, problem));
        }
        (_, None, None) => None,
        _ => return Err(source.error(at, "only a rule with limit can have requests and burst")),
    };
    Ok(rule)
}

/// Reads a number of requests.
fn count(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<u32, ConfigError> {
    match source.number(value, MOST_REQUESTS)? {
        0 => Err(source.error(value.span().start, "expected a number, 1 or greater")),
        number => Ok(number as u32),
    }
}

fn verdict(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<bool, ConfigError> {
    match source.text(value)? {
        "allow" => Ok(true),
        "deny" => Ok(false),
        _ => Err(source.error(value.span().start, "expected \"deny\" or \"allow\"")),
    }
}

/// Reads a text or a non-empty list of texts, with the position of each.
fn texts(
    source: &Source<'_>,
    value: &Spanned<DeValue<'_>>,
) -> Result<Vec<(String, usize)>, ConfigError> {
    let one =
        |value: &Spanned<DeValue<'_>>| Ok((source.text(value)?.to_owned(), value.span().start));
    match value.get_ref() {
        DeValue::Array(all) if all.is_empty() => {
            let problem = "an empty list matches nothing: omit it, or write \"all\"";
            Err(source.error(value.span().start, problem))
        }
        DeValue::Array(all) => all.iter().map(one).collect(),
        _ => Ok(vec![one(value)?]),
    }
}

/// Reads names; a `*` at the end of one stands for any text. A name that can match nothing is an error, because a rule
/// that denies would have no effect. `problem` returns what is wrong with a name of this kind.
fn names(
    source: &Source<'_>,
    value: &Spanned<DeValue<'_>>,
    problem: fn(&str) -> Option<&'static str>,
) -> Result<Vec<String>, ConfigError> {
    let mut names = Vec::new();
    for (text, at) in texts(source, value)? {
        let has_star = text.strip_suffix('*').unwrap_or(&text).contains('*');
        let problem = match has_star {
            true => Some("a * stands for any text, and only at the end of a name"),
            false => problem(&text),
        };
        if let Some(problem) = problem {
            return Err(source.error(at, format!("{text:?}: {problem}")));
        }
        names.push(text);
    }
    Ok(names)
}

/// Returns what is wrong with a repository id.
fn interface(text: &str) -> Option<&'static str> {
    let is_id = text.contains(':') || text.ends_with('*') && !text.contains("::");
    (!is_id || text.contains("::")).then_some(
        "interfaces are named by their repository ids, such as IDL:bank/Account:1.0 or IDL:bank/*",
    )
}

/// Returns what is wrong with the name of an operation.
fn operation(text: &str) -> Option<&'static str> {
    let beginning = text.strip_suffix('*').unwrap_or(text);
    if beginning.starts_with("_not") && "_not_existent".starts_with(beginning) {
        return Some(
            "_non_existent, the name of the operation since CORBA 2.3, also matches its earlier spelling",
        );
    }
    let is_name = beginning.chars().all(|c| c.is_alphanumeric() || c == '_');
    (!is_name || text.is_empty())
        .then_some("operations are named as in IDL, attributes as _get_NAME and _set_NAME")
}

fn place(source: &Source<'_>, at: usize) -> String {
    format!("{}:{}", source.origin, source.line(at))
}

#[cfg(test)]
mod tests {
    use super::About;
    use crate::config::Configuration;
    use crate::config::file::parse_access_rules;

    fn error(text: &str) -> String {
        Configuration::parse(text, "oxorb.toml").unwrap_err().to_string()
    }

    #[test]
    fn names_that_match_nothing_are_errors() {
        for (key, wrong, hint) in [
            ("operation", "un*d", "only at the end"),
            ("operation", "balance()", "as in IDL"),
            ("operation", "_not_existent", "_non_existent"),
            ("operation", "_not*", "_non_existent"),
            ("interface", "bank::Account", "repository ids"),
            ("interface", "Account", "repository ids"),
            ("interface", "IDL:*/Account:1.0", "only at the end"),
            ("object", "*/alice", "only at the end"),
        ] {
            let text = format!(
                "[access]\ndefault = \"deny\"\n[[access.rule]]\ndeny = \"all\"\n{key} = \"{wrong}\"\n"
            );
            let error = error(&text);
            assert!(error.contains(hint) && error.contains(":5:"), "{error}");
        }
        for (key, right) in [
            ("operation", "un*"),
            ("operation", "*"),
            ("operation", "_get_day"),
            ("interface", "IDL:*"),
            ("interface", "*"),
            ("interface", "RMI:a.B:0"),
            ("object", "accounts/*"),
        ] {
            let text = format!(
                "[access]\ndefault = \"deny\"\n[[access.rule]]\ndeny = \"all\"\n{key} = \"{right}\"\n"
            );
            assert!(Configuration::parse(&text, "oxorb.toml").is_ok(), "{right}");
        }
    }

    #[test]
    fn rules_are_read_with_their_places() {
        let text = "[access]\ndefault = \"deny\"\n\n[[access.rule]]\nallow = [\"tls:CN=alice,O=Bank\", \"10.0.0.0/8\"]\n\
                    operation = \"balance\"\n\n[[access.rule]]\ndeny = \"all\"\nprotected = false\n";
        let read = Configuration::parse(text, "oxorb.toml").unwrap();
        let mut options = oxorb_core::Options::default();
        read.apply(&mut options).unwrap();
        let rules = options.access_rules.unwrap();
        assert!(!rules.allow);
        let places: Vec<_> = rules.rules.iter().map(|rule| rule.place.as_str()).collect();
        assert_eq!(places, ["oxorb.toml:5", "oxorb.toml:9"]);
        assert_eq!(rules.rules[0].operations, ["balance"]);
        assert_eq!((rules.rules[1].allow, rules.rules[1].protected), (false, Some(false)));
        assert_eq!(
            rules.to_string(),
            "2 access rules of oxorb.toml:1; requests that match none of them are denied"
        );
    }

    #[test]
    fn a_limit_is_read_with_its_rate() {
        let text = "[access]\ndefault = \"allow\"\n[[access.rule]]\nlimit = \"all\"\nrequests = 250\n\
                    [[access.rule]]\nlimit = \"uid:7\"\nrequests = 1\nburst = 9\n\
                    [[access.rule]]\nallow = \"all\"\n";
        let mut options = oxorb_core::Options::default();
        Configuration::parse(text, "oxorb.toml").unwrap().apply(&mut options).unwrap();
        let rules = options.access_rules.unwrap();
        assert!(rules.rules.iter().all(|rule| rule.allow));
        let rates = rules.rules.iter().map(|rule| rule.limit);
        let rates = rates.map(|rate| rate.map(|rate| (rate.per_second, rate.burst)));
        assert_eq!(rates.collect::<Vec<_>>(), [Some((250, 3)), Some((1, 9)), None]);
    }

    #[test]
    fn rules_of_http_have_tokens_and_limits() {
        let parse = |text: &str| parse_access_rules(text, "rules.toml", About::Http);
        let text = "[access]\ndefault = \"deny\"\n[[access.rule]]\nallow = \"all\"\n\
                    token = [\"ada\", \"plant *\"]\n";
        assert_eq!(parse(text).unwrap().rules[0].tokens, ["ada", "plant *"]);
        let limit = text.replace("allow = \"all\"", "limit = \"all\"\nrequests = 5");
        assert_eq!(parse(&limit).unwrap().rules[0].limit.map(|rate| rate.per_second), Some(5));
        assert!(error(text).contains("oxorb.toml:5: only requests of HTTP have tokens"));
    }

    #[test]
    fn the_number_of_limits_is_bounded() {
        let limits = "[[access.rule]]\nlimit = \"all\"\nrequests = 1\n".repeat(64);
        let text = format!("[access]\ndefault = \"deny\"\n{limits}");
        Configuration::parse(&text, "oxorb.toml").unwrap();
        let more = format!("{text}[[access.rule]]\nlimit = \"all\"\nrequests = 1\n");
        assert!(error(&more).contains("more than 64 rules have a limit"));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, part) in [
            ("[access]\n", "oxorb.toml:1: default is missing"),
            ("[access]\ndefault = \"maybe\"\n", "oxorb.toml:2: expected \"deny\" or \"allow\""),
            (
                "[access]\ndefault = \"deny\"\n[[access.rule]]\nobject = \"a\"\n",
                "oxorb.toml:4: the rule does not name its clients",
            ),
            (
                "[access]\ndefault = \"deny\"\n[[access.rule]]\nallow = \"somewhere\"\n",
                "oxorb.toml:4: \"somewhere\"",
            ),
            (
                "[access]\ndefault = \"deny\"\n[[access.rule]]\nallow = []\n",
                "oxorb.toml:4: an empty list",
            ),
            (
                "[access]\ndefault = \"deny\"\n[[access.rule]]\nallow = \"all\"\ndeny = \"all\"\n",
                "only one of allow",
            ),
            (
                "[access]\ndefault = \"deny\"\n[[access.rule]]\nallow = \"all\"\ncolour = 1\n",
                "oxorb.toml:5",
            ),
            (
                "[access]\ndefault = \"deny\"\n[[access.rule]]\nlimit = \"all\"\n",
                "oxorb.toml:4: a rule with limit needs requests",
            ),
            (
                "[access]\ndefault = \"deny\"\n[[access.rule]]\nlimit = \"all\"\nrequests = 0\n",
                "oxorb.toml:5: expected a number, 1 or greater",
            ),
            (
                "[access]\ndefault = \"deny\"\n[[access.rule]]\nallow = \"all\"\nrequests = 9\n",
                "oxorb.toml:4: only a rule with limit",
            ),
        ] {
            let error = error(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
