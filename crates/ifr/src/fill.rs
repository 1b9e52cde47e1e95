//! Filling of a repository from models.
//!
//! Several units may declare the same name, often because they include the same file: the latest declaration is used,
//! even by the units with earlier declarations. Hence names are linked by their text, not by the unit in which they
//! were found.

use std::collections::{HashMap, VecDeque};

use crate::types::Types;
use oxorb::Any;
use oxorb::values::TypeCode;
use oxorb_idl::model::{
    Attribute, Component, ComponentExport, Def, DefId, DefKind, Direction, Export, Field,
    Interface, InterfaceKind, Operation, Struct, Type, Union, ValueKind, ValueType,
};

use crate::constant;
use crate::corba::{ParameterMode, PrimitiveKind};
use crate::primitive::{PRIMITIVES, basic, integer, primitive};
use crate::repository::{
    Entry, EntryId, Factory, Kind, Member, Named, Parameter, Repository, UnionMember, ValueBody,
};

/// Links the declarations of all models; later ones replace earlier ones.
pub(crate) fn fill(models: &[Types]) -> Repository {
    let mut filler = Filler::new(models);
    for (unit, types) in models.iter().enumerate() {
        for root in types.model().roots() {
            filler.add(unit, *root, Repository::ROOT);
        }
    }
    // Makes the entries that were only referred to so far, such as definitions to which only a replaced declaration
    // refers.
    while let Some((unit, def)) = filler.wanted.pop_front() {
        filler.ensure(unit, def);
    }
    filler.finish()
}

struct Filler<'u> {
    models: &'u [Types],
    /// Unit that defines each name, except modules.
    owners: HashMap<&'u str, usize>,
    /// Entries; `None` if referred to, but not made yet.
    entries: Vec<Option<Entry>>,
    by_name: HashMap<String, EntryId>,
    /// Unnamed types, by their IDL notation.
    nameless: HashMap<String, EntryId>,
    /// Definitions that were referred to, and the units that refer to them.
    wanted: VecDeque<(usize, DefId)>,
}

impl<'u> Filler<'u> {
    fn new(models: &'u [Types]) -> Self {
        let mut owners = HashMap::new();
        for complete in [true, false] {
            for (unit, types) in models.iter().enumerate().rev() {
                for def in types.model().defs() {
                    if complete != matches!(def.kind, DefKind::ForwardInterface(_)) {
                        owners.entry(def.scoped_name.as_str()).or_insert(unit);
                    }
                }
            }
        }
        let root = Entry {
            key: String::from("::"),
            named: None,
            ty: TypeCode::NULL,
            kind: Kind::Repository,
            contents: Vec::new(),
        };
        Filler {
            models,
            owners,
            entries: vec![Some(root)],
            by_name: HashMap::new(),
            nameless: HashMap::new(),
            wanted: VecDeque::new(),
        }
    }

    /// Adds a definition if this unit is the one that defines it.
    fn add(&mut self, unit: usize, id: DefId, parent: EntryId) {
        let def = self.def(unit, id);
        if let DefKind::Module(module) = &def.kind {
            let entry = self.module(unit, def, parent);
            for member in &module.members {
                self.add(unit, *member, entry);
            }
        } else if self.owners.get(def.scoped_name.as_str()) == Some(&unit) {
            self.define(unit, def, parent);
        }
    }

    fn module(&mut self, unit: usize, def: &Def, parent: EntryId) -> EntryId {
        let entry = self.named(unit, def.id);
        if self.entries[entry.0].is_none() {
            self.place(entry, def, parent, TypeCode::NULL, Kind::Module);
        }
        entry
    }

    /// Creates an entry that something refers to, and its enclosing entries.
    fn ensure(&mut self, unit: usize, id: DefId) {
        let def = self.def(unit, id);
        let entry = self.named(unit, id);
        if self.entries[entry.0].is_some() {
            return;
        }
        let parent = match def.parent {
            None => Repository::ROOT,
            Some(parent) => {
                self.ensure(unit, parent);
                self.named(unit, parent)
            }
        };
        match def.kind {
            DefKind::Module(_) => {
                self.module(unit, def, parent);
            }
            _ => self.define(unit, def, parent),
        }
    }

