//! Description of an object by its gateway.

use oxorb_dynamic::json::{Plain, type_from_json};
use oxorb_dynamic::{Direction, Signature, TypeCode};
use oxorb_ifr::types::{Attribute, Interface};
use serde_json::Value;

use super::json::{check, elements, member, members};

/// Converts the description of an object to its interface. Exceptions are left out, because answers contain all that is
/// known of them.
///
/// # Errors
/// The text is no description.
pub(super) fn interface(text: &str) -> Result<Interface, String> {
    check(text)?;
    read(text).ok_or_else(|| {
        "the answer is not the description of an object of an HTTP gateway".to_owned()
    })
}

fn read(text: &str) -> Option<Interface> {
    let object = members(text)?;
    let ids: Vec<String> = parsed(&object, "ids")?;
    let mut interface = Interface {
        scoped_name: parsed(&object, "interface")?,
        repository_id: ids.first()?.clone(),
        ids,
        operations: Vec::new(),
        attributes: Vec::new(),
    };
    for operation in elements(member(&object, "operations")?)? {
        interface.operations.push(signature(operation)?);
    }
    for attribute in elements(member(&object, "attributes")?)? {
        let object = members(attribute)?;
        let readonly: bool = parsed(&object, "readonly")?;
        let attribute = name(&object)?;
        let ty = type_of(member(&object, "type")?);
        if !readonly {
            interface.operations.push(Signature::attribute_set(&attribute, ty.clone()));
        }
        interface.operations.push(Signature::attribute_get(&attribute, ty));
        interface.attributes.push(Attribute { name: attribute, readonly });
    }
    Some(interface)
}

fn signature(operation: &str) -> Option<Signature> {
    let object = members(operation)?;
    let mut signature = Signature::new(name(&object)?);
    for parameter in elements(member(&object, "parameters")?)? {
        let object = members(parameter)?;
        let direction = match parsed::<String>(&object, "direction")?.as_str() {
            "in" => Direction::In,
            "out" => Direction::Out,
            "inout" => Direction::InOut,
            _ => return None,
        };
        let ty = type_of(member(&object, "type")?);
        signature = signature.with(parsed::<String>(&object, "name")?, direction, ty);
    }
    signature.oneway = parsed(&object, "oneway")?;
    Some(signature.returning(type_of(member(&object, "returns")?)))
}

/// Returns the name of an operation or attribute, if it is a name of IDL. It becomes a part of a path.
fn name(object: &[(String, &str)]) -> Option<String> {
    let name: String = parsed(object, "name")?;
    let is_name = name.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'_');
    (is_name && !name.is_empty()).then_some(name)
}

/// Maximum number of octets of the JSON of a type. Its values take up to a hundred times as many octets in memory.
const MOST_TYPE: usize = 256 << 10;

/// Returns a type. The type decides only how a word of the command line is read, so an unknown or very long one is an
/// any.
fn type_of(json: &str) -> TypeCode {
    let json = Some(json).filter(|json| json.len() <= MOST_TYPE);
    let json = json.and_then(|json| serde_json::from_str::<Value>(json).ok());
    json.and_then(|json| type_from_json(&json, &Plain).ok()).unwrap_or(TypeCode::ANY)
}

fn parsed<T: serde::de::DeserializeOwned>(object: &[(String, &str)], name: &str) -> Option<T> {
    serde_json::from_str(member(object, name)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: &str = r#"{
        "name": "Account", "interface": "bank::Account", "ids": ["IDL:bank/Account:1.0"],
        "attributes": [{ "name": "balance", "type": "long long", "readonly": false },
                       { "name": "version", "type": null, "readonly": true }],
        "operations": [{ "name": "book", "idl": "", "raises": [], "oneway": false, "returns": "void",
            "parameters": [{ "name": "who", "direction": "in", "type": "sequence<octet>" },
                           { "name": "memo", "direction": "inout", "type": "string" }] }] }"#;

    #[test]
    fn a_description_becomes_an_interface() {
        let account = interface(ACCOUNT).unwrap();
        assert_eq!(account.scoped_name, "bank::Account");
        let known = |name: &str| account.signature(name).map(ToString::to_string);
        let book = "void book(in sequence<octet> who, inout string memo)";
        assert_eq!(known("book").as_deref(), Some(book));
        assert_eq!(known("_get_balance").as_deref(), Some("long long _get_balance()"));
        assert!(known("_set_balance").is_some() && known("_get_version").is_some());
        assert_eq!(known("_set_version"), None);
    }

    #[test]
    fn a_type_that_is_too_long_is_an_any() {
        let padded = |length: usize| format!("{}\"long\"", " ".repeat(length - 6));
        assert_eq!(type_of(&padded(MOST_TYPE)), TypeCode::LONG);
        assert_eq!(type_of(&padded(MOST_TYPE + 1)), TypeCode::ANY);
    }

    #[test]
    fn other_answers_are_refused() {
        let deep = format!("\"type\": {}{}", "[".repeat(500), "]".repeat(500));
        assert!(interface(&ACCOUNT.replace("\"type\": null", &deep)).is_ok());
        for wrong in [
            "null".to_owned(),
            "{}".to_owned(),
            "<html>".to_owned(),
            ACCOUNT.replace("inout", "up"),
            ACCOUNT.replace("\"book\"", "\"a/../b\""),
            ACCOUNT.replace("[\"IDL:bank/Account:1.0\"]", "[]"),
        ] {
            assert!(interface(&wrong).is_err(), "{wrong}");
        }
    }
}
