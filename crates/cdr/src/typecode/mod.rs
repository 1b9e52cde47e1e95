//! Types as data (CORBA 3.3 part 1, 8.11; part 2, 9.3.5.1).

mod build;
mod compare;
mod graph;
mod kind;
mod read;
mod show;
mod typed;
mod write;

use alloc::sync::Arc;

pub use build::Label;
pub(crate) use graph::{Facts, UnionNode};
use graph::{Graph, MAX_ALIASES, Node, Slot, kind_alignment, kind_holds_text, kind_is_bound};
pub use kind::TcKind;
pub use typed::{Typed, Wchar, Wstring};

/// IDL type as data, such as the type of the value in an `any`.
///
/// Immutable; cloning costs one atomic increment, or nothing for the kinds without parameters,
/// which are constants. A type is stored together with all its component types, so a recursive type
/// needs no special care: it is freed like any other, and its [`content`](TypeRef::content) and
/// [`member`](TypeRef::member)s are always available.
///
/// Two type codes are `==` when [`equal`](Self::equal) returns `true`.
///
/// ```
/// use oxorb_cdr::{TcKind, TypeCode};
///
/// let point = TypeCode::structure(
///     "IDL:Point:1.0",
///     "Point",
///     [("x", TypeCode::LONG), ("y", TypeCode::LONG)],
/// );
/// assert_eq!(point.to_string(), "struct Point { long x; long y; }");
/// assert_eq!(point.as_ref().members().count(), 2);
///
/// let tree = TypeCode::structure(
///     "IDL:Tree:1.0",
///     "Tree",
///     [("branches", TypeCode::sequence(TypeCode::recursive("IDL:Tree:1.0")))],
/// );
/// let branches = tree.as_ref().member(0).unwrap().ty;
/// assert_eq!(branches.content().unwrap().to_type_code(), tree);
/// ```
#[derive(Clone)]
pub struct TypeCode {
    /// Graph with the slot's node, if it has one.
    graph: Option<Arc<Graph>>,
    slot: Slot,
}

/// Borrowed [`TypeCode`], or a part of one, for walking types without reference counting. Costs
/// nothing to copy.
#[derive(Clone, Copy)]
pub struct TypeRef<'a> {
    graph: Option<&'a Arc<Graph>>,
    slot: Slot,
}

/// Structure of a type.
#[derive(Clone, Copy, Debug)]
pub enum Shape<'a> {
    /// Type completely defined by its kind.
    Simple(TcKind),
    /// `string`
    String {
        /// Maximum number of characters, if bounded.
        bound: Option<u32>,
    },
    /// `wstring`
    Wstring {
        /// Maximum number of characters, if bounded.
        bound: Option<u32>,
    },
    /// `fixed<digits, scale>`
    Fixed {
        /// Total number of decimal digits.
        digits: u16,
        /// Number of digits after the decimal point.
        scale: i16,
    },
    /// `sequence<element>`
    Sequence {
        /// Type of the elements.
        element: TypeRef<'a>,
        /// Maximum number of elements, if bounded.
        bound: Option<u32>,
    },
    /// Dimension of an array.
    Array {
        /// Type of the elements; an array, too, if there are further dimensions.
        element: TypeRef<'a>,
        /// Number of elements.
        length: u32,
    },
    /// `typedef`
    Alias(TypeRef<'a>),
    /// Value box.
    ValueBox(TypeRef<'a>),
    /// `struct`; see [`TypeRef::members`].
    Struct,
    /// `exception`; see [`TypeRef::members`].
    Except,
    /// `union`; see [`TypeRef::members`].
    Union {
        /// Type of the discriminant, with aliases.
        discriminator: TypeRef<'a>,
        /// Index of the default member.
        default: Option<u32>,
    },
    /// `enum`; see [`TypeRef::enumerators`].
    Enum,
    /// Valuetype or event type; see [`TypeRef::members`].
    Value {
        /// Modifier of the valuetype.
        modifier: ValueModifier,
        /// Concrete base valuetype.
        base: Option<TypeRef<'a>>,
    },
    /// Type of which a type code contains only the name: interfaces, native, component and home.
    Named(TcKind),
    /// Type not defined yet: see [`TypeCode::recursive`].
    Open,
}

/// Member of a struct, exception, union or valuetype.
#[derive(Clone, Copy, Debug)]
pub struct MemberRef<'a> {
    /// Name; empty in a [compact](TypeCode::compact) type code.
    pub name: &'a Arc<str>,
    /// Type of the member.
    pub ty: TypeRef<'a>,
    /// Label that selects the member of a union.
    pub label: Option<Label>,
    /// Visibility of the member of a valuetype.
    pub visibility: Visibility,
}

