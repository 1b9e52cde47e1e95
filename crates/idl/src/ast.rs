//! Syntax tree: the source as written, before names are resolved.
//!
//! The parser always returns a tree. Text that cannot be parsed becomes a [`DefinitionKind::Unusable`] (so that the
//! name is known and its uses cause no further errors) or is omitted; the diagnostics give the reason.

use crate::constant::Real;
use crate::lex::Pragma;
use crate::model::{Basic, Direction, InterfaceKind, ValueKind};
use crate::source::Span;
use std::rc::Rc;
use std::sync::Arc;

/// File with everything that it includes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    pub(crate) items: Vec<Item>,
}

/// Item at the level of definitions.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Definition(Definition),
    Pragma(Pragma, Span),
    /// Start of an included file.
    FileStart,
    /// End of the innermost included file.
    FileEnd,
}

/// Name at its declaration or use.
#[derive(Debug, Clone)]
pub(crate) struct Ident {
    /// Name without the underscore that escapes it.
    pub(crate) name: Box<str>,
    pub(crate) span: Span,
}

/// `A::B` or `::A::B`.
#[derive(Debug, Clone)]
pub(crate) struct ScopedName {
    pub(crate) absolute: bool,
    /// Parts, at least one.
    pub(crate) parts: Vec<Ident>,
}

impl ScopedName {
    /// Returns the span of the whole name, from the first part to the last.
    pub(crate) fn span(&self) -> Span {
        let (first, last) = (self.parts[0].span, self.parts[self.parts.len() - 1].span);
        first.to(last)
    }

    /// Returns the name as written, without white space.
    pub(crate) fn text(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().map(|part| &*part.name).collect();
        format!("{}{}", if self.absolute { "::" } else { "" }, parts.join("::"))
    }
}

/// Definition or declaration.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(crate) notes: Notes,
    pub(crate) kind: DefinitionKind,
    /// Span from the first annotation or word to the `;`.
    pub(crate) span: Span,
}

/// Notes before a declaration that are not part of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    /// Comment before the declaration.
    pub(crate) doc: Option<Arc<str>>,
    pub(crate) annotations: Vec<Annotation>,
}

impl Notes {
    pub(crate) const NONE: &Notes = &Notes { doc: None, annotations: Vec::new() };

    /// Returns the comment, which all names of the declaration share; empty if there is none.
    pub(crate) fn doc(&self) -> Arc<str> {
        self.doc.clone().unwrap_or_default()
    }
}

/// `@name(param = value)`.
#[derive(Debug, Clone)]
pub(crate) struct Annotation {
    pub(crate) name: ScopedName,
    /// Span from the `@` to the end of the name.
    pub(crate) span: Span,
    pub(crate) params: Vec<(Option<Ident>, Expr)>,
}

#[derive(Debug, Clone)]
pub(crate) enum DefinitionKind {
    Module {
        name: Ident,
        body: Vec<Item>,
    },
    Interface(Interface),
    ForwardInterface {
        kind: InterfaceKind,
        name: Ident,
    },
    Constructed(Constructed),
    ForwardStruct(Ident),
    ForwardUnion(Ident),
    Exception(Struct),
    Typedef {
        ty: TypeSpec,
        declarators: Vec<Declarator>,
    },
    Const {
        ty: TypeSpec,
        name: Ident,
        value: Expr,
    },
    Native(Ident),
    Operation(Operation),
    Attribute(Attribute),
    ValueType(ValueType),
    ForwardValue {
        what: ValueWords,
        name: Ident,
    },
    ValueBox {
        name: Ident,
        ty: TypeSpec,
    },
    /// State member of a valuetype.
    State {
        public: bool,
        ty: TypeSpec,
        declarators: Vec<Declarator>,
    },
    /// Factory of a valuetype or home.
    Factory(Factory),
    BitMask {
        name: Ident,
        flags: Vec<Enumerator>,
    },
    BitSet(BitSet),
    Component(Component),
    ForwardComponent(Ident),
    PortType {
        name: Ident,
        body: Vec<Item>,
    },
    ForwardPortType(Ident),
    /// Port of a component, connector or port type.
    Port(Port),
    Home(Home),
    TypeId {
        name: ScopedName,
        id: Box<str>,
        id_span: Span,
    },
    TypePrefix {
        name: ScopedName,
        prefix: Box<str>,
        prefix_span: Span,
    },
    /// `import ::X;`; importing a file by name declares nothing that the front end can know.
    Import(Option<ScopedName>),
    Annotation(AnnotationDef),
    Template(Rc<Template>),
    Instance(Instance),
    /// Definition that was reported as an error; only its name is kept.
    Unusable(Ident),
}

/// Words before the name of a valuetype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValueWords {
    pub(crate) kind: ValueKind,
    /// `eventtype`.
    pub(crate) event: bool,
}

