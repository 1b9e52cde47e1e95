//! Filters of clients on the events of a channel.

use std::cell::OnceCell;

use oxorb::{Any, Interface as _};
use oxorb_notify::cos_event_channel_admin::EventChannelRef;
use oxorb_notify::cos_notification::StructuredEvent;
use oxorb_notify::etcl::{self, Constraint, ConstraintLimits, Grammar, Mismatch, Subject};

use super::problem::Problem;
use crate::event;

/// Limits of a constraint. A client applies it to each event, on the thread that receives the events of all clients.
const LIMITS: ConstraintLimits = ConstraintLimits { length: 1 << 10, depth: 16, work: 1 << 16 };

/// Maximum number of steps of all constraints of one client address for one event.
pub(super) const CLIENT_WORK: usize = 4 * LIMITS.work;

/// Maximum number of types, and of sources, that a filter names.
const MOST_NUMBERS: usize = 64;

/// Kind of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Channel of the Event Service or the Notification Service.
    Untyped,
    /// Real-time event channel.
    Realtime,
}

impl Kind {
    /// Returns the repository id of the interface of channels.
    pub(super) fn interface(self) -> &'static str {
        match self {
            Kind::Untyped => EventChannelRef::REPOSITORY_ID,
            Kind::Realtime => oxorb_event::rtec_event_channel_admin::EventChannelRef::REPOSITORY_ID,
        }
    }
}

/// Event of a channel.
#[derive(Clone)]
pub(super) enum Received {
    /// Event of the Event Service or the Notification Service.
    Untyped(Any),
    /// Event of a real-time event channel.
    Realtime {
        event_type: i32,
        source: i32,
        value: Any,
        /// Number of octets of the untyped payload.
        payload: usize,
    },
}

/// Event to which filters are applied.
pub(super) struct Candidate<'e> {
    event: &'e Received,
    /// Structured event in the any, if it contains one.
    structured: OnceCell<Option<Box<StructuredEvent>>>,
}

/// Result of a filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// The client receives the event.
    Passes,
    /// The client does not receive the event.
    Fails,
    /// Unknown, because no steps are left.
    Unknown,
}

/// Condition of a client on events.
pub(super) enum EventFilter {
    /// Every event.
    All,
    /// Event for which a constraint of the Notification Service is true.
    Constraint(Constraint),
    /// Event of a real-time event channel with one of these types and one of these sources. An empty list permits all.
    Realtime { types: Vec<i32>, sources: Vec<i32> },
}

impl Received {
    /// Returns the value.
    pub(super) fn value(&self) -> &Any {
        match self {
            Received::Untyped(value) | Received::Realtime { value, .. } => value,
        }
    }
}

impl<'e> Candidate<'e> {
    pub(super) fn new(event: &'e Received) -> Self {
        Candidate { event, structured: OnceCell::new() }
    }
}

impl EventFilter {
    /// Parses the query of a URL: `filter=CONSTRAINT`, or for a real-time event channel `type=TYPE` and
    /// `source=SOURCE`, each of which may be repeated.
    pub(super) fn parse(query: Option<&str>, kind: Kind) -> Result<EventFilter, Problem> {
        let (mut constraint, mut types, mut sources) = (None, Vec::new(), Vec::new());
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
            let text = decode(text).ok_or_else(|| {
                Problem::bad_request("the query is not valid percent-encoded UTF-8")
            })?;
            let wrong = |why: &str| Problem::bad_request(format!("{name}={text}: {why}"));
            match (name, kind) {
                ("filter", Kind::Untyped) if constraint.is_none() => {
                    let options = etcl::Options { limits: LIMITS, ..Default::default() };
                    let parsed = Constraint::parse_with(&text, Grammar::Extended, options);
                    constraint = Some(parsed.map_err(|error| wrong(&error.to_string()))?);
                }
                ("filter", Kind::Untyped) => return Err(wrong("there is more than one filter")),
                ("type", Kind::Realtime) => {
                    types.push(event::type_number(&text).map_err(|why| wrong(&why))?);
                }
                ("source", Kind::Realtime) => {
                    sources.push(event::source_number(&text).map_err(|why| wrong(&why))?);
                }
                ("filter" | "type" | "source", _) => {
                    return Err(wrong(
                        "a real-time event channel has the parameters type and source, and another channel has filter",
                    ));
                }
                _ => return Err(wrong("there is no such parameter")),
            }
        }
        if types.len() > MOST_NUMBERS || sources.len() > MOST_NUMBERS {
            let why = format!(
                "a filter can name at most {MOST_NUMBERS} types and {MOST_NUMBERS} sources"
            );
            return Err(Problem::bad_request(why));
        }
        Ok(match constraint {
            Some(constraint) => EventFilter::Constraint(constraint),
            None if types.is_empty() && sources.is_empty() => EventFilter::All,
            None => EventFilter::Realtime { types, sources },
        })
    }

    /// Reports whether a client receives an event.
    pub(super) fn passes(&self, candidate: &Candidate<'_>) -> bool {
        self.decide(candidate, &mut { LIMITS.work }) == Decision::Passes
    }

    /// Decides whether a client receives an event, and subtracts the steps of its constraint from `work`.
    pub(super) fn decide(&self, candidate: &Candidate<'_>, work: &mut usize) -> Decision {
        let passes = match (self, candidate.event) {
            (EventFilter::All, _) => true,
            (EventFilter::Constraint(constraint), Received::Untyped(any)) => {
                let structured = candidate
                    .structured
                    .get_or_init(|| any.get::<StructuredEvent>().ok().flatten().map(Box::new));
                let before = *work;
                let decided = match structured {
                    Some(event) => {
                        constraint.evaluate_within(Subject::Structured(&Structured(event)), work)
                    }
                    None => constraint.evaluate_within(Subject::Any(any), work),
                };
                if before < LIMITS.work && decided == Err(Mismatch::TooMuchWork) {
                    return Decision::Unknown;
                }
                decided.unwrap_or(false)
            }
            (
                EventFilter::Realtime { types, sources },
                Received::Realtime { event_type, source, .. },
            ) => fits(types, *event_type) && fits(sources, *source),
            _ => false,
        };
        if passes { Decision::Passes } else { Decision::Fails }
    }
}

