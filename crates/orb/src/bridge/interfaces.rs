//! Operations whose types a bridge knows.

use std::collections::{HashMap, HashSet};

use crate::{SystemException, SystemExceptionKind};
use oxorb_cdr::{Shape, TcKind, TypeCode, TypeRef};
use oxorb_dynamic::Signature;

/// Interfaces that a bridge or gateway knows: the types of their operations, and which operations carry references.
///
/// Requests of operations without references are passed on undecoded if their octets can be copied into the other
/// message. A bridge finds references in structs, unions, sequences and arrays; not in an `any`, in a valuetype, or in
/// members of exceptions. A gateway finds them there as well.
#[derive(Debug, Default)]
pub struct Interfaces(HashMap<String, HashMap<String, Known>>);

/// Maximum number of interfaces for which a target is asked whether it supports them.
const ASKED: usize = 256;

/// A known operation.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) signature: Signature,
    /// Whether arguments or results carry references outside of anys, valuetypes and exceptions.
    pub(crate) references: bool,
    /// Whether arguments, results or exceptions contain anys or valuetypes, or exceptions carry references.
    hidden: bool,
    /// Whether arguments, results or exceptions contain text.
    pub(crate) searched: bool,
    /// Whether arguments, results or exceptions contain wide text, or anys or valuetypes that may contain it.
    pub(crate) wide: bool,
}

impl Known {
    fn new(signature: Signature) -> Known {
        let params = signature.params.iter().map(|param| &param.ty);
        let values: Vec<_> = params.chain([&signature.returns]).map(TypeCode::as_ref).collect();
        let raised: Vec<_> = signature.raises.iter().map(TypeCode::as_ref).collect();
        let references = any(&values, is_reference);
        let hidden =
            any(&values, is_hidden) || any(&raised, is_hidden) || any(&raised, is_reference);
        let searched = any(&values, is_searched) || any(&raised, is_searched);
        let wide = any(&values, is_wide) || any(&raised, is_wide);
        Known { references, hidden, searched, wide, signature }
    }

    /// Reports whether each message of the operation is decoded by a gateway.
    pub(crate) fn is_decoded(&self) -> bool {
        self.references || self.hidden
    }
}

impl Interfaces {
    /// Adds an interface by its repository id, with all its operations, including inherited ones.
    pub fn add(&mut self, repository_id: &str, operations: impl IntoIterator<Item = Signature>) {
        let known = operations.into_iter().map(|signature| {
            let known = Known::new(signature);
            (known.signature.operation.clone(), known)
        });
        self.0.insert(repository_id.to_owned(), known.collect());
    }

    /// Returns the most derived interface that `is_a` accepts: the one with the most operations. The search ends when
    /// the target does not answer.
    pub(crate) fn most_derived(
        &self,
        mut is_a: impl FnMut(&str) -> Result<bool, SystemException>,
    ) -> Option<&str> {
        let mut known: Vec<_> = self.0.iter().collect();
        known.sort_by_key(|(id, operations)| (std::cmp::Reverse(operations.len()), id.as_str()));
        let ids = known.into_iter().map(|(id, _)| id.as_str());
        for id in ids.take(ASKED) {
            match is_a(id) {
                Ok(true) => return Some(id),
                Err(exception) if is_unanswered(&exception) => return None,
                Ok(false) | Err(_) => {}
            }
        }
        None
    }

    pub(crate) fn has(&self, repository_id: &str) -> bool {
        self.0.contains_key(repository_id)
    }

    /// Returns the names of operations whose types differ between interfaces, if the values of one of these operations
    /// can contain references or text.
    #[cfg(feature = "gateway")]
    pub(crate) fn ambiguous(&self) -> HashSet<String> {
        let mut names: HashMap<&str, (&Known, bool, bool)> = HashMap::new();
        for known in self.0.values().flat_map(HashMap::values) {
            let name = known.signature.operation.as_str();
            let (first, differ, carry) = names.entry(name).or_insert((known, false, false));
            *differ |= first.signature != known.signature;
            *carry |= known.is_decoded() || known.searched;
        }
        let ambiguous = names.into_iter().filter(|(_, (_, differ, carry))| *differ && *carry);
        ambiguous.map(|(name, _)| name.to_owned()).collect()
    }