    fn define(&mut self, unit: usize, def: &'u Def, parent: EntryId) {
        let entry = self.named(unit, def.id);
        if self.entries[entry.0].is_some() {
            return;
        }
        let ty = self.models[unit].of_def(def.id);
        // A definition without a type code (see `Unsupported`) is represented like a native type.
        let ty = ty.unwrap_or_else(|_| TypeCode::native(&def.repository_id, &def.name));
        let Some(kind) = self.kind(unit, def, &ty) else {
            return;
        };
        let ty = match &kind {
            Kind::Constant { ty, .. } => self.type_of(*ty),
            _ => Some(ty),
        };
        self.place(entry, def, parent, ty.unwrap_or_default(), kind);
        for member in nested(&def.kind) {
            let member = self.def(unit, *member);
            self.define(unit, member, entry);
        }
        match &def.kind {
            DefKind::Interface(interface) => self.exports(unit, def, &interface.exports, entry),
            DefKind::Component(component) => self.ports(unit, def, component, entry),
            DefKind::Home(home) => self.exports(unit, def, &home.exports, entry),
            DefKind::ValueType(value) => {
                for state in &value.state {
                    let ty = self.ty(unit, &state.field.ty);
                    let public = state.public;
                    let kind = Kind::ValueMember { ty, public };
                    self.export(def, &state.field.name, entry, kind);
                }
                self.exports(unit, def, &value.exports, entry);
            }
            _ => {}
        }
    }

    fn kind(&mut self, unit: usize, def: &'u Def, own: &TypeCode) -> Option<Kind> {
        Some(match &def.kind {
            DefKind::Interface(Interface { kind, bases, .. }) => {
                Kind::Interface { kind: *kind, bases: self.all_named(unit, bases) }
            }
            DefKind::ForwardInterface(kind) => Kind::Interface { kind: *kind, bases: Vec::new() },
            // A component is represented as its equivalent interface, to which `ports` adds the operations of the
            // ports.
            DefKind::Component(Component { base, supports, .. }) => {
                self.equivalent(unit, *base, supports)
            }
            DefKind::Home(home) => self.equivalent(unit, home.base, &home.supports),
            DefKind::Struct(body) => Kind::Struct(self.members(unit, body)),
            DefKind::Exception(body) => Kind::Exception(self.members(unit, body)),
            DefKind::Union(body) => self.union(unit, body),
            DefKind::Enum(body) => {
                let names = body.enumerators.iter().map(|one| one.name.clone());
                Kind::Enum(names.collect())
            }
            DefKind::Typedef(alias) => Kind::Alias(self.ty(unit, &alias.ty)),
            // Bitmasks and bitsets are marshalled as integers, and CORBA has no type code for them.
            DefKind::BitMask(_) | DefKind::BitSet(_) => {
                let content = own.as_ref().content()?.kind();
                Kind::Alias(self.primitive(integer(content)))
            }
            DefKind::Const(constant) => {
                let ty = self.models[unit].of(&constant.ty).ok()?;
                let value = constant::any(self.models[unit].model(), &constant.value, &ty);
                let ty = self.ty(unit, &constant.ty);
                Kind::Constant { ty, value }
            }
            DefKind::Native => Kind::Native,
            DefKind::ValueBox(content) => Kind::ValueBox(self.ty(unit, content)),
            DefKind::ValueType(value) => Kind::Value(Box::new(self.value(unit, value))),
            DefKind::Module(_)
            | DefKind::Connector(_)
            | DefKind::PortType(_)
            | DefKind::TemplateModule(_) => return None,
        })
    }

    fn equivalent(&mut self, unit: usize, base: Option<DefId>, supports: &[DefId]) -> Kind {
        let bases: Vec<_> = base.iter().chain(supports).copied().collect();
        Kind::Interface { kind: InterfaceKind::Unconstrained, bases: self.all_named(unit, &bases) }
    }

    fn members(&mut self, unit: usize, body: &'u Struct) -> Vec<Member> {
        let fields = self.models[unit].model().all_fields(body);
        let fields = fields.into_iter();
        fields.map(|field| self.member(unit, field)).collect()
    }

    fn member(&mut self, unit: usize, field: &Field) -> Member {
        Member { name: field.name.clone(), ty: self.ty(unit, &field.ty) }
    }

