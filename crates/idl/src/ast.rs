//! The syntax tree: what was written, before any name means anything.
//!
//! The parser always returns a tree. Where the text could not be understood
//! the tree has a [`DefinitionKind::Unusable`] (so that the name is known and
//! its uses cause no further errors) or nothing at all; the diagnostics say why.

use crate::lex::Pragma;
use crate::model::{Basic, Direction, InterfaceKind};
use crate::source::Span;

/// One file with all it includes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    pub(crate) items: Vec<Item>,
}

/// What may stand where a definition may stand.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Definition(Definition),
    Pragma(Pragma, Span),
    /// An included file begins here.
    FileStart,
    /// The innermost included file ends here.
    FileEnd,
}

/// A name where it is declared or used.
#[derive(Debug, Clone)]
pub(crate) struct Ident {
    /// Without the underscore that escapes it.
    pub(crate) name: Box<str>,
    pub(crate) span: Span,
}

/// `A::B` or `::A::B`.
#[derive(Debug, Clone)]
pub(crate) struct ScopedName {
    pub(crate) absolute: bool,
    /// At least one.
    pub(crate) parts: Vec<Ident>,
}

impl ScopedName {
    /// The whole name, from the first part to the last.
    pub(crate) fn span(&self) -> Span {
        let (first, last) = (self.parts[0].span, self.parts[self.parts.len() - 1].span);
        first.to(last)
    }

    /// As written, without white space.
    pub(crate) fn text(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().map(|part| &*part.name).collect();
        format!(
            "{}{}",
            if self.absolute { "::" } else { "" },
            parts.join("::")
        )
    }
}

/// One definition or declaration.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(crate) doc: Doc,
    pub(crate) kind: DefinitionKind,
}

/// The comment before something.
pub(crate) type Doc = Option<Box<str>>;

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
    /// Reported already; only the name is worth keeping.
    Unusable(Ident),
    /// Valid, but nothing this version compiles.
    NotYet {
        construct: &'static str,
        span: Span,
        name: Option<Ident>,
    },
}

/// `interface I : A, B { ... }`.
#[derive(Debug, Clone)]
pub(crate) struct Interface {
    pub(crate) kind: InterfaceKind,
    pub(crate) name: Ident,
    pub(crate) bases: Vec<ScopedName>,
    pub(crate) body: Vec<Item>,
}

/// A type that may be defined in passing, inside another declaration.
#[derive(Debug, Clone)]
pub(crate) enum Constructed {
    Struct(Struct),
    Union(Union),
    Enum(Enum),
}

/// A struct or an exception.
#[derive(Debug, Clone)]
pub(crate) struct Struct {
    pub(crate) name: Ident,
    pub(crate) members: Vec<Member>,
    pub(crate) asides: Asides,
}

/// Pragmas and file borders among members: each with the number of members
/// before it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asides(pub(crate) Vec<(usize, Item)>);

impl Asides {
    /// Those that stand right behind so many members.
    pub(crate) fn behind(&self, members: usize) -> impl Iterator<Item = &Item> {
        let first = self.0.partition_point(|(at, _)| *at < members);
        let rest = self.0[first..].iter();
        rest.take_while(move |(at, _)| *at == members)
            .map(|(_, item)| item)
    }
}

/// `long a, b[3];`
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) doc: Doc,
    pub(crate) ty: TypeSpec,
    pub(crate) declarators: Vec<Declarator>,
}

/// A name and, for an array, its dimensions.
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

/// The labels of one union member and the member.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) labels: Vec<Label>,
    pub(crate) doc: Doc,
    pub(crate) ty: TypeSpec,
    pub(crate) declarator: Declarator,
}

#[derive(Debug, Clone)]
pub(crate) enum Label {
    Value(Expr),
    Default(Span),
}

#[derive(Debug, Clone)]
pub(crate) struct Enum {
    pub(crate) name: Ident,
    pub(crate) enumerators: Vec<(Doc, Ident)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) oneway: Option<Span>,
    /// `None` is `void`.
    pub(crate) returns: Option<TypeSpec>,
    pub(crate) name: Ident,
    pub(crate) params: Vec<Param>,
    pub(crate) raises: Vec<ScopedName>,
    pub(crate) context: Vec<Box<str>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub(crate) direction: Direction,
    /// Of the word `in`, `out` or `inout`.
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

/// A type as it is written.
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
    Named(ScopedName),
    Constructed(Box<Constructed>),
    /// Valid, but nothing this version compiles.
    NotYet(&'static str),
}

/// A constant expression.
#[derive(Debug, Clone)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
}

#[derive(Debug, Clone)]
pub(crate) enum ExprKind {
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Char(char),
    WChar(char),
    Str(String),
    WStr(String),
    Name(ScopedName),
    Unary(Unary, Box<Expr>),
    /// A run of operators of one precedence, from left to right; kept flat so
    /// that a long sum is no deep tree.
    Chain(Box<Expr>, Vec<(Binary, Expr)>),
    /// Valid, but nothing this version compiles.
    NotYet(&'static str),
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
    /// As written.
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
