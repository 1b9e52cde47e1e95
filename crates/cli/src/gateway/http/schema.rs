//! JSON schemas of types, for values as `docs/json.md` specifies them.

use oxorb_dynamic::json::{LeftOut, Names};
use oxorb_dynamic::{MemberRef, Shape, TcKind as Kind, TypeCode, TypeRef};
use serde_json::{Map, Value, json};

/// Maximum nesting depth of types without a name, because each level uses stack.
const MAX_DEPTH: usize = 64;

/// Maximum number of parts of the types of one object. The schema of a type without a repository id is repeated
/// wherever the type occurs, so a short type code can have a very long schema.
const MAX_PARTS: usize = 20_000;

/// Schemas of named types, made while other schemas refer to them.
pub(super) struct Schemas<'n> {
    names: &'n dyn Names,
    made: Map<String, Value>,
    /// Named types whose schemas are referred to but not yet made, with their keys.
    pending: Vec<(String, TypeCode)>,
    /// Numbers of the types without a key whose schemas are being made.
    open: Vec<Option<usize>>,
    depth: usize,
    /// Number of parts that may still be described.
    left: usize,
}

impl<'n> Schemas<'n> {
    /// Continues with the schemas made so far. `names` says which members may be left out.
    pub(super) fn new(names: &'n dyn Names, made: Map<String, Value>) -> Self {
        let (pending, open) = (Vec::new(), Vec::new());
        Schemas { names, made, pending, open, depth: 0, left: MAX_PARTS }
    }

    /// Returns all schemas of named types.
    pub(super) fn into_made(self) -> Map<String, Value> {
        self.made
    }

    /// Returns the schema of a type.
    pub(super) fn of(&mut self, ty: &TypeCode) -> Value {
        let schema = self.part(ty.as_ref());
        // Named types are described one after the other, so only types without a name are nested.
        while let Some((key, ty)) = self.pending.pop() {
            let body = self.body(ty.as_ref());
            self.made.insert(key, body);
        }
        schema
    }

    fn part(&mut self, ty: TypeRef<'_>) -> Value {
        if self.depth >= MAX_DEPTH || self.left == 0 {
            return json!({});
        }
        self.left -= 1;
        self.depth += 1;
        let schema = self.shape(ty.resolved());
        self.depth -= 1;
        schema
    }

    fn shape(&mut self, ty: TypeRef<'_>) -> Value {
        match ty.shape() {
            Shape::Simple(kind) => simple(kind),
            Shape::String { bound } | Shape::Wstring { bound } => match bound {
                Some(bound) => json!({ "type": "string", "maxLength": bound }),
                None => json!({ "type": "string" }),
            },
            Shape::Fixed { digits, scale } => {
                let idl = format!("fixed<{digits}, {scale}>");
                json!({ "type": ["string", "number"], "description": idl })
            }
            Shape::Sequence { element, .. } | Shape::Array { element, .. }
                if element.resolved().kind() == Kind::Octet =>
            {
                let octets = json!({ "type": "array", "items": simple(Kind::Octet) });
                json!({ "oneOf": [{ "type": "string", "contentEncoding": "base64" }, octets] })
            }
            Shape::Sequence { element, bound } => {
                let items = self.part(element);
                let schema = match bound {
                    Some(bound) => json!({ "type": "array", "maxItems": bound }),
                    None => json!({ "type": "array" }),
                };
                with(schema, "items", items)
            }
            Shape::Array { element, length } => {
                let items = self.part(element);
                let schema = json!({ "type": "array", "minItems": length, "maxItems": length });
                with(schema, "items", items)
            }
            Shape::Struct
            | Shape::Except
            | Shape::Union { .. }
            | Shape::Enum
            | Shape::Value { .. } => self.named(ty),
            Shape::ValueBox(_) => json!({ "description": described("boxed value", ty) }),
            Shape::Named(Kind::AbstractInterface) => json!({
                "type": ["string", "object", "null"],
                "description": described("reference or value", ty),
            }),
            Shape::Named(_) => json!({
                "type": ["string", "null"],
                "description": described("reference", ty),
            }),
            Shape::Alias(_) | Shape::Open => json!({}),
        }
    }

