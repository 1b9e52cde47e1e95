//! Events that pass through a channel.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::etcl::event_type::EventType;
use crate::etcl::{Event as Filterable, Subject};
use oxorb::Any;
use oxorb::rt::{CarriedQos, carried_qos};
use oxorb::values::Codec;
use oxorb_delivery::Attributes;

use crate::cos_notification::{
    EventHeader, EventType as TypeName, FixedEventHeader, StructuredEvent,
};
use crate::filter::Answers;
use crate::properties::{Name, of_event};

/// An event, which all queues that contain it share.
pub(crate) struct Event {
    pub(crate) body: Body,
    pub(crate) header: Header,
    /// Quality of service of the supplier's request, which the consumers' requests propagate.
    pub(crate) qos: CarriedQos,
    /// Size in octets that counts against the limits of each queue.
    octets: u32,
    /// The event in the other form (any or structured event), for consumers of that form.
    converted: OnceLock<Converted>,
    /// Results of remote filters, kept only while the event is published.
    pub(crate) answers: Answers,
    _alive: Alive,
}

/// An event in the form in which its supplier sent it.
#[derive(Clone)]
pub(crate) enum Body {
    Any(Any),
    Structured(StructuredEvent),
}

enum Converted {
    Any(Any),
    Structured(Box<StructuredEvent>),
}

/// Quality of service that the event itself requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) priority: Option<i16>,
    /// Timeout in units of 100 ns.
    pub(crate) timeout: Option<i64>,
    /// Start time, in 100 ns since 15 October 1582.
    pub(crate) start: Option<i64>,
    pub(crate) stop: Option<i64>,
    pub(crate) persistent: Option<bool>,
}

/// Number of events that a channel holds at present.
#[derive(Clone, Default)]
pub(crate) struct Population(Arc<AtomicUsize>);

struct Alive(Population);

impl Population {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Event {
    /// Creates an event. It has the quality of service of the request that this thread is serving.
    pub(crate) fn new(body: Body, population: &Population) -> Event {
        population.0.fetch_add(1, Ordering::Relaxed);
        let header = match &body {
            Body::Any(_) => Header::default(),
            Body::Structured(event) => Header::of(event),
        };
        Event {
            header,
            qos: carried_qos(),
            octets: body.octets(),
            body,
            converted: OnceLock::new(),
            answers: Answers::default(),
            _alive: Alive(population.clone()),
        }
    }

    /// Returns the event for consumers of anys. A structured event is put into an any.
    pub(crate) fn as_any(&self) -> &Any {
        match &self.body {
            Body::Any(any) => any,
            Body::Structured(event) => {
                let converted = || Converted::Any(Any::new(event.clone()));
                match self.converted.get_or_init(converted) {
                    Converted::Any(any) => any,
                    Converted::Structured(event) => &event.remainder_of_body,
                }
            }
        }
    }

    /// Returns the event for consumers of structured events. An any that contains a structured event is converted to
    /// that event; any other any becomes the remainder of the body of an event of type `%ANY`.
    pub(crate) fn as_structured(&self) -> &StructuredEvent {
        match &self.body {
            Body::Structured(event) => event,
            Body::Any(any) => {
                let converted = || Converted::Structured(Box::new(structured(any)));
                match self.converted.get_or_init(converted) {
                    Converted::Structured(event) => event,
                    Converted::Any(_) => unreachable!("an any is its own form"),
                }
            }
        }
    }

    pub(crate) fn type_name(&self) -> EventType<'_> {
        match &self.body {
            Body::Any(_) => EventType::new("", "%ANY"),
            Body::Structured(event) => event_type(&event.header.fixed_header.event_type),
        }
    }

    /// Calls a function with the event in the form in which it was sent.
    pub(crate) fn with_subject<R>(&self, work: impl FnOnce(Subject<'_>) -> R) -> R {
        match &self.body {
            Body::Any(any) => work(Subject::Any(any)),
            Body::Structured(event) => work(Subject::Structured(&Lent(event))),
        }
    }

    /// Returns the attributes of the event in a queue. Values that the event does not have are taken from the
    /// supplier's request, and otherwise from the consumer's priority and timeout.
    pub(crate) fn attributes(
        &self,
        header: &Header,
        priority: i16,
        timeout: i64,
        times: &Times,
    ) -> Attributes {
        let timeout = Some(header.timeout.unwrap_or(timeout)).filter(|&time| time > 0);
        let timeout = timeout.map(|time| {
            let left = time.saturating_sub(times.age);
            times.now.saturating_add(nanoseconds(left))
        });
        let stop = header.stop.map(|stop| times.moment(stop));
        let expiry = earliest(timeout, stop);
        let said = self.qos.qos();
        let importance = said.map(|said| said.importance).filter(|importance| *importance != 0);
        let importance =
            importance.map(|importance| importance.clamp(i16::MIN.into(), i16::MAX.into()) as i16);
        let due = said.and_then(|said| said.deadline).map(|left| {
            let left = u64::try_from(left.as_nanos()).unwrap_or(u64::MAX);
            times.now.saturating_add(left)
        });
        Attributes {
            priority: header.priority.or(importance).unwrap_or(priority),
            deadline: earliest(expiry, due),
            start: header.start.map(|start| times.moment(start)),
            expiry,
            octets: self.octets,
            ..Attributes::default()
        }
    }
}

impl Body {
    /// Returns the event in its stored form.
    pub(crate) fn to_any(&self) -> Any {
        match self {
            Body::Any(any) => Any::new(any.clone()),
            Body::Structured(event) => Any::new(event.clone()),
        }
    }

