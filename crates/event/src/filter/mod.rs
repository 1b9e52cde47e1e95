//! Filters of consumers, which are trees of conditions on the type and source of events.
//!
//! This module uses no ORB, clock, thread or lock. A list of dependencies is parsed to a [`Filter`] (`syntax.rs`),
//! which is compiled to a [`Program`] (`program.rs`). A program is applied to one event after the other. `interest.rs`
//! determines the events to which a filter must be applied.

mod error;
mod interest;
mod program;
mod syntax;

pub use error::{FilterError, FilterErrorKind};
pub use interest::{Interest, Key};
pub use program::{Matched, Program, Progress, Trigger};
pub use syntax::Syntax;

use crate::event_type as designator;
use crate::rtec_event_channel_admin::Dependency;
use crate::rtec_event_comm::EventHeader;

/// A condition on events, which the dependencies of a consumer express.
///
/// ```
/// use oxorb_event::{Filter, FilterLimits, Syntax};
///
/// let wanted = Filter::any_of([Filter::event_type(17), Filter::event(18, 3)]);
/// let dependencies = wanted.to_dependencies(0);
/// let limits = FilterLimits::default();
/// assert_eq!(Filter::parse(&dependencies, Syntax::Prefix, &limits)?, wanted);
/// # Ok::<(), oxorb_event::FilterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// An event with this type and source. In the filter and in the event, 0 is a wildcard.
    Event {
        /// `header.type`.
        event_type: i32,
        /// `header.source`.
        source: i32,
    },
    /// An event that matches one of the members.
    Disjunction(Vec<Filter>),
    /// A set of events with one for each member, regardless of other events in between. The consumer gets the events of
    /// the set together, in the order of arrival. An event counts for the first member that it matches. A second event
    /// for the same member is dropped.
    Conjunction(Vec<Filter>),
    /// An event that matches all of the members.
    LogicalAnd(Vec<Filter>),
    /// An event that does not match the member.
    Negation(Box<Filter>),
    /// An event whose type and source each have a bit in common with the masks, and that matches the member.
    Bitmask {
        /// Mask of the type.
        type_mask: i32,
        /// Mask of the source.
        source_mask: i32,
        /// Filter that the event must also match.
        then: Box<Filter>,
    },
    /// An event whose type and source equal these values in the bits of the masks.
    MaskedType {
        /// Mask of the type.
        type_mask: i32,
        /// Mask of the source.
        source_mask: i32,
        /// Value of the masked type.
        type_value: i32,
        /// Value of the masked source.
        source_value: i32,
    },
    /// The end of a period. The first period begins when the consumer connects.
    Timeout {
        /// Whether the timeout is single or repeated.
        kind: TimeoutKind,
        /// Period in units of 100 ns.
        period: u64,
    },
    /// Every event, like [`ALL`](Self::ALL). This is the null designator, which TAO uses as the operand of a bitmask
    /// that needs no further filter. [`NONE`](Self::NONE) is the filter that accepts no event.
    Null,
}

/// Kind of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeoutKind {
    /// A single timeout.
    OneShot,
    /// A timeout at the end of each period.
    Interval,
    /// A timeout at the end of each period in which the consumer received no event.
    Deadline,
}

impl TimeoutKind {
    /// Returns the type of the events that the timeout produces.
    pub const fn event_type(self) -> i32 {
        match self {
            TimeoutKind::OneShot => designator::TIMEOUT,
            TimeoutKind::Interval => designator::INTERVAL_TIMEOUT,
            TimeoutKind::Deadline => designator::DEADLINE_TIMEOUT,
        }
    }
}

/// Limits of a consumer's filter. A larger filter is refused with `TypeError`, and the channel logs which limit it
/// exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterLimits {
    /// Maximum number of dependencies in the list. Default 1,024. Each takes about 50 octets. A dependency on a type
    /// also takes an entry in the index.
    pub dependencies: usize,
    /// Maximum nesting depth of groups. Default 32.
    pub depth: usize,
}

impl Default for FilterLimits {
    fn default() -> Self {
        FilterLimits { dependencies: 1_024, depth: 32 }
    }
}

impl Filter {
    /// Filter that accepts every event.
    pub const ALL: Filter = Filter::event(designator::ANY, designator::ANY);

