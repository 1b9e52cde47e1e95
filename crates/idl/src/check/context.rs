//! Rules for the names in `context (...)` (CORBA 3.3 part 1, 7.11.5).

use crate::diagnostic::{Code, Diagnostics, Problem};
use crate::source::Span;

/// Checks a context name: it begins with a letter, and may end with an asterisk, which stands for any suffix.
pub(crate) fn context_name(name: &str, at: Span, out: &mut Diagnostics) {
    let stem = name.strip_suffix('*').unwrap_or(name);
    let begins = stem.starts_with(|c: char| c.is_ascii_alphabetic());
    let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
    if !begins || !stem.chars().all(goes_on) {
        out.push(at, ContextName { name: name.into() });
    }
}

#[derive(Debug)]
struct ContextName {
    name: String,
}

impl Problem for ContextName {
    fn code(&self) -> Code {
        Code("E0617")
    }

    fn message(&self) -> String {
        format!("`{}` cannot be the name of a context property", self.name)
    }

    fn help(&self) -> Option<String> {
        Some(
            "a letter, then letters, digits, `.` and `_`; `*` at the end for all names with this beginning"
                .into(),
        )
    }
}