    /// Reads the stored form that [`to_any`](Self::to_any) returned.
    pub(crate) fn of(any: &Any) -> Option<Body> {
        if let Ok(Some(event)) = any.get::<StructuredEvent>() {
            return Some(Body::Structured(event));
        }
        any.get::<Any>().ok().flatten().map(Body::Any)
    }

    fn octets(&self) -> u32 {
        let octets = match self {
            Body::Any(any) => octets_of(any),
            Body::Structured(event) => {
                let header = &event.header;
                let lists = [&header.variable_header, &event.filterable_data];
                let listed = lists.into_iter().flatten();
                let listed: usize = listed.map(|one| one.name.len() + octets_of(&one.value)).sum();
                let fixed = &header.fixed_header;
                listed
                    + fixed.event_type.domain_name.len()
                    + fixed.event_type.type_name.len()
                    + fixed.event_name.len()
                    + octets_of(&event.remainder_of_body)
            }
        };
        u32::try_from(octets).unwrap_or(u32::MAX)
    }
}

/// Returns the size in octets of a value, including the any that contains it.
pub(crate) fn octets_of(any: &Any) -> usize {
    let value = any.received_octets().unwrap_or_else(|| {
        let encoded = Codec::default().encode_value(any);
        encoded.map_or(0, |octets| octets.len())
    });
    value + size_of::<Any>()
}

impl Header {
    /// Returns the header with priority and timeout replaced by the results of mapping filters.
    pub(crate) fn mapped(&self, priority: Option<i16>, timeout: Option<i64>) -> Header {
        Header { priority: priority.or(self.priority), timeout: timeout.or(self.timeout), ..*self }
    }

    fn of(event: &StructuredEvent) -> Header {
        let mut header = Header::default();
        for property in &event.header.variable_header {
            let Some(name) = crate::properties::named(&property.name) else {
                continue;
            };
            let Some(value) = of_event(name, &property.value) else {
                continue;
            };
            match name {
                Name::Priority => header.priority = i16::try_from(value).ok(),
                Name::Timeout => header.timeout = Some(value),
                Name::StartTime => header.start = Some(value),
                Name::StopTime => header.stop = Some(value),
                Name::EventReliability => header.persistent = Some(value == 1),
                _ => {}
            }
        }
        header
    }
}

/// The current time, by the clock of the queues and by that of `TimeBase`.
pub(crate) struct Times {
    /// Time of the queues' clock, in nanoseconds.
    pub(crate) now: u64,
    /// Time in 100 ns since 15 October 1582.
    pub(crate) utc: i64,
    /// Age in 100 ns of an event from the store. It is deducted from the timeout of the event.
    age: i64,
}

impl Times {
    pub(crate) fn new(now: u64) -> Times {
        /// Time between 15 October 1582 and 1 January 1970, in 100 ns.
        const GREGORIAN: i64 = 122_192_928_000_000_000;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or(Duration::ZERO).as_nanos() / 100;
        let utc = GREGORIAN.saturating_add(i64::try_from(since).unwrap_or(i64::MAX));
        Times { now, utc, age: 0 }
    }

    /// Returns the times for an event that arrived at `arrival`, which is a `TimeBase` time.
    pub(crate) fn of_arrival(&self, arrival: i64) -> Times {
        Times { age: self.utc.saturating_sub(arrival).max(0), ..*self }
    }

    fn moment(&self, utc: i64) -> u64 {
        match utc.checked_sub(self.utc) {
            Some(later) if later >= 0 => self.now.saturating_add(nanoseconds(later)),
            _ => self.now,
        }
    }
}

/// Returns the earlier of two times, each of which may be missing.
fn earliest(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one.into_iter().chain(other).min()
}

/// Converts units of 100 ns to nanoseconds.
fn nanoseconds(time: i64) -> u64 {
    u64::try_from(time).unwrap_or(0).saturating_mul(100)
}

fn structured(any: &Any) -> StructuredEvent {
    if let Ok(Some(event)) = any.get::<StructuredEvent>() {
        return event;
    }
    StructuredEvent {
        header: EventHeader {
            fixed_header: FixedEventHeader {
                event_type: TypeName { domain_name: String::new(), type_name: "%ANY".to_owned() },
                event_name: String::new(),
            },
            variable_header: Vec::new(),
        },
        filterable_data: Vec::new(),
        remainder_of_body: any.clone(),
    }
}

pub(crate) fn event_type(name: &TypeName) -> EventType<'_> {
    EventType::new(&name.domain_name, &name.type_name)
}

/// A structured event, borrowed for the evaluation of a constraint.
pub(crate) struct Lent<'e>(pub(crate) &'e StructuredEvent);

impl Filterable for Lent<'_> {
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
