//! Template modules and their instances.

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) enum TemplateProblem {
    Count {
        template: String,
        wanted: usize,
        found: usize,
        at: Span,
    },
    Kind {
        param: String,
        wanted: String,
        found: String,
        at: Span,
    },
    ParamTwice {
        name: String,
        at: Span,
    },
    /// `sequence<T>` without an earlier parameter `T`.
    UnknownParam {
        name: String,
    },
    /// Name inside a template, used from outside.
    Direct {
        template: String,
        at: Span,
    },
    AliasOutside,
    /// Template that would contain itself.
    Itself {
        template: String,
        at: Span,
    },
    TooMany {
        limit: usize,
    },
    TooLarge {
        limit: usize,
    },
}

impl Problem for TemplateProblem {
    fn code(&self) -> Code {
        Code(match self {
            TemplateProblem::Count { .. } => "E0660",
            TemplateProblem::Kind { .. } => "E0661",
            TemplateProblem::ParamTwice { .. } => "E0662",
            TemplateProblem::UnknownParam { .. } => "E0663",
            TemplateProblem::Direct { .. } => "E0664",
            TemplateProblem::AliasOutside => "E0665",
            TemplateProblem::Itself { .. } => "E0666",
            TemplateProblem::TooMany { .. } | TemplateProblem::TooLarge { .. } => "E0667",
        })
    }

    fn message(&self) -> String {
        match self {
            TemplateProblem::Count { template, wanted, found, .. } => {
                format!("the template `{template}` has {wanted} parameters, not {found}")
            }
            TemplateProblem::Kind { param, wanted, found, .. } => {
                format!("the parameter `{param}` is {wanted}, not {found}")
            }
            TemplateProblem::ParamTwice { name, .. } => {
                format!("two parameters have the name `{name}`")
            }
            TemplateProblem::UnknownParam { name } => {
                format!("there is no earlier parameter `{name}`")
            }
            TemplateProblem::Direct { template, .. } => {
                format!("the contents of the template `{template}` exist only in its instances")
            }
            TemplateProblem::AliasOutside => "`alias` is only allowed in a template module".into(),
            TemplateProblem::Itself { template, .. } => {
                format!("the template `{template}` would contain itself")
            }
            TemplateProblem::TooMany { limit } => {
                format!("instances are nested too deeply, or make more than {limit} definitions")
            }
            TemplateProblem::TooLarge { limit } => {
                format!("the instances of templates have more than {limit} octets in total")
            }
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match self {
            TemplateProblem::Count { at, .. }
            | TemplateProblem::Kind { at, .. }
            | TemplateProblem::Direct { at, .. }
            | TemplateProblem::Itself { at, .. } => vec![(*at, "declared here".into())],
            TemplateProblem::ParamTwice { at, .. } => vec![(*at, "the first one".into())],
            _ => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            TemplateProblem::Direct { template, .. } => Some(format!(
                "instantiate it: `module {template}<...> Name;`, then write `Name::...`"
            )),
            TemplateProblem::AliasOutside => Some("write `module` instead of `alias`".into()),
            _ => None,
        }
    }
}
