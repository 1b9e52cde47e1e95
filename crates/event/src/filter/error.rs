use std::fmt;

/// Why a list of dependencies is no filter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FilterError {
    /// Index of the dependency, counted from 0; the number of dependencies where one is missing at
    /// the end.
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
    /// Dependencies follow that belong to no group. TAO ignores them.
    Trails,
    /// A group declares more members than the list has dependencies, or a negative number.
    Members(i32),
    /// `GLOBAL_DESIGNATOR` and 15: nobody defines what they mean.
    Designator(i32),
    /// A periodic timeout without a period.
    Period,
    /// A periodic timeout with a period below `Limits::period` of the channel; both in units of 100 ns.
    TooShort {
        /// Period that was asked for.
        period: u64,
        /// Least period of the channel.
        least: u64,
    },
    /// More dependencies than `dependencies` of the limits allows.
    Dependencies {
        /// Number that was found.
        found: usize,
        /// Largest number.
        limit: usize,
    },
    /// Deeper than `depth` of the limits allows.
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
