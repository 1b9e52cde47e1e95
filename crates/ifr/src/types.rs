//! Declarations of an IDL file as type codes and signatures: for tools that learn types at run
//! time.
//!
//! ```
//! use oxorb_idl::source::{Memory, SourceMap};
//! use oxorb_ifr::types::Types;
//!
//! let idl = "interface Account { readonly attribute long balance; long withdraw(in long amount); };";
//! let files = Memory([("a.idl".into(), idl.as_bytes().to_vec())].into());
//! let compiled = oxorb_idl::compile_from(SourceMap::new(files), &["a.idl"], &Default::default())?;
//!
//! let types = Types::new(compiled.model);
//! let account = types.interface("Account")?;
//! assert_eq!(account.signature("withdraw").unwrap().to_string(), "long withdraw(in long amount)");
//! assert_eq!(account.signature("_get_balance").unwrap().to_string(), "long _get_balance()");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod interface;

use std::collections::HashMap;
use std::sync::OnceLock;

use oxorb_cdr::{Label, TypeCode, ValueModifier, Visibility};
use oxorb_idl::model::{
    Basic, Case, Def, DefId, DefKind, Enum, Field, InterfaceKind, Model, Type, Value, ValueKind,
    ValueType,
};
use oxorb_sys::sync::{Mutex, MutexGuard};

pub use error::Unsupported;
pub use interface::{Attribute, Interface};

/// Compiled IDL file as a source of types and signatures.
#[derive(Debug)]
pub struct Types {
    model: Model,
    /// Types made so far, except those that belong to a type still being made.
    made: Mutex<HashMap<DefId, TypeCode>>,
    /// Definitions by repository id; filled on first use.
    by_id: OnceLock<HashMap<String, DefId>>,
    /// First definition of each scoped name and repository id; filled on first use. A client of a gateway may name
    /// very many types.
    by_name: OnceLock<HashMap<String, DefId>>,
}

impl Types {
    /// Returns a source that makes each type on first use.
    pub fn new(model: Model) -> Self {
        Types { model, made: Mutex::default(), by_id: OnceLock::new(), by_name: OnceLock::new() }
    }

    /// Returns the model of the types.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the definition of a scoped name (`bank::Account`, with or without a leading `::`) or repository id.
    pub fn find(&self, name: &str) -> Option<&Def> {
        let scoped = name.strip_prefix("::").unwrap_or(name);
        let by_name = self.by_name.get_or_init(|| {
            let mut by_name = HashMap::new();
            for def in self.model.defs() {
                by_name.entry(def.scoped_name.clone()).or_insert(def.id);
                by_name.entry(def.repository_id.clone()).or_insert(def.id);
            }
            by_name
        });
        by_name.get(scoped).or_else(|| by_name.get(name)).map(|&id| self.model.def(id))
    }

    /// Returns the type code of a definition by its scoped name or repository id.
    pub fn by_name(&self, name: &str) -> Result<TypeCode, Unsupported> {
        let def = self.find(name);
        let def = def.ok_or_else(|| Unsupported::Unknown(name.to_owned()))?;
        self.of_def(def.id)
    }

    /// Returns the name of the definition that a type code describes: its repository id, which
    /// [`by_name`](Self::by_name) accepts. `None` if the IDL declares no such type, or another one with this id.
    pub fn name_of(&self, ty: &TypeCode) -> Option<&str> {
        let id = ty.id().filter(|id| !id.is_empty())?;
        let def = self.of_id(id)?;
        let same = self.of_def(def.id).is_ok_and(|known| known == *ty);
        same.then_some(&*def.repository_id)
    }

    /// Returns the `@default` of a member of the struct, exception, union or valuetype with this repository id.
    pub fn default_of(&self, id: &str, member: &str) -> Option<&Value> {
        let model = &self.model;
        let fields: Vec<&Field> = match &self.of_id(id)?.kind {
            DefKind::Struct(body) | DefKind::Exception(body) => {
                model.all_fields(body).into_iter().collect()
            }
            DefKind::Union(body) => body.cases.iter().map(|case| &case.field).collect(),
            DefKind::ValueType(value) => {
                let state = model.all_state(value).into_iter();
                state.map(|member| &member.field).collect()
            }
            _ => return None,
        };
        let field = fields.into_iter().find(|field| field.name == member)?;
        field.default.as_ref()
    }

