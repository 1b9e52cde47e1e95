//! A declaration with the name of its enclosing scope.

use crate::diagnostic::{Code, Problem, Severity};
use crate::source::Span;

#[derive(Debug)]
pub(crate) struct LikeScope {
    pub(crate) name: String,
    pub(crate) scope: String,
    pub(crate) scope_what: &'static str,
    pub(crate) at: Span,
    pub(crate) lenient: bool,
}

impl Problem for LikeScope {
    fn code(&self) -> Code {
        Code(if self.lenient { "W0405" } else { "E0405" })
    }

    fn severity(&self) -> Severity {
        match self.lenient {
            true => Severity::Warning,
            false => Severity::Error,
        }
    }

    fn message(&self) -> String {
        let what = self.scope_what;
        let what = what.split_once(' ').map_or(what, |(_, what)| what);
        match self.name == self.scope {
            true => format!("`{}` has the name of the {what} that contains it", self.name),
            false => format!(
                "`{}` differs from the {what} that contains it, `{}`, only in case",
                self.name, self.scope
            ),
        }
    }

    fn label(&self) -> String {
        "choose another name".into()
    }

    fn related(&self) -> Vec<(Span, String)> {
        vec![(self.at, "around it".into())]
    }

    fn help(&self) -> Option<String> {
        (!self.lenient).then(|| "`--lenient named_like_scope` allows it".into())
    }
}
