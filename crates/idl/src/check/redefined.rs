//! Two declarations of one name in one scope; case is ignored.

use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) struct Redefined {
    pub(crate) name: String,
    pub(crate) what: &'static str,
    pub(crate) earlier: String,
    pub(crate) earlier_what: &'static str,
    pub(crate) at: Span,
    /// Base interface of the earlier declaration.
    pub(crate) base: Option<String>,
}

impl Problem for Redefined {
    fn code(&self) -> Code {
        Code(match &self.base {
            Some(_) => "E0417",
            None if self.name != self.earlier => "E0416",
            None if self.overloads() => "E0418",
            None => "E0403",
        })
    }

    fn message(&self) -> String {
        let (name, earlier, what) = (&self.name, &self.earlier, self.earlier_what);
        if let Some(base) = &self.base {
            return format!("`{name}` is already the name of {what} of the base `{base}`");
        }
        match name == earlier {
            true => format!("`{name}` is already the name of {what} here"),
            false => format!("`{name}` differs from `{earlier}`, {what}, only in case"),
        }
    }

    fn label(&self) -> String {
        match self.what == self.earlier_what {
            true => "declared again".into(),
            false => format!("cannot also be {}", self.what),
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        vec![(self.at, "declared here".into())]
    }

    fn help(&self) -> Option<String> {
        self.overloads().then(|| {
            "IDL has no overloading, and operations cannot be redefined: choose another name".into()
        })
    }
}

impl Redefined {
    fn overloads(&self) -> bool {
        self.what == "an operation" && self.earlier_what == "an operation"
    }
}
