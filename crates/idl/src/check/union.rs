//! Unions: discriminators, labels, defaults.

use crate::diagnostic::{Code, Problem, Severity};
use crate::source::Span;

#[derive(Debug)]
pub(crate) enum Union {
    Discriminator { found: String },
    DuplicateLabel { value: String, at: Span },
    TwoDefaults { at: Span },
    SuperfluousDefault { discriminator: String, lenient: bool },
}

impl Problem for Union {
    fn code(&self) -> Code {
        Code(match self {
            Union::Discriminator { .. } => "E0621",
            Union::DuplicateLabel { .. } => "E0622",
            Union::TwoDefaults { .. } => "E0623",
            Union::SuperfluousDefault { lenient: false, .. } => "E0624",
            Union::SuperfluousDefault { lenient: true, .. } => "W0624",
        })
    }

    fn severity(&self) -> Severity {
        match self {
            Union::SuperfluousDefault { lenient: true, .. } => Severity::Warning,
            _ => Severity::Error,
        }
    }

    fn message(&self) -> String {
        match self {
            Union::Discriminator { found } => {
                format!("{found} cannot distinguish the members of a union")
            }
            Union::DuplicateLabel { value, .. } => {
                format!("the label `{value}` selects two members")
            }
            Union::TwoDefaults { .. } => "a union can have at most one `default`".into(),
            Union::SuperfluousDefault { discriminator, .. } => {
                format!("every value of {discriminator} already has a label")
            }
        }
    }

    fn label(&self) -> String {
        match self {
            Union::Discriminator { .. } => {
                "must be an integer type, `char`, `wchar`, `boolean` or an enum".into()
            }
            Union::SuperfluousDefault { .. } => "can never be selected".into(),
            _ => String::new(),
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match self {
            Union::DuplicateLabel { at, .. } | Union::TwoDefaults { at } => {
                vec![(*at, "the first one".into())]
            }
            _ => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Union::SuperfluousDefault { lenient: false, .. } => {
                Some("remove it, or allow it with `--lenient superfluous_default`".into())
            }
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct EmptyUnion {
    pub(crate) name: String,
}

impl Problem for EmptyUnion {
    fn code(&self) -> Code {
        Code("E0620")
    }

    fn message(&self) -> String {
        format!("the union `{}` has no members", self.name)
    }

    fn label(&self) -> String {
        "add a `case`".into()
    }
}