/// Reports whether a list permits a type or source. In an event, 0 stands for every one.
fn fits(wanted: &[i32], has: i32) -> bool {
    wanted.is_empty() || has == 0 || wanted.contains(&has)
}

/// Decodes the value of a query (`application/x-www-form-urlencoded`).
fn decode(text: &str) -> Option<String> {
    super::path::decode(&text.replace('+', " "))
}

/// Structured event to which a constraint is applied.
struct Structured<'e>(&'e StructuredEvent);

impl etcl::Event for Structured<'_> {
    fn domain_name(&self) -> &str {
        &self.0.header.fixed_header.event_type.domain_name
    }

    fn type_name(&self) -> &str {
        &self.0.header.fixed_header.event_type.type_name
    }

    fn event_name(&self) -> &str {
        &self.0.header.fixed_header.event_name
    }

    fn variable_header(&self, at: usize) -> Option<(&str, &Any)> {
        let property = self.0.header.variable_header.get(at)?;
        Some((&property.name, &property.value))
    }

    fn filterable_data(&self, at: usize) -> Option<(&str, &Any)> {
        let property = self.0.filterable_data.get(at)?;
        Some((&property.name, &property.value))
    }

    fn remainder_of_body(&self) -> &Any {
        &self.0.remainder_of_body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(query: &str, event: &Received) -> bool {
        let kind = match event {
            Received::Untyped(_) => Kind::Untyped,
            Received::Realtime { .. } => Kind::Realtime,
        };
        let filter = EventFilter::parse(Some(query), kind);
        filter.unwrap_or_else(|problem| panic!("{problem:?}")).passes(&Candidate::new(event))
    }

    #[test]
    fn a_constraint_applies_to_anys_and_to_structured_events_within() {
        let seven = Received::Untyped(Any::new(7_i32));
        assert!(passes("", &seven) && passes("filter=%24+%3E+5", &seven));
        assert!(!passes("filter=$%20%3E%207", &seven));
        let mut alarm = StructuredEvent::default();
        alarm.header.fixed_header.event_type.type_name = "Alarm".to_owned();
        let alarm = Received::Untyped(Any::new(alarm));
        assert!(passes("filter=$type_name%20==%20'Alarm'", &alarm));
        assert!(!passes("filter=$type_name%20==%20'Alarm'", &seven));
    }

    #[test]
    fn constraints_share_steps() {
        let filter = EventFilter::parse(Some("filter=$%20%3E%205"), Kind::Untyped);
        let filter = filter.unwrap_or_else(|problem| panic!("{problem:?}"));
        let event = Received::Untyped(Any::new(7_i32));
        let (mut work, candidate) = (LIMITS.work, Candidate::new(&event));
        assert_eq!(filter.decide(&candidate, &mut work), Decision::Passes);
        let steps = LIMITS.work - work;
        assert!(steps > 0);
        let mut work = 2 * steps;
        let decide = |work: &mut usize| filter.decide(&candidate, work);
        assert_eq!([(); 2].map(|()| decide(&mut work)), [Decision::Passes; 2]);
        assert_eq!((decide(&mut work), work), (Decision::Unknown, 0));
        assert_eq!(EventFilter::All.decide(&candidate, &mut work), Decision::Passes);
    }

    #[test]
    fn types_and_sources_apply_to_real_time_events() {
        let value = Any::default();
        let event = |event_type, source| Received::Realtime {
            event_type,
            source,
            value: value.clone(),
            payload: 0,
        };
        assert!(passes("type=17&type=18", &event(18, 3)) && !passes("type=17", &event(18, 3)));
        assert!(passes("type=18&source=3", &event(18, 3)));
        assert!(!passes("type=18&source=4", &event(18, 3)));
        assert!(passes("type=17&source=4", &event(0, 0)), "a wildcard");
    }

    #[test]
    fn mistakes_are_errors_of_the_request() {
        let long = format!("filter=1{}", "%2B1".repeat(LIMITS.length));
        let many = "type=1&".repeat(MOST_NUMBERS + 1);
        for (query, kind) in [
            ("filter=$a%20==", Kind::Untyped),
            ("filter=1&filter=1", Kind::Untyped),
            ("filter=%FF", Kind::Untyped),
            ("type=17", Kind::Untyped),
            ("colour=red", Kind::Untyped),
            (long.as_str(), Kind::Untyped),
            ("filter=TRUE", Kind::Realtime),
            ("type=0", Kind::Realtime),
            (many.as_str(), Kind::Realtime),
        ] {
            assert!(EventFilter::parse(Some(query), kind).is_err(), "{query}");
        }
    }
}
