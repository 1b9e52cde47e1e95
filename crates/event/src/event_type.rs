//! Event types that channels interpret, with TAO's values.

/// Wildcard for the type or the source: in a filter it matches the type or source of every event, in an event that of
/// every filter.
pub const ANY: i32 = 0;
/// Announcement that the supplier ends, by convention between suppliers and consumers.
pub const SHUTDOWN: i32 = 1;
/// An event of the time service, by convention.
pub const ACT: i32 = 2;
/// An event of an observer, by convention.
pub const NOTIFICATION: i32 = 3;
/// Dependency on one event after a time; in an event: that time has passed.
pub const TIMEOUT: i32 = 4;
/// Dependency on an event after each period; in an event: another period has passed.
pub const INTERVAL_TIMEOUT: i32 = 5;
/// Dependency on an event when nothing was pushed to the consumer for a period; in an event: that period has passed.
pub const DEADLINE_TIMEOUT: i32 = 6;
/// Designator that TAO reserves and does not use.
pub const GLOBAL_DESIGNATOR: i32 = 7;
/// Start of a conjunction: events must match all members.
pub const CONJUNCTION_DESIGNATOR: i32 = 8;
/// Start of a disjunction: an event must match one member.
pub const DISJUNCTION_DESIGNATOR: i32 = 9;
/// Negation of the next filter.
pub const NEGATION_DESIGNATOR: i32 = 10;
/// Start of a logical and: one event must match all members.
pub const LOGICAL_AND_DESIGNATOR: i32 = 11;
/// Start of a bitmask: the next dependency holds masks, the one after it is a filter for the events
/// that match them.
pub const BITMASK_DESIGNATOR: i32 = 12;
/// Start of a masked type: the next dependency holds masks, the one after it values.
pub const MASKED_TYPE_DESIGNATOR: i32 = 13;
/// Filter that every event matches, as in TAO, although TAO describes it as a filter that does nothing.
pub const NULL_DESIGNATOR: i32 = 14;
/// First type that applications may use.
pub const UNDEFINED: i32 = 16;
