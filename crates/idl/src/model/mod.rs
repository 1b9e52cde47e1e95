//! Checked meaning of one IDL translation unit, for back ends.
//!
//! All definitions are in one arena and refer to each other by [`DefId`]. A model is immutable once the front end
//! returns it, contains no error, and every name in it is resolved.

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

pub use crate::constant::Quadruple;
use crate::source::Span;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Translation unit (a main file and everything that it includes), resolved and checked.
#[derive(Debug, Clone, Default)]
pub struct Model {
    defs: Vec<Def>,
    roots: Vec<DefId>,
    /// Definitions in the arena that do not belong to the model.
    left_out: BTreeSet<DefId>,
    annotations: Vec<AnnotationDef>,
    /// Sequence number of each definition's body, not of its forward declaration.
    order: Vec<u32>,
    clock: u32,
}

impl Model {
    /// Returns the definitions at file scope, in order of appearance.
    pub fn roots(&self) -> &[DefId] {
        &self.roots
    }

    /// Returns all definitions, in order of appearance.
    pub fn defs(&self) -> impl Iterator<Item = &Def> {
        self.defs.iter().filter(|def| !self.left_out.contains(&def.id))
    }

    /// Returns the definition with this id.
    pub fn def(&self, id: DefId) -> &Def {
        &self.defs[id.0 as usize]
    }

    /// Marks the operation of a valuetype with this scoped name, such as `bank::Purse::spend`, as `@mutating`. Returns
    /// `false` if no such operation exists.
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

    /// Follows typedefs to another kind of type.
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

    /// Returns all direct and indirect bases of an interface, each once, nearest first.
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

    /// Returns the members of a struct, those of its bases first.
    pub fn all_fields<'m>(&'m self, body: &'m Struct) -> Vec<&'m Field> {
        let mut chain = vec![body];
        let mut base = body.base;
        while let Some(DefKind::Struct(body)) = base.map(|id| &self.def(id).kind) {
            chain.push(body);
            base = body.base;
        }
        chain.iter().rev().flat_map(|body| &body.fields).collect()
    }

    /// Returns the state of a valuetype, that of its concrete bases first.
    pub fn all_state<'m>(&'m self, value: &'m ValueType) -> Vec<&'m StateMember> {
        let mut chain = vec![value];
        let mut next = value.bases.first();
        while let Some(DefKind::ValueType(base)) = next.map(|id| &self.def(*id).kind) {
            chain.push(base);
            next = base.bases.first();
        }
        chain.iter().rev().flat_map(|value| &value.state).collect()
    }

    /// Returns the fields of a bitset, those of its bases first.
    pub fn all_bits<'m>(&'m self, body: &'m BitSet) -> Vec<&'m BitField> {
        let mut chain = vec![body];
        let mut base = body.base;
        while let Some(DefKind::BitSet(body)) = base.map(|id| &self.def(id).kind) {
            chain.push(body);
            base = body.base;
        }
        chain.iter().rev().flat_map(|body| &body.fields).collect()
    }

    /// Returns the user-defined annotations.
    pub fn annotations(&self) -> &[AnnotationDef] {
        &self.annotations
    }

    /// Adds a user-defined annotation; front end only.
    pub(crate) fn add_annotation(&mut self, annotation: AnnotationDef) {
        self.annotations.push(annotation);
    }

    /// Returns the number of definitions, including hidden ones; front end only.
    pub(crate) fn len(&self) -> usize {
        self.defs.len()
    }

    /// Adds a definition; front end only.
    pub(crate) fn add(&mut self, mut def: Def) -> DefId {
        let id = DefId(self.defs.len() as u32);
        def.id = id;
        self.defs.push(def);
        self.order.push(self.clock);
        self.clock += 1;
        id
    }

    /// Reports whether a definition belongs to the model.
    pub(crate) fn holds(&self, id: DefId) -> bool {
        !self.left_out.contains(&id)
    }

    /// Returns a definition that is still being built; front end only.
    pub(crate) fn def_mut(&mut self, id: DefId) -> &mut Def {
        &mut self.defs[id.0 as usize]
    }

    /// Removes definitions of included files that could not be compiled; no definition in the model refers to them.
    /// Front end only.
    pub(crate) fn leave_out(&mut self, defs: BTreeSet<DefId>) {
        self.left_out = defs;
    }

    /// Returns the file scope while it is being built; front end only.
    pub(crate) fn roots_mut(&mut self) -> &mut Vec<DefId> {
        &mut self.roots
    }
}

/// Id of a definition within its [`Model`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefId(pub(crate) u32);

/// Named definition.
#[derive(Debug, Clone)]
pub struct Def {
    /// Id of this definition.
    pub id: DefId,
    /// Name without escape (`_attribute` is `attribute`).
    pub name: String,
    /// Enclosing scope; `None` at file scope.
    pub parent: Option<DefId>,
    /// Names from file scope down to this one, joined by `::` without a leading one.
    pub scoped_name: String,
    /// `IDL:prefix/scoped/name:1.0`, after all pragmas.
    pub repository_id: String,
    /// Span of the name.
    pub span: Span,
    /// Whether the definition is in a main file, not in an included one.
    pub in_main_file: bool,
    /// Comment directly before the definition, without comment marks; empty without a comment.
    pub doc: Arc<str>,
    /// All applied annotations.
    pub annotations: Arc<[Annotation]>,
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
    /// `interface X;` without a definition.
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
    /// `component`; as a type, a reference to its equivalent interface.
    Component(Component),
    /// `connector`.
    Connector(Component),
    /// `porttype`.
    PortType(PortType),
    /// `home`; as a type, a reference to its equivalent interface.
    Home(Home),
    /// `module T<...>`, which is used through its instances only.
    TemplateModule(TemplateModule),
}

