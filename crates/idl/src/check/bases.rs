//! Rules for the inheritance of interfaces.

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) enum Bases {
    /// Base that is only declared forward so far.
    Incomplete {
        name: String,
        at: Span,
    },
    /// Base named twice in one list.
    Twice {
        name: String,
        at: Span,
    },
    AbstractFromConcrete {
        name: String,
        at: Span,
    },
    UnconstrainedFromLocal {
        name: String,
        at: Span,
    },
    /// More bases than the limit, inherited ones included.
    TooMany {
        limit: usize,
    },
    /// Two bases with different operations or attributes of one name.
    Clash {
        name: String,
        first: (String, Span),
        second: (String, Span),
    },
}

impl Problem for Bases {
    fn code(&self) -> Code {
        Code(match self {
            Bases::Incomplete { .. } => "E0601",
            Bases::Twice { .. } => "E0602",
            Bases::AbstractFromConcrete { .. } => "E0603",
            Bases::UnconstrainedFromLocal { .. } => "E0604",
            Bases::Clash { .. } => "E0605",
            Bases::TooMany { .. } => "E0606",
        })
    }

    fn message(&self) -> String {
        match self {
            Bases::Incomplete { name, .. } => {
                format!("`{name}` cannot be a base before it is defined")
            }
            Bases::Twice { name, .. } => format!("the base `{name}` occurs twice"),
            Bases::AbstractFromConcrete { name, .. } => {
                format!("an abstract interface cannot inherit from `{name}`, which is not abstract")
            }
            Bases::UnconstrainedFromLocal { name, .. } => {
                format!("only local interfaces can inherit from the local interface `{name}`")
            }
            Bases::TooMany { limit } => {
                format!("this inherits from more than {limit} other interfaces")
            }
            Bases::Clash { name, first, second } => {
                format!("`{name}` would be inherited from both `{}` and `{}`", first.0, second.0)
            }
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match self {
            Bases::TooMany { .. } => Vec::new(),
            Bases::Incomplete { at, .. } => vec![(*at, "only declared here".into())],
            Bases::Twice { at, .. } => vec![(*at, "already named here".into())],
            Bases::AbstractFromConcrete { at, .. } | Bases::UnconstrainedFromLocal { at, .. } => {
                vec![(*at, "declared here".into())]
            }
            Bases::Clash { first, second, .. } => vec![
                (first.1, format!("in `{}`", first.0)),
                (second.1, format!("in `{}`", second.0)),
            ],
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Bases::Incomplete { .. } => Some("move its definition before this one".into()),
            Bases::Twice { .. } => Some("name it once".into()),
            Bases::UnconstrainedFromLocal { .. } => {
                Some("write `local interface`, if other processes need not call it".into())
            }
            Bases::Clash { .. } => Some("rename one of them".into()),
            Bases::AbstractFromConcrete { .. } | Bases::TooMany { .. } => None,
        }
    }
}