    fn union(&mut self, unit: usize, body: &Union) -> Kind {
        let label_type = self.models[unit].of(&body.discriminator);
        let label_type = label_type.unwrap_or_default();
        let model = self.models[unit].model();
        let mut members = Vec::new();
        for case in &body.cases {
            let labels = case.labels.iter();
            let labels = labels.map(|label| constant::any(model, label, &label_type));
            for label in labels.chain(case.is_default.then(|| Any::new(0u8))) {
                members.push(UnionMember {
                    name: case.field.name.clone(),
                    label,
                    ty: self.ty(unit, &case.field.ty),
                });
            }
        }
        Kind::Union { discriminator: self.ty(unit, &body.discriminator), members }
    }

    fn value(&mut self, unit: usize, value: &ValueType) -> ValueBody {
        let is_abstract = |id: &DefId| match &self.def(unit, *id).kind {
            DefKind::ValueType(base) => base.kind == ValueKind::Abstract,
            _ => false,
        };
        let (abstract_bases, bases): (Vec<_>, Vec<_>) =
            value.bases.iter().copied().partition(is_abstract);
        let mut initializers = Vec::new();
        for factory in &value.factories {
            let params = factory
                .params
                .iter()
                .map(|param| Member { name: param.name.clone(), ty: self.ty(unit, &param.ty) });
            initializers.push(Factory {
                name: factory.name.clone(),
                params: params.collect(),
                raises: self.all_named(unit, &factory.raises),
            });
        }
        ValueBody {
            is_abstract: value.kind == ValueKind::Abstract,
            is_custom: value.kind == ValueKind::Custom,
            is_truncatable: value.truncatable,
            base: bases.first().map(|base| self.named(unit, *base)),
            abstract_bases: self.all_named(unit, &abstract_bases),
            supports: self.all_named(unit, &value.supports),
            initializers,
        }
    }

    fn ports(&mut self, unit: usize, def: &Def, component: &'u Component, parent: EntryId) {
        for export in &component.exports {
            if let ComponentExport::Attribute(attribute) = export {
                self.attribute(unit, def, attribute, parent);
            }
        }
    }

    fn exports(&mut self, unit: usize, def: &Def, exports: &'u [Export], parent: EntryId) {
        for export in exports {
            match export {
                Export::Operation(operation) => self.operation(unit, def, operation, parent),
                Export::Attribute(attribute) => self.attribute(unit, def, attribute, parent),
            }
        }
    }

    fn attribute(&mut self, unit: usize, def: &Def, attribute: &Attribute, parent: EntryId) {
        let ty = self.ty(unit, &attribute.ty);
        let readonly = attribute.readonly;
        let kind = Kind::Attribute {
            ty,
            readonly,
            get_raises: self.all_named(unit, &attribute.get_raises),
            set_raises: self.all_named(unit, &attribute.set_raises),
        };
        self.export(def, &attribute.name, parent, kind);
    }

    fn operation(&mut self, unit: usize, def: &Def, operation: &Operation, parent: EntryId) {
        let result = match &operation.returns {
            Some(ty) => self.ty(unit, ty),
            None => self.primitive(PrimitiveKind::PkVoid),
        };
        let params = operation.params.iter().map(|param| Parameter {
            name: param.name.clone(),
            ty: self.ty(unit, &param.ty),
            mode: match param.direction {
                Direction::In => ParameterMode::ParamIn,
                Direction::Out => ParameterMode::ParamOut,
                Direction::InOut => ParameterMode::ParamInout,
            },
        });
        let kind = Kind::Operation {
            result,
            params: params.collect(),
            raises: self.all_named(unit, &operation.raises),
            contexts: operation.context.clone(),
            oneway: operation.oneway,
        };
        self.export(def, &operation.name, parent, kind);
    }

