//! Names and their text form (Naming Service 1.3, 2.4).
//!
//! ```text
//! bank/teller.object      two components; the second one has id "teller" and kind "object"
//! a\/b.c\.d               one component: id "a/b", kind "c.d"
//! .object                 no id
//! .                       neither id nor kind
//! ```

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use oxorb::values::Printable;

use crate::cos_naming::NameComponent;

/// A name of one or more components.
///
/// ```
/// use oxorb_naming::Name;
///
/// let name: Name = r"bank/teller\/1.object".parse()?;
/// assert_eq!(name.components()[1].id, "teller/1");
/// assert_eq!(name.components()[1].kind, "object");
/// assert_eq!(name.to_string(), r"bank/teller\/1.object");
/// # Ok::<(), oxorb_naming::InvalidName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(Vec<NameComponent>);

impl Name {
    /// Creates a name from components; `None` if there are no components.
    pub fn new(components: impl Into<Vec<NameComponent>>) -> Option<Name> {
        let components = components.into();
        (!components.is_empty()).then_some(Name(components))
    }

    /// Returns the components, as the operations of naming contexts accept them. Never empty.
    pub fn components(&self) -> &[NameComponent] {
        &self.0
    }

    /// Returns this name with a further component.
    #[must_use]
    pub fn join(&self, component: NameComponent) -> Name {
        let mut components = self.0.clone();
        components.push(component);
        Name(components)
    }

    /// Returns the name without its last component; `None` if it has only one.
    pub fn parent(&self) -> Option<Name> {
        self.first(self.0.len() - 1)
    }

    /// Returns the name of the first `count` components; `None` if `count` is 0 or too large.
    pub fn first(&self, count: usize) -> Option<Name> {
        Name::new(self.0.get(..count)?)
    }
}

/// Values that can be used as a name: a [`Name`], or text in the form of [`Name`]'s `FromStr`.
pub trait AsName {
    /// Returns the name.
    ///
    /// # Errors
    /// The text is not a valid name.
    fn as_name(&self) -> Result<Cow<'_, Name>, InvalidName>;
}

impl AsName for Name {
    fn as_name(&self) -> Result<Cow<'_, Name>, InvalidName> {
        Ok(Cow::Borrowed(self))
    }
}

impl AsName for str {
    fn as_name(&self) -> Result<Cow<'_, Name>, InvalidName> {
        self.parse().map(Cow::Owned)
    }
}

impl AsName for String {
    fn as_name(&self) -> Result<Cow<'_, Name>, InvalidName> {
        self.as_str().as_name()
    }
}

impl<T: AsName + ?Sized> AsName for &T {
    fn as_name(&self) -> Result<Cow<'_, Name>, InvalidName> {
        (**self).as_name()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&stringify(&self.0))
    }
}

impl FromStr for Name {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Name, InvalidName> {
        parse(text).map(Name)
    }
}

/// Returns components in text form, which is empty if there are no components.
pub fn stringify(components: &[NameComponent]) -> String {
    let mut text = String::new();
    for (i, component) in components.iter().enumerate() {
        if i > 0 {
            text.push('/');
        }
        escape(&component.id, &mut text);
        if !component.kind.is_empty() || component.id.is_empty() {
            text.push('.');
            escape(&component.kind, &mut text);
        }
    }
    text
}

fn escape(part: &str, text: &mut String) {
    for c in part.chars() {
        if matches!(c, '/' | '.' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
}

fn parse(text: &str) -> Result<Vec<NameComponent>, InvalidName> {
    let wrong = |at, why| Err(InvalidName { text: text.to_owned(), at, why });
    let mut components = Vec::new();
    let mut current = Component::default();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '/' => match current.finish() {
                Ok(component) => components.push(component),
                Err(why) => return wrong(at, why),
            },
            '.' if current.kind.is_some() => return wrong(at, Malformed::SecondDot),
            '.' => current.kind = Some(String::new()),
            '\\' => match characters.next() {
                Some((_, c @ ('/' | '.' | '\\'))) => current.push(c),
                _ => return wrong(at, Malformed::Escape),
            },
            c => current.push(c),
        }
    }
    match current.finish() {
        Ok(component) => components.push(component),
        Err(_) if text.is_empty() => return wrong(0, Malformed::Empty),
        Err(why) => return wrong(text.len(), why),
    }
    Ok(components)
}

