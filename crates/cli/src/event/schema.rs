//! Types as the IDL that viewers of recordings read: modules, structs, unions, enums and typedefs.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use oxorb_dynamic::{Label, Shape, TcKind, TypeCode, TypeRef};
use oxorb_idl::print::escaped;

/// Name of the struct around a value that is no struct itself. The struct's CDR equals that of the value.
const WRAPPED: &str = "Value";

/// Type as IDL.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InIdl {
    /// Scoped name of the struct.
    pub(super) name: String,
    /// Declaration of the type, after those of all its member types.
    pub(super) text: String,
}

/// Returns the declaration of a type. `None` if viewers cannot read it in recordings: with references, valuetypes,
/// anys, wide text, fixed-point or long double numbers, or unnamed members. `None` also for a very long
/// declaration.
pub(super) fn idl_of(ty: &TypeCode) -> Option<InIdl> {
    let mut writer = Writer::default();
    let ty = ty.as_ref();
    let name = match ty.resolved().shape() {
        Shape::Struct => writer.mention(ty.resolved())?,
        _ => {
            let (of, dimensions) = writer.declarator(ty)?;
            let _ = writeln!(writer.text, "struct {WRAPPED} {{\n    {of} value{dimensions};\n}};");
            WRAPPED.to_owned()
        }
    };
    Some(InIdl { name: name.trim_start_matches("::").to_owned(), text: writer.text })
}

/// Maximum number of levels of nested types; deeper type codes are not written.
const DEPTH: usize = 64;

/// Maximum length of a declaration in octets. The full name of a type is written for each member that has the type.
const MOST_TEXT: usize = 1 << 20;

#[derive(Default)]
struct Writer {
    text: String,
    declared: BTreeSet<String>,
    depth: usize,
}

impl Writer {
    /// Declares a type if it has a name. Returns the words before a declared name of this type, and the dimensions
    /// after it.
    fn declarator(&mut self, ty: TypeRef<'_>) -> Option<(String, String)> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        let words = match ty.shape() {
            Shape::Array { element, length } => {
                let (of, dimensions) = self.declarator(element)?;
                self.depth -= 1;
                return Some((of, format!("[{length}]{dimensions}")));
            }
            Shape::Simple(
                kind @ (TcKind::Short
                | TcKind::Long
                | TcKind::Ushort
                | TcKind::Ulong
                | TcKind::Float
                | TcKind::Double
                | TcKind::Boolean
                | TcKind::Char
                | TcKind::Octet
                | TcKind::Longlong
                | TcKind::Ulonglong),
            ) => kind.idl().to_owned(),
            Shape::String { bound: None } => "string".to_owned(),
            Shape::String { bound: Some(bound) } => format!("string<{bound}>"),
            Shape::Sequence { element, bound } => {
                let (of, dimensions) = self.declarator(element)?;
                // A sequence of arrays needs a named array type, and the type code contains the array without the alias
                // that named it.
                if !dimensions.is_empty() {
                    return None;
                }
                match bound {
                    None => format!("sequence<{of}>"),
                    Some(bound) => format!("sequence<{of}, {bound}>"),
                }
            }
            Shape::Alias(_) | Shape::Struct | Shape::Enum | Shape::Union { .. } => {
                self.mention(ty)?
            }
            _ => return None,
        };
        self.depth -= 1;
        Some((words, String::new()))
    }

    /// Returns the full name of a named type; declares the type first.
    fn mention(&mut self, ty: TypeRef<'_>) -> Option<String> {
        let scoped = scoped(ty)?;
        let full = format!("::{}", scoped.join("::"));
        if !self.declared.insert(full.clone()) {
            return Some(full);
        }
        let (name, modules) = scoped.split_last()?;
        let body = self.body(ty, name)?;
        if self.text.len() + body.len() > MOST_TEXT {
            return None;
        }
        for module in modules {
            let _ = write!(self.text, "module {module} {{ ");
        }
        self.text.push_str(&body);
        self.text.push_str(&" };".repeat(modules.len()));
        self.text.push('\n');
        Some(full)
    }

    fn body(&mut self, ty: TypeRef<'_>, name: &str) -> Option<String> {
        let mut out = String::new();
        match ty.shape() {
            Shape::Alias(of) => {
                let (of, dimensions) = self.declarator(of)?;
                let _ = write!(out, "typedef {of} {name}{dimensions};");
            }
            Shape::Enum => {
                let names = ty.enumerators().iter();
                let names: Option<Vec<String>> = names.map(|name| identifier(name)).collect();
                let _ = write!(out, "enum {name} {{ {} }};", names?.join(", "));
            }
            Shape::Struct => {
                let _ = writeln!(out, "struct {name} {{");
                for member in ty.members() {
                    let (of, dimensions) = self.declarator(member.ty)?;
                    let _ = writeln!(out, "    {of} {}{dimensions};", identifier(member.name)?);
                    if out.len() > MOST_TEXT {
                        return None;
                    }
                }
                out.push_str("};");
            }
            Shape::Union { discriminator, .. } => {
                let (by, _) = self.declarator(discriminator)?;
                let _ = writeln!(out, "union {name} switch ({by}) {{");
                for member in ty.members() {
                    let label = match member.label? {
                        Label::Default => "default".to_owned(),
                        Label::Value(value) => format!("case {}", label(discriminator, value)?),
                    };
                    let (of, dimensions) = self.declarator(member.ty)?;
                    let name = identifier(member.name)?;
                    let _ = writeln!(out, "    {label}: {of} {name}{dimensions};");
                    if out.len() > MOST_TEXT {
                        return None;
                    }
                }
                out.push_str("};");
            }
            _ => return None,
        }
        Some(out)
    }
}