/// `valuetype V : truncatable B supports I { ... }`.
#[derive(Debug, Clone)]
pub(crate) struct ValueType {
    pub(crate) what: ValueWords,
    pub(crate) name: Ident,
    pub(crate) truncatable: Option<Span>,
    pub(crate) bases: Vec<ScopedName>,
    pub(crate) supports: Vec<ScopedName>,
    pub(crate) body: Vec<Item>,
}

/// `factory f(in long a) raises (E)`, or a `finder`.
#[derive(Debug, Clone)]
pub(crate) struct Factory {
    pub(crate) finder: bool,
    pub(crate) name: Ident,
    pub(crate) params: Vec<Param>,
    pub(crate) raises: Vec<ScopedName>,
}

/// `bitset B : A { bitfield<3> a b; }`.
#[derive(Debug, Clone)]
pub(crate) struct BitSet {
    pub(crate) name: Ident,
    pub(crate) bases: Vec<ScopedName>,
    pub(crate) fields: Vec<BitField>,
}

/// Declaration `bitfield` and the names it declares; none for padding.
#[derive(Debug, Clone)]
pub(crate) struct BitField {
    pub(crate) notes: Notes,
    pub(crate) span: Span,
    pub(crate) bits: Expr,
    pub(crate) ty: Option<TypeSpec>,
    pub(crate) names: Vec<Ident>,
}

/// Component or connector.
#[derive(Debug, Clone)]
pub(crate) struct Component {
    pub(crate) connector: bool,
    pub(crate) name: Ident,
    pub(crate) bases: Vec<ScopedName>,
    pub(crate) supports: Vec<ScopedName>,
    pub(crate) body: Vec<Item>,
}

#[derive(Debug, Clone)]
pub(crate) struct Port {
    pub(crate) kind: PortKind,
    /// Interface or `Object`, event type, or port type.
    pub(crate) ty: TypeSpec,
    pub(crate) name: Ident,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortKind {
    Provides,
    Uses { multiple: bool },
    Emits,
    Publishes,
    Consumes,
    Extended { mirror: bool },
}

/// `home H : B supports I manages C primarykey K { ... }`.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) name: Ident,
    pub(crate) bases: Vec<ScopedName>,
    pub(crate) supports: Vec<ScopedName>,
    pub(crate) manages: ScopedName,
    pub(crate) primary_key: Option<ScopedName>,
    pub(crate) body: Vec<Item>,
}

/// `@annotation A { long v default 1; }`.
#[derive(Debug, Clone)]
pub(crate) struct AnnotationDef {
    pub(crate) name: Ident,
    pub(crate) members: Vec<AnnotationMember>,
}

#[derive(Debug, Clone)]
pub(crate) struct AnnotationMember {
    /// Type of the member; `None` is `any`.
    pub(crate) ty: Option<TypeSpec>,
    pub(crate) name: Ident,
    pub(crate) default: Option<Expr>,
}

/// `module T<typename A> { ... }`.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    pub(crate) name: Ident,
    pub(crate) params: Vec<TemplateParam>,
    pub(crate) body: Vec<Item>,
    /// Octets of the names and strings in the body, and 64 for each token.
    pub(crate) octets: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct TemplateParam {
    pub(crate) kind: TemplateParamKind,
    pub(crate) name: Ident,
}

#[derive(Debug, Clone)]
pub(crate) enum TemplateParamKind {
    Typename,
    Interface,
    ValueType,
    EventType,
    Struct,
    Union,
    Exception,
    Enum,
    /// Sequence of an earlier parameter.
    Sequence(Ident),
    Const(TypeSpec),
}

/// `module T<long> Name;` or, within a template, `alias T<A> Name;`.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(crate) template: ScopedName,
    pub(crate) args: Vec<TemplateArg>,
    pub(crate) name: Ident,
    pub(crate) alias: Option<Span>,
}

/// Type or value; a name may be either.
#[derive(Debug, Clone)]
pub(crate) enum TemplateArg {
    Type(TypeSpec),
    Value(Expr),
}

impl TemplateArg {
    pub(crate) fn span(&self) -> Span {
        match self {
            TemplateArg::Type(ty) => ty.span,
            TemplateArg::Value(value) => value.span,
        }
    }
}

/// `interface I : A, B { ... }`.
#[derive(Debug, Clone)]
pub(crate) struct Interface {
    pub(crate) kind: InterfaceKind,
    pub(crate) name: Ident,
    pub(crate) bases: Vec<ScopedName>,
    pub(crate) body: Vec<Item>,
}

/// Type that may be defined within another declaration.
#[derive(Debug, Clone)]
pub(crate) enum Constructed {
    Struct(Struct),
    Union(Union),
    Enum(Enum),
}

