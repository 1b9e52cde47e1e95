//! `[access]`: rules that allow or deny calls.

use oxorb_core::{AccessRule, AccessRules};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::ConfigError;
use crate::config::file::Source;

const KNOWN: [&str; 2] = ["default", "rule"];
const KNOWN_OF_RULE: [&str; 6] = ["allow", "deny", "interface", "object", "operation", "protected"];

/// Maximum number of rules. It bounds the time to check a request, which is compared with one rule
/// after another.
const MOST: usize = 1024;

/// Reads the table `[access]`, which begins at octet `at`.
pub(crate) fn read(
    source: &Source<'_>,
    table: &DeTable<'_>,
    at: usize,
) -> Result<AccessRules, ConfigError> {
    let mut rules = AccessRules { place: place(source, at), allow: false, rules: Vec::new() };
    let mut default = None;
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "default" => default = Some(verdict(source, value)?),
            "rule" => {
                let DeValue::Array(all) = value.get_ref() else {
                    return Err(
                        source.error(value.span().start, "rules are written [[access.rule]]")
                    );
                };
                if all.len() > MOST {
                    let problem = format!("there are more than {MOST} rules");
                    return Err(source.error(value.span().start, problem));
                }
                for one in all {
                    rules.rules.push(rule(source, one)?);
                }
            }
            _ => return Err(source.unknown(key, &KNOWN)),
        }
    }
    rules.allow = default.ok_or_else(|| {
        source.error(at, "default has to be said: \"deny\" or \"allow\", for what no rule matches")
    })?;
    Ok(rules)
}

fn rule(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<AccessRule, ConfigError> {
    let table = source.table(value)?;
    // Use the position of the first key, because the span that the parser reports for a table in an
    // array is unreliable.
    let at = table.keys().map(|key| key.span().start).min();
    let at = at.unwrap_or(value.span().start);
    let mut rule = AccessRule { place: place(source, at), ..AccessRule::default() };
    let mut verdict = None;
    for (key, value) in table {
        match key.get_ref().as_ref() {
            verb @ ("allow" | "deny") => {
                if verdict.replace(verb == "allow").is_some() {
                    return Err(source.error(at, "a rule has allow or deny, and not both"));
                }
                for (text, at) in texts(source, value)? {
                    rule.who
                        .add(true, &text)
                        .map_err(|error| source.error(at, error.to_string()))?;
                }
            }
            "interface" => rule.interfaces = names(source, value)?,
            "object" => rule.objects = names(source, value)?,
            "operation" => rule.operations = names(source, value)?,
            "protected" => rule.protected = Some(source.yes_or_no(value)?),
            _ => return Err(source.unknown(key, &KNOWN_OF_RULE)),
        }
    }
    rule.allow = verdict.ok_or_else(|| {
        source.error(
            at,
            "a rule says whom it is about: allow = [..] or deny = [..], [\"all\"] for everybody",
        )
    })?;
    Ok(rule)
}

fn verdict(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<bool, ConfigError> {
    match source.text(value)? {
        "allow" => Ok(true),
        "deny" => Ok(false),
        _ => Err(source.error(value.span().start, "\"deny\" or \"allow\" is wanted")),
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
            let problem = "an empty list matches nothing: leave it out, or say \"all\"";
            Err(source.error(value.span().start, problem))
        }
        DeValue::Array(all) => all.iter().map(one).collect(),
        _ => Ok(vec![one(value)?]),
    }
}

fn names(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, ConfigError> {
    let texts = texts(source, value)?;
    Ok(texts.into_iter().map(|(text, _)| text).collect())
}

fn place(source: &Source<'_>, at: usize) -> String {
    format!("{}:{}", source.origin, source.line(at))
}

#[cfg(test)]
mod tests {
    use crate::config::Configuration;

    fn error(text: &str) -> String {
        Configuration::parse(text, "oxorb.toml").unwrap_err().to_string()
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
            "2 access rules of oxorb.toml:1; what none of them matches is denied"
        );
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        for (text, part) in [
            ("[access]\n", "oxorb.toml:1: default has to be said"),
            ("[access]\ndefault = \"maybe\"\n", "oxorb.toml:2: \"deny\" or \"allow\""),
            (
                "[access]\ndefault = \"deny\"\n[[access.rule]]\nobject = \"a\"\n",
                "oxorb.toml:4: a rule says whom",
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
                "not both",
            ),
            (
                "[access]\ndefault = \"deny\"\n[[access.rule]]\nallow = \"all\"\ncolour = 1\n",
                "oxorb.toml:5",
            ),
        ] {
            let error = error(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
