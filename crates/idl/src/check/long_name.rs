//! Definitions whose scoped names are too long.

use crate::diagnostic::{Code, Problem};
use crate::lex::MAX_NAME;

#[derive(Debug)]
pub(crate) struct LongName {
    /// Size of the scoped name.
    pub(crate) octets: usize,
}

impl Problem for LongName {
    fn code(&self) -> Code {
        Code("E0433")
    }

    fn message(&self) -> String {
        format!("a scoped name can have at most {MAX_NAME} octets, this one has {}", self.octets)
    }

    fn help(&self) -> Option<String> {
        Some("shorten the name, or the names of the scopes around it".into())
    }
}
