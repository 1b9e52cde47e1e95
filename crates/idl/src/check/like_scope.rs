//! A declaration named like the scope it stands in.

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) struct LikeScope {
    pub(crate) name: String,
    pub(crate) scope: String,
    pub(crate) scope_what: &'static str,
    pub(crate) at: Span,
}

impl Problem for LikeScope {
    fn code(&self) -> Code {
        Code("E0405")
    }

    fn message(&self) -> String {
        format!(
            "`{}` has the name of the scope it stands in, {} `{}`",
            self.name, self.scope_what, self.scope
        )
    }

    fn label(&self) -> String {
        "choose another name".into()
    }

    fn related(&self) -> Vec<(Span, String)> {
        vec![(self.at, "the scope around it".into())]
    }
}
