//! Valid IDL that this version does not compile.

use crate::diagnostic::{Code, Problem};

#[derive(Debug)]
pub(crate) struct NotYet {
    /// In the plural, or in backquotes.
    pub(crate) construct: String,
}

impl Problem for NotYet {
    fn code(&self) -> Code {
        Code("E0901")
    }

    fn message(&self) -> String {
        let verb = if self.construct.ends_with('`') {
            "is"
        } else {
            "are"
        };
        format!("{} {verb} not supported yet", self.construct)
    }

    fn label(&self) -> String {
        "valid IDL, but this version cannot compile it".into()
    }
}
