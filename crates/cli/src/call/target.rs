//! The interface of an object, and the wanted operation or attribute of it.

use oxorb::{Interface as _, Ref, SystemException, SystemExceptionKind};
use oxorb_dynamic::Signature;
use oxorb_dynamic::json::Plain;
use oxorb_ifr::types::{Interface, Types};
use serde_json::{Value, json};

use super::answer;
use oxorb_terminal::output::{Failed, because};

/// Operation or attribute that the user asked for.
pub(super) struct Wanted<'w> {
    /// Name of the operation or attribute.
    pub(super) name: &'w str,
    /// Whether to write the attribute.
    pub(super) write: bool,
}

impl Wanted<'_> {
    pub(super) fn of(&self, interface: &Interface) -> Option<Signature> {
        let operation = |name: &str| interface.signature(name).cloned();
        match self.write {
            true => operation(&format!("_set_{}", self.name)),
            false => operation(self.name).or_else(|| operation(&format!("_get_{}", self.name))),
        }
    }

    /// Returns the error for an interface that lacks this operation or attribute.
    pub(super) fn missing(&self, interface: &Interface) -> Failed {
        let (scoped, name) = (&interface.scoped_name, self.name);
        if self.write && interface.attribute(name).is_some() {
            return because(format!("{scoped}: the attribute {name} is readonly"));
        }
        if self.write && interface.signature(name).is_some() {
            return because(format!(
                "{scoped}: {name} is an operation, not an attribute: {name} ARG..."
            ));
        }
        let attributes = interface.attributes.iter().map(|known| known.name.as_str());
        if self.write {
            let names: Vec<&str> = attributes.collect();
            let has = suggestion(name, &names);
            return because(format!("{scoped} has no attribute {name}; {has}"));
        }
        let operations = interface.operations.iter();
        let operations = operations
            .map(|known| known.operation.as_str())
            .filter(|known| !known.starts_with('_'));
        let names: Vec<&str> = operations.chain(attributes).collect();
        let has = suggestion(name, &names);
        because(format!("{scoped} has no operation or attribute {name}; {has}"))
    }
}

/// Maximum number of names to list if none is similar to the one given.
const LISTED: usize = 30;

fn suggestion(name: &str, names: &[&str]) -> String {
    match oxorb_idl::closest(name, names.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None if names.is_empty() => "the interface has none".to_owned(),
        None if names.len() > LISTED => {
            format!(
                "the interface has {} and {} more",
                names[..LISTED].join(", "),
                names.len() - LISTED
            )
        }
        None => format!("the interface has {}", names.join(", ")),
    }
}

/// Returns the wanted operation of the object's interface. Calls the object only if its reference does not name the
/// interface.
pub(super) fn find(
    types: &Types,
    object: &Ref,
    given: Option<&str>,
    wanted: &Wanted<'_>,
) -> Result<Signature, Failed> {
    if let Some(name) = given {
        let interface = types.interface(name).map_err(because)?;
        return wanted.of(&interface).ok_or_else(|| wanted.missing(&interface));
    }
    let mut nearest = None;
    let mut look = |id: &str| {
        // An interface that is missing from the IDL is no error: another interface of the object may declare the
        // operation.
        let interface = types.interface(id).ok()?;
        let signature = wanted.of(&interface);
        nearest = Some(interface);
        signature
    };
    if let Some(signature) = look(&object.ior().type_id) {
        return Ok(signature);
    }
    // Query the object as well: the reference's type id may be that of a base interface, and is empty in a `corbaloc:`.
    match object.repository_id() {
        Ok(id) => {
            if let Some(signature) = look(&id) {
                return Ok(signature);
            }
        }
        Err(exception) if is_answer(&exception) => {}
        Err(exception) => return Err(unreachable(exception)),
    }
    for def in types.interfaces() {
        let interface = types.interface_of(def.id).map_err(because)?;
        let Some(signature) = wanted.of(&interface) else {
            continue;
        };
        if object.is_a(&interface.repository_id).map_err(unreachable)? {
            return Ok(signature);
        }
    }
    if nearest.is_none() {
        nearest = supported(types, object)?;
    }
    Err(match nearest {
        Some(interface) => wanted.missing(&interface),
        None => because(format!(
            "the object supports none of the interfaces in the given IDL that have {}; its type id is {:?}",
            wanted.name,
            object.ior().type_id
        )),
    })
}

/// Maximum number of interfaces to query with `_is_a` when an operation is missing.
const ASKED: usize = 64;

/// Returns the supported interface with the largest number of bases, for objects that do not name their interface.
fn supported(types: &Types, object: &Ref) -> Result<Option<Interface>, Failed> {
    let mut found: Option<Interface> = None;
    for def in types.interfaces().take(ASKED) {
        let interface = types.interface_of(def.id).map_err(because)?;
        let more = found.as_ref().is_none_or(|found| interface.ids.len() > found.ids.len());
        if more && object.is_a(&interface.repository_id).map_err(unreachable)? {
            found = Some(interface);
        }
    }
    Ok(found)
}

/// Returns the operation of this name that every object has, which needs no IDL; `None` if there is none.
pub(super) fn implicit(
    object: &Ref,
    operation: &str,
    args: &[String],
) -> Option<Result<Value, Failed>> {
    let answer = match (operation, args) {
        ("_is_a", [id]) => object.is_a(id.trim_matches('"')).map(|yes| json!(yes)),
        ("_is_a", _) => return Some(Err(because("_is_a takes 1 argument, a repository id"))),
        ("_non_existent", []) => object.non_existent().map(|yes| json!(yes)),
        ("_repository_id", []) => object.repository_id().map(|id| json!(id)),
        ("_interface", []) => {
            object.interface().map(|entry| json!(entry.map(|entry| entry.to_ior())))
        }
        _ => return None,
    };
    Some(answer.map_err(unreachable))
}

/// Reports whether the exception shows that the object was reached but does not support such queries.
pub(crate) fn is_answer(exception: &SystemException) -> bool {
    matches!(
        exception.kind,
        SystemExceptionKind::BadOperation
            | SystemExceptionKind::NoImplement
            | SystemExceptionKind::Unknown
            | SystemExceptionKind::IntfRepos
    )
}

/// Returns the error for a query that failed before the call, with the same text as for a failed call.
pub(super) fn unreachable(exception: SystemException) -> Failed {
    answer::told(&exception.into(), &Plain)
}
