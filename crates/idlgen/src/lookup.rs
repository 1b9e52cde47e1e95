//! Lookup of operations by name in skeletons.

use std::fmt;
use std::str::FromStr;

/// Algorithm by which a skeleton finds the operation of a request. All kinds return the same result;
/// [`Perfect`](OperationLookup::Perfect) takes the same time for any number of operations.
///
/// Requests of OxORB's clients to transient objects contain the operation's index, and need no lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OperationLookup {
    /// Perfect hash: one probe, one comparison.
    #[default]
    Perfect,
    /// Binary search in sorted names.
    Binary,
    /// Linear search.
    Linear,
}

impl OperationLookup {
    /// All kinds.
    pub const ALL: [OperationLookup; 3] =
        [OperationLookup::Perfect, OperationLookup::Binary, OperationLookup::Linear];

    /// Returns the name on the command line.
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
