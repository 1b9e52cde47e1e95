//! Key expressions of subscriptions. Every event to which a consumer subscribes matches at least one of them.

use std::collections::BTreeSet;

use oxorb_event::Key;
use oxorb_event::event_type::{ANY, NULL_DESIGNATOR, SHUTDOWN, UNDEFINED};
use oxorb_event::rtec_event_channel_admin::ConsumerQos;

/// Types and sources to which consumers subscribe. No entry is covered by another.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Wanted(BTreeSet<Key>);

impl Wanted {
    /// Reads the subscriptions that a channel reports to its observer.
    pub(crate) fn new(subscriptions: &ConsumerQos) -> Wanted {
        let headers = subscriptions.dependencies.iter().map(|one| one.event.header);
        let keys = headers.filter_map(|header| match header.r#type {
            NULL_DESIGNATOR => Some((ANY, ANY)),
            // No channel sends events of these types, which stand for operators and timers in subscriptions.
            SHUTDOWN..UNDEFINED => None,
            event_type => Some((event_type, header.source)),
        });
        let keys: BTreeSet<Key> = keys.collect();
        let covered = |&(event_type, source): &Key| {
            let wider = [(ANY, ANY), (event_type, ANY), (ANY, source)];
            let mut wider = wider.into_iter().filter(|one| *one != (event_type, source));
            wider.any(|one| keys.contains(&one))
        };
        Wanted(keys.iter().copied().filter(|key| !covered(key)).collect())
    }

    /// Returns the key expressions without the prefix, each with its key. The result is empty if there are no
    /// subscriptions.
    pub(crate) fn expressions(&self) -> Vec<(Key, String)> {
        let part = |number: i32| match number {
            ANY => "*".to_owned(),
            number => number.to_string(),
        };
        let named = self.0.iter().map(|&(event_type, source)| {
            let expression = format!("{}/{}", part(event_type), part(source));
            ((event_type, source), expression)
        });
        let mut all: Vec<_> = named.collect();
        if !all.is_empty() {
            // The type or the source of an event of `any` is 0, which matches the subscriptions of every consumer.
            all.push((NONE, "any".to_owned()));
        }
        all
    }

    /// Reports whether events of `topic` are accepted from the expression of `asked`. If `wanted` contains both the
    /// type from any source and the source with any type, zenoh delivers an event to both expressions. Only the former
    /// accepts it.
    pub(crate) fn takes(&self, asked: Key, topic: Key) -> bool {
        let twice = asked.0 == ANY && asked.1 != ANY && self.0.contains(&(topic.0, ANY));
        !twice
    }
}

/// Key of the expression `any`. No event has this key.
const NONE: Key = (SHUTDOWN, ANY);

#[cfg(test)]
mod tests {
    use oxorb_event::{Filter, asks_for};

    use super::*;

    fn wanted(keys: &[Key]) -> Wanted {
        let filters = keys.iter().map(|&(one, source)| Filter::event(one, source));
        Wanted::new(&asks_for(&Filter::any_of(filters)))
    }

    fn names(keys: &[Key]) -> Vec<String> {
        let expressions = wanted(keys).expressions().into_iter();
        expressions.map(|one| one.1).collect()
    }

    #[test]
    fn expressions_that_cover_others_stand_for_them() {
        assert_eq!(names(&[]), [""; 0]);
        assert_eq!(names(&[(17, 1), (17, 2)]), ["17/1", "17/2", "any"]);
        assert_eq!(names(&[(17, 1), (17, 0), (18, 2)]), ["17/*", "18/2", "any"]);
        assert_eq!(names(&[(17, 1), (0, 0), (0, 3)]), ["*/*", "any"]);
        assert_eq!(names(&[(0, 3), (17, 0), (17, 3)]), ["*/3", "17/*", "any"]);
        // The null designator matches every event.
        assert_eq!(names(&[(NULL_DESIGNATOR, 0), (17, 3)]), ["*/*", "any"]);
    }

    #[test]
    fn each_event_is_taken_from_one_expression() {
        let keys = [17, 18, 19];
        for list in [
            &[(17, 0), (0, 3)][..],
            &[(17, 3), (18, 3)],
            &[(0, 0), (17, 3)],
            &[(17, 0), (18, 0), (0, 3), (0, 4), (19, 5)],
        ] {
            let wanted = wanted(list);
            for (event_type, source) in keys.iter().flat_map(|one| (1..6).map(move |at| (*one, at)))
            {
                let matches =
                    |key: &Key| [0, event_type].contains(&key.0) && [0, source].contains(&key.1);
                let asked = wanted.0.iter().filter(|key| matches(key)).copied();
                let takers = asked.filter(|key| wanted.takes(*key, (event_type, source)));
                let expected = usize::from(list.iter().any(matches));
                assert_eq!(takers.count(), expected, "{list:?} {event_type} {source}");
            }
        }
    }
}
