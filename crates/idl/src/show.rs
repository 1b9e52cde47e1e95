//! JSON form of a model, for tools in any language.

use crate::model::{
    Annotation, AnnotationValue, Attribute, ComponentExport, Def, DefId, DefKind, Direction,
    Export, Factory, Field, InterfaceKind, Model, Operation, Param, PortKind, Quadruple, Type,
    Value, ValueKind,
};
use crate::print::value_text;
use serde_json::{Map, Value as Json, json};

/// Returns all definitions of a model: an object with the version of this form (1) and the definitions of the file
/// scope, each with its contents.
///
/// Definitions are named by their scoped names, without a leading `::`; empty keys (no comment, no annotation) are
/// omitted.
///
/// ```
/// use oxorb_idl::source::{Memory, SourceMap};
/// let files = Memory([("a.idl".into(), b"struct s { long a; };".to_vec())].into());
/// let compiled = oxorb_idl::compile_from(SourceMap::new(files), &["a.idl"], &Default::default())?;
/// let json = oxorb_idl::show::json(&compiled.model);
/// assert_eq!(json["definitions"][0]["fields"][0]["type"], "long");
/// # Ok::<(), oxorb_idl::Failed>(())
/// ```
pub fn json(model: &Model) -> Json {
    let show = Show { model };
    let annotations: Vec<Json> = model
        .annotations()
        .iter()
        .map(|of| {
            let members = of.members.iter().map(|member| {
                let default = member.default.as_ref().map(|value| show.value(value));
                let ty = member.ty.as_ref().map_or(json!("any"), |ty| show.ty(ty));
                json!({ "name": member.name, "type": ty, "default": default })
            });
            json!({ "name": of.scoped_name, "members": members.collect::<Vec<_>>() })
        })
        .collect();
    let mut all = Map::new();
    all.insert("version".into(), json!(1));
    all.insert("definitions".into(), show.defs(model.roots()));
    if !annotations.is_empty() {
        all.insert("annotations".into(), json!(annotations));
    }
    Json::Object(all)
}

struct Show<'m> {
    model: &'m Model,
}

