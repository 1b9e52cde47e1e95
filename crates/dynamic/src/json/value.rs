//! Valuetypes as JSON: objects in which members with a dollar sign in their names contain the
//! identity and the type of the value.

use std::collections::HashMap;

use oxorb_cdr::{Dynamic, DynamicValue, Field, Shape, TypeCode, TypeRef, ValueKey, ValueModifier};
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::positions::unknown_key;
use super::read::{Reader, missing, object, unlike};
use super::{JsonError, Shared};

/// Number by which other occurrences refer to a value.
pub(super) const ID: &str = "$id";
/// Number of an earlier or enclosing value, in place of a value.
pub(super) const REF: &str = "$ref";
/// Actual type of a value.
pub(super) const TYPE: &str = "$type";
/// Type as which the value was sent, if only `$type` is known here.
pub(super) const TRUNCATED: &str = "$truncated";
/// Member with the content of a box.
pub(super) const BOXED: &str = "$value";

/// Returns numbers for the values that are referred to from elsewhere, in order of occurrence.
pub(super) fn number<'v>(
    values: impl IntoIterator<Item = &'v Dynamic>,
) -> HashMap<&'v ValueKey, usize> {
    let (mut order, mut referred) = (Vec::new(), HashMap::new());
    for value in values {
        collect(value, &mut order, &mut referred);
    }
    let mut next = 1;
    for key in order {
        if let Some(number @ 0) = referred.get_mut(key) {
            *number = next;
            next += 1;
        }
    }
    referred
}

fn collect<'v>(
    value: &'v Dynamic,
    order: &mut Vec<&'v ValueKey>,
    referred: &mut HashMap<&'v ValueKey, usize>,
) {
    match value {
        Dynamic::Indirection(key) => {
            order.push(key);
            referred.insert(key, 0);
        }
        Dynamic::Value(value) => order.push(&value.key),
        _ => {}
    }
    for at in 0..value.component_count() {
        if let Some(part) = value.element(at) {
            collect(part, order, referred);
        }
    }
}

pub(super) fn write<S: Serializer>(
    value: &DynamicValue,
    shared: &Shared<'_>,
    to: S,
) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(None)?;
    map.serialize_entry(TYPE, value.ty.id().unwrap_or_default())?;
    if let Some(id) = &value.truncated_from {
        map.serialize_entry(TRUNCATED, &**id)?;
    }
    if let Some(number) = shared.numbers.get(&value.key) {
        map.serialize_entry(ID, number)?;
    }
    match (value.ty.shape(), &*value.fields) {
        (Shape::ValueBox(_), [field]) => map.serialize_entry(BOXED, &shared.json(&field.value))?,
        (_, fields) => {
            for field in fields {
                map.serialize_entry(&*field.name, &shared.json(&field.value))?;
            }
        }
    }
    map.end()
}