/// Modifier of a valuetype.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(i16)]
pub enum ValueModifier {
    /// Absence of a modifier: `VM_NONE`.
    #[default]
    None = 0,
    /// `custom`: the value marshals itself.
    Custom = 1,
    /// `abstract`: the value has no state.
    Abstract = 2,
    /// `truncatable`: a receiver may truncate the value to its base.
    Truncatable = 3,
}

/// Visibility of a member of a valuetype.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(i16)]
pub enum Visibility {
    /// Visible to the implementation only.
    Private = 0,
    /// Visible to all.
    #[default]
    Public = 1,
}

/// Repository ids and names of the named types represented by a [`Slot`] alone.
const WELL_KNOWN: [(TcKind, &str, &str); 3] = [
    (TcKind::Objref, "IDL:omg.org/CORBA/Object:1.0", "Object"),
    (TcKind::Value, "IDL:omg.org/CORBA/ValueBase:1.0", "ValueBase"),
    (TcKind::AbstractInterface, "IDL:omg.org/CORBA/AbstractBase:1.0", "AbstractBase"),
];

macro_rules! constants {
    ($($name:ident $kind:ident $text:literal)*) => {
        impl TypeCode {
            $(#[doc = concat!("`", $text, "`")] pub const $name: Self = Self::of_kind(TcKind::$kind);)*
        }
    };
}

constants! {
    NULL Null "null"
    VOID Void "void"
    SHORT Short "short"
    LONG Long "long"
    USHORT Ushort "unsigned short"
    ULONG Ulong "unsigned long"
    FLOAT Float "float"
    DOUBLE Double "double"
    BOOLEAN Boolean "boolean"
    CHAR Char "char"
    OCTET Octet "octet"
    ANY Any "any"
    TYPE_CODE TypeCode "CORBA::TypeCode"
    PRINCIPAL Principal "CORBA::Principal"
    OBJECT Objref "Object"
    STRING String "string"
    LONGLONG Longlong "long long"
    ULONGLONG Ulonglong "unsigned long long"
    LONGDOUBLE Longdouble "long double"
    WCHAR Wchar "wchar"
    WSTRING Wstring "wstring"
    VALUE_BASE Value "ValueBase"
    ABSTRACT_BASE AbstractInterface "AbstractBase"
}

impl TypeCode {
    const fn of_kind(kind: TcKind) -> Self {
        Self { graph: None, slot: Slot::of_kind(kind) }
    }

    /// Returns the type code of a kind without parameters; `None` for other kinds.
    pub const fn simple(kind: TcKind) -> Option<Self> {
        if kind.is_simple() { Some(Self::of_kind(kind)) } else { None }
    }

    /// Returns a view of the type for walking it.
    #[inline]
    pub fn as_ref(&self) -> TypeRef<'_> {
        TypeRef { graph: self.graph.as_ref(), slot: self.slot }
    }

    /// Returns the kind.
    #[inline]
    pub fn kind(&self) -> TcKind {
        self.as_ref().kind()
    }

    /// Returns the repository id, for kinds that have one; may be empty.
    pub fn id(&self) -> Option<&str> {
        self.as_ref().id()
    }

    /// Returns the simple name, for kinds that have one; may be empty.
    pub fn name(&self) -> Option<&str> {
        self.as_ref().name()
    }

    /// Returns the structure of the type.
    #[inline]
    pub fn shape(&self) -> Shape<'_> {
        self.as_ref().shape()
    }

    /// Returns the type with all typedefs resolved.
    #[must_use]
    pub fn resolved(&self) -> Self {
        self.as_ref().resolved().to_type_code()
    }

    /// Returns the type with this repository id among the component types and this type: the other
    /// types of a group of mutually recursive types.
    pub fn find(&self, id: &str) -> Option<Self> {
        let graph = self.graph.as_ref()?;
        let has_id = |node: &Node| node.names().is_some_and(|(own, _)| **own == *id);
        let at = graph.nodes().iter().position(has_id)?;
        Some(Self { graph: Some(graph.clone()), slot: Slot::of_node(at) })
    }

    /// Reports whether the type is complete: nothing [left open](Self::recursive), no `fixed` of
    /// more than 31 digits, and no type that contains itself except through a sequence or a
    /// valuetype. Only values of such types can be written and read.
    #[inline]
    pub fn is_complete(&self) -> bool {
        self.graph.as_ref().is_none_or(|graph| graph.is_sound())
    }
}

