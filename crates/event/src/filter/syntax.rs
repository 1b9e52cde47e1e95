//! Parser of filters from lists of dependencies, in both syntaxes of TAO's channel.

use super::{Filter, FilterError, FilterErrorKind, FilterLimits, TimeoutKind};
use crate::event_type as designator;
use crate::rtec_event_channel_admin::Dependency;

/// Syntax in which a list of dependencies is parsed (TAO: `-ECFiltering basic`, `prefix`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    /// Prefix syntax if the counts of all groups add up to the length of the list, and basic syntax otherwise, which
    /// ignores counts. A list that is valid in both syntaxes has the same meaning in both. TAO's factory of QoS writes
    /// a count only on request.
    #[default]
    Auto,
    /// A conjunction, disjunction or logical "and" extends to the end of the list, and its count is ignored. There can
    /// be only one.
    Basic,
    /// The source of a group's designator is the number of the group's members. Groups may be nested.
    Prefix,
}

impl Filter {
    /// Parses a filter. An empty list results in [`Filter::NONE`].
    ///
    /// # Errors
    /// [`FilterError`]. The time is linear in the length of the list.
    pub fn parse(
        dependencies: &[Dependency],
        syntax: Syntax,
        limits: &FilterLimits,
    ) -> Result<Filter, FilterError> {
        if dependencies.is_empty() {
            return Ok(Filter::NONE);
        }
        let found = dependencies.len();
        if found > limits.dependencies {
            let limit = limits.dependencies;
            let kind = FilterErrorKind::Dependencies { found, limit };
            return Err(FilterError { at: limit, kind });
        }
        let read = |counted| Reader::new(dependencies, counted).whole(limits);
        match syntax {
            Syntax::Basic => read(false).map_err(|wrong| wrong.0),
            Syntax::Prefix => read(true).map_err(|wrong| wrong.0),
            Syntax::Auto => read(true).or_else(|(why, has_counts)| {
                // If the list is invalid in both syntaxes, report the error for the syntax that its author probably
                // used.
                read(false).map_err(|wrong| if has_counts { why } else { wrong.0 })
            }),
        }
    }
}

struct Reader<'a> {
    list: &'a [Dependency],
    at: usize,
    /// Whether the designators of groups contain the number of members.
    counted: bool,
    /// Whether a group has begun. In basic syntax no second group is permitted.
    grouped: bool,
    /// Whether the designator of some group contained a number of members.
    has_counts: bool,
}

impl<'a> Reader<'a> {
    fn new(list: &'a [Dependency], counted: bool) -> Reader<'a> {
        Reader { list, at: 0, counted, grouped: false, has_counts: false }
    }

    /// Parses the complete list as one filter. An error comes with a flag that tells whether a preceding group has a
    /// count.
    fn whole(mut self, limits: &FilterLimits) -> Result<Filter, (FilterError, bool)> {
        let read = self.filter(limits.depth, limits);
        let read = read.and_then(|filter| match self.at == self.list.len() {
            true => Ok(filter),
            false => Err(self.wrong(FilterErrorKind::Trails)),
        });
        read.map_err(|why| (why, self.has_counts))
    }

    /// Parses one filter, with at most `depth` levels.
    fn filter(&mut self, depth: usize, limits: &FilterLimits) -> Result<Filter, FilterError> {
        if depth == 0 {
            return Err(self.wrong(FilterErrorKind::Depth(limits.depth)));
        }
        let below = depth - 1;
        let header = self.next()?;
        Ok(match header.r#type {
            designator::DISJUNCTION_DESIGNATOR => {
                Filter::Disjunction(self.members(header.source, below, limits)?)
            }
            designator::CONJUNCTION_DESIGNATOR => {
                Filter::Conjunction(self.members(header.source, below, limits)?)
            }
            designator::LOGICAL_AND_DESIGNATOR => {
                Filter::LogicalAnd(self.members(header.source, below, limits)?)
            }
            designator::NEGATION_DESIGNATOR => {
                Filter::Negation(Box::new(self.filter(below, limits)?))
            }
            designator::BITMASK_DESIGNATOR => {
                let masks = self.next()?;
                Filter::Bitmask {
                    type_mask: masks.r#type,
                    source_mask: masks.source,
                    then: Box::new(self.filter(below, limits)?),
                }
            }
            designator::MASKED_TYPE_DESIGNATOR => {
                let (masks, values) = (self.next()?, self.next()?);
                Filter::MaskedType {
                    type_mask: masks.r#type,
                    source_mask: masks.source,
                    type_value: values.r#type,
                    source_value: values.source,
                }
            }
            designator::NULL_DESIGNATOR => Filter::Null,
            designator::TIMEOUT => timeout(TimeoutKind::OneShot, header.creation_time),
            designator::INTERVAL_TIMEOUT => self.periodic(TimeoutKind::Interval, header)?,
            designator::DEADLINE_TIMEOUT => self.periodic(TimeoutKind::Deadline, header)?,
            reserved @ (designator::GLOBAL_DESIGNATOR | 15) => {
                self.at -= 1;
                return Err(self.wrong(FilterErrorKind::Designator(reserved)));
            }
            event_type => Filter::event(event_type, header.source),
        })
    }

    fn members(
        &mut self,
        count: i32,
        below: usize,
        limits: &FilterLimits,
    ) -> Result<Vec<Filter>, FilterError> {
        let mut members = Vec::new();
        self.has_counts |= count != 0;
        if self.counted {
            // Each member takes at least one dependency, so a larger count is invalid. This also limits the loop.
            let left = self.list.len() - self.at;
            let count = match usize::try_from(count) {
                Ok(count) if count <= left => count,
                _ => {
                    self.at -= 1;
                    return Err(self.wrong(FilterErrorKind::Members(count)));
                }
            };
            for _ in 0..count {
                members.push(self.filter(below, limits)?);
            }
            return Ok(members);
        }
        if std::mem::replace(&mut self.grouped, true) {
            self.at -= 1;
            return Err(self.wrong(FilterErrorKind::Trails));
        }
        while self.at < self.list.len() && !is_group(&self.list[self.at]) {
            members.push(self.filter(below, limits)?);
        }
        Ok(members)
    }

    fn periodic(
        &self,
        kind: TimeoutKind,
        header: crate::rtec_event_comm::EventHeader,
    ) -> Result<Filter, FilterError> {
        match header.creation_time {
            0 => Err(FilterError { at: self.at - 1, kind: FilterErrorKind::Period }),
            period => Ok(timeout(kind, period)),
        }
    }

    fn next(&mut self) -> Result<crate::rtec_event_comm::EventHeader, FilterError> {
        let one = self.list.get(self.at);
        let one = one.ok_or_else(|| self.wrong(FilterErrorKind::Ends))?;
        self.at += 1;
        Ok(one.event.header)
    }

    fn wrong(&self, kind: FilterErrorKind) -> FilterError {
        FilterError { at: self.at, kind }
    }
}

fn timeout(kind: TimeoutKind, period: u64) -> Filter {
    Filter::Timeout { kind, period }
}

fn is_group(dependency: &Dependency) -> bool {
    matches!(
        dependency.event.header.r#type,
        designator::CONJUNCTION_DESIGNATOR
            | designator::DISJUNCTION_DESIGNATOR
            | designator::LOGICAL_AND_DESIGNATOR
    )
}