/// State of the component being read.
#[derive(Default)]
struct Component {
    id: String,
    /// Kind, if a dot was read.
    kind: Option<String>,
}

impl Component {
    fn push(&mut self, c: char) {
        self.kind.as_mut().unwrap_or(&mut self.id).push(c);
    }

    /// Ends the component, and begins the next one.
    fn finish(&mut self) -> Result<NameComponent, Malformed> {
        let Component { id, kind } = std::mem::take(self);
        match kind {
            None if id.is_empty() => Err(Malformed::EmptyComponent),
            Some(kind) if kind.is_empty() && !id.is_empty() => Err(Malformed::TrailingDot),
            kind => Ok(NameComponent { id, kind: kind.unwrap_or_default() }),
        }
    }
}

/// Error in the text of a name.
#[derive(Clone, PartialEq, Eq)]
pub struct InvalidName {
    /// Text.
    pub text: String,
    /// Position of the mistake, in octets from the start of the text.
    pub at: usize,
    /// Mistake.
    pub why: Malformed,
}

/// Mistake in the text of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// The text is empty.
    Empty,
    /// A component is empty: between two slashes, before the first, or after the last.
    EmptyComponent,
    /// A dot after an id, without a kind after it.
    TrailingDot,
    /// Two dots in one component.
    SecondDot,
    /// A backslash before a character that needs no escape.
    Escape,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name ")?;
        quoted(&self.text, f)?;
        let why = match self.why {
            Malformed::Empty => return f.write_str("is empty"),
            Malformed::EmptyComponent => {
                "an empty component; one with neither id nor kind is written \".\""
            }
            Malformed::TrailingDot => "a dot without a kind after it; omit the dot",
            Malformed::SecondDot => {
                "a second dot in one component; a dot within id or kind is written \"\\.\""
            }
            Malformed::Escape => "a backslash must precede \"/\", \".\" or \"\\\"",
        };
        write!(f, " is malformed at offset {}: {why}", self.at)
    }
}

/// Writes text of unknown origin in quotes, truncated to 80 characters.
fn quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const SHOWN: usize = 80;
    write!(f, "\"{:.SHOWN$}\"", Printable(text))
}

impl fmt::Debug for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for InvalidName {}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<(String, String)> {
        let name: Name = text.parse().unwrap();
        let parts = name.0.into_iter();
        parts.map(|c| (c.id, c.kind)).collect()
    }

    fn pair(id: &str, kind: &str) -> (String, String) {
        (id.into(), kind.into())
    }

    #[test]
    fn the_examples_of_the_specification() {
        assert_eq!(parts("a/b.c/.d"), [pair("a", ""), pair("b", "c"), pair("", "d")]);
        assert_eq!(parts("a/./c.d/."), [pair("a", ""), pair("", ""), pair("c", "d"), pair("", "")]);
        assert_eq!(parts(r"a\/b/c\.d\\.e"), [pair("a/b", ""), pair(r"c.d\", "e")]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["a", ".", ".k", "a.k", r"\\\/\..\\\/\.", "ä/ö.ü", "./.", "a b/c d"] {
            assert_eq!(text.parse::<Name>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_name_says_where() {
        for (text, at, why) in [
            ("", 0, Malformed::Empty),
            ("/", 0, Malformed::EmptyComponent),
            ("a//b", 2, Malformed::EmptyComponent),
            ("a/", 2, Malformed::EmptyComponent),
            ("a.", 2, Malformed::TrailingDot),
            ("a./b", 2, Malformed::TrailingDot),
            ("a.b.c", 3, Malformed::SecondDot),
            ("..", 1, Malformed::SecondDot),
            (r"a\b", 1, Malformed::Escape),
            ("a\\", 1, Malformed::Escape),
        ] {
            let wrong = text.parse::<Name>().unwrap_err();
            assert_eq!((wrong.at, wrong.why), (at, why), "{text}");
        }
    }

    #[test]
    fn a_message_cannot_control_a_terminal() {
        let wrong = "a\u{1b}[2J//".parse::<Name>().unwrap_err();
        assert!(!wrong.to_string().contains('\u{1b}'));
    }
}