/// All openings of one module.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// Definitions in order of appearance.
    pub members: Vec<DefId>,
    /// Template module that the module instantiates.
    pub template: Option<DefId>,
}

/// Constraint on an interface.
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
    /// Operations and attributes in order of declaration, without inherited ones.
    pub exports: Vec<Export>,
}

/// Operation or attribute of an interface.
#[derive(Debug, Clone)]
pub enum Export {
    /// Operation.
    Operation(Operation),
    /// Attribute, one declarator.
    Attribute(Attribute),
}

/// Operation.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Name without escape; also the name on the wire.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// Comment before the declaration.
    pub doc: Arc<str>,
    /// All applied annotations.
    pub annotations: Arc<[Annotation]>,
    /// Whether the operation is `oneway`.
    pub oneway: bool,
    /// Whether the operation is `@mutating`: an operation of a valuetype that changes the state.
    pub mutating: bool,
    /// Type of the result; `None` is `void`.
    pub returns: Option<Type>,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Exceptions in order.
    pub raises: Vec<DefId>,
    /// Strings of the `context` clause.
    pub context: Vec<String>,
}

/// Parameter.
#[derive(Debug, Clone)]
pub struct Param {
    /// Name without escape.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// All applied annotations.
    pub annotations: Arc<[Annotation]>,
    /// Direction of transfer.
    pub direction: Direction,
    /// Type of the parameter.
    pub ty: Type,
}

/// Direction of a parameter's transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Client to server.
    In,
    /// Server to client.
    Out,
    /// Client to server and back.
    InOut,
}

/// Attribute.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// Name without escape; prefixed with `_get_` or `_set_` on the wire.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// Comment before the declaration.
    pub doc: Arc<str>,
    /// All applied annotations.
    pub annotations: Arc<[Annotation]>,
    /// Whether the attribute is `readonly`, without a `_set_` operation.
    pub readonly: bool,
    /// Type of the attribute.
    pub ty: Type,
    /// Exceptions of the getter.
    pub get_raises: Vec<DefId>,
    /// Exceptions of the setter.
    pub set_raises: Vec<DefId>,
}

/// Struct or exception.
#[derive(Debug, Clone, Default)]
pub struct Struct {
    /// Base in `struct D : B`, whose members come first.
    pub base: Option<DefId>,
    /// Own members, in order; [`Model::all_fields`] includes inherited ones.
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
    /// Comment before the member; shared by all names of one declaration.
    pub doc: Arc<str>,
    /// All applied annotations.
    pub annotations: Arc<[Annotation]>,
    /// Type of the member; array declarators are already [`Type::Array`]s.
    pub ty: Type,
    /// Whether the member is `@optional`: on the wire, a boolean that states whether the member is present precedes it.
    pub optional: bool,
    /// Whether the member is `@key`: part of the identity of instances.
    pub key: bool,
    /// Value of `@default(value)`.
    pub default: Option<Value>,
}

/// Discriminated union.
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
    /// Whether `default:` is among the labels.
    pub is_default: bool,
    /// Member that the labels select.
    pub field: Field,
}

/// Enumeration.
#[derive(Debug, Clone, Default)]
pub struct Enum {
    /// Number of bits, from `@bit_bound`: 1 to 32; marshalled as the smallest unsigned integer that holds them. `None`
    /// without the annotation: marshalled as an `unsigned long`.
    pub bit_bound: Option<u16>,
    /// Ordinal of the enumerator that is `@default_literal`.
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
    /// Comment before the declaration.
    pub doc: Arc<str>,
    /// All applied annotations.
    pub annotations: Arc<[Annotation]>,
    /// Number on the wire: from `@value`, or one more than that of the previous enumerator; the ordinal unless `@value`
    /// is used.
    pub value: u32,
}

/// New name for a type.
#[derive(Debug, Clone)]
pub struct Typedef {
    /// Type that the typedef names.
    pub ty: Type,
}

/// Constant.
#[derive(Debug, Clone)]
pub struct Const {
    /// Type as declared.
    pub ty: Type,
    /// Value, evaluated and range-checked.
    pub value: Value,
}

/// Constant value, checked against its type.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Value of any integer type or `octet`.
    Integer(i128),
    /// Value of type `float` or `double`.
    Float(f64),
    /// Value of type `long double`.
    LongDouble(Quadruple),
    /// Value of type `boolean`.
    Boolean(bool),
    /// Value of type `char` or `wchar`.
    Char(char),
    /// Value of type `string` or `wstring`. The constants that name another constant share its text.
    String(Arc<str>),
    /// Enumerator: the enum and its ordinal.
    Enumerator(DefId, u32),
    /// Value of type `fixed`: sign, digits and point, without superfluous leading zeros.
    Fixed(String),
}

/// Type at its use.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// Basic type.
    Basic(Basic),
    /// `string`, with its bound.
    String(Option<u32>),
    /// `wstring`, with its bound.
    WString(Option<u32>),
    /// `sequence`, with its bound.
    Sequence(Box<Type>, Option<u32>),
    /// Array: element, and one size per dimension, outermost first.
    Array(Box<Type>, Vec<u32>),
    /// `fixed<digits, scale>`: number of digits, and of those after the point.
    Fixed(u16, i16),
    /// `map<key, value>`, with its bound.
    Map(Box<Type>, Box<Type>, Option<u32>),
    /// Named definition: interface, struct, union, enum, typedef, valuetype ...
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

/// Basic type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Basic {
    /// `octet`.
    Octet,
    /// `int8` (IDL 4): a signed octet.
    Int8,
    /// `uint8` (IDL 4): a number, whereas `octet` is raw data.
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