impl Show<'_> {
    fn defs(&self, ids: &[DefId]) -> Json {
        let held = ids.iter().filter(|id| self.model.holds(**id));
        held.map(|id| self.def(self.model.def(*id))).collect()
    }

    fn def(&self, def: &Def) -> Json {
        let mut out = Map::new();
        let mut put = |key: &str, value: Json| {
            if !is_empty(&value) {
                out.insert(key.into(), value);
            }
        };
        put("kind", json!(kind(&def.kind)));
        put("name", json!(def.name));
        put("scoped_name", json!(def.scoped_name));
        put("repository_id", json!(def.repository_id));
        put("included", flag(!def.in_main_file));
        put("doc", json!(&*def.doc));
        put("annotations", self.annotations(&def.annotations));
        match &def.kind {
            DefKind::Module(body) => {
                put("template", self.names(body.template.as_slice()));
                put("definitions", self.defs(&body.members));
            }
            DefKind::Interface(body) => {
                put("constraint", interface_kind(body.kind));
                put("bases", self.names(&body.bases));
                put("definitions", self.defs(&body.members));
                put("exports", self.exports(&body.exports));
            }
            DefKind::ForwardInterface(kind) => put("constraint", interface_kind(*kind)),
            DefKind::Struct(body) | DefKind::Exception(body) => {
                put("bases", self.names(body.base.as_slice()));
                put("definitions", self.defs(&body.members));
                put("fields", self.fields(&body.fields));
            }
            DefKind::Union(body) => {
                put("discriminator", self.ty(&body.discriminator));
                put("definitions", self.defs(&body.members));
                let cases = body.cases.iter().map(|case| {
                    let mut out = self.field(&case.field);
                    let labels: Vec<Json> = case.labels.iter().map(|l| self.value(l)).collect();
                    out.insert("labels".into(), json!(labels));
                    if case.is_default {
                        out.insert("default_case".into(), json!(true));
                    }
                    Json::Object(out)
                });
                put("cases", cases.collect());
            }
            DefKind::Enum(body) => {
                put("bit_bound", json!(body.bit_bound));
                let all = body.enumerators.iter().map(|one| {
                    let annotations = self.annotations(&one.annotations);
                    compact(json!({
                        "name": one.name, "value": one.value, "doc": &*one.doc,
                        "annotations": annotations,
                    }))
                });
                put("enumerators", all.collect());
                let default = body.default.map(|at| &body.enumerators[at as usize].name);
                put("default", json!(default));
            }
            DefKind::Typedef(alias) => put("type", self.ty(&alias.ty)),
            DefKind::Const(constant) => {
                put("type", self.ty(&constant.ty));
                put("value", self.value(&constant.value));
            }
            DefKind::Native | DefKind::TemplateModule(_) => {}
            DefKind::ValueType(body) => {
                put("modifier", value_kind(body.kind));
                put("truncatable", flag(body.truncatable));
                put("bases", self.names(&body.bases));
                put("supports", self.names(&body.supports));
                put("definitions", self.defs(&body.members));
                let state = body.state.iter().map(|member| {
                    let mut out = self.field(&member.field);
                    out.insert("public".into(), json!(member.public));
                    Json::Object(out)
                });
                put("state", state.collect());
                put("factories", self.factories(&body.factories));
                put("exports", self.exports(&body.exports));
            }
            DefKind::ValueBox(ty) => put("type", self.ty(ty)),
            DefKind::BitMask(body) => {
                put("bit_bound", json!(body.bit_bound));
                let flags = body.flags.iter().map(|flag| {
                    compact(json!({
                        "name": flag.name, "position": flag.position, "doc": &*flag.doc,
                        "annotations": self.annotations(&flag.annotations),
                    }))
                });
                put("flags", flags.collect());
            }
            DefKind::BitSet(body) => {
                put("bases", self.names(body.base.as_slice()));
                let fields = body.fields.iter().map(|field| {
                    compact(json!({
                        "name": field.name, "bits": field.bits, "type": field.ty.as_str(),
                        "doc": &*field.doc, "annotations": self.annotations(&field.annotations),
                    }))
                });
                put("fields", fields.collect());
            }
            DefKind::Component(body) | DefKind::Connector(body) => {
                put("bases", self.names(body.base.as_slice()));
                put("supports", self.names(&body.supports));
                put("exports", self.ports(&body.exports));
            }
            DefKind::PortType(body) => put("exports", self.ports(&body.exports)),
            DefKind::Home(body) => {
                put("bases", self.names(body.base.as_slice()));
                put("supports", self.names(&body.supports));
                put("manages", json!(self.name(body.manages)));
                put("primary_key", json!(body.primary_key.map(|id| self.name(id))));
                put("definitions", self.defs(&body.members));
                put("factories", self.factories(&body.factories));
                put("finders", self.factories(&body.finders));
                put("exports", self.exports(&body.exports));
            }
        }
        Json::Object(out)
    }

    fn name(&self, id: DefId) -> &str {
        &self.model.def(id).scoped_name
    }

    fn names(&self, ids: &[DefId]) -> Json {
        ids.iter().map(|id| json!(self.name(*id))).collect()
    }

    fn fields(&self, fields: &[Field]) -> Json {
        let fields = fields.iter().map(|field| Json::Object(self.field(field)));
        fields.collect()
    }

    fn field(&self, field: &Field) -> Map<String, Json> {
        let default = field.default.as_ref().map(|value| self.value(value));
        let all = json!({
            "name": field.name, "type": self.ty(&field.ty), "doc": &*field.doc,
            "optional": flag(field.optional), "key": flag(field.key), "default": default,
            "annotations": self.annotations(&field.annotations),
        });
        match compact(all) {
            Json::Object(all) => all,
            _ => Map::new(),
        }
    }

    fn exports(&self, exports: &[Export]) -> Json {
        let exports = exports.iter().map(|export| match export {
            Export::Operation(operation) => self.operation(operation),
            Export::Attribute(attribute) => self.attribute(attribute),
        });
        exports.collect()
    }

    fn operation(&self, of: &Operation) -> Json {
        let returns = of.returns.as_ref().map(|ty| self.ty(ty));
        compact(json!({
            "kind": "operation", "name": of.name, "doc": &*of.doc, "oneway": flag(of.oneway),
            "returns": returns, "params": self.params(&of.params),
            "raises": self.names(&of.raises), "context": of.context,
            "annotations": self.annotations(&of.annotations),
        }))
    }

    fn params(&self, params: &[Param]) -> Json {
        let params = params.iter().map(|param| {
            let direction = match param.direction {
                Direction::In => "in",
                Direction::Out => "out",
                Direction::InOut => "inout",
            };
            compact(json!({
                "name": param.name, "direction": direction, "type": self.ty(&param.ty),
                "annotations": self.annotations(&param.annotations),
            }))
        });
        params.collect()
    }

    fn attribute(&self, of: &Attribute) -> Json {
        compact(json!({
            "kind": "attribute", "name": of.name, "doc": &*of.doc, "readonly": flag(of.readonly),
            "type": self.ty(&of.ty), "get_raises": self.names(&of.get_raises),
            "set_raises": self.names(&of.set_raises),
            "annotations": self.annotations(&of.annotations),
        }))
    }

    fn factories(&self, factories: &[Factory]) -> Json {
        let factories = factories.iter().map(|of| {
            compact(json!({
                "name": of.name, "doc": &*of.doc, "params": self.params(&of.params),
                "raises": self.names(&of.raises),
                "annotations": self.annotations(&of.annotations),
            }))
        });
        factories.collect()
    }

    fn ports(&self, exports: &[ComponentExport]) -> Json {
        let exports = exports.iter().map(|export| match export {
            ComponentExport::Attribute(attribute) => self.attribute(attribute),
            ComponentExport::Port(port) => {
                let (kind, of) = match &port.kind {
                    PortKind::Provides(ty) => ("provides", self.ty(ty)),
                    PortKind::Uses { ty, multiple: false } => ("uses", self.ty(ty)),
                    PortKind::Uses { ty, .. } => ("uses multiple", self.ty(ty)),
                    PortKind::Emits(id) => ("emits", json!({ "named": self.name(*id) })),
                    PortKind::Publishes(id) => ("publishes", json!({ "named": self.name(*id) })),
                    PortKind::Consumes(id) => ("consumes", json!({ "named": self.name(*id) })),
                    PortKind::Extended { port_type, mirror } => {
                        let kind = if *mirror { "mirrorport" } else { "port" };
                        (kind, json!({ "named": self.name(*port_type) }))
                    }
                };
                compact(json!({
                    "kind": kind, "name": port.name, "doc": &*port.doc, "type": of,
                    "annotations": self.annotations(&port.annotations),
                }))
            }
        });
        exports.collect()
    }

    /// Returns a type: basic types by name, others as objects with one key.
    fn ty(&self, ty: &Type) -> Json {
        let element = |of: &Type, bound: &Option<u32>| match bound {
            Some(bound) => json!({ "of": self.ty(of), "bound": bound }),
            None => json!({ "of": self.ty(of) }),
        };
        match ty {
            Type::Basic(basic) => json!(basic.as_str()),
            Type::String(None) => json!("string"),
            Type::String(Some(bound)) => json!({ "string": { "bound": bound } }),
            Type::WString(None) => json!("wstring"),
            Type::WString(Some(bound)) => json!({ "wstring": { "bound": bound } }),
            Type::Sequence(of, bound) => json!({ "sequence": element(of, bound) }),
            Type::Array(of, sizes) => {
                json!({ "array": { "of": self.ty(of), "dimensions": sizes } })
            }
            Type::Fixed(digits, scale) => {
                json!({ "fixed": { "digits": digits, "scale": scale } })
            }
            Type::Map(key, of, bound) => {
                json!({ "map": { "key": self.ty(key), "of": self.ty(of), "bound": bound } })
            }
            Type::Named(id) => json!({ "named": self.name(*id) }),
            Type::Object => json!("Object"),
            Type::Any => json!("any"),
            Type::TypeCode => json!("TypeCode"),
            Type::ValueBase => json!("ValueBase"),
        }
    }

    /// Returns a value: integers beyond 64 bits do not occur; enumerators and numbers that JSON cannot represent are
    /// text.
    fn value(&self, value: &Value) -> Json {
        match value {
            Value::Integer(number) => match (i64::try_from(*number), u64::try_from(*number)) {
                (Ok(number), _) => json!(number),
                (_, Ok(number)) => json!(number),
                _ => json!(number.to_string()),
            },
            Value::Float(number) => json!(number),
            Value::LongDouble(number) => match number.to_f64() {
                near if Quadruple::from(near) == *number => json!(near),
                _ => json!(number.to_string()),
            },
            Value::Boolean(truth) => json!(truth),
            Value::Char(c) => json!(c),
            Value::String(text) => json!(&**text),
            Value::Fixed(digits) => json!(digits),
            Value::Enumerator(..) => {
                let text = value_text(self.model, value, None);
                json!(text.trim_start_matches("::"))
            }
        }
    }

    fn annotations(&self, all: &[Annotation]) -> Json {
        let all = all.iter().map(|one| {
            let params = one.params.iter().map(|param| {
                let value = match &param.value {
                    AnnotationValue::Constant(value) => self.value(value),
                    AnnotationValue::Name(name) => json!({ "name": name }),
                };
                (param.name.clone(), value)
            });
            let params: Map<String, Json> = params.collect();
            compact(json!({ "name": one.name, "params": params }))
        });
        all.collect()
    }
}