impl TypeCode {
    /// Returns the address of the type's graph and the number of its node, which are constant
    /// during the life of the type.
    pub(crate) fn place(&self) -> (usize, usize) {
        let graph = self.graph.as_ref().map_or(0, |graph| Arc::as_ptr(graph).addr());
        (graph, self.slot.number())
    }
}

impl<'a> TypeRef<'a> {
    /// Finds a type as [`TypeCode::find`], if the group has at most `limit` types.
    pub(crate) fn find_among(self, id: &str, limit: usize) -> Option<TypeCode> {
        let graph = self.graph.filter(|graph| graph.nodes().len() <= limit)?;
        let whole = TypeCode { graph: Some(graph.clone()), slot: self.slot };
        whole.find(id)
    }

    /// Returns the number of the type among the component types of its type code; `None` for kinds
    /// without parameters. Equal numbers within one type code denote the same type, so walks over
    /// mutually recursive types can stop at types already visited.
    pub fn number(self) -> Option<usize> {
        self.slot.node()
    }

    /// Returns the type as an owned type code.
    pub fn to_type_code(self) -> TypeCode {
        TypeCode {
            graph: self.graph.filter(|_| self.slot.node().is_some()).cloned(),
            slot: self.slot,
        }
    }

    /// Returns the kind; `tk_null` for a type [left open](TypeCode::recursive).
    #[inline]
    pub fn kind(self) -> TcKind {
        match self.node() {
            Some(node) => node.kind(),
            None => self.slot_kind(),
        }
    }

