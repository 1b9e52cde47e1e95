//! Valid IDL that this version does not compile.
//!
//! In an included file it is no error by itself, only where a main file uses
//! what depends on it: a file may include all of `orb.idl` for one typedef.

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) struct NotYet {
    /// In the plural, or in backquotes.
    construct: String,
    /// A name that is used, and where what it means needs the construct.
    through: Option<(String, Span)>,
}

impl NotYet {
    pub(crate) fn new(construct: &str) -> Self {
        NotYet {
            construct: construct.to_owned(),
            through: None,
        }
    }

    pub(crate) fn through(construct: &str, name: String, at: Span) -> Self {
        NotYet {
            construct: construct.to_owned(),
            through: Some((name, at)),
        }
    }
}

impl Problem for NotYet {
    fn code(&self) -> Code {
        Code("E0901")
    }

    fn message(&self) -> String {
        let verb = match self.construct.ends_with('s') {
            true => "are",
            false => "is",
        };
        format!("{} {verb} not supported yet", self.construct)
    }

    fn label(&self) -> String {
        match &self.through {
            Some((name, _)) => format!("`{name}` needs it"),
            None => "valid IDL, but this version cannot compile it".into(),
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match &self.through {
            Some((_, at)) => vec![(*at, "here".into())],
            None => Vec::new(),
        }
    }
}
