//! Types, ranges and defaults of the properties for quality of service and administration (Notification Service 1.1,
//! 2.5.5).

use oxorb::Any;

use crate::Limits;
use crate::cos_notification::{
    NamedPropertyRange, Property, PropertyError, PropertyRange, QoSErrorCode,
};
use crate::time_base::UtcT;

/// Properties that the service supports, in the order of [`TABLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    EventReliability,
    ConnectionReliability,
    Priority,
    StartTime,
    StopTime,
    Timeout,
    OrderPolicy,
    DiscardPolicy,
    MaximumBatchSize,
    PacingInterval,
    StartTimeSupported,
    StopTimeSupported,
    MaxEventsPerConsumer,
    MaxQueueLength,
    MaxConsumers,
    MaxSuppliers,
    RejectNewEvents,
}

use Name::*;

const COUNT: usize = RejectNewEvents as usize + 1;

/// Kind of object that can have properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Message = 1,
    Proxy = 2,
    Admin = 4,
    Channel = 8,
    /// Administrative properties of a channel.
    Administration = 16,
}

const M: u8 = Level::Message as u8;
const OBJECTS: u8 = Level::Proxy as u8 | Level::Admin as u8 | Level::Channel as u8;
const C: u8 = Level::Channel as u8;
const ADMINISTRATION: u8 = Level::Administration as u8;

/// Type of a property's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Short,
    Long,
    /// `TimeBase::TimeT`, in units of 100 ns.
    Time,
    /// `TimeBase::UtcT`.
    Utc,
    Boolean,
}

struct Row {
    text: &'static str,
    kind: Kind,
    levels: u8,
    low: i64,
    high: i64,
    default: i64,
}

const fn row(text: &'static str, kind: Kind, levels: u8, low: i64, high: i64, default: i64) -> Row {
    Row { text, kind, levels, low, high, default }
}

/// Maximum length of an interval: 24 hours.
const DAY: i64 = 24 * 3600 * 10_000_000;
const LONG_MAX: i64 = i32::MAX as i64;

const TABLE: [Row; COUNT] = [
    row("EventReliability", Kind::Short, M | C, 0, 1, 0),
    row("ConnectionReliability", Kind::Short, OBJECTS, 0, 1, 0),
    row("Priority", Kind::Short, M | OBJECTS, -32767, 32767, 0),
    row("StartTime", Kind::Utc, M, 0, i64::MAX, 0),
    row("StopTime", Kind::Utc, M, 0, i64::MAX, 0),
    row("Timeout", Kind::Time, M | OBJECTS, 0, i64::MAX, 0),
    row("OrderPolicy", Kind::Short, OBJECTS, 0, 3, 2),
    row("DiscardPolicy", Kind::Short, OBJECTS, 0, 4, 0),
    row("MaximumBatchSize", Kind::Long, OBJECTS, 1, LONG_MAX, 1),
    row("PacingInterval", Kind::Time, OBJECTS, 0, DAY, 0),
    row("StartTimeSupported", Kind::Boolean, OBJECTS, 0, 1, 1),
    row("StopTimeSupported", Kind::Boolean, OBJECTS, 0, 1, 1),
    row("MaxEventsPerConsumer", Kind::Long, OBJECTS, 0, LONG_MAX, 0),
    row("MaxQueueLength", Kind::Long, ADMINISTRATION, 0, LONG_MAX, 0),
    row("MaxConsumers", Kind::Long, ADMINISTRATION, 0, LONG_MAX, 0),
    row("MaxSuppliers", Kind::Long, ADMINISTRATION, 0, LONG_MAX, 0),
    row("RejectNewEvents", Kind::Boolean, ADMINISTRATION, 0, 1, 0),
];

/// Capabilities of this service, which depend on its settings and on whether it has a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Support {
    /// Whether there is a store.
    pub(crate) persistent: bool,
    /// Whether the parent object is persistent. An object can be persistent only if its parent is.
    pub(crate) parent_persistent: bool,
    pub(crate) batch: usize,
    pub(crate) queue: usize,
}

impl Support {
    pub(crate) fn of(limits: &Limits, persistent: bool) -> Support {
        Support {
            persistent,
            parent_persistent: true,
            batch: limits.batch,
            queue: limits.queue_events,
        }
    }

    /// Returns the range of a property under these capabilities.
    fn range(self, name: Name) -> (i64, i64) {
        let row = &TABLE[name as usize];
        let high = match name {
            EventReliability | ConnectionReliability if !self.persistent => 0,
            ConnectionReliability if !self.parent_persistent => 0,
            MaximumBatchSize => self.batch as i64,
            MaxEventsPerConsumer => self.queue as i64,
            _ => row.high,
        };
        (row.low, high)
    }
}

