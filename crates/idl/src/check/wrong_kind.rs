//! A name that stands for something else than what is needed.

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) struct WrongKind {
    pub(crate) name: String,
    /// "a type", "an exception" ...
    pub(crate) wanted: &'static str,
    /// "an enumerator" ...
    pub(crate) found: &'static str,
    pub(crate) at: Span,
}

impl Problem for WrongKind {
    fn code(&self) -> Code {
        Code("E0407")
    }

    fn message(&self) -> String {
        format!("`{}` is {}, not {}", self.name, self.found, self.wanted)
    }

    fn label(&self) -> String {
        format!("expected {}", self.wanted)
    }

    fn related(&self) -> Vec<(Span, String)> {
        vec![(self.at, "declared here".into())]
    }
}
