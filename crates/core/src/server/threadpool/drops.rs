//! Rules by which oneways that wait for a thread may be dropped, by their communication class.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use oxorb_cdr::Printable;
use oxorb_object::CommunicationClass;
use oxorb_sched::time::{self, Show};

/// Rules by which oneways that wait in the queue of a lane may be dropped, for each communication class that callers name
/// ([`RequestQos`](crate::policy::RequestQos)). Requests that are answered are never dropped.
///
/// ```
/// use std::time::Duration;
///
/// use oxorb_core::{DropRule, DropRules};
/// use oxorb_object::CommunicationClass;
///
/// let stale = DropRule { age: Some(Duration::from_millis(50)), full: true };
/// let rules = DropRules::default().of_class(CommunicationClass::Isochronous, stale);
/// assert_eq!("isochronous age=50ms full".parse(), Ok(rules));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DropRules([DropRule; 4]);

/// Rule for the oneways of one communication class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DropRule {
    /// Longest time that one waits for a thread: later it is dropped. `None`: any.
    pub age: Option<Duration>,
    /// Requests for which there is no room any more take the places of such oneways: of the least urgent one where the queue
    /// goes by urgency, of the oldest one otherwise.
    pub full: bool,
}

/// Mistake in the text of drop rules.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DropError(String);

const CLASSES: [(&str, CommunicationClass); 4] = [
    ("isochronous", CommunicationClass::Isochronous),
    ("burst", CommunicationClass::Burst),
    ("message", CommunicationClass::Message),
    ("message-stream", CommunicationClass::MessageStream),
];

impl DropRules {
    /// Sets the rule of a class. That of [`Message`](CommunicationClass::Message) holds for oneways that say nothing, too.
    #[must_use]
    pub fn of_class(mut self, class: CommunicationClass, rule: DropRule) -> DropRules {
        self.0[class as usize] = rule;
        self
    }

    /// Returns the rule of a class.
    pub fn rule(&self, class: CommunicationClass) -> DropRule {
        self.0[class as usize]
    }

    /// Reports whether nothing is ever dropped.
    pub fn is_empty(&self) -> bool {
        *self == DropRules::default()
    }
}

impl FromStr for DropRules {
    type Err = DropError;

    fn from_str(text: &str) -> Result<DropRules, DropError> {
        let mut rules = DropRules::default();
        for one in text.split(';').filter(|one| !one.trim().is_empty()) {
            let mut words = one.split_whitespace();
            let name = words.next().unwrap_or_default();
            let (_, class) = CLASSES.iter().find(|(known, _)| *known == name).ok_or_else(|| {
                let known = CLASSES.map(|(known, _)| known).join(", ");
                DropError(format!("no class is called `{}`: {known}", Printable(name)))
            })?;
            let mut rule = DropRule::default();
            for word in words {
                let wrong = || {
                    let word = Printable(word);
                    DropError(format!("age=TIME or full is wanted instead of `{word}`"))
                };
                match word.split_once('=') {
                    None if word == "full" => rule.full = true,
                    Some(("age", age)) => {
                        let nanos = time::parse(age).map_err(|_| wrong())?;
                        rule.age = Some(Duration::from_nanos(nanos));
                    }
                    _ => return Err(wrong()),
                }
            }
            rules = rules.of_class(*class, rule);
        }
        Ok(rules)
    }
}

impl fmt::Display for DropRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = CLASSES.map(|(name, class)| (name, self.rule(class)));
        let said = said.iter().filter(|(_, rule)| *rule != DropRule::default());
        for (at, (name, rule)) in said.enumerate() {
            let before = if at == 0 { "" } else { "; " };
            write!(f, "{before}{name}")?;
            if let Some(age) = rule.age {
                let nanos = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
                write!(f, " age={}", Show(nanos).to_string().replace(' ', ""))?;
            }
            if rule.full {
                f.write_str(" full")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for DropError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_they_are_shown() {
        for text in [
            "",
            "isochronous age=50ms full",
            "isochronous age=1.5ms; burst full; message age=2s; message-stream full",
        ] {
            let rules: DropRules = text.parse().unwrap();
            assert_eq!(rules.to_string(), text);
            assert_eq!(rules.is_empty(), text.is_empty());
        }
        let rules: DropRules = "burst full".parse().unwrap();
        assert!(rules.rule(CommunicationClass::Burst).full);
        assert!(!rules.rule(CommunicationClass::Message).full);
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_told() {
        for (text, part) in [
            ("frames full", "no class is called `frames`: isochronous, burst"),
            ("burst old", "instead of `old`"),
            ("burst age=soon", "instead of `age=soon`"),
            ("burst full=1", "age=TIME or full"),
        ] {
            let error = text.parse::<DropRules>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
