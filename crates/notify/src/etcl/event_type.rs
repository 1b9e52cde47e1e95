//! Event types: rules for wildcards and for changes of subscriptions and offers.
//!
//! A type consists of a domain and a name. In a subscription, an offer or a constraint, both may contain `*`, which
//! matches any characters. An empty domain or name and the name `%ALL` match anything (Notification Service 1.1, 2.3
//! and 2.6.5).
//!
//! ```
//! use oxorb_notify::etcl::event_type::EventType;
//!
//! let alarm = EventType::new("Telecom", "CommunicationsAlarm");
//! assert!(EventType::new("Tele*", "*Alarm").covers(alarm));
//! assert!(EventType::new("", "%ALL").covers(alarm));
//! assert!(!EventType::new("Telecom", "Alarm").covers(alarm));
//! ```
//!
//! Real-time cost: only [`change`] allocates memory. The time of a comparison is proportional to the lengths of the
//! names.

/// Type of an event, or a pattern that matches types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EventType<'t> {
    /// Domain, such as `Telecom`.
    pub domain: &'t str,
    /// Name within the domain.
    pub name: &'t str,
}

impl<'t> EventType<'t> {
    /// Pattern of all types.
    pub const ALL: EventType<'static> = EventType::new("*", "%ALL");

    /// Creates a type or pattern from a domain and a name.
    pub const fn new(domain: &'t str, name: &'t str) -> Self {
        Self { domain, name }
    }

    /// Reports whether the pattern matches all types, whatever its spelling.
    pub fn is_all(self) -> bool {
        self.has_any_domain() && self.has_any_name()
    }

    /// Reports whether the pattern matches exactly one type.
    pub fn is_exact(self) -> bool {
        !self.has_any_domain()
            && !self.has_any_name()
            && !self.domain.contains('*')
            && !self.name.contains('*')
    }

    /// Reports whether the pattern matches the type of an event. A `*` in the type of the event is an ordinary
    /// character.
    pub fn covers(self, event: EventType<'_>) -> bool {
        (self.has_any_domain() || covers(self.domain, event.domain))
            && (self.has_any_name() || covers(self.name, event.name))
    }

    /// Reports whether one of two patterns covers the other, separately for domain and name. An offer and a
    /// subscription that meet may have events in common.
    pub fn meets(self, other: EventType<'_>) -> bool {
        let domains = self.has_any_domain()
            || other.has_any_domain()
            || covers(self.domain, other.domain)
            || covers(other.domain, self.domain);
        let names = self.has_any_name()
            || other.has_any_name()
            || covers(self.name, other.name)
            || covers(other.name, self.name);
        domains && names
    }

    /// Reports whether two patterns have the same spelling. All patterns that match all types are considered the same.
    pub fn is(self, other: EventType<'_>) -> bool {
        self == other || self.is_all() && other.is_all()
    }

    fn has_any_domain(self) -> bool {
        matches!(self.domain, "" | "*")
    }

    fn has_any_name(self) -> bool {
        matches!(self.name, "" | "*" | "%ALL")
    }
}

/// Reports whether one of the patterns matches an event. An empty list matches all events. This rule applies to the
/// types of a constraint; an empty list of *subscriptions* matches nothing.
pub fn constraint_covers<'t>(
    patterns: impl IntoIterator<Item = EventType<'t>>,
    event: EventType<'_>,
) -> bool {
    let mut patterns = patterns.into_iter().peekable();
    patterns.peek().is_none() || patterns.any(|pattern| pattern.covers(event))
}

/// Reports whether a name matches a pattern, in which each `*` matches any characters.
fn covers(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut left) = name.strip_prefix(head) else {
        return false;
    };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in middle.split('*') {
        // It suffices to try the first match, because a later one leaves less text for the rest of the pattern.
        let Some(at) = left.find(piece) else {
            return false;
        };
        left = &left[at + piece.len()..];
    }
    left.ends_with(tail)
}

/// Effect of a change on a list of types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed<T> {
    /// Types that were added.
    pub added: Vec<T>,
    /// Types that were removed.
    pub removed: Vec<T>,
}