    pub(crate) fn operation(&self, repository_id: &str, operation: &str) -> Option<&Known> {
        self.0.get(repository_id)?.get(operation)
    }

    /// Returns the interface whose types apply to calls of an object: the one that its reference states, if that has
    /// all operations of the interface that the type of the reference declares, and otherwise the declared interface.
    #[cfg(feature = "gateway")]
    pub(crate) fn of_object<'i>(&self, stated: &'i str, declared: Option<&'i str>) -> &'i str {
        let Some(declared) = declared.filter(|declared| *declared != stated) else {
            return stated;
        };
        let is_derived = match (self.0.get(stated), self.0.get(declared)) {
            (Some(own), Some(base)) => base.iter().all(|(operation, known)| {
                own.get(operation).is_some_and(|own| own.signature == known.signature)
            }),
            // The types of both are unknown.
            (None, None) => true,
            _ => false,
        };
        if is_derived { stated } else { declared }
    }
}

/// Reports whether an exception means that a target does not answer, so that further queries would fail as well.
pub(crate) fn is_unanswered(exception: &SystemException) -> bool {
    let kinds = [
        SystemExceptionKind::CommFailure,
        SystemExceptionKind::Timeout,
        SystemExceptionKind::Transient,
    ];
    kinds.contains(&exception.kind)
}

/// Reports whether values of a type may carry references, also in anys, valuetypes and text.
pub(crate) fn may_carry_references(ty: TypeRef<'_>) -> bool {
    contains(ty, |shape| is_reference(shape) || is_hidden(shape) || is_searched(shape))
}

fn is_reference(shape: Shape<'_>) -> bool {
    matches!(shape, Shape::Named(TcKind::Objref | TcKind::Component | TcKind::Home))
}

/// Reports whether a type has values in which a search of octets may miss a reference: a valuetype may be divided into
/// chunks, and a sender can give the references in an any a form that is not found.
fn is_hidden(shape: Shape<'_>) -> bool {
    matches!(
        shape,
        Shape::Simple(TcKind::Any)
            | Shape::Value { .. }
            | Shape::ValueBox(_)
            | Shape::Named(TcKind::AbstractInterface)
    )
}

fn is_searched(shape: Shape<'_>) -> bool {
    matches!(shape, Shape::String { .. })
}

/// Reports whether a type has values with wide text, or with types that only the values state.
fn is_wide(shape: Shape<'_>) -> bool {
    match shape {
        Shape::Wstring { .. } | Shape::Simple(TcKind::Wchar) => true,
        Shape::Union { discriminator, .. } => contains(discriminator, is_wide),
        shape => is_hidden(shape),
    }
}

fn any(types: &[TypeRef<'_>], wanted: fn(Shape<'_>) -> bool) -> bool {
    types.iter().any(|ty| contains(*ty, wanted))
}

/// Reports whether a type, or a part of it outside of valuetypes, is wanted.
fn contains(ty: TypeRef<'_>, wanted: fn(Shape<'_>) -> bool) -> bool {
    contains_new(ty, wanted, &mut HashSet::new())
}