/// Returns a label as IDL writes it.
fn label(discriminator: TypeRef<'_>, value: i128) -> Option<String> {
    let resolved = discriminator.resolved();
    match resolved.shape() {
        Shape::Enum => {
            let enumerators = resolved.enumerators();
            let name = enumerators.get(usize::try_from(value).ok()?)?;
            let mut scoped = scoped(resolved)?;
            *scoped.last_mut()? = identifier(name)?;
            Some(format!("::{}", scoped.join("::")))
        }
        Shape::Simple(TcKind::Boolean) => {
            Some(if value == 0 { "FALSE" } else { "TRUE" }.to_owned())
        }
        Shape::Simple(TcKind::Char) => {
            let c = char::from_u32(u32::try_from(value).ok()?)?;
            (c.is_ascii_graphic() && !matches!(c, '\'' | '\\')).then(|| format!("'{c}'"))
        }
        Shape::Simple(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Returns the scoped name of a type, whose parts are escaped if they are keywords. If the repository id is an IDL one,
/// the name is taken from it, without its prefix.
fn scoped(ty: TypeRef<'_>) -> Option<Vec<String>> {
    let name = ty.name()?;
    let id = ty.id().and_then(|id| id.strip_prefix("IDL:"));
    let path = id.and_then(|id| id.rsplit_once(':')).map(|(path, _)| path);
    let Some(path) = path.filter(|path| path.rsplit('/').next() == Some(name)) else {
        return Some(vec![identifier(name)?]);
    };
    // A part with a dot belongs to the prefix, because IDL names contain no dots.
    let parts = path.split('/').filter(|part| !part.contains('.'));
    parts.map(identifier).collect()
}

/// Returns a name as IDL declares it; `None` if IDL has no such name.
fn identifier(name: &str) -> Option<String> {
    let mut chars = name.chars();
    let starts = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let is_name = starts && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| escaped(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_stands_after_all_that_it_is_made_of() {
        let text = b"module plant {
            enum Liquid { WATER, OIL };
            typedef double Point[2];
            union Level switch (Liquid) { case WATER: long cm; default: Point at; };
            struct Tank { string<8> name; sequence<Level> levels; Point corners[3]; Liquid kind; };
        };";
        let files = oxorb_idl::source::Memory([("a.idl".into(), text.to_vec())].into());
        let files = oxorb_idl::source::SourceMap::new(files);
        let compiled = oxorb_idl::compile_from(files, &["a.idl"], &Default::default()).unwrap();
        let tank = oxorb_ifr::types::Types::new(compiled.model).by_name("plant::Tank").unwrap();
        let idl = idl_of(&tank).unwrap();
        assert_eq!(idl.name, "plant::Tank");
        let files =
            oxorb_idl::source::Memory([("b.idl".into(), idl.text.clone().into_bytes())].into());
        let files = oxorb_idl::source::SourceMap::new(files);
        let again = oxorb_idl::compile_from(files, &["b.idl"], &Default::default());
        let again =
            again.unwrap_or_else(|failed| panic!("{}\n{}", failed.report.text(false), idl.text));
        let again = oxorb_ifr::types::Types::new(again.model).by_name("plant::Tank").unwrap();
        assert_eq!(again, tank, "{}", idl.text);
    }

    #[test]
    fn keywords_are_escaped_wherever_they_are_names() {
        let text = b"module _local {
            enum _Object { _in, OUTSIDE };
            union _union switch (_Object) { case _in: long _default; default: octet _map; };
            typedef long _Sequence[2];
            struct _switch { _union _case; _Sequence _type; long _typename; string _String; long self; };
        };";
        let ty = |text: &[u8], name: &str| {
            let files = oxorb_idl::source::Memory([("a.idl".into(), text.to_vec())].into());
            let files = oxorb_idl::source::SourceMap::new(files);
            let compiled = oxorb_idl::compile_from(files, &["a.idl"], &Default::default());
            let compiled = compiled.unwrap_or_else(|failed| {
                panic!("{}\n{}", failed.report.text(false), String::from_utf8_lossy(text))
            });
            oxorb_ifr::types::Types::new(compiled.model).by_name(name).unwrap()
        };
        let switch = ty(text, "local::switch");
        let idl = idl_of(&switch).unwrap();
        assert_eq!(idl.name, "_local::_switch");
        assert_eq!(ty(idl.text.as_bytes(), "local::switch"), switch, "{}", idl.text);
    }

    #[test]
    fn what_is_no_struct_is_wrapped_and_what_viewers_cannot_read_is_none() {
        let idl = idl_of(&TypeCode::array(TypeCode::DOUBLE, 3)).unwrap();
        assert_eq!(
            (&*idl.name, &*idl.text),
            ("Value", "struct Value {\n    double value[3];\n};\n")
        );
        for unreadable in [
            TypeCode::WSTRING,
            TypeCode::sequence(TypeCode::ANY),
            TypeCode::structure("IDL:S:1.0", "S", [("not a name", TypeCode::LONG)]),
        ] {
            assert_eq!(idl_of(&unreadable), None);
        }
        let mut deep = TypeCode::LONG;
        for _ in 0..100 {
            deep = TypeCode::sequence(deep);
        }
        assert_eq!(idl_of(&deep), None);
        // The name of the inner type is written for each member.
        let inner =
            TypeCode::structure("IDL:I:1.0", &"x".repeat(1 << 16), [("o", TypeCode::OCTET)]);
        let names: Vec<String> = (0..20).map(|at| format!("m{at}")).collect();
        let members = names.iter().map(|name| (name.as_str(), inner.clone()));
        let long = TypeCode::structure("IDL:L:1.0", "L", members);
        assert!(idl_of(&inner).is_some());
        assert_eq!(idl_of(&long), None);
    }
}
