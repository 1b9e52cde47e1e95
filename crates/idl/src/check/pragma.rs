//! Pragmas that set repository ids.

use crate::diagnostic::{Code, Problem, Severity};
use crate::lex::MAX_NAME;
use crate::source::Span;

#[derive(Debug)]
pub(crate) enum PragmaProblem {
    SecondId {
        name: String,
        id: String,
        at: Span,
    },
    VersionAfterId {
        name: String,
        at: Span,
    },
    SecondVersion {
        name: String,
        version: String,
        at: Span,
    },
    /// Module opened again under another prefix; its id has the first one.
    ModulePrefix {
        name: String,
        before: String,
        now: String,
        at: Span,
    },
    /// Repository id in none of the formats `IDL:`, `RMI:`, `DCE:` and `LOCAL:`.
    Format {
        id: String,
    },
    /// Declaration without a repository id.
    NoId {
        name: String,
        found: &'static str,
        at: Span,
    },
    /// Prefix or id that starts with `-`, `_` or `.`.
    Start {
        text: String,
    },
    /// `typeprefix` for a name that is no scope.
    NoScope {
        name: String,
        found: &'static str,
        at: Span,
    },
    /// Second `typeprefix` for a scope.
    SecondPrefix {
        name: String,
        prefix: String,
        at: Span,
    },
    /// `import` of an undeclared name.
    Import {
        name: String,
    },
    /// Repository id or prefix that is too long.
    Long {
        octets: usize,
    },
}

impl Problem for PragmaProblem {
    fn code(&self) -> Code {
        Code(match self {
            PragmaProblem::SecondId { .. } => "E0702",
            PragmaProblem::VersionAfterId { .. } => "E0703",
            PragmaProblem::SecondVersion { .. } => "E0704",
            PragmaProblem::Format { .. } => "W0705",
            PragmaProblem::ModulePrefix { .. } => "W0708",
            PragmaProblem::NoId { .. } => "E0706",
            PragmaProblem::Start { .. } => "E0707",
            PragmaProblem::NoScope { .. } => "E0709",
            PragmaProblem::SecondPrefix { .. } => "E0710",
            PragmaProblem::Import { .. } => "W0711",
            PragmaProblem::Long { .. } => "E0712",
        })
    }

    fn severity(&self) -> Severity {
        match self {
            PragmaProblem::Format { .. }
            | PragmaProblem::ModulePrefix { .. }
            | PragmaProblem::Import { .. } => Severity::Warning,
            _ => Severity::Error,
        }
    }

    fn message(&self) -> String {
        match self {
            PragmaProblem::SecondId { name, id, .. } => {
                format!("the repository id of `{name}` is already set, to `{id}`")
            }
            PragmaProblem::VersionAfterId { name, .. } => {
                format!("the version of `{name}` is part of the repository id that was set")
            }
            PragmaProblem::SecondVersion { name, version, .. } => {
                format!("the version of `{name}` is already set, to {version}")
            }
            PragmaProblem::ModulePrefix { name, .. } => {
                format!("module `{name}` was opened before under another `#pragma prefix`")
            }
            PragmaProblem::Format { id } => {
                format!("`{id}` has none of the known formats of repository ids")
            }
            PragmaProblem::NoId { name, found, .. } => {
                format!("`{name}` is {found} and has no repository id")
            }
            PragmaProblem::Start { text } => {
                format!("`{text}` begins with a character that repository ids cannot begin with")
            }
            PragmaProblem::NoScope { name, found, .. } => {
                format!("`{name}` is {found}, which can contain nothing with a prefix")
            }
            PragmaProblem::SecondPrefix { name, prefix, .. } => {
                format!("the prefix of `{name}` is already set, to \"{prefix}\"")
            }
            PragmaProblem::Import { name } => format!("`{name}` is not declared"),
            PragmaProblem::Long { octets } => format!(
                "a repository id or prefix can have at most {MAX_NAME} octets, this one has {octets}"
            ),
        }
    }

    fn label(&self) -> String {
        match self {
            PragmaProblem::ModulePrefix { now, .. } => prefix_here(now),
            _ => String::new(),
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match self {
            PragmaProblem::ModulePrefix { before, at, .. } => vec![(*at, prefix_here(before))],
            PragmaProblem::SecondId { at, .. }
            | PragmaProblem::VersionAfterId { at, .. }
            | PragmaProblem::SecondVersion { at, .. } => vec![(*at, "set here".into())],
            PragmaProblem::SecondPrefix { at, .. } => vec![(*at, "set here".into())],
            PragmaProblem::NoId { at, .. } | PragmaProblem::NoScope { at, .. } => {
                vec![(*at, "declared here".into())]
            }
            _ => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            PragmaProblem::ModulePrefix { .. } => {
                Some("other compilers may assign another repository id to this declaration".into())
            }
            PragmaProblem::Format { .. } => {
                Some("they have a form such as `IDL:omg.org/CORBA/Object:1.0`".into())
            }
            PragmaProblem::Import { .. } => {
                Some("`#include` the file that does; `import` alone finds nothing".into())
            }
            PragmaProblem::Start { .. } => Some("not with `-`, `_` or `.`".into()),
            _ => None,
        }
    }
}

/// Describes the prefix in force at a place, in a few words.
pub(super) fn prefix_here(prefix: &str) -> String {
    match prefix {
        "" => "no prefix here".into(),
        prefix => format!("prefix \"{prefix}\" here"),
    }
}