/// Searches a type as [`contains`] does. `searched` contains the numbers of the types that were searched before in the
/// type code. A type may contain itself, and many types may contain the same type.
fn contains_new(
    ty: TypeRef<'_>,
    wanted: fn(Shape<'_>) -> bool,
    searched: &mut HashSet<usize>,
) -> bool {
    if ty.number().is_some_and(|number| !searched.insert(number)) {
        return false;
    }
    match ty.shape() {
        shape if wanted(shape) => true,
        Shape::Sequence { element, .. } | Shape::Array { element, .. } => {
            contains_new(element, wanted, searched)
        }
        Shape::Alias(content) => contains_new(content, wanted, searched),
        Shape::Struct | Shape::Except | Shape::Union { .. } => {
            ty.members().any(|member| contains_new(member.ty, wanted, searched))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CompletionStatus;

    #[cfg(feature = "gateway")]
    #[test]
    fn an_operation_is_ambiguous_if_its_types_differ_and_can_carry_references() {
        let long = |name: &str| Signature::new(name).returning(TypeCode::LONG);
        let mut interfaces = Interfaces::default();
        interfaces.add("IDL:A:1.0", ["get", "count", "size", "name"].map(long));
        assert!(interfaces.ambiguous().is_empty());
        let others = [
            ("get", TypeCode::OBJECT),
            ("count", TypeCode::LONG),
            ("size", TypeCode::SHORT),
            ("name", TypeCode::STRING),
            ("only", TypeCode::ANY),
        ];
        let others = others.map(|(name, ty)| Signature::new(name).returning(ty));
        interfaces.add("IDL:B:1.0", others);
        let mut ambiguous: Vec<_> = interfaces.ambiguous().into_iter().collect();
        ambiguous.sort();
        assert_eq!(ambiguous, ["get", "name"]);
    }

    #[cfg(feature = "gateway")]
    #[test]
    fn a_declared_interface_applies_unless_the_stated_one_has_its_operations() {
        let get = |ty| Signature::new("get").returning(ty);
        let hear = || Signature::new("hear").with_in("word", TypeCode::STRING);
        let mut interfaces = Interfaces::default();
        interfaces.add("IDL:Base:1.0", [hear()]);
        interfaces.add("IDL:Derived:1.0", [hear(), get(TypeCode::LONG)]);
        interfaces.add("IDL:Other:1.0", [get(TypeCode::OBJECT)]);
        let (base, derived, other) = ("IDL:Base:1.0", "IDL:Derived:1.0", "IDL:Other:1.0");
        let (unknown, foreign) = ("IDL:Unknown:1.0", "IDL:Foreign:1.0");
        for (stated, declared, wanted) in [
            (base, None, base),
            (unknown, None, unknown),
            (base, Some(base), base),
            (derived, Some(base), derived),
            (base, Some(derived), derived),
            (other, Some(derived), derived),
            (unknown, Some(base), base),
            (base, Some(unknown), unknown),
            (foreign, Some(unknown), foreign),
            ("", Some(base), base),
            (base, Some(""), ""),
        ] {
            assert_eq!(interfaces.of_object(stated, declared), wanted, "{stated} {declared:?}");
        }
    }

    #[test]
    fn a_target_that_does_not_answer_is_queried_once() {
        let mut interfaces = Interfaces::default();
        for number in 0..10 {
            let operations = (0..number).map(|at| Signature::new(format!("operation{at}")));
            interfaces.add(&format!("IDL:I{number}:1.0"), operations);
        }
        let mut queried = Vec::new();
        let found = interfaces.most_derived(|id| {
            queried.push(id.to_owned());
            match id {
                "IDL:I9:1.0" => Err(SystemException::no_resources(0, CompletionStatus::No)),
                _ => Ok(id == "IDL:I7:1.0"),
            }
        });
        assert_eq!(found, Some("IDL:I7:1.0"));
        assert_eq!(queried, ["IDL:I9:1.0", "IDL:I8:1.0", "IDL:I7:1.0"]);
        let mut queries = 0;
        let found = interfaces.most_derived(|_| {
            queries += 1;
            Err(SystemException::timeout(0, CompletionStatus::Maybe))
        });
        assert_eq!((found, queries), (None, 1));
    }

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

    #[test]
    fn a_gateway_looks_into_exceptions_valuetypes_anys_and_text() {
        let plain = Signature::attribute_get("x", TypeCode::LONG);
        for (ty, wide) in [
            (TypeCode::STRING, false),
            (TypeCode::WSTRING, true),
            (TypeCode::WCHAR, true),
            (TypeCode::ANY, true),
        ] {
            assert_eq!(Known::new(plain.clone().with_in("a", ty)).wide, wide);
        }
        let raised = TypeCode::exception("IDL:E:1.0", "E", [("who", TypeCode::OBJECT)]);
        for (signature, is_decoded, searched) in [
            (plain.clone(), false, false),
            (plain.clone().raising(raised), true, false),
            (plain.clone().with_in("a", TypeCode::VALUE_BASE), true, false),
            (plain.clone().with_in("a", TypeCode::ANY), true, false),
            (plain.clone().with_out("a", TypeCode::STRING), false, true),
            (plain.with_in("a", TypeCode::OBJECT), true, false),
        ] {
            let known = Known::new(signature);
            assert_eq!((known.is_decoded(), known.searched), (is_decoded, searched), "{known:?}");
        }
    }
}
