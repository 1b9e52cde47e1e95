//! Operations whose types a bridge knows.

use std::collections::HashMap;

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
    params.chain([&signature.returns]).any(|ty| carries(ty.as_ref(), &mut Vec::new()))
}

/// Reports whether values of a type carry references. `within` contains the ids of the enclosing types, at which the
/// search stops if a type contains itself.
fn carries<'t>(ty: TypeRef<'t>, within: &mut Vec<&'t str>) -> bool {
    match ty.shape() {
        Shape::Named(kind) => matches!(kind, TcKind::Objref | TcKind::Component | TcKind::Home),
        Shape::Sequence { element, .. } | Shape::Array { element, .. } => carries(element, within),
        Shape::Alias(content) => carries(content, within),
        Shape::Struct | Shape::Union { .. } => {
            let id = ty.id().unwrap_or_default();
            if within.contains(&id) {
                return false;
            }
            within.push(id);
            let found = ty.members().any(|member| carries(member.ty, within));
            within.pop();
            found
        }
        _ => false,
    }
}
