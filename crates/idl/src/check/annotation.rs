//! Incorrect use or definition of annotations.

use crate::diagnostic::{Code, Problem, Severity};
use crate::source::Span;

#[derive(Debug)]
pub(crate) enum AnnotationProblem {
    /// Standard annotation without its required value.
    NoValue {
        name: String,
    },
    /// Standard annotation in a place where it has no meaning.
    Misapplied {
        name: String,
        wanted: &'static str,
    },
    /// Standard annotation that CORBA cannot support.
    Vain {
        name: String,
        why: &'static str,
    },
    /// Member that the user's annotation lacks.
    NoMember {
        annotation: String,
        member: String,
        at: Span,
    },
    /// Member without a default that is not set.
    Unset {
        annotation: String,
        member: String,
        at: Span,
    },
    DefinedTwice {
        name: String,
        at: Span,
    },
}

impl Problem for AnnotationProblem {
    fn code(&self) -> Code {
        Code(match self {
            AnnotationProblem::NoValue { .. } => "E0680",
            AnnotationProblem::Misapplied { .. } => "W0681",
            AnnotationProblem::NoMember { .. } => "E0682",
            AnnotationProblem::Unset { .. } => "E0683",
            AnnotationProblem::DefinedTwice { .. } => "E0684",
            AnnotationProblem::Vain { .. } => "W0685",
        })
    }

    fn severity(&self) -> Severity {
        match self {
            AnnotationProblem::Misapplied { .. } | AnnotationProblem::Vain { .. } => {
                Severity::Warning
            }
            _ => Severity::Error,
        }
    }

    fn message(&self) -> String {
        match self {
            AnnotationProblem::NoValue { name } => format!("`@{name}` needs a value"),
            AnnotationProblem::Misapplied { name, .. } => format!("`@{name}` has no meaning here"),
            AnnotationProblem::Vain { name, .. } => format!("`@{name}` has no effect"),
            AnnotationProblem::NoMember { annotation, member, .. } => {
                format!("the annotation `@{annotation}` has no member `{member}`")
            }
            AnnotationProblem::Unset { annotation, member, .. } => {
                format!("`@{annotation}` does not set `{member}`, which has no default")
            }
            AnnotationProblem::DefinedTwice { name, .. } => {
                format!("the annotation `@{name}` is already defined")
            }
        }
    }

    fn label(&self) -> String {
        match self {
            AnnotationProblem::Misapplied { wanted, .. } => format!("it is for {wanted}"),
            AnnotationProblem::Vain { why, .. } => (*why).into(),
            _ => String::new(),
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match self {
            AnnotationProblem::NoMember { at, .. }
            | AnnotationProblem::Unset { at, .. }
            | AnnotationProblem::DefinedTwice { at, .. } => vec![(*at, "defined here".into())],
            _ => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            AnnotationProblem::NoValue { name } => Some(format!("write `@{name}(...)`")),
            _ => None,
        }
    }
}
