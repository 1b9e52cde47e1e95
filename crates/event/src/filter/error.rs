use std::fmt;

/// Reason for which a list of dependencies is not a valid filter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FilterError {
    /// Index of the dependency, from 0; the length of the list if a dependency is missing at its end.
    pub at: usize,
    /// Mistake in the dependency.
    pub kind: FilterErrorKind,
}

/// Mistakes in a list of dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterErrorKind {
    /// The list ends within a group, or before the operand of a designator.
    Ends,
    /// The list ends with dependencies that belong to no group. TAO ignores such dependencies.
    Trails,
    /// A group declares more members than the list has dependencies, or a negative number.
    Members(i32),
    /// `GLOBAL_DESIGNATOR` or 15, whose meaning is undefined.
    Designator(i32),
    /// A periodic timeout without a period.
    Period,
    /// A periodic timeout with a period below `Limits::period` of the channel; both in units of 100 ns.
    TooShort {
        /// Requested period.
        period: u64,
        /// Shortest period that the channel permits.
        least: u64,
    },
    /// More dependencies than [`FilterLimits`](crate::FilterLimits) allow.
    Dependencies {
        /// Number of dependencies in the list.
        found: usize,
        /// Maximum number.
        limit: usize,
    },
    /// Groups are nested more deeply than [`FilterLimits`](crate::FilterLimits) allow; the value is the limit.
    Depth(usize),
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dependency {}: ", self.at)?;
        match self.kind {
            FilterErrorKind::Ends => f.write_str("the list ends where a filter has to follow"),
            FilterErrorKind::Trails => f.write_str(
                "belongs to no group; begin the list with a designator of a group for several filters",
            ),
            FilterErrorKind::Members(n) => {
                write!(f, "a group of {n} members is longer than the list")
            }
            FilterErrorKind::Designator(n) => write!(f, "type {n} is reserved"),
            FilterErrorKind::Period => f.write_str("a periodic timeout needs a period above 0"),
            FilterErrorKind::TooShort { period, least } => write!(
                f,
                "a period of {period} x 100 ns is below the channel's least of {least} (Limits::period)"
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
