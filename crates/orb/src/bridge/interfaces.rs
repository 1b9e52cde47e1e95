//! Operations whose types a bridge knows.

use std::collections::{HashMap, HashSet};

use oxorb_cdr::{Shape, TcKind, TypeRef};
use oxorb_dynamic::Signature;

/// Interfaces that a bridge knows: the types of their operations, and which operations carry
/// references.
///
/// Requests of operations without references are passed on undecoded if their octets can be copied into the other
/// message. References are found in structs, unions, sequences and arrays; not in an `any`, in a valuetype, or in
/// members of exceptions.
#[derive(Debug, Default)]
pub struct Interfaces(HashMap<String, HashMap<String, Known>>);

/// Maximum number of interfaces for which a target is asked whether it supports them.
const ASKED: usize = 256;

/// A known operation.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) signature: Signature,
    /// Whether arguments or results carry references.
    pub(crate) references: bool,
}

impl Interfaces {
    /// Adds an interface by its repository id, with all its operations, including inherited ones.
    pub fn add(&mut self, repository_id: &str, operations: impl IntoIterator<Item = Signature>) {
        let known = operations.into_iter().map(|signature| {
            let references = carries_references(&signature);
            let known = Known { signature, references };
            (known.signature.operation.clone(), known)
        });
        self.0.insert(repository_id.to_owned(), known.collect());
    }

    /// Returns the most derived interface that `is_a` accepts: the one with the most operations.
    pub(crate) fn most_derived(&self, mut is_a: impl FnMut(&str) -> bool) -> Option<&str> {
        let mut known: Vec<_> = self.0.iter().collect();
        known.sort_by_key(|(id, operations)| (std::cmp::Reverse(operations.len()), id.as_str()));
        let ids = known.into_iter().map(|(id, _)| id.as_str());
        ids.take(ASKED).find(|id| is_a(id))
    }

    pub(crate) fn has(&self, repository_id: &str) -> bool {
        self.0.contains_key(repository_id)
    }

    pub(crate) fn operation(&self, repository_id: &str, operation: &str) -> Option<&Known> {
        self.0.get(repository_id)?.get(operation)
    }
}

fn carries_references(signature: &Signature) -> bool {
    let params = signature.params.iter().map(|param| &param.ty);
    params.chain([&signature.returns]).any(|ty| carries(ty.as_ref(), &mut HashSet::new()))
}

/// Reports whether values of a type carry references. `searched` contains the numbers of the types that were searched
/// before in the type code. A type may contain itself, and many types may contain the same type.
fn carries(ty: TypeRef<'_>, searched: &mut HashSet<usize>) -> bool {
    if ty.number().is_some_and(|number| !searched.insert(number)) {
        return false;
    }
    match ty.shape() {
        Shape::Named(kind) => matches!(kind, TcKind::Objref | TcKind::Component | TcKind::Home),
        Shape::Sequence { element, .. } | Shape::Array { element, .. } => {
            carries(element, searched)
        }
        Shape::Alias(content) => carries(content, searched),
        Shape::Struct | Shape::Union { .. } => {
            ty.members().any(|member| carries(member.ty, searched))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use oxorb_cdr::TypeCode;

    use super::*;

    #[test]
    fn each_type_is_searched_once() {
        for (leaf, references) in [(TypeCode::OCTET, false), (TypeCode::OBJECT, true)] {
            // Each struct contains the previous one twice, so there are 2^40 ways to the last member.
            let mut ty = TypeCode::OCTET;
            for at in 1..=40 {
                let (id, name) = (format!("IDL:S{at}:1.0"), format!("S{at}"));
                ty = TypeCode::structure(&id, &name, [("a", ty.clone()), ("b", ty)]);
            }
            let ty = TypeCode::structure("IDL:S:1.0", "S", [("deep", ty), ("leaf", leaf)]);
            let mut interfaces = Interfaces::default();
            interfaces.add("IDL:I:1.0", [Signature::attribute_get("x", ty)]);
            let known = interfaces.operation("IDL:I:1.0", "_get_x").unwrap();
            assert_eq!(known.references, references);
        }
    }
}
