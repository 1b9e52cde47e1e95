//! Forward declarations and their definitions.

use super::pragma::prefix_here;
use crate::diagnostic::{Code, Problem, Severity};
use crate::source::Span;

#[derive(Debug)]
pub(crate) enum Forward {
    /// Struct or union without a definition.
    NeverDefined { what: &'static str, name: String },
    /// Interface without a definition.
    InterfaceNeverDefined { name: String },
    /// Valuetype without a definition.
    ValueNeverDefined { name: String },
    /// Forward declaration and definition of different kinds.
    Mismatch { name: String, announced: &'static str, now: &'static str, at: Span },
    /// `#pragma prefix` that changed between forward declaration and definition.
    Prefix { name: String, before: String, now: String, at: Span },
}

impl Problem for Forward {
    fn code(&self) -> Code {
        Code(match self {
            Forward::NeverDefined { .. } => "E0410",
            Forward::InterfaceNeverDefined { .. } => "W0411",
            Forward::ValueNeverDefined { .. } => "W0410",
            Forward::Mismatch { .. } => "E0412",
            Forward::Prefix { .. } => "E0701",
        })
    }

    fn severity(&self) -> Severity {
        match self {
            Forward::InterfaceNeverDefined { .. } | Forward::ValueNeverDefined { .. } => {
                Severity::Warning
            }
            _ => Severity::Error,
        }
    }

    fn message(&self) -> String {
        match self {
            Forward::NeverDefined { what, name } => {
                format!("{what} `{name}` is declared but never defined")
            }
            Forward::InterfaceNeverDefined { name } => {
                format!("interface `{name}` is declared but never defined")
            }
            Forward::ValueNeverDefined { name } => {
                format!("valuetype `{name}` is declared but never defined")
            }
            Forward::Mismatch { name, announced, now, .. } => {
                format!("`{name}` was declared as {announced}, but is {now} here")
            }
            Forward::Prefix { name, .. } => {
                format!("`{name}` was declared under another `#pragma prefix`")
            }
        }
    }

    fn label(&self) -> String {
        match self {
            Forward::NeverDefined { .. } => "its members are unknown".into(),
            Forward::InterfaceNeverDefined { .. } => {
                "references to it can be passed, but not called".into()
            }
            Forward::ValueNeverDefined { .. } => {
                "is treated as an abstract valuetype without operations".into()
            }
            Forward::Mismatch { now, .. } => format!("{now} here"),
            Forward::Prefix { now, .. } => prefix_here(now),
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match self {
            Forward::Mismatch { announced, at, .. } => {
                vec![(*at, format!("declared as {announced}"))]
            }
            Forward::Prefix { before, at, .. } => vec![(*at, prefix_here(before))],
            _ => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Forward::NeverDefined { name, .. } => {
                Some(format!("define `{name}` in the scope that declares it"))
            }
            Forward::InterfaceNeverDefined { .. } | Forward::ValueNeverDefined { .. } => {
                Some("define it, or include the file that does".into())
            }
            Forward::Prefix { .. } => Some("put the pragma before both".into()),
            Forward::Mismatch { .. } => None,
        }
    }
}