impl Reader<'_> {
    /// Reads a value where `formal` is declared: a valuetype, a box, or an abstract interface.
    pub(super) fn value(
        &mut self,
        json: &Value,
        formal: TypeRef<'_>,
    ) -> Result<Dynamic, JsonError> {
        let marked = |names: &[&str]| {
            let object = json.as_object();
            object.is_some_and(|object| names.iter().any(|name| object.contains_key(*name)))
        };
        if json.is_null() {
            return Ok(Dynamic::Null);
        }
        if marked(&[REF]) {
            return self.earlier(object(json)?);
        }
        // A box without any of these marks is represented by its content alone.
        if let Shape::ValueBox(content) = formal.shape()
            && !marked(&[ID, TYPE, BOXED])
        {
            let value = self.read(json, content)?;
            return Ok(boxed(&formal.to_type_code(), ValueKey::new(), value).into());
        }
        let members = object(json)?;
        let ty = self.type_of(members, formal)?;
        let key = self.key(members)?;
        let is_mark = |name: &str| [ID, TYPE, TRUNCATED].contains(&name);
        if let Shape::ValueBox(content) = ty.shape() {
            let Some(json) = members.get(BOXED) else {
                return Err(JsonError::new("the value in the box is missing: \"$value\""));
            };
            if let Some(name) = members.keys().find(|name| !is_mark(name) && *name != BOXED) {
                return Err(JsonError::new(format!("there is no {name} in a box")));
            }
            let value = self.read(json, content).map_err(|error| error.within(BOXED))?;
            return Ok(boxed(&ty, key, value).into());
        }
        let of_state = ty.as_ref().state_members();
        let keys = members.keys().filter(|name| !is_mark(name));
        if let Some(name) = unknown_key(keys, of_state.iter().map(|member| &**member.name)) {
            let known: Vec<&str> = of_state.iter().map(|member| &**member.name).collect();
            return Err(JsonError::new(format!(
                "there is no member {name} in {}; it has {}",
                ty.name().unwrap_or("the valuetype"),
                super::read::listed(&known)
            )));
        }
        let mut value = DynamicValue::new(ty.clone(), Vec::new());
        value.key = key;
        for member in &of_state {
            let read = match members.get(&**member.name) {
                Some(json) => {
                    self.read(json, member.ty).map_err(|error| error.within(member.name))?
                }
                None => self.left_out(ty.as_ref(), *member, &missing(member.name))?,
            };
            value.fields.push(Field { name: member.name.clone(), value: read });
        }
        Ok(value.into())
    }

    /// Reads `{"$ref": 1}`.
    fn earlier(&self, object: &Map<String, Value>) -> Result<Dynamic, JsonError> {
        let number = object.get(REF).unwrap_or(&Value::Null);
        if object.len() > 1 {
            return Err(JsonError::new("a \"$ref\" must be the only member"));
        }
        match self.keys.get(&number.to_string()) {
            Some(key) => Ok(Dynamic::Indirection(key.clone())),
            None => {
                Err(JsonError::new(format!("no earlier or enclosing value has \"$id\": {number}")))
            }
        }
    }

    /// Returns the type that a value declares, else the formal type.
    fn type_of(
        &self,
        members: &Map<String, Value>,
        formal: TypeRef<'_>,
    ) -> Result<TypeCode, JsonError> {
        let ty = match members.get(TYPE) {
            None => formal.to_type_code(),
            Some(Value::String(name)) => {
                let formal = formal.to_type_code();
                let known = self.names.find_type(name).or_else(|| formal.find(name));
                known
                    .ok_or_else(|| JsonError::new(format!("there is no type {name}")).within(TYPE))?
                    .resolved()
            }
            Some(other) => return Err(unlike("the name of a type", other).within(TYPE)),
        };
        let what = ty.as_ref().mention().to_string();
        match ty.shape() {
            Shape::ValueBox(_) => Ok(ty),
            Shape::Value { modifier: ValueModifier::Custom, .. } => {
                Err(JsonError::new(format!("{what} is custom: only its own code can write it")))
            }
            Shape::Value { modifier, .. }
                if modifier != ValueModifier::Abstract && ty.id() != TypeCode::VALUE_BASE.id() =>
            {
                Ok(ty)
            }
            _ if members.contains_key(TYPE) => {
                Err(JsonError::new(format!("{what} has no state")).within(TYPE))
            }
            _ => Err(JsonError::new(format!(
                "{what} has no state: the type of the value is missing, \"$type\""
            ))),
        }
    }

    /// Returns the key of a new value, to which the contents of the value may already refer.
    fn key(&mut self, members: &Map<String, Value>) -> Result<ValueKey, JsonError> {
        let key = ValueKey::new();
        if let Some(number) = members.get(ID) {
            let before = self.keys.insert(number.to_string(), key.clone());
            if before.is_some() {
                let twice = format!("another value has \"$id\": {number}");
                return Err(JsonError::new(twice).within(ID));
            }
        }
        Ok(key)
    }
}

fn boxed(ty: &TypeCode, key: ValueKey, value: Dynamic) -> DynamicValue {
    let name = "value".into();
    let mut boxed = DynamicValue::new(ty.clone(), vec![Field { name, value }]);
    boxed.key = key;
    boxed
}