/// Struct or exception.
#[derive(Debug, Clone)]
pub(crate) struct Struct {
    pub(crate) name: Ident,
    /// Bases; at most one is allowed, and none for an exception.
    pub(crate) bases: Vec<ScopedName>,
    pub(crate) members: Vec<Member>,
    pub(crate) asides: Asides,
}

/// Pragmas and file boundaries among members: each with the number of members before it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asides(pub(crate) Vec<(usize, Item)>);

impl Asides {
    /// Returns the items directly after this number of members.
    pub(crate) fn behind(&self, members: usize) -> impl Iterator<Item = &Item> {
        let first = self.0.partition_point(|(at, _)| *at < members);
        let rest = self.0[first..].iter();
        rest.take_while(move |(at, _)| *at == members).map(|(_, item)| item)
    }
}

/// `long a, b[3];`
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) notes: Notes,
    pub(crate) ty: TypeSpec,
    pub(crate) declarators: Vec<Declarator>,
    /// Span from the first annotation or word to the `;`.
    pub(crate) span: Span,
}

/// Name and, for an array, its dimensions.
#[derive(Debug, Clone)]
pub(crate) struct Declarator {
    pub(crate) name: Ident,
    pub(crate) dimensions: Vec<Expr>,
}

#[derive(Debug, Clone)]
pub(crate) struct Union {
    pub(crate) name: Ident,
    pub(crate) discriminator: TypeSpec,
    pub(crate) cases: Vec<Case>,
    pub(crate) asides: Asides,
}

/// Labels of one union member, and the member.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) labels: Vec<Label>,
    pub(crate) notes: Notes,
    pub(crate) ty: TypeSpec,
    pub(crate) declarator: Declarator,
    /// Span from the first annotation or label to the `;`.
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum Label {
    Value(Expr),
    Default(Span),
}

#[derive(Debug, Clone)]
pub(crate) struct Enum {
    pub(crate) name: Ident,
    pub(crate) enumerators: Vec<Enumerator>,
}

/// Name in an enum or bitmask.
#[derive(Debug, Clone)]
pub(crate) struct Enumerator {
    pub(crate) notes: Notes,
    pub(crate) name: Ident,
}

#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) oneway: Option<Span>,
    /// Type of the result; `None` is `void`.
    pub(crate) returns: Option<TypeSpec>,
    pub(crate) name: Ident,
    pub(crate) params: Vec<Param>,
    pub(crate) raises: Vec<ScopedName>,
    pub(crate) context: Vec<Box<str>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub(crate) notes: Notes,
    pub(crate) direction: Direction,
    /// Span of the word `in`, `out` or `inout`.
    pub(crate) direction_span: Span,
    pub(crate) ty: TypeSpec,
    pub(crate) name: Ident,
}

#[derive(Debug, Clone)]
pub(crate) struct Attribute {
    pub(crate) readonly: bool,
    pub(crate) ty: TypeSpec,
    pub(crate) names: Vec<Ident>,
    pub(crate) get_raises: Vec<ScopedName>,
    pub(crate) set_raises: Vec<ScopedName>,
}

/// Type as written.
#[derive(Debug, Clone)]
pub(crate) struct TypeSpec {
    pub(crate) kind: TypeKind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum TypeKind {
    Basic(Basic),
    Object,
    String(Option<Box<Expr>>),
    WString(Option<Box<Expr>>),
    Sequence(Box<TypeSpec>, Option<Box<Expr>>),
    Map(Box<TypeSpec>, Box<TypeSpec>, Option<Box<Expr>>),
    /// Digits and scale; `None` is allowed for the type of a constant only.
    Fixed(Option<Box<(Expr, Expr)>>),
    Any,
    ValueBase,
    Named(ScopedName),
    Constructed(Box<Constructed>),
}

/// Constant expression.
#[derive(Debug, Clone)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum ExprKind {
    Integer(i128),
    Float(Real),
    Boolean(bool),
    Char(char),
    WChar(char),
    Str(Arc<str>),
    WStr(Arc<str>),
    /// Digits and point.
    Fixed(Box<str>),
    Name(ScopedName),
    Unary(Unary, Box<Expr>),
    /// Operators of one precedence, from left to right; flat, so that a long sum is no deep tree.
    Chain(Box<Expr>, Vec<(Binary, Expr)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    Minus,
    Plus,
    Not,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Or,
    Xor,
    And,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Binary {
    /// Returns the operator as written.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Binary::Or => "|",
            Binary::Xor => "^",
            Binary::And => "&",
            Binary::ShiftLeft => "<<",
            Binary::ShiftRight => ">>",
            Binary::Add => "+",
            Binary::Subtract => "-",
            Binary::Multiply => "*",
            Binary::Divide => "/",
            Binary::Remainder => "%",
        }
    }
}
