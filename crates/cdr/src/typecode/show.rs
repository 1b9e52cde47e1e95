use crate::prelude::*;
use core::fmt::{self, Write as _};
use core::ops::Deref;

use super::{Label, Shape, TypeCode, TypeRef, ValueModifier, Visibility};
use crate::{Printable, TcKind};

impl fmt::Display for TypeCode {
    /// Writes IDL: the definition of the type itself, and the names of its component types.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl fmt::Debug for TypeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypeCode({self})")
    }
}

impl fmt::Debug for TypeRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypeRef({self})")
    }
}

impl fmt::Display for TypeRef<'_> {
    /// Writes IDL: the definition of the type itself, and the names of its component types. Names
    /// are [`Printable`]; after 64 KiB of text, `...` replaces the rest.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bounded(f, format_args!("{}", Definition(*self)))
    }
}

/// Writes the text of a type, possibly from a peer, with limited length and without terminal
/// control characters.
fn bounded(f: &mut fmt::Formatter<'_>, text: fmt::Arguments<'_>) -> fmt::Result {
    let mut shown = Bounded { f, left: MOST_TEXT };
    match shown.write_fmt(text) {
        Err(_) if shown.left == 0 => f.write_str("..."),
        written => written,
    }
}

/// Maximum length of the text of a type, in octets.
const MOST_TEXT: usize = 1 << 16;

struct Bounded<'f, 'o> {
    f: &'f mut fmt::Formatter<'o>,
    left: usize,
}

impl fmt::Write for Bounded<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() > self.left {
            let end = text.floor_char_boundary(self.left);
            self.left = 0;
            write!(self.f, "{}", Printable(&text[..end]))?;
            return Err(fmt::Error);
        }
        self.left -= text.len();
        write!(self.f, "{}", Printable(text))
    }
}

/// Definition of a type, of unlimited length.
struct Definition<'a>(TypeRef<'a>);

impl<'a> Deref for Definition<'a> {
    type Target = TypeRef<'a>;

    fn deref(&self) -> &TypeRef<'a> {
        &self.0
    }
}

impl fmt::Display for Definition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.best_name();
        match self.shape() {
            Shape::Alias(content) => {
                let (element, dimensions) = content.dimensions();
                write!(f, "typedef {} {name}{dimensions}", Mention(element))
            }
            Shape::ValueBox(content) => write!(f, "valuetype {name} {}", Mention(content)),
            Shape::Struct | Shape::Except => {
                write!(f, "{} {name} {{ ", self.kind().idl())?;
                for member in self.members() {
                    declare(f, member.ty, member.name)?;
                }
                f.write_str("}")
            }
            Shape::Union { discriminator, .. } => {
                write!(f, "union {name} switch ({}) {{ ", Mention(discriminator))?;
                let mut members = self.members().peekable();
                while let Some(member) = members.next() {
                    match member.label {
                        Some(Label::Value(label)) => {
                            f.write_str("case ")?;
                            show_label(f, discriminator.resolved(), label)?;
                            f.write_str(": ")?;
                        }
                        _ => f.write_str("default: ")?,
                    }
                    // As in IDL, a member with several labels is declared once, after its last
                    // label.
                    let goes_on = members.peek().is_some_and(|next| {
                        !next.name.is_empty()
                            && next.name == member.name
                            && are_alike(next.ty, member.ty)
                    });
                    if !goes_on {
                        declare(f, member.ty, member.name)?;
                    }
                }
                f.write_str("}")
            }
            Shape::Enum => {
                write!(f, "enum {name} {{ ")?;
                for (at, name) in self.enumerators().iter().enumerate() {
                    f.write_str(if at > 0 { ", " } else { "" })?;
                    f.write_str(name)?;
                }
                f.write_str(" }")
            }
            Shape::Value { modifier, base } => {
                f.write_str(match modifier {
                    ValueModifier::None | ValueModifier::Truncatable => "",
                    ValueModifier::Custom => "custom ",
                    ValueModifier::Abstract => "abstract ",
                })?;
                write!(f, "{} {name} ", self.kind().idl())?;
                if let Some(base) = base {
                    f.write_str(": ")?;
                    if modifier == ValueModifier::Truncatable {
                        f.write_str("truncatable ")?;
                    }
                    write!(f, "{} ", Mention(base))?;
                }
                f.write_str("{ ")?;
                for member in self.members() {
                    f.write_str(match member.visibility {
                        Visibility::Private => "private ",
                        Visibility::Public => "public ",
                    })?;
                    declare(f, member.ty, member.name)?;
                }
                f.write_str("}")
            }
            Shape::Named(kind) => write!(f, "{} {name}", kind.idl()),
            Shape::Array { .. } => {
                let (element, dimensions) = self.dimensions();
                write!(f, "{}{dimensions}", Mention(element))
            }
            _ => Mention(self.0).fmt(f),
        }
    }
}

