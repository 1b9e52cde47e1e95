use core::fmt;

use super::{Label, Shape, TypeCode, TypeRef, ValueModifier, Visibility};
use crate::TcKind;

impl fmt::Display for TypeCode {
    /// As in IDL: the definition of the type itself, and the names of those it is made of.
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
    /// As in IDL: the definition of the type itself, and the names of those it is made of.
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
                    // A member with several labels is declared after the last of them.
                    let goes_on = members.peek().is_some_and(|next| {
                        !next.name.is_empty()
                            && next.name == member.name
                            && next.ty.mention().to_string() == member.ty.mention().to_string()
                    });
                    if !goes_on {
                        declare(f, member.ty, member.name)?;
                    }
                }
                f.write_str("}")
            }
            Shape::Enum => write!(f, "enum {name} {{ {} }}", self.enumerators().join(", ")),
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
            _ => Mention(*self).fmt(f),
        }
    }
}

/// A type as it is mentioned within another: by its name, if it has one. This is where recursion ends.
struct Mention<'a>(TypeRef<'a>);

impl fmt::Display for Mention<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DEEPEST: usize = 8;
        mention(f, self.0, DEEPEST)
    }
}

/// Sequences and arrays have no names, so a type may contain itself through them alone, or too many of them.
fn mention(f: &mut fmt::Formatter<'_>, ty: TypeRef<'_>, depth: usize) -> fmt::Result {
    let bounded = |f: &mut fmt::Formatter<'_>, bound: Option<u32>| match bound {
        Some(bound) => write!(f, "<{bound}>"),
        None => Ok(()),
    };
    match ty.shape() {
        Shape::Simple(kind) => f.write_str(kind.idl()),
        Shape::String { bound } => {
            f.write_str("string")?;
            bounded(f, bound)
        }
        Shape::Wstring { bound } => {
            f.write_str("wstring")?;
            bounded(f, bound)
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
    /// Its name, or else its repository id.
    pub(crate) fn best_name(self) -> &'a str {
        let names = [self.name(), self.id()];
        let given = names.into_iter().flatten().find(|name| !name.is_empty());
        given.unwrap_or(match self.kind() {
            kind if kind.is_simple() => kind.idl(),
            _ => "<unnamed>",
        })
    }

    /// As it is mentioned within another type: by its name, if it has one.
    pub fn mention(self) -> impl fmt::Display + use<'a> {
        Mention(self)
    }

    /// The element of an array of any number of dimensions, and those as they follow a name in IDL.
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
