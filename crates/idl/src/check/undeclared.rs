//! A name that is used but not declared in any visible scope.

use crate::check::similar::closest;
use crate::diagnostic::{Code, Problem};
use crate::source::Span;

#[derive(Debug)]
pub(crate) struct Undeclared {
    /// Part of the name that was not found.
    pub(crate) name: String,
    /// Scope that was searched, if the name is qualified.
    pub(crate) inside: Option<Inside>,
    pub(crate) meant: Option<String>,
}

/// Scope named by the earlier parts of a scoped name.
#[derive(Debug)]
pub(crate) struct Inside {
    /// Full name of the scope.
    pub(crate) scope: String,
    /// Place where the scope is declared.
    pub(crate) declared: Span,
    /// Outer scope of the same name that does declare the name.
    pub(crate) hidden: Option<String>,
    /// Whether the scope is so far only declared by `interface X;`.
    pub(crate) forward: bool,
}

impl Problem for Undeclared {
    fn code(&self) -> Code {
        Code(match &self.inside {
            None => "E0401",
            Some(inside) if inside.hidden.is_some() => "E0414",
            Some(inside) if inside.forward => "E0415",
            Some(_) => "E0413",
        })
    }

    fn message(&self) -> String {
        match &self.inside {
            Some(inside) => format!("no `{}` in `{}`", self.name, inside.scope),
            None => format!("`{}` is not declared", self.name),
        }
    }

    fn label(&self) -> String {
        match &self.inside {
            Some(_) => "not declared there, or declared only later".into(),
            None => "not declared, or declared only later".into(),
        }
    }

    fn related(&self) -> Vec<(Span, String)> {
        match &self.inside {
            Some(inside) if inside.forward => {
                vec![(inside.declared, format!("`{}` is not yet defined here", inside.scope))]
            }
            Some(inside) => vec![(inside.declared, format!("this is `{}`", inside.scope))],
            None => Vec::new(),
        }
    }

    fn help(&self) -> Option<String> {
        if let Some(Inside { hidden: Some(hidden), scope, .. }) = &self.inside {
            return Some(format!("`{scope}` hides the outer one: write `::{hidden}`"));
        }
        if self.inside.is_none() && self.name == "CORBA" {
            return Some("add `#include <orb.idl>`".into());
        }
        let unqualified = self.inside.is_none().then_some(self.name.as_str());
        if let Some(ty) = unqualified.and_then(type_of_other_language) {
            return Some(format!("IDL has no type `{}`: write `{ty}`", self.name));
        }
        let meant = self.meant.as_deref();
        let meant = meant.or_else(|| closest(unqualified?, BASIC_TYPES.iter().copied()));
        meant.map(|meant| format!("did you mean `{meant}`?"))
    }
}

/// Keywords that are types, or begin one.
const BASIC_TYPES: [&str; 16] = [
    "any", "boolean", "char", "double", "fixed", "float", "long", "Object", "octet", "sequence",
    "short", "string", "unsigned", "void", "wchar", "wstring",
];

/// Returns the type of IDL for the name of a basic type in C, C++, Java, Protocol Buffers or Rust.
fn type_of_other_language(name: &str) -> Option<&'static str> {
    Some(match name {
        "bool" => "boolean",
        "byte" | "u8" | "uint8_t" => "octet",
        "i16" | "int16_t" => "short",
        "u16" | "uint16_t" => "unsigned short",
        "int" | "i32" | "int32_t" => "long",
        "uint" | "u32" | "uint32_t" => "unsigned long",
        "i64" | "int64_t" => "long long",
        "u64" | "uint64_t" | "size_t" => "unsigned long long",
        "f32" => "float",
        "f64" => "double",
        "str" => "string",
        "vector" | "list" => "sequence<TYPE>",
        _ => return None,
    })
}
