//! Bounds of strings and sequences, dimensions of arrays.

use crate::diagnostic::{Code, Problem};

#[derive(Debug)]
pub(crate) struct Bound {
    /// "the bound of a string" ...
    pub(crate) what: &'static str,
    pub(crate) value: i128,
}

impl Problem for Bound {
    fn code(&self) -> Code {
        Code("E0510")
    }

    fn message(&self) -> String {
        format!("{} cannot be {}", self.what, self.value)
    }

    fn label(&self) -> String {
        "must be from 1 to 4294967295".into()
    }

    fn help(&self) -> Option<String> {
        (self.value == 0 && !self.what.contains("array"))
            .then(|| "for no bound at all leave it out".into())
    }
}