/// Changes a list of subscriptions or offers by the rules of `subscription_change` and `offer_change`, and returns the
/// difference. `of` returns the type of an entry.
///
/// - Adding the type that matches all types replaces the list, unless the same call removes this type.
/// - Adding other types to a list that matches all types replaces this list. If nothing is added, removing the type
///   that matches all types empties the list.
/// - A type that is both added and removed keeps its state. Removing a type that is not in the list has no effect.
///
/// The time is proportional to the square of the number of types, which the caller must limit.
pub fn change<T: Clone>(
    list: &mut Vec<T>,
    added: &[T],
    removed: &[T],
    of: impl Fn(&T) -> EventType<'_>,
) -> Changed<T> {
    let has = |types: &[T], wanted: &T| types.iter().any(|one| of(one).is(of(wanted)));
    let all_of = |types: &[T]| types.iter().find(|one| of(one).is_all()).cloned();
    let before = list.clone();
    let has_all = all_of(list).is_some();
    match (all_of(added), all_of(removed)) {
        (Some(all), None) if !has_all => *list = vec![all],
        (_, all_removed) => {
            let new: Vec<T> = added.iter().filter(|one| !of(one).is_all()).cloned().collect();
            if has_all && (!new.is_empty() || all_removed.is_some()) {
                list.clear();
            }
            for one in new {
                if !has(removed, &one) && !has(list, &one) {
                    list.push(one);
                }
            }
            list.retain(|one| !has(removed, one) || has(added, one));
        }
    }
    let after = &*list;
    Changed {
        added: after.iter().filter(|one| !has(&before, one)).cloned().collect(),
        removed: before.iter().filter(|one| !has(after, one)).cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_stand_for_any_characters() {
        let table = [
            ("", "", true),
            ("a", "a", true),
            ("a", "b", false),
            ("a", "", false),
            ("*", "", true),
            ("*", "anything", true),
            ("a*", "a", true),
            ("a*", "ab", true),
            ("a*", "ba", false),
            ("*a", "ba", true),
            ("*a", "ab", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("*ab*ab*", "abab", true),
            ("*ab*ab*", "aab", false),
            ("a**b", "ab", true),
            ("*é*", "café!", true),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(covers(pattern, name), expected, "{pattern} of {name}");
        }
    }

    #[test]
    fn an_event_without_a_type_reaches_only_those_who_ask_for_all() {
        let untyped = EventType::new("", "");
        for all in [("", ""), ("*", "*"), ("", "%ALL"), ("*", "%ALL")] {
            let all = EventType::new(all.0, all.1);
            assert!(all.is_all() && all.covers(untyped) && all.is(EventType::ALL));
        }
        assert!(!EventType::new("Telecom", "*").covers(untyped));
        assert!(!EventType::new("*", "Alarm").covers(untyped));
    }

    #[test]
    fn an_offer_meets_a_subscription_if_either_covers_the_other() {
        let offer = EventType::new("Telecom", "*");
        assert!(offer.meets(EventType::new("*", "Alarm")));
        assert!(offer.meets(EventType::new("Tele*", "Alarm")));
        assert!(!offer.meets(EventType::new("Finance", "Alarm")));
        assert!(!offer.is_exact() && EventType::new("Telecom", "Alarm").is_exact());
    }

    #[test]
    fn changes_follow_the_rules() {
        fn of<'t>(name: &'t &'static str) -> EventType<'t> {
            EventType::new(if *name == "%ALL" { "*" } else { "d" }, name)
        }

        type Types = &'static [&'static str];
        // Columns: the list, the types to add and to remove; then the new list, and the types added and removed. `%ALL`
        // matches all types.
        let table: [(Types, Types, Types, Types, Types, Types); 12] = [
            (&["%ALL"], &["%ALL"], &[], &["%ALL"], &[], &[]),
            (&["%ALL"], &["a", "b"], &[], &["a", "b"], &["a", "b"], &["%ALL"]),
            (&["%ALL"], &["a"], &["%ALL"], &["a"], &["a"], &["%ALL"]),
            (&["%ALL"], &[], &["%ALL"], &[], &[], &["%ALL"]),
            (&["%ALL"], &[], &["a"], &["%ALL"], &[], &[]),
            (&["a", "b"], &["%ALL"], &[], &["%ALL"], &["%ALL"], &["a", "b"]),
            (&["a", "b"], &["%ALL", "c"], &["%ALL"], &["a", "b", "c"], &["c"], &[]),
            (&["a", "b"], &["c"], &["a"], &["b", "c"], &["c"], &["a"]),
            (&["a"], &["a"], &[], &["a"], &[], &[]),
            (&["a"], &["a", "c"], &["a", "c"], &["a"], &[], &[]),
            (&["a"], &[], &["z"], &["a"], &[], &[]),
            (&[], &["a", "a"], &[], &["a"], &["a"], &[]),
        ];
        for (list, added, removed, expected, new, gone) in table {
            let mut after = list.to_vec();
            let changed = change(&mut after, added, removed, of);
            let what = format!("{list:?} + {added:?} - {removed:?}");
            assert_eq!(after, expected, "{what}");
            assert_eq!(changed.added, new, "added by {what}");
            assert_eq!(changed.removed, gone, "removed by {what}");
        }
    }
}