    /// Adds parts without a definition in the model: operations, attributes, state.
    ///
    /// Their types may be in a unit not read yet, so type codes are looked up at the end.
    fn export(&mut self, def: &Def, name: &str, parent: EntryId, kind: Kind) {
        let id = EntryId(self.entries.len());
        let scoped_name = format!("{}::{name}", def.scoped_name);
        let entry = Entry {
            key: String::new(),
            named: Some(Named {
                id: inner_id(&def.repository_id, &scoped_name, name),
                name: name.to_owned(),
                version: String::from("1.0"),
                absolute_name: format!("::{scoped_name}"),
                defined_in: parent,
            }),
            ty: TypeCode::NULL,
            kind,
            contents: Vec::new(),
        };
        self.entries.push(Some(entry));
        self.by_name.insert(scoped_name, id);
        self.contain(parent, id);
    }

    fn place(&mut self, id: EntryId, def: &Def, parent: EntryId, ty: TypeCode, kind: Kind) {
        let (_, version) = def.repository_id.rsplit_once(':').unwrap_or_default();
        self.entries[id.0] = Some(Entry {
            key: String::new(),
            named: Some(Named {
                id: def.repository_id.clone(),
                name: def.name.clone(),
                version: version.to_owned(),
                absolute_name: format!("::{}", def.scoped_name),
                defined_in: parent,
            }),
            ty,
            kind,
            contents: Vec::new(),
        });
        self.contain(parent, id);
    }

    fn contain(&mut self, parent: EntryId, id: EntryId) {
        if let Some(parent) = &mut self.entries[parent.0] {
            parent.contents.push(id);
        }
    }

    /// Returns the entry of a definition, which is made now or later.
    fn named(&mut self, unit: usize, id: DefId) -> EntryId {
        let def = self.def(unit, id);
        if let Some(known) = self.by_name.get(&def.scoped_name) {
            return *known;
        }
        let entry = EntryId(self.entries.len());
        self.entries.push(None);
        self.by_name.insert(def.scoped_name.clone(), entry);
        self.wanted.push_back((unit, id));
        entry
    }

    fn all_named(&mut self, unit: usize, ids: &[DefId]) -> Vec<EntryId> {
        ids.iter().map(|id| self.named(unit, *id)).collect()
    }

    fn ty(&mut self, unit: usize, ty: &Type) -> EntryId {
        match ty {
            Type::Basic(basic) => self.primitive(primitive(*basic)),
            Type::String(None) => self.primitive(PrimitiveKind::PkString),
            Type::WString(None) => self.primitive(PrimitiveKind::PkWstring),
            Type::Object => self.primitive(PrimitiveKind::PkObjref),
            Type::Any => self.primitive(PrimitiveKind::PkAny),
            Type::TypeCode => self.primitive(PrimitiveKind::PkTypeCode),
            Type::ValueBase => self.primitive(PrimitiveKind::PkValueBase),
            Type::Named(id) => self.named(unit, *id),
            Type::String(Some(bound)) => {
                self.nameless(unit, ty, format!("string<{bound}>"), Kind::String(*bound))
            }
            Type::WString(Some(bound)) => {
                let key = format!("wstring<{bound}>");
                self.nameless(unit, ty, key, Kind::Wstring(*bound))
            }
            Type::Fixed(digits, scale) => {
                let key = format!("fixed<{digits},{scale}>");
                self.nameless(unit, ty, key, Kind::Fixed(*digits, *scale))
            }
            Type::Sequence(element, bound) => {
                let (element, bound) = (self.ty(unit, element), bound.unwrap_or(0));
                let key = format!("sequence<{},{bound}>", self.called(element));
                self.nameless(unit, ty, key, Kind::Sequence(element, bound))
            }
            Type::Array(element, lengths) => match lengths.split_first() {
                None => self.ty(unit, element),
                Some((length, inner)) => {
                    let element = self.ty(unit, &Type::Array(element.clone(), inner.to_vec()));
                    let key = format!("array<{},{length}>", self.called(element));
                    self.nameless(unit, ty, key, Kind::Array(element, *length))
                }
            },
            // A map is marshalled as a sequence of pairs. The unnamed type of the pairs has no entry, so `any` takes
            // its place.
            Type::Map(key, value, bound) => {
                let (key, value) = (self.ty(unit, key), self.ty(unit, value));
                let bound = bound.unwrap_or(0);
                let (keys, values) = (self.called(key), self.called(value));
                let any = self.primitive(PrimitiveKind::PkAny);
                let key = format!("map<{keys},{values},{bound}>");
                self.nameless(unit, ty, key, Kind::Sequence(any, bound))
            }
        }
    }