    /// Filter that accepts no event: a disjunction without members, as in TAO's channel.
    pub const NONE: Filter = Filter::Disjunction(Vec::new());

    /// Returns a filter for events of one type and source; 0 is a wildcard.
    pub const fn event(event_type: i32, source: i32) -> Filter {
        Filter::Event { event_type, source }
    }

    /// Returns a filter for events of one type, from any source.
    pub const fn event_type(event_type: i32) -> Filter {
        Filter::event(event_type, designator::ANY)
    }

    /// Returns a filter for all events of one source.
    pub const fn source(source: i32) -> Filter {
        Filter::event(designator::ANY, source)
    }

    /// Returns a disjunction of the members.
    pub fn any_of(members: impl IntoIterator<Item = Filter>) -> Filter {
        Filter::Disjunction(members.into_iter().collect())
    }

    /// Returns a logical "and" of the members.
    pub fn all_of(members: impl IntoIterator<Item = Filter>) -> Filter {
        Filter::LogicalAnd(members.into_iter().collect())
    }

    /// Returns a conjunction, which waits for one event for each member.
    pub fn each_of(members: impl IntoIterator<Item = Filter>) -> Filter {
        Filter::Conjunction(members.into_iter().collect())
    }

    /// Returns the negation of a filter.
    #[expect(clippy::should_implement_trait, reason = "an operator would hide the designator")]
    pub fn not(member: Filter) -> Filter {
        Filter::Negation(Box::new(member))
    }

    /// Returns a list of dependencies that expresses this filter in prefix syntax. All of them have the handle
    /// `rt_info` of the scheduling service, or 0.
    pub fn to_dependencies(&self, rt_info: i32) -> Vec<Dependency> {
        let mut written = Vec::new();
        self.write(rt_info, &mut written);
        written
    }

    fn write(&self, rt_info: i32, to: &mut Vec<Dependency>) {
        let mut put = |event_type, source, creation_time| {
            let mut one = Dependency::default();
            one.event.header =
                EventHeader { r#type: event_type, source, creation_time, ..EventHeader::default() };
            one.rt_info = rt_info;
            to.push(one);
        };
        match self {
            Filter::Event { event_type, source } => put(*event_type, *source, 0),
            Filter::Disjunction(members) => {
                write_group(designator::DISJUNCTION_DESIGNATOR, members, rt_info, to);
            }
            Filter::Conjunction(members) => {
                write_group(designator::CONJUNCTION_DESIGNATOR, members, rt_info, to);
            }
            Filter::LogicalAnd(members) => {
                write_group(designator::LOGICAL_AND_DESIGNATOR, members, rt_info, to);
            }
            Filter::Negation(member) => {
                put(designator::NEGATION_DESIGNATOR, 0, 0);
                member.write(rt_info, to);
            }
            Filter::Bitmask { type_mask, source_mask, then } => {
                put(designator::BITMASK_DESIGNATOR, 0, 0);
                put(*type_mask, *source_mask, 0);
                then.write(rt_info, to);
            }
            Filter::MaskedType { type_mask, source_mask, type_value, source_value } => {
                put(designator::MASKED_TYPE_DESIGNATOR, 0, 0);
                put(*type_mask, *source_mask, 0);
                put(*type_value, *source_value, 0);
            }
            Filter::Timeout { kind, period } => put(kind.event_type(), 0, *period),
            Filter::Null => put(designator::NULL_DESIGNATOR, 0, 0),
        }
    }
}

fn write_group(designator: i32, members: &[Filter], rt_info: i32, to: &mut Vec<Dependency>) {
    let mut one = Dependency::default();
    one.event.header.r#type = designator;
    one.event.header.source = i32::try_from(members.len()).unwrap_or(i32::MAX);
    one.rt_info = rt_info;
    to.push(one);
    for member in members {
        member.write(rt_info, to);
    }
}

/// Reports whether the type and source of an event match those of a filter. On both sides, 0 matches anything.
pub(crate) fn meets(wanted: (i32, i32), header: &EventHeader) -> bool {
    let one = |wanted: i32, has: i32| wanted == 0 || has == 0 || wanted == has;
    one(wanted.0, header.r#type) && one(wanted.1, header.source)
}
