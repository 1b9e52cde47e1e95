//! Components, ports and homes (CORBA 3.3 part 3, chapter 6).

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) enum ComponentProblem {
    /// Second base; `what` is "a component", "a home" ...
    SecondBase { what: &'static str },
    /// Component that is declared forward only.
    Incomplete { name: String, at: Span },
    /// Port whose type is no interface.
    PortInterface { found: String },
    /// Valuetype that cannot be a primary key.
    PrimaryKey { name: String, why: KeyFault, at: Span },
    /// Home that manages another component than its base does.
    Manages { manages: String, base: String, at: Span },
    /// Derived home with another key than its base.
    OtherKey { at: Span },
}

/// Reason why a valuetype cannot be a primary key.
#[derive(Debug)]
pub(crate) enum KeyFault {
    Abstract,
    Private(String),
    Reference(String),
    NotDerived,
}

impl Problem for ComponentProblem {
    fn code(&self) -> Code {
        Code(match self {
            ComponentProblem::SecondBase { .. } => "E0650",
            ComponentProblem::Incomplete { .. } => "E0651",
            ComponentProblem::PortInterface { .. } => "E0652",
            ComponentProblem::PrimaryKey { .. } => "E0653",
            ComponentProblem::Manages { .. } => "E0654",
            ComponentProblem::OtherKey { .. } => "E0655",
        })
    }

    fn message(&self) -> String {
        match self {
            ComponentProblem::SecondBase { what } => format!("{what} can have at most one base"),
            ComponentProblem::Incomplete { name, .. } => {
                format!("`{name}` is declared but not yet defined")
            }
            ComponentProblem::PortInterface { found } => {
                format!("the type of a port must be an interface or `Object`, not {found}")
            }
            ComponentProblem::PrimaryKey { name, why, .. } => {
                let why = match why {
                    KeyFault::Abstract => "is abstract".into(),
                    KeyFault::Private(member) => format!("has the private member `{member}`"),
                    KeyFault::Reference(member) => {
                        format!("has an object reference in `{member}`")
                    }
                    KeyFault::NotDerived => {
                        "does not inherit from `Components::PrimaryKeyBase`".into()
                    }
                };
                format!("`{name}` cannot be a primary key: it {why}")
            }
            ComponentProblem::Manages { manages, base, .. } => {
                format!("the base manages `{base}`, from which `{manages}` does not inherit")
            }
            ComponentProblem::OtherKey { .. } => {
                "a home must have the primary key of its base, or one derived from it".into()
            }
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match self {
            ComponentProblem::Incomplete { at, .. } => vec![(*at, "declared here".into())],
            ComponentProblem::PrimaryKey { at, .. } => vec![(*at, "declared here".into())],
            ComponentProblem::Manages { at, .. } | ComponentProblem::OtherKey { at } => {
                vec![(*at, "the base".into())]
            }
            _ => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            ComponentProblem::Incomplete { .. } => Some("move its definition before this".into()),
            _ => None,
        }
    }
}