    fn of_id(&self, id: &str) -> Option<&Def> {
        let by_id = self.by_id.get_or_init(|| {
            let defs = self.model.defs();
            defs.map(|def| (def.repository_id.clone(), def.id)).collect()
        });
        by_id.get(id).map(|&id| self.model.def(id))
    }

    /// Returns the type code of a type.
    pub fn of(&self, ty: &Type) -> Result<TypeCode, Unsupported> {
        Maker::new(self).of(ty)
    }

    /// Returns the type code of a definition, including exceptions.
    pub fn of_def(&self, id: DefId) -> Result<TypeCode, Unsupported> {
        Maker::new(self).named(id)
    }

    /// Returns the type codes of all valuetypes, event types and boxes of which there can be values: for
    /// [`ValueRegistry::register_types`](oxorb_cdr::ValueRegistry::register_types). Those without a type code are left
    /// out.
    pub fn valuetypes(&self) -> impl Iterator<Item = TypeCode> {
        let values = self.model.defs().filter(|def| match &def.kind {
            DefKind::ValueType(value) => value.kind != ValueKind::Abstract,
            DefKind::ValueBox(_) => true,
            _ => false,
        });
        values.filter_map(|def| self.of_def(def.id).ok())
    }

    fn made(&self) -> MutexGuard<'_, HashMap<DefId, TypeCode>> {
        self.made.lock()
    }
}

/// Maker of one type, parts of which may contain it.
struct Maker<'t> {
    types: &'t Types,
    /// Definitions being made, outermost first.
    open: Vec<DefId>,
}

impl<'t> Maker<'t> {
    fn new(types: &'t Types) -> Self {
        Maker { types, open: Vec::new() }
    }

    fn of(&mut self, ty: &Type) -> Result<TypeCode, Unsupported> {
        Ok(match ty {
            Type::Basic(basic) => of_basic(*basic),
            Type::String(bound) => TypeCode::bounded_string(bound.unwrap_or(0)),
            Type::WString(bound) => TypeCode::bounded_wstring(bound.unwrap_or(0)),
            Type::Sequence(element, bound) => {
                TypeCode::bounded_sequence(self.of(element)?, bound.unwrap_or(0))
            }
            Type::Array(element, dimensions) => {
                let innermost_first = dimensions.iter().rev();
                let element = self.of(element)?;
                innermost_first.fold(element, |element, &length| TypeCode::array(element, length))
            }
            Type::Fixed(digits, scale) => TypeCode::fixed(*digits, *scale),
            // CORBA has no type code for maps, so this is the sequence of pairs on the wire.
            Type::Map(key, value, bound) => {
                let entry = [("key", self.of(key)?), ("value", self.of(value)?)];
                let entry = TypeCode::structure("", "", entry);
                TypeCode::bounded_sequence(entry, bound.unwrap_or(0))
            }
            Type::Named(id) => self.named(*id)?,
            Type::Object => TypeCode::OBJECT,
            Type::Any => TypeCode::ANY,
            Type::TypeCode => TypeCode::TYPE_CODE,
            Type::ValueBase => TypeCode::VALUE_BASE,
        })
    }

    fn named(&mut self, id: DefId) -> Result<TypeCode, Unsupported> {
        if let Some(made) = self.types.made().get(&id) {
            return Ok(made.clone());
        }
        let def = self.types.model.def(id);
        if self.open.contains(&id) {
            return Ok(TypeCode::recursive(&def.repository_id));
        }
        // A typedef is not recorded as open: a back-reference leads to a type that contains itself, which is never a
        // mere typedef.
        let is_typedef = matches!(def.kind, DefKind::Typedef(_));
        if !is_typedef {
            self.open.push(id);
        }
        let made = self.make(def);
        if !is_typedef {
            self.open.pop();
        }
        let made = made?;
        // A part of a type that is still being made may be incomplete, and must not be reused in another type.
        if made.is_complete() {
            self.types.made().insert(id, made.clone());
        }
        Ok(made)
    }

