//! A name to which two base interfaces give different meanings.

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) struct Ambiguous {
    pub(crate) name: String,
    /// Full name and place of each meaning.
    pub(crate) candidates: Vec<(String, Span)>,
}

impl Problem for Ambiguous {
    fn code(&self) -> Code {
        Code("E0406")
    }

    fn message(&self) -> String {
        let names: Vec<String> =
            self.candidates.iter().map(|(name, _)| format!("`{name}`")).collect();
        format!("`{}` could be {}", self.name, names.join(" or "))
    }

    fn related(&self) -> Vec<(Span, String)> {
        self.candidates.iter().map(|(name, at)| (*at, format!("`{name}`"))).collect()
    }

    fn help(&self) -> Option<String> {
        let (name, _) = self.candidates.first()?;
        Some(format!("write the full name, for example `::{name}`"))
    }
}
