//! Search of skeletons for operations by name.

use std::fmt;
use std::str::FromStr;

/// Search of a skeleton for the operation of a request. All kinds find the
/// same; [`Perfect`](OperationLookup::Perfect) takes the same time for any number of
/// operations.
///
/// A request of a client of OxORB to a transient object says where its operation
/// is, and none of these is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OperationLookup {
    /// A perfect hash: one probe, one comparison.
    #[default]
    Perfect,
    /// Names in order, halved until one is left.
    Binary,
    /// Comparison with one name after the other.
    Linear,
}

impl OperationLookup {
    /// All of them.
    pub const ALL: [OperationLookup; 3] =
        [OperationLookup::Perfect, OperationLookup::Binary, OperationLookup::Linear];

    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            OperationLookup::Perfect => "perfect",
            OperationLookup::Binary => "binary",
            OperationLookup::Linear => "linear",
        }
    }
}

impl fmt::Display for OperationLookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for OperationLookup {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = OperationLookup::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| format!("expected perfect, binary or linear, not {text:?}"))
    }
}
