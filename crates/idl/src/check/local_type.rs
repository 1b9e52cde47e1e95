//! Types that cannot leave the process, used where they would have to.

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) struct LocalType {
    /// Local interface that the type is or contains.
    pub(crate) local: String,
    pub(crate) interface: String,
    pub(crate) at: Span,
}

impl Problem for LocalType {
    fn code(&self) -> Code {
        Code("E0611")
    }

    fn message(&self) -> String {
        format!(
            "`{}` is not local, so the local interface `{}` cannot be passed to it",
            self.interface, self.local
        )
    }

    fn label(&self) -> String {
        "references to local objects cannot leave the process".into()
    }

    fn related(&self) -> Vec<(Span, String)> {
        vec![(self.at, "the local interface".into())]
    }

    fn help(&self) -> Option<String> {
        Some(format!("make `{}` local too, or use another type", self.interface))
    }
}
