//! Types of events that mean something to a channel, with TAO's values.

/// Any type, or any source: in a filter every event matches it, and in an event every filter.
pub const ANY: i32 = 0;
/// Tells consumers that their supplier ends, by convention between them.
pub const SHUTDOWN: i32 = 1;
/// An event of the time service, by convention.
pub const ACT: i32 = 2;
/// An event of an observer, by convention.
pub const NOTIFICATION: i32 = 3;
/// Dependency: one event after a time. Event: the time is over.
pub const TIMEOUT: i32 = 4;
/// Dependency: an event after each period. Event: another period is over.
pub const INTERVAL_TIMEOUT: i32 = 5;
/// Dependency: an event when nothing was pushed to the consumer for a period. Event: that is so.
pub const DEADLINE_TIMEOUT: i32 = 6;
/// Designator that TAO reserves and does not use.
pub const GLOBAL_DESIGNATOR: i32 = 7;
/// Begins a conjunction: each member has to be met.
pub const CONJUNCTION_DESIGNATOR: i32 = 8;
/// Begins a disjunction: one member has to be met.
pub const DISJUNCTION_DESIGNATOR: i32 = 9;
/// The next filter must not be met.
pub const NEGATION_DESIGNATOR: i32 = 10;
/// Begins a logical and: one event has to meet each member.
pub const LOGICAL_AND_DESIGNATOR: i32 = 11;
/// The next dependency holds masks, the one after it is a filter for what passes them.
pub const BITMASK_DESIGNATOR: i32 = 12;
/// The next dependency holds masks, the one after it values.
pub const MASKED_TYPE_DESIGNATOR: i32 = 13;
/// Met by every event, as in TAO, whose name for it is a filter that does nothing.
pub const NULL_DESIGNATOR: i32 = 14;
/// First type that applications may use.
pub const UNDEFINED: i32 = 16;
