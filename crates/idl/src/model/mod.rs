//! The checked meaning of one IDL translation unit: what back ends read.
//!
//! Everything lives in one arena and refers to the rest by [`DefId`]; a model
//! is immutable once the front end returns it, holds no error, and every name
//! in it is resolved.

mod annotation;
mod bits;
mod component;
mod order;
mod template;
mod value;

pub use annotation::{
    Annotation, AnnotationDef, AnnotationMember, AnnotationParam, AnnotationValue,
};
pub use bits::{BitField, BitMask, BitSet, Flag};
pub use component::{Component, ComponentExport, Home, Port, PortKind, PortType};
pub use template::TemplateModule;
pub use value::{Factory, StateMember, ValueKind, ValueType};

use crate::source::Span;
use std::collections::BTreeSet;

/// Translation unit (a main file and all it includes), resolved and checked.
#[derive(Debug, Clone, Default)]
pub struct Model {
    defs: Vec<Def>,
    roots: Vec<DefId>,
    /// Definitions in the arena that are no part of the model.
    left_out: BTreeSet<DefId>,
    annotations: Vec<AnnotationDef>,
    /// Time of each definition; not when it was announced.
    order: Vec<u32>,
    clock: u32,
}

impl Model {
    /// The definitions at file scope, in order of appearance.
    pub fn roots(&self) -> &[DefId] {
        &self.roots
    }

    /// All definitions, in order of appearance.
    pub fn defs(&self) -> impl Iterator<Item = &Def> {
        self.defs.iter().filter(|def| !self.left_out.contains(&def.id))
    }

    /// The definition behind an id.
    pub fn def(&self, id: DefId) -> &Def {
        &self.defs[id.0 as usize]
    }

    /// Marks the operation of a valuetype with this scoped name, such as `bank::Purse::spend`, as if it said `@mutating`.
    /// `false` if there is none.
    pub fn mark_mutating(&mut self, operation: &str) -> bool {
        let Some((owner, name)) = operation.rsplit_once("::") else {
            return false;
        };
        let found = self.defs.iter_mut().filter_map(|def| match &mut def.kind {
            DefKind::ValueType(value) if def.scoped_name == owner => Some(&mut value.exports),
            _ => None,
        });
        let mut marked = false;
        for export in found.flatten() {
            if let Export::Operation(operation) = export
                && operation.name == name
            {
                operation.mutating = true;
                marked = true;
            }
        }
        marked
    }

    /// Follows typedefs until something else is found.
    pub fn resolve<'m>(&'m self, ty: &'m Type) -> &'m Type {
        let mut ty = ty;
        while let Type::Named(id) = ty {
            match &self.def(*id).kind {
                DefKind::Typedef(alias) => ty = &alias.ty,
                _ => break,
            }
        }
        ty
    }

    /// The bases of an interface and theirs, each once, nearest first.
    pub fn all_bases(&self, interface: &Interface) -> Vec<DefId> {
        let mut found = Vec::new();
        let mut todo: Vec<DefId> = interface.bases.clone();
        while !todo.is_empty() {
            let id = todo.remove(0);
            if found.contains(&id) {
                continue;
            }
            found.push(id);
            if let DefKind::Interface(base) = &self.def(id).kind {
                todo.extend(&base.bases);
            }
        }
        found
    }

    /// The members of a struct, those of its bases first.
    pub fn all_fields<'m>(&'m self, body: &'m Struct) -> Vec<&'m Field> {
        let mut chain = vec![body];
        let mut base = body.base;
        while let Some(DefKind::Struct(body)) = base.map(|id| &self.def(id).kind) {
            chain.push(body);
            base = body.base;
        }
        chain.iter().rev().flat_map(|body| &body.fields).collect()
    }

    /// The state of a valuetype, that of its concrete bases first.
    pub fn all_state<'m>(&'m self, value: &'m ValueType) -> Vec<&'m StateMember> {
        let mut chain = vec![value];
        let mut next = value.bases.first();
        while let Some(DefKind::ValueType(base)) = next.map(|id| &self.def(*id).kind) {
            chain.push(base);
            next = base.bases.first();
        }
        chain.iter().rev().flat_map(|value| &value.state).collect()
    }

