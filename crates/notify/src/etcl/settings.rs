//! Settings of a constraint: its language, the rules to follow, and its bounds.

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
    /// Returns the grammar with a name that `create_filter` may be given: `EXTENDED_TCL`, `ETCL` or `TCL`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "EXTENDED_TCL" | "ETCL" => Some(Self::Extended),
            "TCL" => Some(Self::Trader),
            _ => None,
        }
    }

    /// Returns the grammar's name, as the attribute `constraint_grammar` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Extended => "EXTENDED_TCL",
            Self::Trader => "TCL",
        }
    }
}

/// Rules by which constraints are read and evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    /// The Notification Service's specification.
    #[default]
    Standard,
    /// TAO's notification service, its deviations included: unknown characters are skipped; `\` stays part of a name;
    /// preferences are accepted and never match; `TCL` is `EXTENDED_TCL`; there is no `$curtime`; a name finds properties of the
    /// filterable body only; `exist` of something missing is no match, also under `not`; an integer and a double compare as
    /// integers; a division by zero is 0; `in`, `[i]` and union labels never match; operands are not checked when parsing.
    /// Not so what never works there: 64-bit integers, which TAO reads as 0, are read as they are.
    Tao,
}

/// Bounds of a constraint and of its evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Octets of the text. Memory of the compiled constraint is at most about 100 octets for each, see
    /// [`Constraint::octets`](crate::etcl::Constraint::octets).
    pub length: usize,
    /// Levels of parentheses, and of anything nested in another way. Each takes about a kilobyte of stack.
    pub depth: usize,
    /// Steps that one evaluation may take: about one for each node of the constraint, property looked at, and
    /// octet of the event gone past. An event that takes more is not matched.
    pub work: usize,
}

impl Default for Limits {
    /// 64 KiB of text, 64 levels, 16 million steps.
    fn default() -> Self {
        Self { length: 1 << 16, depth: 64, work: 1 << 24 }
    }
}

/// Settings of [`Constraint::parse_with`](crate::etcl::Constraint::parse_with).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// The rules to follow.
    pub dialect: Dialect,
    /// The bounds.
    pub limits: Limits,
}