    /// Returns a reference to the schema of a type with a name.
    fn named(&mut self, ty: TypeRef<'_>) -> Value {
        let key = key(ty.id().unwrap_or_default());
        if key.is_empty() {
            let number = ty.number();
            // No reference can name a type without a key that contains itself.
            if self.open.contains(&number) {
                return json!({});
            }
            self.open.push(number);
            let body = self.body(ty);
            self.open.pop();
            return body;
        }
        if !self.made.contains_key(&key) {
            self.made.insert(key.clone(), Value::Null);
            self.pending.push((key.clone(), ty.to_type_code()));
        }
        json!({ "$ref": format!("#/components/schemas/{key}") })
    }

    fn body(&mut self, ty: TypeRef<'_>) -> Value {
        match ty.shape() {
            Shape::Enum => {
                let names: Vec<&str> = ty.enumerators().iter().map(|name| &**name).collect();
                json!({ "type": "string", "enum": names })
            }
            Shape::Union { discriminator, .. } => self.union(ty, discriminator),
            Shape::Value { .. } => {
                let members = ty.state_members();
                let properties = self.properties(members.iter().copied());
                let description = described("value", ty);
                let schema = json!({ "type": ["object", "null"], "description": description });
                with(schema, "properties", Value::Object(properties))
            }
            _ => {
                let id = ty.id().unwrap_or_default();
                let required = ty.members().filter(|member| {
                    matches!(self.names.left_out(id, member.name), LeftOut::Refused(_))
                });
                let required: Vec<&str> = required.map(|member| &**member.name).collect();
                let properties = self.properties(ty.members());
                let schema = json!({
                    "type": "object",
                    "required": required,
                    "additionalProperties": false,
                });
                with(schema, "properties", Value::Object(properties))
            }
        }
    }

    fn properties<'t>(
        &mut self,
        members: impl Iterator<Item = MemberRef<'t>>,
    ) -> Map<String, Value> {
        members.map(|member| (member.name.to_string(), self.part(member.ty))).collect()
    }

    /// Returns the alternatives of a union: an object with the name of a member for each, and the general form.
    fn union(&mut self, ty: TypeRef<'_>, discriminator: TypeRef<'_>) -> Value {
        let members = self.properties(ty.members());
        let mut alternatives: Vec<Value> = members
            .into_iter()
            .map(|(name, schema)| {
                let alternative = json!({
                    "type": "object",
                    "required": [name],
                    "additionalProperties": false,
                });
                let properties = Map::from_iter([(name, schema)]);
                with(alternative, "properties", Value::Object(properties))
            })
            .collect();
        let discriminator = self.part(discriminator);
        alternatives.push(json!({
            "type": "object",
            "properties": { "discriminator": discriminator, "member": {} },
            "required": ["discriminator"],
            "additionalProperties": false,
        }));
        with(json!({}), "anyOf", Value::Array(alternatives))
    }
}

/// Adds a member to a schema. The macro `json!` would copy it.
fn with(mut schema: Value, name: &str, member: Value) -> Value {
    if let Value::Object(members) = &mut schema {
        members.insert(name.to_owned(), member);
    }
    schema
}

/// Returns the key of a repository id among the components of a document: `IDL:bank/Owner:1.0` becomes `bank.Owner`.
pub(super) fn key(id: &str) -> String {
    let body = id.strip_prefix("IDL:").unwrap_or(id);
    let body = body.strip_suffix(":1.0").unwrap_or(body);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let plain = |c: char| match c {
        '/' => '.',
        c if is_plain(c) => c,
        _ => '_',
    };
    body.chars().map(plain).collect()
}

fn described(what: &str, ty: TypeRef<'_>) -> String {
    format!("{what}: {}", ty.id().unwrap_or("CORBA::Object"))
}