    /// The fields of a bitset, those of its bases first.
    pub fn all_bits<'m>(&'m self, body: &'m BitSet) -> Vec<&'m BitField> {
        let mut chain = vec![body];
        let mut base = body.base;
        while let Some(DefKind::BitSet(body)) = base.map(|id| &self.def(id).kind) {
            chain.push(body);
            base = body.base;
        }
        chain.iter().rev().flat_map(|body| &body.fields).collect()
    }

    /// Annotations that users defined with `@annotation`.
    pub fn annotations(&self) -> &[AnnotationDef] {
        &self.annotations
    }

    /// Adds a user's annotation; the front end only.
    pub(crate) fn add_annotation(&mut self, annotation: AnnotationDef) {
        self.annotations.push(annotation);
    }

    /// Returns the number of definitions, hidden ones too; the front end only.
    pub(crate) fn len(&self) -> usize {
        self.defs.len()
    }

    /// Adds a definition; the front end only.
    pub(crate) fn add(&mut self, mut def: Def) -> DefId {
        let id = DefId(self.defs.len() as u32);
        def.id = id;
        self.defs.push(def);
        self.order.push(self.clock);
        self.clock += 1;
        id
    }

    /// Whether a definition is part of the model.
    pub(crate) fn holds(&self, id: DefId) -> bool {
        !self.left_out.contains(&id)
    }

    /// A definition that is still being built; the front end only.
    pub(crate) fn def_mut(&mut self, id: DefId) -> &mut Def {
        &mut self.defs[id.0 as usize]
    }

    /// Takes definitions of included files out that could not be compiled;
    /// nothing in the model refers to them. The front end only.
    pub(crate) fn leave_out(&mut self, defs: BTreeSet<DefId>) {
        self.left_out = defs;
    }

    /// The file scope while it is being built; the front end only.
    pub(crate) fn roots_mut(&mut self) -> &mut Vec<DefId> {
        &mut self.roots
    }
}

/// Names one definition of one [`Model`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefId(pub(crate) u32);

/// Named definition.
#[derive(Debug, Clone)]
pub struct Def {
    /// Id of this definition.
    pub id: DefId,
    /// The name without escape (`_attribute` is `attribute`).
    pub name: String,
    /// The scope it stands in; `None` at file scope.
    pub parent: Option<DefId>,
    /// Names from file scope down to this one, joined by `::` without a leading one.
    pub scoped_name: String,
    /// `IDL:prefix/scoped/name:1.0`, after all pragmas.
    pub repository_id: String,
    /// Span of the name.
    pub span: Span,
    /// False when it came in by `#include`.
    pub in_main_file: bool,
    /// The comment right before it, stripped of comment marks; empty if none.
    pub doc: String,
    /// All annotations that were applied.
    pub annotations: Vec<Annotation>,
    /// Kind of definition.
    pub kind: DefKind,
}

/// Kind of a definition.
#[derive(Debug, Clone)]
pub enum DefKind {
    /// `module`, all its openings merged.
    Module(Module),
    /// `interface`, defined.
    Interface(Interface),
    /// `interface X;` that no definition follows.
    ForwardInterface(InterfaceKind),
    /// `struct`.
    Struct(Struct),
    /// `union`.
    Union(Union),
    /// `enum`.
    Enum(Enum),
    /// `typedef`, one declarator.
    Typedef(Typedef),
    /// `const`.
    Const(Const),
    /// `exception`; its fields as in a struct.
    Exception(Struct),
    /// `native`.
    Native,
    /// `valuetype` or `eventtype`, defined.
    ValueType(ValueType),
    /// `valuetype B T;`, a boxed type.
    ValueBox(Type),
    /// `bitmask`.
    BitMask(BitMask),
    /// `bitset`.
    BitSet(BitSet),
    /// `component`; as a type a reference to its equivalent interface.
    Component(Component),
    /// `connector`.
    Connector(Component),
    /// `porttype`.
    PortType(PortType),
    /// `home`; as a type a reference to its equivalent interface.
    Home(Home),
    /// `module T<...>`, of which only instances can be used.
    TemplateModule(TemplateModule),
}