/// Mention of a type within another: its name, if it has one. Recursive types end here, because a
/// mention does not contain the definition.
struct Mention<'a>(TypeRef<'a>);

impl fmt::Display for Mention<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DEEPEST: usize = 8;
        mention(f, self.0, DEEPEST)
    }
}

/// Writes a mention. The depth is limited, because a type without a name (a sequence or array) can
/// contain itself, or be nested very deeply.
fn mention(f: &mut fmt::Formatter<'_>, ty: TypeRef<'_>, depth: usize) -> fmt::Result {
    let bound_of = |f: &mut fmt::Formatter<'_>, bound: Option<u32>| match bound {
        Some(bound) => write!(f, "<{bound}>"),
        None => Ok(()),
    };
    match ty.shape() {
        Shape::Simple(kind) => f.write_str(kind.idl()),
        Shape::String { bound } => {
            f.write_str("string")?;
            bound_of(f, bound)
        }
        Shape::Wstring { bound } => {
            f.write_str("wstring")?;
            bound_of(f, bound)
        }
        Shape::Fixed { digits, scale } => write!(f, "fixed<{digits}, {scale}>"),
        Shape::Sequence { .. } | Shape::Array { .. } if depth == 0 => f.write_str("..."),
        Shape::Sequence { element, bound } => {
            f.write_str("sequence<")?;
            mention(f, element, depth - 1)?;
            if let Some(bound) = bound {
                write!(f, ", {bound}")?;
            }
            f.write_str(">")
        }
        Shape::Array { .. } => {
            let (element, dimensions) = ty.dimensions();
            mention(f, element, depth - 1)?;
            f.write_str(&dimensions)
        }
        Shape::Open => f.write_str("<still to be defined>"),
        _ => f.write_str(ty.best_name()),
    }
}

/// Reports whether two types have the same mention, as far as that can be determined cheaply.
fn are_alike(one: TypeRef<'_>, other: TypeRef<'_>) -> bool {
    const MOST: usize = 256;
    if one.slot == other.slot {
        return true; // members of one type are in one graph
    }
    let words = [one, other].map(|ty| short(ty, MOST));
    words[0].is_some() && words[0] == words[1]
}

/// Returns the mention of a type if it has at most `most` octets.
fn short(ty: TypeRef<'_>, most: usize) -> Option<String> {
    struct Short(String, usize);

    impl fmt::Write for Short {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            if self.0.len() + text.len() > self.1 {
                return Err(fmt::Error);
            }
            self.0 += text;
            Ok(())
        }
    }

    let mut text = Short(String::new(), most);
    write!(text, "{}", Mention(ty)).ok().map(|()| text.0)
}

fn declare(f: &mut fmt::Formatter<'_>, ty: TypeRef<'_>, name: &str) -> fmt::Result {
    let (element, dimensions) = ty.dimensions();
    write!(f, "{}", Mention(element))?;
    if !name.is_empty() {
        write!(f, " {name}")?;
    }
    write!(f, "{dimensions}; ")
}

fn show_label(f: &mut fmt::Formatter<'_>, discriminator: TypeRef<'_>, label: i128) -> fmt::Result {
    let place = usize::try_from(label).ok();
    match discriminator.kind() {
        TcKind::Boolean => f.write_str(if label == 0 { "FALSE" } else { "TRUE" }),
        TcKind::Char | TcKind::Wchar => {
            let character = u32::try_from(label).ok().and_then(char::from_u32);
            match character {
                Some(character) => write!(f, "{character:?}"),
                None => write!(f, "{label}"),
            }
        }
        TcKind::Enum => match place.and_then(|at| discriminator.enumerators().get(at)) {
            Some(name) if !name.is_empty() => f.write_str(name),
            _ => write!(f, "{label}"),
        },
        _ => write!(f, "{label}"),
    }
}

impl<'a> TypeRef<'a> {
    /// Returns the name, or else the repository id.
    pub(crate) fn best_name(self) -> &'a str {
        let names = [self.name(), self.id()];
        let given = names.into_iter().flatten().find(|name| !name.is_empty());
        given.unwrap_or(match self.kind() {
            kind if kind.is_simple() => kind.idl(),
            _ => "<unnamed>",
        })
    }

    /// Returns the text by which other types mention this one: its name, if it has one. Limited in
    /// length like the definition.
    pub fn mention(self) -> impl fmt::Display + use<'a> {
        fmt::from_fn(move |f| bounded(f, format_args!("{}", Mention(self))))
    }

    /// Returns the element of an array of any number of dimensions, and the dimensions as they
    /// follow a name in IDL.
    fn dimensions(self) -> (Self, String) {
        const MOST: usize = 16;
        let (mut at, mut text) = (self, String::new());
        for _ in 0..MOST {
            let Shape::Array { element, length } = at.shape() else {
                break;
            };
            text += &format!("[{length}]");
            at = element;
        }
        (at, text)
    }
}
