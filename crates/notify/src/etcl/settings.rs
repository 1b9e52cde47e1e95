//! Settings of a constraint: language, dialect, and limits.

/// Language of a constraint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Grammar {
    /// The extended trader constraint language of the Notification Service: `EXTENDED_TCL`.
    #[default]
    Extended,
    /// The constraint language `TCL` of the Trading Object Service, which has names of properties but no components.
    Trader,
}

impl Grammar {
    /// Returns the grammar that `create_filter` denotes by `EXTENDED_TCL`, `ETCL` or `TCL`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "EXTENDED_TCL" | "ETCL" => Some(Self::Extended),
            "TCL" => Some(Self::Trader),
            _ => None,
        }
    }

    /// Returns the grammar's name, as returned by the attribute `constraint_grammar`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Extended => "EXTENDED_TCL",
            Self::Trader => "TCL",
        }
    }
}

/// Rules for parsing and evaluating constraints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    /// Rules of the Notification Service's specification.
    #[default]
    Standard,
    /// Rules of TAO's notification service, including its deviations: unknown characters are skipped; `\` remains part
    /// of a name; preferences are accepted and never match; `TCL` means `EXTENDED_TCL`; `$curtime` does not exist; a
    /// name denotes only properties of the filterable body; `exist` with a missing part makes the event not match, even
    /// under `not`; an integer and a double are compared as integers; a division by zero results in 0; `in`, `[i]` and
    /// union labels never match; operands are not checked by the parser. There is one exception: 64-bit integers, which
    /// TAO reads as 0, are read correctly.
    Tao,
}

/// Limits of a constraint and of its evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConstraintLimits {
    /// Maximum length of the text in octets. The parsed constraint takes at most about 100 octets of memory for each
    /// octet of the text; see [`Constraint::octets`](crate::etcl::Constraint::octets).
    pub length: usize,
    /// Maximum nesting depth of parentheses and of other constructs. Each level takes about a kilobyte of stack.
    pub depth: usize,
    /// Maximum number of steps of one evaluation. A step is approximately one node of the constraint, one property, or
    /// one skipped octet of the event. An event that needs more steps does not match.
    pub work: usize,
}

impl Default for ConstraintLimits {
    /// Returns limits of 64 KiB of text, 64 levels, and 16 million steps.
    fn default() -> Self {
        Self { length: 1 << 16, depth: 64, work: 1 << 24 }
    }
}

/// Settings of [`Constraint::parse_with`](crate::etcl::Constraint::parse_with).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Rules for parsing and evaluation.
    pub dialect: Dialect,
    /// Limits of the constraint and of its evaluation.
    pub limits: ConstraintLimits,
}
