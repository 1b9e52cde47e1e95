//! A name that gets its meaning in a scope by use and is then declared there with another (CORBA 3.3 part 1, 7.20.2).

use crate::diagnostic::{Code, Problem, Severity};
use crate::source::Span;

#[derive(Debug)]
pub(crate) struct UsedBefore {
    pub(crate) name: String,
    pub(crate) used: String,
    pub(crate) at: Span,
    /// Whether the user's options make it a warning.
    pub(crate) lenient: bool,
    /// Lenient option that makes it a warning, if any.
    pub(crate) option: Option<&'static str>,
}

impl Problem for UsedBefore {
    fn code(&self) -> Code {
        Code(if self.lenient { "W0404" } else { "E0404" })
    }

    fn severity(&self) -> Severity {
        match self.lenient {
            true => Severity::Warning,
            false => Severity::Error,
        }
    }

    fn message(&self) -> String {
        match self.name == self.used {
            true => format!("`{}` already means something else in this scope", self.name),
            false => format!(
                "`{}` differs from `{}`, which was used in this scope, only in case",
                self.name, self.used
            ),
        }
    }

    fn label(&self) -> String {
        "clashes with the name used before".into()
    }

    fn related(&self) -> Vec<(Span, String)> {
        vec![(self.at, "used here with its outer meaning".into())]
    }

    fn help(&self) -> Option<String> {
        let mut help =
            "choose another name, or write the earlier use with its full name, beginning with `::`"
                .to_owned();
        if let (Some(option), false) = (self.option, self.lenient) {
            help += &format!("; `--lenient {option}` allows it, as some compilers do");
        }
        Some(help)
    }
}
