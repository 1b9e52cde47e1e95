//! Structs that inherit (IDL 4.2, 7.4.13).

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) enum StructBase {
    Second,
    /// Base that is only declared forward, or being defined.
    Incomplete {
        name: String,
        at: Span,
    },
    MemberTwice {
        name: String,
        at: Span,
    },
    Exception,
}

impl Problem for StructBase {
    fn code(&self) -> Code {
        Code(match self {
            StructBase::Second => "E0640",
            StructBase::Incomplete { .. } => "E0641",
            StructBase::MemberTwice { .. } => "E0642",
            StructBase::Exception => "E0643",
        })
    }

    fn message(&self) -> String {
        match self {
            StructBase::Second => "a struct can have at most one base".into(),
            StructBase::Incomplete { name, .. } => {
                format!("`{name}` cannot be a base before it is defined")
            }
            StructBase::MemberTwice { name, .. } => {
                format!("`{name}` is already the name of a member of the base")
            }
            StructBase::Exception => "an exception cannot inherit".into(),
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match self {
            StructBase::Incomplete { at, .. } => vec![(*at, "not yet defined".into())],
            StructBase::MemberTwice { at, .. } => vec![(*at, "declared here".into())],
            _ => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            StructBase::Second => Some("make the other base a member".into()),
            StructBase::Exception => Some("put the common members into a struct member".into()),
            _ => None,
        }
    }
}