/// All openings of one module.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// Definitions in order of appearance.
    pub members: Vec<DefId>,
    /// The template module it was made of.
    pub template: Option<DefId>,
}

/// Promise that an interface makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InterfaceKind {
    /// `interface`.
    #[default]
    Unconstrained,
    /// `local interface`.
    Local,
    /// `abstract interface`.
    Abstract,
}

/// Interface.
#[derive(Debug, Clone, Default)]
pub struct Interface {
    /// Local, abstract or neither.
    pub kind: InterfaceKind,
    /// Direct bases in order of declaration.
    pub bases: Vec<DefId>,
    /// Types, constants and exceptions declared inside, in order.
    pub members: Vec<DefId>,
    /// Operations and attributes in order of declaration, own ones only.
    pub exports: Vec<Export>,
}

/// Export of an interface, offered to callers.
#[derive(Debug, Clone)]
pub enum Export {
    /// An operation.
    Operation(Operation),
    /// An attribute, one declarator.
    Attribute(Attribute),
}

/// Operation.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Name without escape; also the name on the wire.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// The comment before it.
    pub doc: String,
    /// All annotations that were applied.
    pub annotations: Vec<Annotation>,
    /// `oneway`.
    pub oneway: bool,
    /// `@mutating`: an operation of a valuetype that changes the state.
    pub mutating: bool,
    /// `None` is `void`.
    pub returns: Option<Type>,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Exceptions in order.
    pub raises: Vec<DefId>,
    /// The strings of the `context` clause.
    pub context: Vec<String>,
}

/// Parameter.
#[derive(Debug, Clone)]
pub struct Param {
    /// Name without escape.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// All annotations that were applied.
    pub annotations: Vec<Annotation>,
    /// Direction in which it travels.
    pub direction: Direction,
    /// Type of the parameter.
    pub ty: Type,
}

/// Direction in which a parameter travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Client to server.
    In,
    /// Server to client.
    Out,
    /// Either way.
    InOut,
}

/// Attribute.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// Name without escape; `_get_` and `_set_` before it on the wire.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// The comment before it.
    pub doc: String,
    /// All annotations that were applied.
    pub annotations: Vec<Annotation>,
    /// Whether there is no `_set_` operation.
    pub readonly: bool,
    /// Type of the attribute.
    pub ty: Type,
    /// Exceptions of the getter.
    pub get_raises: Vec<DefId>,
    /// Exceptions of the setter.
    pub set_raises: Vec<DefId>,
}

/// A struct or an exception.
#[derive(Debug, Clone, Default)]
pub struct Struct {
    /// `struct D : B`: the members of B come before its own.
    pub base: Option<DefId>,
    /// Own ones in order; for all of them see [`Model::all_fields`].
    pub fields: Vec<Field>,
    /// Types defined inside, in order.
    pub members: Vec<DefId>,
}

/// Member of a struct, exception, union or valuetype.
#[derive(Debug, Clone)]
pub struct Field {
    /// Name without escape.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// The comment before it; the same for all names of one declaration.
    pub doc: String,
    /// All annotations that were applied.
    pub annotations: Vec<Annotation>,
    /// Type of the member; an array declarator is already a [`Type::Array`].
    pub ty: Type,
    /// `@optional`: on the wire a boolean before it says whether it is there.
    pub optional: bool,
    /// `@key`: part of what tells instances apart.
    pub key: bool,
    /// `@default(value)`: what it is unless set.
    pub default: Option<Value>,
}

/// A discriminated union.
#[derive(Debug, Clone)]
pub struct Union {
    /// Type of the discriminator.
    pub discriminator: Type,
    /// Cases in order of declaration.
    pub cases: Vec<Case>,
    /// Types defined inside, in order.
    pub members: Vec<DefId>,
}

