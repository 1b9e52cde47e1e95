//! An exception where a type is needed.

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) struct ExceptionAsType {
    pub(crate) name: String,
    pub(crate) at: Span,
}

impl Problem for ExceptionAsType {
    fn code(&self) -> Code {
        Code("E0408")
    }

    fn message(&self) -> String {
        format!("the exception `{}` is not a type", self.name)
    }

    fn label(&self) -> String {
        "exceptions can only be raised".into()
    }

    fn related(&self) -> Vec<(Span, String)> {
        vec![(self.at, "declared here".into())]
    }

    fn help(&self) -> Option<String> {
        Some("put its members into a struct, and use the struct in both places".into())
    }
}
