//! Settings of a constraint: language, dialect, and limits.

/// Language of a constraint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Grammar {
    /// The extended trader constraint language of the Notification Service: `EXTENDED_TCL`.
    #[default]
    Extended,
    /// The constraint language of the Trading Object Service, `TCL`: names of properties, no components.
    Trader,
}

impl Grammar {
    /// Returns the grammar for a name passed to `create_filter`: `EXTENDED_TCL`, `ETCL` or `TCL`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "EXTENDED_TCL" | "ETCL" => Some(Self::Extended),
            "TCL" => Some(Self::Trader),
            _ => None,
        }
    }

    /// Returns the grammar's name, as in the attribute `constraint_grammar`.
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
    /// The Notification Service's specification.
    #[default]
    Standard,
    /// TAO's notification service, including its deviations: unknown characters are skipped; `\` stays part of a name;
    /// preferences are accepted and never match; `TCL` is `EXTENDED_TCL`; `$curtime` does not exist; a name finds only
    /// properties of the filterable body; `exist` of a missing part is no match, even under `not`; an integer and a
    /// double compare as integers; a division by zero is 0; `in`, `[i]` and union labels never match; operands are not
    /// checked when parsing. Exception: 64-bit integers, which TAO reads as 0, are read correctly.
    Tao,
}

/// Limits of a constraint and of its evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConstraintLimits {
    /// Maximum length of the text in octets. The compiled constraint takes at most about 100 octets of memory for each
    /// octet of the text, see [`Constraint::octets`](crate::etcl::Constraint::octets).
    pub length: usize,
    /// Maximum nesting depth of parentheses and of other constructs. Each level takes about a kilobyte of stack.
    pub depth: usize,
    /// Maximum number of steps of one evaluation: about one for each node of the constraint, each property read, and
    /// each skipped octet of the event. An event that needs more does not match.
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
