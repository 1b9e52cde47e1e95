//! Text that every client's code set can carry, for services that keep names of many clients.
//!
//! A client that negotiated ISO 8859-1 cannot receive a character outside of it, and one such entry would make a whole
//! list fail. A servant wrapped by [`servant`] passes text that it sends through [`outgoing`], and text that it
//! receives through [`incoming`]:
//!
//! * For a client in UTF-8 nothing changes.
//! * For a client in ISO 8859-1 each character outside of it is sent as `{U+XXXX}`, with four to six upper-case
//!   hexadecimal digits, and converted back when received. Where the text itself contains such a form, its `{` is sent
//!   as `{U+007B}`.
//!
//! Text that was sent to a client thus converts back to the original. Names as text (`a/b.c`) may be escaped before or
//! after they are parsed.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::Write as _;
use std::sync::Arc;

use oxorb_cdr::{CharSet, Dialect};
use oxorb_object::SystemException;

use crate::{Outcome, Servant, Upcall};

thread_local! {
    /// Code sets of the client whose request this thread serves.
    static CLIENT: Cell<Dialect> = const { Cell::new(NOBODY) };
}

/// Dialect outside of a wrapped servant, which can represent every text.
const NOBODY: Dialect = Dialect { chars: CharSet::Utf8, ..Dialect::GIOP_1_2 };

/// Wraps a servant that calls [`outgoing`] and [`incoming`].
pub fn servant(inner: Arc<dyn Servant>) -> Arc<dyn Servant> {
    Arc::new(Escaping(inner))
}

/// Returns text that the client of the current request can receive; outside of a wrapped servant, the text unchanged.
pub fn outgoing(text: String) -> String {
    match CLIENT.get().chars {
        CharSet::Utf8 => text,
        CharSet::Iso8859_1 => match escaped(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(escaped) => escaped,
        },
    }
}

/// Returns the text that the client of the current request means; outside of a wrapped servant, the text unchanged.
pub fn incoming(text: &str) -> Cow<'_, str> {
    match CLIENT.get().chars {
        CharSet::Utf8 => Cow::Borrowed(text),
        CharSet::Iso8859_1 => unescaped(text),
    }
}

/// Returns the GIOP version and the code sets of the current request; outside of a wrapped servant, those that can
/// represent every text.
pub fn client() -> Dialect {
    CLIENT.get()
}

struct Escaping(Arc<dyn Servant>);

impl Servant for Escaping {
    fn repository_id(&self) -> &str {
        self.0.repository_id()
    }

    fn is_a(&self, id: &str) -> bool {
        self.0.is_a(id)
    }

    fn answer_is_a(&self, id: &str) -> Result<bool, SystemException> {
        self.0.answer_is_a(id)
    }

    fn identity(&self) -> usize {
        self.0.identity()
    }

    fn dispatch(&self, upcall: Upcall<'_>) -> Outcome {
        let _scope = Scope(CLIENT.replace(upcall.arrived.dialect));
        self.0.dispatch(upcall)
    }
}

/// Code sets of the enclosing request, which are restored even after a panic.
struct Scope(Dialect);

impl Drop for Scope {
    fn drop(&mut self) {
        CLIENT.set(self.0);
    }
}

fn escaped(text: &str) -> Cow<'_, str> {
    let needed = |(at, c): (usize, char)| !is_latin(c) || escape_at(&text[at..]).is_some();
    if !text.char_indices().any(needed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(2 * text.len());
    for (at, c) in text.char_indices() {
        match needed((at, c)) {
            // Writing to a string never fails, so the result is ignored.
            true => drop(write!(out, "{{U+{:04X}}}", u32::from(c))),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains("{U+") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (c, octets) = escape_at(rest).unwrap_or((c, c.len_utf8()));
        out.push(c);
        rest = &rest[octets..];
    }
    Cow::Owned(out)
}

fn is_latin(c: char) -> bool {
    u8::try_from(c).is_ok()
}

/// Returns the character that an escape at the start of the text stands for, and the length of the escape in octets.
/// Accepts escapes only in the form that [`escaped`] writes.
fn escape_at(text: &str) -> Option<(char, usize)> {
    let behind = text.strip_prefix("{U+")?;
    let octets = behind.as_bytes();
    let digits = octets.iter().take(7).position(|&octet| octet == b'}')?;
    let hex = octets.get(..digits)?;
    let is_canonical = match digits {
        4 => true,
        5 | 6 => hex[0] != b'0',
        _ => false,
    };
    let is_upper = |digit: &u8| matches!(digit, b'0'..=b'9' | b'A'..=b'F');
    if !is_canonical || !hex.iter().all(is_upper) {
        return None;
    }
    let c = char::from_u32(u32::from_str_radix(behind.get(..digits)?, 16).ok()?)?;
    (!is_latin(c) || c == '{').then_some((c, "{U+}".len() + digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_is_read_back_and_fits() {
        for (text, sent) in [
            ("plain {U+} {U+zzzz} {U+0041}", "plain {U+} {U+zzzz} {U+0041}"),
            ("Grüße", "Grüße"),
            ("жук", "{U+0436}{U+0443}{U+043A}"),
            ("a😀.b", "a{U+1F600}.b"),
            ("{U+0436}", "{U+007B}U+0436}"),
            ("{U+007B}", "{U+007B}U+007B}"),
            ("{{U+0436}ж", "{{U+007B}U+0436}{U+0436}"),
            ("{U+00436}", "{U+00436}"),
            ("{U+D800}", "{U+D800}"),
            ("", ""),
        ] {
            assert_eq!(escaped(text), sent);
            assert_eq!(unescaped(sent), text);
            assert!(sent.chars().all(is_latin));
        }
    }

    #[test]
    fn outside_of_a_request_text_stays_as_it_is() {
        assert_eq!(outgoing("жук".to_owned()), "жук");
        assert_eq!(incoming("{U+0436}"), "{U+0436}");
    }
}
