use std::fmt;

/// Reason why a list of dependencies is not a valid filter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FilterError {
    /// Index of the invalid dependency, from 0. If a dependency is missing at the end, it is the length of the list.
    pub at: usize,
    /// Kind of the error.
    pub kind: FilterErrorKind,
}

/// Errors in a list of dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterErrorKind {
    /// The list ends within a group, or after a designator without its operand.
    Ends,
    /// The end of the list contains dependencies that belong to no group. TAO ignores them.
    Trails,
    /// The declared number of members of a group is negative, or exceeds the number of remaining dependencies.
    Members(i32),
    /// The designator is `GLOBAL_DESIGNATOR` or 15, whose meaning is not defined.
    Designator(i32),
    /// A periodic timeout has no period.
    Period,
    /// The period of a timeout is below `Limits::period` of the channel. Both are in units of 100 ns.
    TooShort {
        /// Requested period.
        period: u64,
        /// Minimum period that the channel permits.
        least: u64,
    },
    /// The list has more dependencies than [`FilterLimits`](crate::FilterLimits) permit.
    Dependencies {
        /// Number of dependencies in the list.
        found: usize,
        /// Maximum number.
        limit: usize,
    },
    /// Groups are nested more deeply than [`FilterLimits`](crate::FilterLimits) permit. The value is the limit.
    Depth(usize),
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dependency {}: ", self.at)?;
        match self.kind {
            FilterErrorKind::Ends => f.write_str("the list ends where a filter must follow"),
            FilterErrorKind::Trails => f.write_str(
                "belongs to no group; begin the list with the designator of a group if it contains several filters",
            ),
            FilterErrorKind::Members(n) => {
                write!(f, "a group of {n} members is longer than the list")
            }
            FilterErrorKind::Designator(n) => write!(f, "type {n} is reserved"),
            FilterErrorKind::Period => f.write_str("a periodic timeout needs a period greater than 0"),
            FilterErrorKind::TooShort { period, least } => write!(
                f,
                "a period of {period} x 100 ns is below the channel's minimum of {least} (Limits::period)"
            ),
            FilterErrorKind::Dependencies { found, limit } => write!(
                f,
                "{found} dependencies are more than the limit of {limit} (FilterLimits::dependencies)"
            ),
            FilterErrorKind::Depth(limit) => write!(
                f,
                "groups are nested deeper than the limit of {limit} (FilterLimits::depth)"
            ),
        }
    }
}

impl fmt::Debug for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for FilterError {}
