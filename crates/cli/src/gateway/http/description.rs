//! Descriptions of the objects as JSON.

use hyper::StatusCode;
use oxorb_dynamic::json::JsonType;
use oxorb_dynamic::{Signature, TypeCode};
use serde_json::{Value, json};

use super::content::{Answer, json as answer};
use super::deadline::Deadline;
use super::interfaces::Interfaces;
use super::objects::{Object, Objects};
use super::path::encode;
use super::problem::Problem;

/// Lists the objects that the gateway offers.
pub(super) fn list(objects: &Objects, end: Deadline) -> Result<Answer, Problem> {
    let all = objects.list(end)?.into_iter().map(|(name, type_id)| {
        let url = format!("/objects/{}", encode(&name));
        json!({ "name": name, "type_id": type_id, "url": url })
    });
    answer(StatusCode::OK, &json!({ "objects": all.collect::<Vec<_>>() }))
}

/// Describes an object: its interface, attributes and operations.
pub(super) fn of(
    object: &Object,
    interfaces: &Interfaces,
    end: Deadline,
) -> Result<Answer, Problem> {
    let described = object.described(interfaces, end)?;
    let interface = &described.interface;
    let attributes = interface.attributes.iter().filter_map(|attribute| {
        let read = interface.signature(&format!("_get_{}", attribute.name))?;
        Some(json!({
            "name": attribute.name,
            "type": type_of(&read.returns),
            "readonly": attribute.readonly,
        }))
    });
    let operations = interface.operations.iter().filter(|known| !known.operation.starts_with('_'));
    let document = json!({
        "name": object.name,
        "interface": interface.scoped_name,
        "ids": interface.ids,
        "attributes": attributes.collect::<Vec<_>>(),
        "operations": operations.map(operation).collect::<Vec<_>>(),
    });
    answer(StatusCode::OK, &document)
}

fn operation(signature: &Signature) -> Value {
    let parameters = signature.params.iter().map(|param| {
        json!({
            "name": param.name,
            "direction": param.direction.as_str(),
            "type": type_of(&param.ty),
        })
    });
    let raises = signature.raises.iter().map(|exception| exception.id().unwrap_or_default());
    json!({
        "name": signature.operation,
        "idl": signature.to_string(),
        "parameters": parameters.collect::<Vec<_>>(),
        "returns": type_of(&signature.returns),
        "raises": raises.collect::<Vec<_>>(),
        "oneway": signature.oneway,
    })
}

/// Returns a type as JSON; null if it is too long or too deep.
fn type_of(ty: &TypeCode) -> Value {
    serde_json::to_value(JsonType(ty)).unwrap_or_default()
}
