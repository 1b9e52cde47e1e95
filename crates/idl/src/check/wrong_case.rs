//! A name whose use differs from its declaration in case.

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) struct WrongCase {
    pub(crate) used: String,
    pub(crate) declared: String,
    pub(crate) at: Span,
}

impl Problem for WrongCase {
    fn code(&self) -> Code {
        Code("E0402")
    }

    fn message(&self) -> String {
        format!("`{}` is declared as `{}`", self.used, self.declared)
    }

    fn label(&self) -> String {
        "differs in case".into()
    }

    fn related(&self) -> Vec<(Span, String)> {
        vec![(self.at, "declared here".into())]
    }

    fn help(&self) -> Option<String> {
        Some(format!("write `{}`", self.declared))
    }
}
