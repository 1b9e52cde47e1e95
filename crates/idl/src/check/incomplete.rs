//! A struct or union used by value before its definition is complete.

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) struct Incomplete {
    pub(crate) name: String,
    pub(crate) at: Span,
    /// Whether the type is used inside its own definition.
    pub(crate) recursive: bool,
}

impl Problem for Incomplete {
    fn code(&self) -> Code {
        Code(match self.recursive {
            true => "E0614",
            false => "E0612",
        })
    }

    fn message(&self) -> String {
        match self.recursive {
            true => format!("`{}` would contain itself", self.name),
            false => format!("`{}` is declared but not yet defined", self.name),
        }
    }

    fn label(&self) -> String {
        "only a sequence of it is allowed here".into()
    }

    fn related(&self) -> Vec<(Span, String)> {
        vec![(
            self.at,
            match self.recursive {
                true => "inside this definition".into(),
                false => "declared here".into(),
            },
        )]
    }

    fn help(&self) -> Option<String> {
        Some(match self.recursive {
            true => "use a sequence of it, named by a `typedef` after a forward declaration".into(),
            false => format!("move the definition of `{}` before its use", self.name),
        })
    }
}
