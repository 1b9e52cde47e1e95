//! Rules for dropping queued oneways, by communication class.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use oxorb_cdr::Printable;
use oxorb_object::CommunicationClass;
use oxorb_sched::time::{self, Show};

/// Rules for dropping oneways from the queue of a lane, one for each communication class
/// ([`RequestQos`](crate::policy::RequestQos)). Two-way requests are never dropped.
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
    /// Longest time that a oneway is queued before it is dropped. `None` for no limit.
    pub age: Option<Duration>,
    /// Whether such a oneway may be dropped for a new request when the queue is full: the least urgent one if the queue
    /// is ordered by urgency, the oldest one otherwise.
    pub full: bool,
}

/// Error in the text of drop rules.
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
    /// Sets the rule of a class. The rule of [`Message`](CommunicationClass::Message) also applies to oneways without a
    /// QoS.
    #[must_use]
    pub fn of_class(mut self, class: CommunicationClass, rule: DropRule) -> DropRules {
        self.0[class as usize] = rule;
        self
    }

    /// Returns the rule of a class.
    pub fn rule(&self, class: CommunicationClass) -> DropRule {
        self.0[class as usize]
    }

    /// Reports whether no oneway is ever dropped.
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
                DropError(format!(
                    "there is no class `{}`; expected one of {known}",
                    Printable(name)
                ))
            })?;
            let mut rule = DropRule::default();
            for word in words {
                let wrong = || {
                    let word = Printable(word);
                    DropError(format!("expected age=TIME or full instead of `{word}`"))
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
            ("frames full", "there is no class `frames`; expected one of isochronous, burst"),
            ("burst old", "instead of `old`"),
            ("burst age=soon", "instead of `age=soon`"),
            ("burst full=1", "age=TIME or full"),
        ] {
            let error = text.parse::<DropRules>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