/// Values of an object's properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Values {
    level: Level,
    values: [Option<i64>; COUNT],
}

impl Values {
    pub(crate) fn new(level: Level) -> Values {
        Values { level, values: [None; COUNT] }
    }

    /// Returns a copy for an object that is one level below.
    pub(crate) fn inherited(&self, level: Level) -> Values {
        Values { level, values: self.values }
    }

    /// Returns the value that was set or, if none was set, the default.
    pub(crate) fn get(&self, name: Name) -> i64 {
        self.values[name as usize].unwrap_or(TABLE[name as usize].default)
    }

    pub(crate) fn is_set(&self, name: Name, value: i64) -> bool {
        self.get(name) == value
    }

    /// Returns all properties of the object. Those that were not set have their defaults.
    pub(crate) fn properties(&self) -> Vec<Property> {
        let rows = TABLE.iter().enumerate();
        let own = rows.filter(|(_, row)| self.has(row));
        own.map(|(at, row)| Property {
            name: row.text.to_owned(),
            value: value(row.kind, self.values[at].unwrap_or(row.default)),
        })
        .collect()
    }

    /// Applies all properties. If one of them is invalid, applies none.
    pub(crate) fn set(
        &mut self,
        properties: &[Property],
        support: Support,
    ) -> Result<(), Vec<PropertyError>> {
        let mut changed = self.values;
        let mut errors = Vec::new();
        for property in properties {
            match check(self.level, property, support) {
                Ok((name, value)) => changed[name as usize] = Some(value),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        self.values = changed;
        Ok(())
    }

    /// Returns the ranges of those properties of the level that are not in `required`.
    pub(crate) fn others(
        level: Level,
        required: &[Property],
        support: Support,
    ) -> Vec<NamedPropertyRange> {
        let rows = NAMES.into_iter().zip(&TABLE);
        rows.filter(|(_, row)| row.levels & level as u8 != 0)
            .filter(|(_, row)| required.iter().all(|one| one.name != row.text))
            .map(|(name, row)| NamedPropertyRange {
                name: row.text.to_owned(),
                range: range(name, support),
            })
            .collect()
    }

    fn has(&self, row: &Row) -> bool {
        row.levels & self.level as u8 != 0
    }
}

/// Checks properties without applying them.
pub(crate) fn check_all(
    level: Level,
    properties: &[Property],
    support: Support,
) -> Result<(), Vec<PropertyError>> {
    let checked = properties.iter().map(|one| check(level, one, support));
    let errors: Vec<PropertyError> = checked.filter_map(Result::err).collect();
    match errors.is_empty() {
        true => Ok(()),
        false => Err(errors),
    }
}

const NAMES: [Name; COUNT] = [
    EventReliability,
    ConnectionReliability,
    Priority,
    StartTime,
    StopTime,
    Timeout,
    OrderPolicy,
    DiscardPolicy,
    MaximumBatchSize,
    PacingInterval,
    StartTimeSupported,
    StopTimeSupported,
    MaxEventsPerConsumer,
    MaxQueueLength,
    MaxConsumers,
    MaxSuppliers,
    RejectNewEvents,
];

/// Returns the property with the name `text`.
pub(crate) fn named(text: &str) -> Option<Name> {
    let at = TABLE.iter().position(|row| row.text == text)?;
    Some(NAMES[at])
}

fn check(
    level: Level,
    property: &Property,
    support: Support,
) -> Result<(Name, i64), PropertyError> {
    let error = |code, available_range| PropertyError {
        code,
        name: property.name.clone(),
        available_range,
    };
    let none = || PropertyRange { low_val: Any::default(), high_val: Any::default() };
    let Some(name) = named(&property.name) else {
        return Err(error(QoSErrorCode::BadProperty, none()));
    };
    let row = &TABLE[name as usize];
    if row.levels & level as u8 == 0 {
        let code = match (row.levels & ADMINISTRATION != 0) != (level == Level::Administration) {
            true => QoSErrorCode::BadProperty,
            false => QoSErrorCode::UnavailableProperty,
        };
        return Err(error(code, none()));
    }
    let Some(value) = read(row.kind, &property.value) else {
        return Err(error(QoSErrorCode::BadType, range(name, support)));
    };
    let (low, high) = support.range(name);
    match value {
        value if (low..=high).contains(&value) => Ok((name, value)),
        value if (row.low..=row.high).contains(&value) => {
            let code = match name {
                ConnectionReliability if support.persistent => QoSErrorCode::UnavailableValue,
                _ => QoSErrorCode::UnsupportedValue,
            };
            Err(error(code, range(name, support)))
        }
        _ => Err(error(QoSErrorCode::BadValue, range(name, support))),
    }
}

fn range(name: Name, support: Support) -> PropertyRange {
    let kind = TABLE[name as usize].kind;
    let (low, high) = support.range(name);
    PropertyRange { low_val: value(kind, low), high_val: value(kind, high) }
}

/// Reads a property of an event; `None` if the value has the wrong type or is out of range.
pub(crate) fn of_event(name: Name, any: &Any) -> Option<i64> {
    let row = &TABLE[name as usize];
    let value = read(row.kind, any)?;
    (row.low..=row.high).contains(&value).then_some(value)
}

fn read(kind: Kind, any: &Any) -> Option<i64> {
    match kind {
        Kind::Short => any.get::<i16>().ok()?.map(i64::from),
        Kind::Long => any.get::<i32>().ok()?.map(i64::from),
        // A value that exceeds `i64` is mapped to -1, which is outside the range of every time property.
        Kind::Time => Some(i64::try_from(any.get::<u64>().ok()??).unwrap_or(-1)),
        Kind::Utc => Some(i64::try_from(any.get::<UtcT>().ok()??.time).unwrap_or(-1)),
        Kind::Boolean => any.get::<bool>().ok()?.map(i64::from),
    }
}

/// Converts a value to the type of its property. The value was checked against a range that lies within this type.
fn value(kind: Kind, value: i64) -> Any {
    match kind {
        Kind::Short => Any::new(value as i16),
        Kind::Long => Any::new(value as i32),
        Kind::Time => Any::new(value as u64),
        Kind::Utc => Any::new(UtcT { time: value as u64, inacclo: 0, inacchi: 0, tdf: 0 }),
        Kind::Boolean => Any::new(value != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn property(name: &str, value: Any) -> Property {
        Property { name: name.to_owned(), value }
    }

    const SUPPORT: Support =
        Support { persistent: false, parent_persistent: true, batch: 100, queue: 50 };

    fn code(level: Level, name: &str, value: Any) -> Option<QoSErrorCode> {
        let mut values = Values::new(level);
        let before = values.clone();
        let good = property(
            if level == Level::Administration { "MaxConsumers" } else { "MaximumBatchSize" },
            Any::new(5_i32),
        );
        let set = values.set(&[good, property(name, value)], SUPPORT);
        match set {
            Ok(()) => None,
            Err(errors) => {
                assert_eq!(values, before, "nothing is applied");
                assert_eq!(errors.len(), 1);
                Some(errors[0].code)
            }
        }
    }

    #[test]
    fn every_fault_has_its_code() {
        use Level::*;
        use QoSErrorCode::*;
        let table = [
            (Proxy, "Priority", Any::new(7_i16), None),
            (Proxy, "Priority", Any::new(-32768_i16), Some(BadValue)),
            (Proxy, "Priority", Any::new(7_i32), Some(BadType)),
            (Proxy, "Pirority", Any::new(7_i16), Some(BadProperty)),
            (Proxy, "EventReliability", Any::new(0_i16), Some(UnavailableProperty)),
            (Channel, "EventReliability", Any::new(1_i16), Some(UnsupportedValue)),
            (Channel, "EventReliability", Any::new(2_i16), Some(BadValue)),
            (Channel, "MaxConsumers", Any::new(2_i32), Some(BadProperty)),
            (Administration, "MaxConsumers", Any::new(2_i32), None),
            (Administration, "MaxConsumers", Any::new(-2_i32), Some(BadValue)),
            (Administration, "Priority", Any::new(2_i16), Some(BadProperty)),
            (Admin, "OrderPolicy", Any::new(4_i16), Some(BadValue)),
            (Admin, "DiscardPolicy", Any::new(4_i16), None),
            (Admin, "Timeout", Any::new(10_u64), None),
            (Admin, "MaxEventsPerConsumer", Any::new(51_i32), Some(UnsupportedValue)),
            (Admin, "PacingInterval", Any::new(u64::MAX), Some(BadValue)),
        ];
        for (level, name, value, expected) in table {
            let found = code(level, name, value.clone());
            assert_eq!(found, expected, "{level:?} {name} {value:?}");
        }
    }

    #[test]
    fn errors_have_the_range_that_is_available() {
        let mut values = Values::new(Level::Proxy);
        let wrong = property("MaximumBatchSize", Any::new(101_i32));
        let error = values.set(&[wrong], SUPPORT).unwrap_err().remove(0);
        assert_eq!(error.available_range.low_val.get::<i32>(), Ok(Some(1)));
        assert_eq!(error.available_range.high_val.get::<i32>(), Ok(Some(100)));
    }

    #[test]
    fn the_table_is_in_the_order_of_the_names() {
        for (at, name) in NAMES.into_iter().enumerate() {
            assert_eq!(name as usize, at);
            assert_eq!(format!("{name:?}"), TABLE[at].text);
        }
    }
}
