//! Unnamed types where the specification requires a name.

use crate::diagnostic::{Code, Problem, Severity};

/// Position of an unnamed type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    Member,
    Operation,
    Attribute,
}

#[derive(Debug)]
pub(crate) struct Anonymous {
    /// Description of the type: "a sequence", "an array" ...
    pub(crate) what: &'static str,
    pub(crate) position: Position,
    /// Whether the use is deprecated rather than an error: strings, and all members.
    pub(crate) deprecated: bool,
}

impl Problem for Anonymous {
    fn code(&self) -> Code {
        Code(match self.severity() {
            Severity::Warning => "W0613",
            Severity::Error => "E0613",
        })
    }

    fn severity(&self) -> Severity {
        match self.deprecated {
            true => Severity::Warning,
            false => Severity::Error,
        }
    }

    fn message(&self) -> String {
        let what = self.what;
        match self.position {
            Position::Operation if self.deprecated => {
                format!("{what} without a name is in the signature of this operation")
            }
            Position::Attribute if self.deprecated => {
                format!("{what} without a name is the type of this attribute")
            }
            Position::Member => format!("{what} without a name is the type of this member"),
            Position::Operation => format!("operations need a named type, not {what}"),
            Position::Attribute => format!("attributes need a named type, not {what}"),
        }
    }

    fn label(&self) -> String {
        match self.deprecated {
            true => "deprecated, and rejected by some compilers".into(),
            false => "has no name".into(),
        }
    }

    fn help(&self) -> Option<String> {
        Some("name it with a `typedef` before".into())
    }
}