/// Returns the name of a kind of definition: the IDL keyword if there is one.
pub(crate) fn kind(kind: &DefKind) -> &'static str {
    match kind {
        DefKind::Module(_) => "module",
        DefKind::Interface(_) => "interface",
        DefKind::ForwardInterface(_) => "forward interface",
        DefKind::Struct(_) => "struct",
        DefKind::Union(_) => "union",
        DefKind::Enum(_) => "enum",
        DefKind::Typedef(_) => "typedef",
        DefKind::Const(_) => "const",
        DefKind::Exception(_) => "exception",
        DefKind::Native => "native",
        DefKind::ValueType(body) if body.event => "eventtype",
        DefKind::ValueType(_) => "valuetype",
        DefKind::ValueBox(_) => "valuebox",
        DefKind::BitMask(_) => "bitmask",
        DefKind::BitSet(_) => "bitset",
        DefKind::Component(_) => "component",
        DefKind::Connector(_) => "connector",
        DefKind::PortType(_) => "porttype",
        DefKind::Home(_) => "home",
        DefKind::TemplateModule(_) => "template module",
    }
}

fn interface_kind(kind: InterfaceKind) -> Json {
    match kind {
        InterfaceKind::Unconstrained => Json::Null,
        InterfaceKind::Local => json!("local"),
        InterfaceKind::Abstract => json!("abstract"),
    }
}

fn value_kind(kind: ValueKind) -> Json {
    match kind {
        ValueKind::Stateful => Json::Null,
        ValueKind::Custom => json!("custom"),
        ValueKind::Abstract => json!("abstract"),
    }
}

/// Returns `true`, or nothing.
fn flag(set: bool) -> Json {
    match set {
        true => json!(true),
        false => Json::Null,
    }
}

/// Returns an object without its empty keys.
fn compact(value: Json) -> Json {
    match value {
        Json::Object(all) => all.into_iter().filter(|(_, value)| !is_empty(value)).collect(),
        other => other,
    }
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(all) => all.is_empty(),
        Json::Object(all) => all.is_empty(),
        Json::Bool(_) | Json::Number(_) => false,
    }
}
