//! Event types that channels interpret, with the same values as in TAO.

/// Wildcard for the type or the source. In a filter it matches the type or source of every event, and in an event that
/// of every filter.
pub const ANY: i32 = 0;
/// The supplier ends. This is a convention between suppliers and consumers.
pub const SHUTDOWN: i32 = 1;
/// An event of the time service, by convention.
pub const ACT: i32 = 2;
/// An event of an observer, by convention.
pub const NOTIFICATION: i32 = 3;
/// Single timeout. A dependency with this type requests one event after a period. An event with this type means that
/// the period has ended.
pub const TIMEOUT: i32 = 4;
/// Repeated timeout. A dependency with this type requests an event after each period. An event with this type means
/// that a period has ended.
pub const INTERVAL_TIMEOUT: i32 = 5;
/// Deadline. A dependency with this type requests an event whenever nothing was pushed to the consumer for a period. An
/// event with this type means that such a period has ended.
pub const DEADLINE_TIMEOUT: i32 = 6;
/// A designator that TAO reserves but does not use.
pub const GLOBAL_DESIGNATOR: i32 = 7;
/// Start of a conjunction: events must have matched all members.
pub const CONJUNCTION_DESIGNATOR: i32 = 8;
/// Start of a disjunction: an event must match at least one member.
pub const DISJUNCTION_DESIGNATOR: i32 = 9;
/// Negation of the next filter.
pub const NEGATION_DESIGNATOR: i32 = 10;
/// Start of a logical "and": one event must match all members.
pub const LOGICAL_AND_DESIGNATOR: i32 = 11;
/// Start of a bitmask. The next dependency contains the masks, and the following one is a filter for events that match
/// them.
pub const BITMASK_DESIGNATOR: i32 = 12;
/// Start of a masked type. The next dependency contains the masks, and the following one the values.
pub const MASKED_TYPE_DESIGNATOR: i32 = 13;
/// Filter that matches every event. TAO documents it as a filter that does nothing, but it has this effect in TAO too.
pub const NULL_DESIGNATOR: i32 = 14;
/// First type that is available to applications.
pub const UNDEFINED: i32 = 16;