    /// Returns the name of a type within the key of another.
    fn called(&self, id: EntryId) -> String {
        let name = self.by_name.iter().find(|(_, known)| **known == id);
        let key = self.nameless.iter().find(|(_, known)| **known == id);
        match (name, key) {
            (Some((name, _)), _) => format!("::{name}"),
            (None, Some((key, _))) => key.clone(),
            (None, None) => String::new(),
        }
    }

    fn primitive(&mut self, kind: PrimitiveKind) -> EntryId {
        let (key, ty) = basic(kind);
        self.typed(key.to_owned(), ty, Kind::Primitive(kind))
    }

    fn nameless(&mut self, unit: usize, ty: &Type, key: String, kind: Kind) -> EntryId {
        let ty = self.models[unit].of(ty).unwrap_or_default();
        self.typed(key, ty, kind)
    }

    fn typed(&mut self, key: String, ty: TypeCode, kind: Kind) -> EntryId {
        if let Some(known) = self.nameless.get(&key) {
            return *known;
        }
        let id = EntryId(self.entries.len());
        self.nameless.insert(key.clone(), id);
        self.entries.push(Some(Entry { key, named: None, ty, kind, contents: Vec::new() }));
        id
    }

    fn type_of(&self, id: EntryId) -> Option<TypeCode> {
        self.entries[id.0].as_ref().map(|entry| entry.ty.clone())
    }

    fn def(&self, unit: usize, id: DefId) -> &'u Def {
        self.models[unit].model().def(id)
    }

    fn finish(mut self) -> Repository {
        for (kind, ..) in PRIMITIVES {
            self.primitive(kind);
        }
        let absent = |at| Entry {
            key: format!("absent {at}"),
            named: None,
            ty: TypeCode::NULL,
            kind: Kind::Primitive(PrimitiveKind::PkNull),
            contents: Vec::new(),
        };
        let entries = self.entries.into_iter().enumerate();
        let entries = entries.map(|(at, entry)| entry.unwrap_or_else(|| absent(at)));
        let mut entries: Vec<Entry> = entries.collect();
        for at in 0..entries.len() {
            let of = match entries[at].kind {
                Kind::Attribute { ty, .. } | Kind::ValueMember { ty, .. } => ty,
                Kind::Constant { ty, .. } => ty,
                Kind::Operation { result, .. } => result,
                _ => continue,
            };
            entries[at].ty = entries[of.0].ty.clone();
        }
        index(entries, self.by_name)
    }
}

/// Gives each entry a unique key, and indexes entries by key and by repository id.
fn index(mut entries: Vec<Entry>, by_name: HashMap<String, EntryId>) -> Repository {
    let (mut by_id, mut by_key) = (HashMap::new(), HashMap::new());
    for (at, entry) in entries.iter_mut().enumerate() {
        if let Some(named) = &entry.named {
            by_id.insert(named.id.clone(), EntryId(at));
            entry.key = match by_key.contains_key(&named.id) {
                // If `#pragma ID` gave two definitions the same id, the second one is found by its name.
                true => named.absolute_name.clone(),
                false => named.id.clone(),
            };
        }
        by_key.insert(entry.key.clone(), EntryId(at));
    }
    Repository { entries, by_id, by_name, by_key }
}

/// Returns the definitions within one that is no module.
fn nested(kind: &DefKind) -> &[DefId] {
    match kind {
        DefKind::Interface(interface) => &interface.members,
        DefKind::ValueType(value) => &value.members,
        DefKind::Struct(body) | DefKind::Exception(body) => &body.members,
        DefKind::Union(body) => &body.members,
        DefKind::Home(home) => &home.members,
        _ => &[],
    }
}

/// Returns the repository id of a part of an interface: the interface's id with a name added.
fn inner_id(outer: &str, scoped_name: &str, name: &str) -> String {
    let path = outer.strip_prefix("IDL:").and_then(|id| id.rsplit_once(':'));
    match path {
        Some((path, _version)) => format!("IDL:{path}/{name}:1.0"),
        None => format!("IDL:{}:1.0", scoped_name.replace("::", "/")),
    }
}
