//! The interface of an object, and the part of it that is wanted.

use oxorb::{Interface as _, Ref, SystemException, SystemExceptionKind};
use oxorb_dynamic::Signature;
use oxorb_dynamic::json::Plain;
use oxorb_ifr::types::{Interface, Types};
use serde_json::{Value, json};

use super::answer;
use oxorb_terminal::output::{Failed, because};

/// Operation or attribute that the user wants of the object.
pub(super) struct Wanted<'w> {
    /// An operation, or an attribute.
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

    /// Why an interface does not have it.
    pub(super) fn missing(&self, interface: &Interface) -> Failed {
        let (scoped, name) = (&interface.scoped_name, self.name);
        if self.write && interface.attribute(name).is_some() {
            return because(format!("{scoped}: the attribute {name} is readonly"));
        }
        if self.write && interface.signature(name).is_some() {
            return because(format!(
                "{scoped}: {name} is an operation, no attribute: {name} ARG..."
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

/// Names that are listed at most where none is close to what was typed.
const LISTED: usize = 30;

fn suggestion(name: &str, names: &[&str]) -> String {
    match oxorb_idl::closest(name, names.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None if names.is_empty() => "it has none".to_owned(),
        None if names.len() > LISTED => {
            format!("it has {} and {} more", names[..LISTED].join(", "), names.len() - LISTED)
        }
        None => format!("it has {}", names.join(", ")),
    }
}

/// The wanted operation of the object's interface. Asks the object only if its reference does not say enough.
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
        // An interface that the IDL does not have is no error: another one may do.
        let interface = types.interface(id).ok()?;
        let signature = wanted.of(&interface);
        nearest = Some(interface);
        signature
    };
    if let Some(signature) = look(&object.ior().type_id) {
        return Ok(signature);
    }
    // The type id may be that of a base, or nothing in a corbaloc.
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
            "the object supports no interface of the IDL given that has {}; its type id is {:?}",
            wanted.name,
            object.ior().type_id
        )),
    })
}

/// Interfaces that an object is asked about at most, to explain why it has not what is wanted.
const ASKED: usize = 64;

/// Returns the interface of the object that has most bases, for objects that do not say which one theirs is.
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

/// Operations that every object has; they need no IDL. `None`: it is none of these.
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

/// Whether the object was reached, and only does not answer such questions.
pub(super) fn is_answer(exception: &SystemException) -> bool {
    matches!(
        exception.kind,
        SystemExceptionKind::BadOperation
            | SystemExceptionKind::NoImplement
            | SystemExceptionKind::Unknown
            | SystemExceptionKind::IntfRepos
    )
}

/// The failure of a question that comes before the call; told as that of the call would be.
pub(super) fn unreachable(exception: SystemException) -> Failed {
    answer::told(&exception.into(), &Plain)
}