    /// Returns the repository id, for kinds that have one; may be empty.
    pub fn id(self) -> Option<&'a str> {
        self.names().map(|(id, _)| id)
    }

    /// Returns the simple name, for kinds that have one; may be empty.
    pub fn name(self) -> Option<&'a str> {
        self.names().map(|(_, name)| name)
    }

    /// Returns the structure of the type.
    #[inline]
    pub fn shape(self) -> Shape<'a> {
        let Some(node) = self.node() else {
            return match self.slot_kind() {
                TcKind::String => Shape::String { bound: None },
                TcKind::Wstring => Shape::Wstring { bound: None },
                TcKind::Value => Shape::Value { modifier: ValueModifier::None, base: None },
                kind if kind.is_simple() => Shape::Simple(kind),
                kind => Shape::Named(kind),
            };
        };
        match node {
            Node::Open(_) => Shape::Open,
            Node::Text { wide, bound } => {
                let bound = Some(*bound).filter(|&bound| bound > 0);
                if *wide { Shape::Wstring { bound } } else { Shape::String { bound } }
            }
            Node::Fixed { digits, scale } => Shape::Fixed { digits: *digits, scale: *scale },
            Node::Sequence { element, bound } => Shape::Sequence {
                element: self.part(*element),
                bound: Some(*bound).filter(|&bound| bound > 0),
            },
            Node::Array { element, length } => {
                Shape::Array { element: self.part(*element), length: *length }
            }
            Node::Wrapper { kind, content, .. } => match kind {
                TcKind::Alias => Shape::Alias(self.part(*content)),
                _ => Shape::ValueBox(self.part(*content)),
            },
            Node::Struct { kind, .. } => match kind {
                TcKind::Except => Shape::Except,
                _ => Shape::Struct,
            },
            Node::Union(union) => Shape::Union {
                discriminator: self.part(union.discriminator),
                default: union.default,
            },
            Node::Enum { .. } => Shape::Enum,
            Node::Named { kind, .. } => Shape::Named(*kind),
            Node::Value { modifier, base, .. } => Shape::Value {
                modifier: *modifier,
                base: Some(self.part(*base)).filter(|base| base.kind() != TcKind::Null),
            },
        }
    }

    /// Returns the element type of a sequence or array, or the type that an alias or box wraps.
    pub fn content(self) -> Option<Self> {
        match self.shape() {
            Shape::Sequence { element, .. } | Shape::Array { element, .. } => Some(element),
            Shape::Alias(content) | Shape::ValueBox(content) => Some(content),
            _ => None,
        }
    }

    /// Returns the members of a struct, exception, union or valuetype, in order, without those of
    /// its bases.
    ///
    /// A union member with several labels occurs once for each.
    pub fn members(self) -> impl ExactSizeIterator<Item = MemberRef<'a>> + Clone {
        let count = match self.node() {
            Some(Node::Struct { members, .. } | Node::Value { members, .. }) => members.len(),
            Some(Node::Union(union)) => union.cases.len(),
            _ => 0,
        };
        (0..count).map(move |at| self.member(at).expect("counted"))
    }

    /// Returns a member of a struct, exception, union or valuetype, by its index.
    pub fn member(self, at: usize) -> Option<MemberRef<'a>> {
        match self.node()? {
            Node::Struct { members, .. } | Node::Value { members, .. } => {
                members.get(at).map(|member| MemberRef {
                    name: &member.name,
                    ty: self.part(member.slot),
                    label: None,
                    visibility: member.visibility,
                })
            }
            Node::Union(union) => union.cases.get(at).map(|case| MemberRef {
                name: &case.name,
                ty: self.part(case.slot),
                label: Some(if union.default == Some(at as u32) {
                    Label::Default
                } else {
                    Label::Value(case.label)
                }),
                visibility: Visibility::Public,
            }),
            _ => None,
        }
    }

    /// Returns the member of a union that a discriminant selects; `None` if it selects none.
    ///
    /// The discriminant is a number: a boolean is 0 or 1, a character its code point, and an
    /// enumerator its ordinal.
    pub fn select(self, label: i128) -> Option<MemberRef<'a>> {
        let at = self.union()?.select(label)?;
        self.member(at as usize)
    }

    /// Returns the names in an enumeration, in order; empty for other kinds.
    pub fn enumerators(self) -> &'a [Arc<str>] {
        match self.node() {
            Some(Node::Enum { members, .. }) => members,
            _ => &[],
        }
    }

    /// Returns the type with all typedefs resolved.
    #[inline]
    #[must_use]
    pub fn resolved(self) -> Self {
        let mut at = self;
        for _ in 0..MAX_ALIASES {
            let Shape::Alias(content) = at.shape() else {
                break;
            };
            at = content;
        }
        at
    }

    /// Reports whether values of the type can be written and read; see [`TypeCode::is_complete`].
    #[inline]
    pub fn is_complete(self) -> bool {
        self.slot.node().is_none() || self.graph.is_none_or(|graph| graph.is_sound())
    }

    /// Returns the minimum size of a value, in octets.
    #[inline]
    pub fn min_size(self) -> usize {
        self.facts().min as usize
    }

    pub(crate) fn facts(self) -> Facts {
        match (self.graph, self.slot.node()) {
            (Some(graph), Some(node)) => *graph.facts(node),
            _ => Facts::of_kind(self.slot_kind()),
        }
    }

    /// Reports whether values may contain characters, whose encoding depends on the dialect.
    pub(crate) fn holds_text(self) -> bool {
        match (self.graph, self.slot.node()) {
            (Some(graph), Some(_)) => graph.holds_text(),
            _ => kind_holds_text(self.slot_kind()),
        }
    }

    /// Reports whether values may contain references or valuetypes, for which a decoder needs a
    /// [`Scope`](crate::Scope).
    pub(crate) fn is_bound(self) -> bool {
        match (self.graph, self.slot.node()) {
            (Some(graph), Some(_)) => graph.is_bound(),
            _ => kind_is_bound(self.slot_kind()),
        }
    }

    /// Returns the largest alignment in any value: octets have the same meaning at offsets equal
    /// modulo it.
    pub(crate) fn largest_alignment(self) -> usize {
        match (self.graph, self.slot.node()) {
            (Some(graph), Some(_)) => graph.align(),
            _ => kind_alignment(self.slot_kind()),
        }
    }

    pub(crate) fn union(self) -> Option<&'a UnionNode> {
        match self.node()? {
            Node::Union(union) => Some(union),
            _ => None,
        }
    }

    #[inline]
    fn node(self) -> Option<&'a Node> {
        Some(self.graph?.node(self.slot.node()?))
    }

    #[inline]
    fn slot_kind(self) -> TcKind {
        self.slot.kind().expect("a slot is a kind or a node")
    }

    #[inline]
    fn part(self, slot: Slot) -> Self {
        Self { slot, ..self }
    }

    fn names(self) -> Option<(&'a str, &'a str)> {
        match self.node() {
            Some(node) => node.names().map(|(id, name)| (&**id, &**name)),
            None => WELL_KNOWN
                .iter()
                .find(|known| known.0 == self.slot_kind())
                .map(|&(_, id, name)| (id, name)),
        }
    }
}

impl Default for TypeCode {
    /// Returns [`NULL`](Self::NULL).
    fn default() -> Self {
        Self::NULL
    }
}