fn simple(kind: Kind) -> Value {
    let whole = |low: i64, high: i64| json!({ "type": "integer", "minimum": low, "maximum": high });
    match kind {
        Kind::Null | Kind::Void => json!({ "type": "null" }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Octet => whole(0, u8::MAX.into()),
        Kind::Short => whole(i16::MIN.into(), i16::MAX.into()),
        Kind::Ushort => whole(0, u16::MAX.into()),
        Kind::Long => whole(i32::MIN.into(), i32::MAX.into()),
        Kind::Ulong => whole(0, u32::MAX.into()),
        // Numbers that a JavaScript program would round are strings.
        Kind::Longlong => json!({ "type": ["integer", "string"], "format": "int64" }),
        Kind::Ulonglong => json!({ "type": ["integer", "string"], "format": "uint64" }),
        Kind::Float | Kind::Double => json!({
            "anyOf": [{ "type": "number" }, { "enum": ["NaN", "Infinity", "-Infinity"] }],
        }),
        Kind::Longdouble => json!({ "type": ["string", "number"] }),
        Kind::Char | Kind::Wchar => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
        Kind::Any => json!({ "description": "any: a plain value, or an object of type and value" }),
        Kind::TypeCode => json!({ "type": ["string", "object"], "description": "a type" }),
        _ => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxorb_dynamic::json::Plain;

    #[test]
    fn a_type_that_contains_itself_is_described_once() {
        let kids = TypeCode::sequence(TypeCode::recursive("IDL:bank/Tree:1.0"));
        let members = [("v", TypeCode::LONG), ("kids", kids)];
        let tree = TypeCode::structure("IDL:bank/Tree:1.0", "Tree", members);
        let mut schemas = Schemas::new(&Plain, Map::new());
        let reference = json!({ "$ref": "#/components/schemas/bank.Tree" });
        assert_eq!(schemas.of(&tree), reference);
        let made = schemas.into_made();
        assert_eq!(made["bank.Tree"]["properties"]["kids"]["items"], reference);
        assert_eq!(made["bank.Tree"]["required"], json!(["v", "kids"]));
        assert_eq!(made.len(), 1);
    }

    #[test]
    fn types_without_an_id_are_described_within_bounds() {
        // 2^60 structures if each is described wherever it occurs.
        let mut ty = TypeCode::LONG;
        for _ in 0..60 {
            ty = TypeCode::structure("", "", [("a", ty.clone()), ("b", ty)]);
        }
        let mut schemas = Schemas::new(&Plain, Map::new());
        assert_eq!(schemas.of(&ty)["type"], "object");
        assert_eq!(schemas.left, 0);
        assert_eq!(schemas.of(&TypeCode::LONG), json!({}));
        // The key of this id is empty, too.
        let same = || TypeCode::sequence(TypeCode::recursive("IDL::1.0"));
        let members = [("a", same()), ("b", same())];
        let own = TypeCode::structure("IDL::1.0", "", members);
        let mut schemas = Schemas::new(&Plain, Map::new());
        assert_eq!(schemas.of(&own)["properties"]["b"]["items"], json!({}));
        assert!(schemas.into_made().is_empty());
    }

    #[test]
    fn a_long_chain_of_named_types_is_described_whole() {
        let mut ty = TypeCode::LONG;
        for number in 0..100 {
            let name = format!("S{number}");
            ty = TypeCode::structure(&format!("IDL:{name}:1.0"), &name, [("next", ty)]);
        }
        let mut schemas = Schemas::new(&Plain, Map::new());
        schemas.of(&ty);
        let made = schemas.into_made();
        assert_eq!(made.len(), 100);
        assert_eq!(made["S0"]["properties"]["next"]["type"], "integer");
        assert_eq!(made["S1"]["properties"]["next"]["$ref"], "#/components/schemas/S0");
    }

    #[test]
    fn octets_are_base64_and_enumerators_are_names() {
        let mut schemas = Schemas::new(&Plain, Map::new());
        let blob = schemas.of(&TypeCode::sequence(TypeCode::OCTET));
        assert_eq!(blob["oneOf"][0]["contentEncoding"], "base64");
        schemas.of(&TypeCode::enumeration("IDL:a/Kind:2.0", "Kind", ["x", "y"]));
        assert_eq!(schemas.into_made()["a.Kind_2.0"]["enum"], json!(["x", "y"]));
    }
}
