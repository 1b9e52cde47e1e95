//! OpenAPI 3.1 document of the objects and event channels that the settings name.

use std::sync::Arc;

use hyper::StatusCode;
use oxorb_dynamic::{Signature, TypeCode};
use serde_json::{Map, Value, json};

use super::calls::RequestNames;
use super::content::{Answer, json as answer};
use super::deadline::Deadline;
use super::event_filter::Kind;
use super::interfaces::Described;
use super::objects::Object;
use super::path::encode;
use super::problem::Problem;
use super::schema::{Schemas, key};
use super::state::Gateway;
use crate::types::Known;

/// Returns the document. Objects whose interface is not known, or not found in time, are left out.
pub(super) fn document(gateway: &Gateway, end: Deadline) -> Result<Answer, Problem> {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    schemas.insert(PROBLEM.to_owned(), problem());
    let objects: Vec<&Arc<Object>> = gateway.objects.configured().collect();
    for (object, left) in objects.iter().zip((1..=objects.len()).rev()) {
        // An object that does not answer leaves time for those after it.
        let share = end.share(u32::try_from(left).unwrap_or(u32::MAX));
        let Ok(described) = object.described(&gateway.interfaces, share) else {
            continue;
        };
        let (source, defaults) = (&described.source, gateway.defaults);
        let names = RequestNames::new(Known { source, orb: &gateway.orb, defaults }, end);
        let mut made = Schemas::new(&names, schemas);
        add(object, &described, defaults, &mut made, &mut paths);
        schemas = made.into_made();
    }
    for (name, channel) in &gateway.channels {
        let path = format!("/events/{}", encode(name));
        paths.insert(path, json!({ "get": receiving(name, channel.kind) }));
    }
    if gateway.rights.is_some() {
        let operations = paths.values_mut().filter_map(Value::as_object_mut);
        for operation in operations.flat_map(Map::values_mut) {
            operation["responses"]["403"] =
                failed("The access rules do not let the client call this", &schema_of_problem());
            operation["responses"]["429"] =
                failed("The client has exhausted the rate of an access rule", &schema_of_problem());
        }
    }
    let mut components = json!({ "schemas": schemas });
    let mut document = json!({
        "openapi": "3.1.0",
        "info": { "title": "CORBA objects", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
    });
    let schemes = [
        (gateway.tokens.is_some(), "token", json!({ "type": "http", "scheme": "bearer" })),
        (gateway.has_certificates, "certificate", json!({ "type": "mutualTLS" })),
    ];
    // Each of them suffices.
    let mut security = Vec::new();
    for (_, name, scheme) in schemes.into_iter().filter(|(is_used, ..)| *is_used) {
        components["securitySchemes"][name] = scheme;
        security.push(json!({ name: [] }));
    }
    if !security.is_empty() {
        document["security"] = Value::Array(security);
    }
    document["components"] = components;
    answer(StatusCode::OK, &document)
}

/// Name of the schema of problem details. No key of a repository id begins like this, because no name of IDL does.
const PROBLEM: &str = "-problem";

/// Adds the paths of an object. With `defaults`, arguments may be left out.
fn add(
    object: &Object,
    described: &Described,
    defaults: bool,
    schemas: &mut Schemas<'_>,
    paths: &mut Map<String, Value>,
) {
    let interface = &described.interface;
    let path = |member: &str| format!("/objects/{}/{member}", encode(&object.name));
    let signature = |name: &str| interface.signature(name);
    for attribute in &interface.attributes {
        let name = attribute.name.as_str();
        let Some(read) = signature(&format!("_get_{name}")) else {
            continue;
        };
        let mut item = Map::new();
        item.insert("get".to_owned(), reading(object, name, read, schemas));
        if let Some(write) = signature(&format!("_set_{name}")) {
            item.insert("put".to_owned(), writing(object, name, write, schemas));
        }
        paths.insert(path(name), Value::Object(item));
    }
    for operation in &interface.operations {
        if !operation.operation.starts_with('_') {
            let call = calling(object, operation, defaults, schemas);
            paths.insert(path(&operation.operation), json!({ "post": call }));
        }
    }
}

fn reading(object: &Object, name: &str, read: &Signature, schemas: &mut Schemas<'_>) -> Value {
    let value = schemas.of(&read.returns);
    json!({
        "operationId": format!("{}.{name}.get", object.name),
        "tags": [object.name],
        "responses": responses(read, "200", Some(value), schemas),
    })
}

fn writing(object: &Object, name: &str, write: &Signature, schemas: &mut Schemas<'_>) -> Value {
    let value = write.inputs().next().map(|param| schemas.of(&param.ty));
    json!({
        "operationId": format!("{}.{name}.put", object.name),
        "tags": [object.name],
        "requestBody": body(true, value.unwrap_or_default()),
        "responses": responses(write, "204", None, schemas),
    })
}

fn calling(
    object: &Object,
    signature: &Signature,
    defaults: bool,
    schemas: &mut Schemas<'_>,
) -> Value {
    let inputs: Map<String, Value> =
        signature.inputs().map(|param| (param.name.clone(), schemas.of(&param.ty))).collect();
    let required = signature.inputs().filter(|_| !defaults);
    let names: Vec<&String> = required.map(|param| &param.name).collect();
    let is_required = !names.is_empty();
    let arguments = json!({
        "type": "object",
        "properties": inputs,
        "required": names,
        "additionalProperties": false,
    });
    let responses = match signature.oneway {
        true => responses(signature, "202", None, schemas),
        false => {
            let results = results(signature, schemas);
            responses(signature, "200", Some(results), schemas)
        }
    };
    json!({
        "operationId": format!("{}.{}", object.name, signature.operation),
        "summary": signature.to_string(),
        "tags": [object.name],
        "requestBody": body(is_required, arguments),
        "responses": responses,
    })
}

/// Describes the stream of a channel's events.
fn receiving(name: &str, kind: Kind) -> Value {
    let text = json!({ "type": "string" });
    let stream = json!({ "schema": text });
    let last = json!({
        "name": "Last-Event-ID",
        "in": "header",
        "description": "Id of the last event that the client has received",
        "schema": text,
    });
    let several = |name: &str| {
        let description = format!("Event {name}: a number from 1, or a name");
        let schema = json!({ "type": "array", "items": text });
        json!({ "name": name, "in": "query", "description": description, "schema": schema })
    };
    let parameters = match kind {
        Kind::Untyped => vec![
            json!({
                "name": "filter",
                "in": "query",
                "description": "Constraint of the Notification Service (EXTENDED_TCL)",
                "schema": text,
            }),
            last,
        ],
        Kind::Realtime => vec![several("type"), several("source"), last],
    };
    json!({
        "operationId": format!("{name}/events"),
        "tags": ["events"],
        "parameters": parameters,
        "responses": {
            "200": {
                "description": "Server-sent events; the data of each is JSON",
                "content": { "text/event-stream": stream },
            },
            "default": failed("An error", &schema_of_problem()),
        },
    })
}

/// Returns the schema of the results: the return value alone, or an object if there are inout or out parameters.
fn results(signature: &Signature, schemas: &mut Schemas<'_>) -> Value {
    let returns = schemas.of(&signature.returns);
    let outputs: Map<String, Value> =
        signature.outputs().map(|param| (param.name.clone(), schemas.of(&param.ty))).collect();
    if outputs.is_empty() {
        return returns;
    }
    let mut properties = Map::new();
    if signature.has_result() {
        properties.insert("returns".to_owned(), returns);
    }
    properties.insert("out".to_owned(), json!({ "type": "object", "properties": outputs }));
    json!({ "type": "object", "properties": properties })
}

fn responses(
    signature: &Signature,
    status: &str,
    content: Option<Value>,
    schemas: &mut Schemas<'_>,
) -> Value {
    let mut responses = Map::new();
    let done = match content {
        Some(schema) => json!({
            "description": "The results",
            "content": { "application/json": { "schema": schema } },
        }),
        None => json!({ "description": "Done" }),
    };
    responses.insert(status.to_owned(), done);
    if !signature.raises.is_empty() {
        let raised: Vec<Value> =
            signature.raises.iter().map(|exception| raised(exception, schemas)).collect();
        let schema = json!({ "anyOf": raised });
        responses.insert("422".to_owned(), failed("A declared exception", &schema));
    }
    responses.insert("default".to_owned(), failed("An error", &schema_of_problem()));
    Value::Object(responses)
}

/// Returns the schema of the problem details of a declared exception.
fn raised(exception: &TypeCode, schemas: &mut Schemas<'_>) -> Value {
    let id = exception.id().unwrap_or_default();
    let members = schemas.of(exception);
    json!({
        "allOf": [schema_of_problem()],
        "title": key(id),
        "properties": { "exception": { "const": id }, "members": members },
    })
}

fn failed(description: &str, schema: &Value) -> Value {
    json!({
        "description": description,
        "content": { "application/problem+json": { "schema": schema } },
    })
}

fn body(is_required: bool, schema: Value) -> Value {
    json!({ "required": is_required, "content": { "application/json": { "schema": schema } } })
}

fn schema_of_problem() -> Value {
    json!({ "$ref": format!("#/components/schemas/{PROBLEM}") })
}

fn problem() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "properties": {
            "type": text,
            "title": text,
            "status": { "type": "integer" },
            "detail": text,
            "exception": text,
            "name": text,
            "members": { "type": "object" },
            "minor": { "type": "integer" },
            "completed": { "enum": ["YES", "NO", "MAYBE"] },
            "message": text,
        },
        "required": ["title", "status", "detail"],
    })
}