/// Member of a union and the labels that select it.
#[derive(Debug, Clone)]
pub struct Case {
    /// Labels in source order, without `default`.
    pub labels: Vec<Value>,
    /// `default:` is among the labels.
    pub is_default: bool,
    /// The member.
    pub field: Field,
}

/// An enumeration.
#[derive(Debug, Clone, Default)]
pub struct Enum {
    /// Number of bits, from `@bit_bound`: 1 to 32; `None` if not said, and then an `unsigned long`
    /// on the wire. Else the smallest unsigned integer that holds them.
    pub bit_bound: Option<u16>,
    /// The enumerator that is `@default_literal`.
    pub default: Option<u32>,
    /// Names in order; the ordinal is the index.
    pub enumerators: Vec<Enumerator>,
}

/// Enumerator.
#[derive(Debug, Clone)]
pub struct Enumerator {
    /// Name without escape.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// The comment before it.
    pub doc: String,
    /// All annotations that were applied.
    pub annotations: Vec<Annotation>,
    /// Number that travels: from `@value`, or one more than the one before; the ordinal unless
    /// `@value` is used.
    pub value: u32,
}

/// A new name for a type.
#[derive(Debug, Clone)]
pub struct Typedef {
    /// The type it names.
    pub ty: Type,
}

/// A constant.
#[derive(Debug, Clone)]
pub struct Const {
    /// Type as declared.
    pub ty: Type,
    /// Evaluated and range-checked.
    pub value: Value,
}

/// A constant value, checked against the type it was written for.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Any integer type and `octet`.
    Integer(i128),
    /// `float`, `double`, `long double`.
    Float(f64),
    /// `boolean`.
    Boolean(bool),
    /// `char` and `wchar`.
    Char(char),
    /// `string` and `wstring`.
    String(String),
    /// An enumerator: the enum and its ordinal.
    Enumerator(DefId, u32),
    /// `fixed`: sign, digits and point, with no superfluous leading zero.
    Fixed(String),
}

/// A type as it is used.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// A basic type.
    Basic(Basic),
    /// `string`, with its bound.
    String(Option<u32>),
    /// `wstring`, with its bound.
    WString(Option<u32>),
    /// `sequence`, with its bound.
    Sequence(Box<Type>, Option<u32>),
    /// An array: element and one size per dimension, outermost first.
    Array(Box<Type>, Vec<u32>),
    /// `fixed<digits, scale>`: so many digits, so many of them behind the point.
    Fixed(u16, i16),
    /// `map<key, value>`, with its bound.
    Map(Box<Type>, Box<Type>, Option<u32>),
    /// A definition: interface, struct, union, enum, typedef, valuetype ...
    Named(DefId),
    /// `Object`.
    Object,
    /// `any`.
    Any,
    /// `CORBA::TypeCode`.
    TypeCode,
    /// `ValueBase`.
    ValueBase,
}

/// The basic types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Basic {
    /// `octet`.
    Octet,
    /// `int8` (IDL 4): an octet with a sign.
    Int8,
    /// `uint8` (IDL 4): a number, where `octet` is raw data.
    UInt8,
    /// `boolean`.
    Boolean,
    /// `char`.
    Char,
    /// `wchar`.
    WChar,
    /// `short`.
    Short,
    /// `unsigned short`.
    UShort,
    /// `long`.
    Long,
    /// `unsigned long`.
    ULong,
    /// `long long`.
    LongLong,
    /// `unsigned long long`.
    ULongLong,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// `long double`.
    LongDouble,
}

impl Basic {
    /// Returns the type as written in IDL.
    pub fn as_str(self) -> &'static str {
        match self {
            Basic::Octet => "octet",
            Basic::Int8 => "int8",
            Basic::UInt8 => "uint8",
            Basic::Boolean => "boolean",
            Basic::Char => "char",
            Basic::WChar => "wchar",
            Basic::Short => "short",
            Basic::UShort => "unsigned short",
            Basic::Long => "long",
            Basic::ULong => "unsigned long",
            Basic::LongLong => "long long",
            Basic::ULongLong => "unsigned long long",
            Basic::Float => "float",
            Basic::Double => "double",
            Basic::LongDouble => "long double",
        }
    }
}