    fn make(&mut self, def: &Def) -> Result<TypeCode, Unsupported> {
        let (id, name) = (def.repository_id.as_str(), def.name.as_str());
        Ok(match &def.kind {
            DefKind::Interface(interface) => of_interface(interface.kind, id, name),
            DefKind::ForwardInterface(kind) => of_interface(*kind, id, name),
            DefKind::Struct(body) => {
                let fields = self.types.model.all_fields(body);
                TypeCode::structure(id, name, self.fields(def, fields)?)
            }
            DefKind::Exception(body) => {
                TypeCode::exception(id, name, self.fields(def, &body.fields)?)
            }
            DefKind::Union(union) => {
                let discriminator = self.of(&union.discriminator)?;
                let mut members = Vec::new();
                for case in &union.cases {
                    let ty = self.member(def, &case.field)?;
                    let member = |label| (label, case.field.name.as_str(), ty.clone());
                    let labels = labels(&self.types.model, &union.discriminator, case);
                    members.extend(labels.map(member));
                }
                TypeCode::union(id, name, discriminator, members)
            }
            DefKind::Enum(body) => of_enum(body, id, name),
            DefKind::Typedef(typedef) => TypeCode::alias(id, name, self.of(&typedef.ty)?),
            DefKind::Native => TypeCode::native(id, name),
            DefKind::ValueType(value) => self.value(value, def)?,
            DefKind::ValueBox(ty) => TypeCode::value_box(id, name, self.of(ty)?),
            // CORBA has no type codes for bitmasks and bitsets, so these are the integers on the wire.
            DefKind::BitMask(mask) => TypeCode::alias(id, name, unsigned(mask.bit_bound)),
            DefKind::BitSet(set) => {
                let bits = self.types.model.all_bits(set);
                let bits = bits.iter().map(|field| field.bits).sum();
                TypeCode::alias(id, name, unsigned(bits))
            }
            DefKind::Component(_) => TypeCode::component(id, name),
            DefKind::Home(_) => TypeCode::home(id, name),
            DefKind::Module(_)
            | DefKind::Const(_)
            | DefKind::Connector(_)
            | DefKind::PortType(_)
            | DefKind::TemplateModule(_) => {
                return Err(Unsupported::NotAType(def.scoped_name.clone()));
            }
        })
    }

    fn value(&mut self, value: &ValueType, def: &Def) -> Result<TypeCode, Unsupported> {
        let (id, name) = (def.repository_id.as_str(), def.name.as_str());
        let modifier = match value.kind {
            ValueKind::Custom => ValueModifier::Custom,
            ValueKind::Abstract => ValueModifier::Abstract,
            ValueKind::Stateful if value.truncatable => ValueModifier::Truncatable,
            ValueKind::Stateful => ValueModifier::None,
        };
        let base = match value.bases.first() {
            Some(&base) if self.has_state(base) => Some(self.named(base)?),
            _ => None,
        };
        let mut members = Vec::new();
        for member in &value.state {
            let visibility = match member.public {
                true => Visibility::Public,
                false => Visibility::Private,
            };
            let ty = self.member(def, &member.field)?;
            members.push((member.field.name.as_str(), ty, visibility));
        }
        Ok(match value.event {
            true => TypeCode::event(id, name, modifier, base, members),
            false => TypeCode::value(id, name, modifier, base, members),
        })
    }

    fn has_state(&self, value: DefId) -> bool {
        match &self.types.model.def(value).kind {
            DefKind::ValueType(value) => value.kind != ValueKind::Abstract,
            _ => false,
        }
    }

    fn fields<'f>(
        &mut self,
        def: &Def,
        fields: impl IntoIterator<Item = &'f Field>,
    ) -> Result<Vec<(&'f str, TypeCode)>, Unsupported> {
        let mut all = Vec::new();
        for field in fields {
            all.push((field.name.as_str(), self.member(def, field)?));
        }
        Ok(all)
    }

    /// Returns the type of a member of a definition.
    fn member(&mut self, def: &Def, field: &Field) -> Result<TypeCode, Unsupported> {
        match field.optional {
            true => Err(Unsupported::NoTypeCode(
                format!("{}::{}", def.scoped_name, field.name),
                "an optional member",
            )),
            false => self.of(&field.ty),
        }
    }
}

/// Returns the type code of an enum, or that of its integer on the wire: CORBA has none for explicit values, or for
/// integers of another size.
fn of_enum(body: &Enum, id: &str, name: &str) -> TypeCode {
    let integer = unsigned(body.bit_bound.unwrap_or(32));
    let mut plain = (0..).zip(&body.enumerators);
    if integer != TypeCode::ULONG || !plain.all(|(at, each)| each.value == at) {
        return TypeCode::alias(id, name, integer);
    }
    let names = body.enumerators.iter().map(|each| each.name.as_str());
    TypeCode::enumeration(id, name, names)
}

/// Returns the smallest unsigned integer of `bits` bits.
fn unsigned(bits: u16) -> TypeCode {
    match bits {
        0..=8 => TypeCode::OCTET,
        9..=16 => TypeCode::USHORT,
        17..=32 => TypeCode::ULONG,
        _ => TypeCode::ULONGLONG,
    }
}

fn of_interface(kind: InterfaceKind, id: &str, name: &str) -> TypeCode {
    match kind {
        InterfaceKind::Unconstrained => TypeCode::interface(id, name),
        InterfaceKind::Local => TypeCode::local_interface(id, name),
        InterfaceKind::Abstract => TypeCode::abstract_interface(id, name),
    }
}

/// Returns the labels, `default` last, so that it is a separate member after labels of the same case.
fn labels<'m>(model: &'m Model, of: &Type, case: &'m Case) -> impl Iterator<Item = Label> + 'm {
    // A label of type `int8` is the octet on the wire, so a negative one is 128 to 255.
    let mask = if *model.resolve(of) == Type::Basic(Basic::Int8) { 0xFF } else { -1 };
    let values = case.labels.iter().map(move |label| Label::Value(number(model, label) & mask));
    values.chain(case.is_default.then_some(Label::Default))
}

/// Returns a label as the number on the wire.
pub(crate) fn number(model: &Model, value: &Value) -> i128 {
    match value {
        Value::Integer(number) => *number,
        Value::Boolean(yes) => (*yes).into(),
        Value::Char(character) => u32::from(*character).into(),
        Value::Enumerator(id, ordinal) => match &model.def(*id).kind {
            DefKind::Enum(body) => body.enumerators[*ordinal as usize].value.into(),
            _ => (*ordinal).into(),
        },
        // The front end accepts no other type as a discriminator.
        _ => 0,
    }
}

fn of_basic(basic: Basic) -> TypeCode {
    match basic {
        // Type codes do not distinguish these three types.
        Basic::Octet | Basic::Int8 | Basic::UInt8 => TypeCode::OCTET,
        Basic::Boolean => TypeCode::BOOLEAN,
        Basic::Char => TypeCode::CHAR,
        Basic::WChar => TypeCode::WCHAR,
        Basic::Short => TypeCode::SHORT,
        Basic::UShort => TypeCode::USHORT,
        Basic::Long => TypeCode::LONG,
        Basic::ULong => TypeCode::ULONG,
        Basic::LongLong => TypeCode::LONGLONG,
        Basic::ULongLong => TypeCode::ULONGLONG,
        Basic::Float => TypeCode::FLOAT,
        Basic::Double => TypeCode::DOUBLE,
        Basic::LongDouble => TypeCode::LONGDOUBLE,
    }
}
