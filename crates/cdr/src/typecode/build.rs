use crate::prelude::*;
use crate::tables::Table;
use alloc::sync::Arc;

use super::graph::{Case, Graph, Member, Name, Node, Slot, UnionNode};
use super::{TypeCode, ValueModifier, Visibility, WELL_KNOWN};
use crate::TcKind;

/// Label that selects a member of a union.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Label {
    /// Every discriminant that selects no other member.
    Default,
    /// Discriminant as a number: a boolean is 0 or 1, a character its code point, an enumerator its
    /// ordinal.
    Value(i128),
}

macro_rules! labels {
    ($($type:ty as $via:ty),*) => {$(
        impl From<$type> for Label {
            fn from(discriminant: $type) -> Self {
                Self::Value(<$via>::from(discriminant).into())
            }
        }
    )*};
}

labels!(
    bool as i32,
    char as u32,
    u8 as u8,
    i16 as i16,
    u16 as u16,
    i32 as i32,
    u32 as u32,
    i64 as i64,
    u64 as u64
);

/// Constructors of types. Each allocates, in time proportional to the component types, so put types
/// known in advance into a `static` [`LazyLock`](std::sync::LazyLock). Rules of IDL are not
/// checked: a type that cannot have values is not [complete](Self::is_complete).
impl TypeCode {
    /// Creates `string<bound>`; unbounded for 0.
    pub fn bounded_string(bound: u32) -> Self {
        Self::leaf(Node::Text { wide: false, bound })
    }

    /// Creates `wstring<bound>`; unbounded for 0.
    pub fn bounded_wstring(bound: u32) -> Self {
        Self::leaf(Node::Text { wide: true, bound })
    }

    /// Creates `fixed<digits, scale>`.
    pub fn fixed(digits: u16, scale: i16) -> Self {
        Self::leaf(Node::Fixed { digits, scale })
    }

    /// Creates `sequence<element>`.
    pub fn sequence(element: Self) -> Self {
        Self::bounded_sequence(element, 0)
    }

    /// Creates `sequence<element, bound>`; unbounded for 0.
    pub fn bounded_sequence(element: Self, bound: u32) -> Self {
        let mut parts = Parts::default();
        let element = parts.add(&element);
        parts.finish(Node::Sequence { element, bound })
    }

    /// Creates `element[length]`; for further dimensions, the element is an array, too.
    pub fn array(element: Self, length: u32) -> Self {
        let mut parts = Parts::default();
        let element = parts.add(&element);
        parts.finish(Node::Array { element, length })
    }

    /// Creates `typedef content name`.
    pub fn alias(id: &str, name: &str, content: Self) -> Self {
        Self::wrapper(TcKind::Alias, id, name, content)
    }

    /// Creates `valuetype name content`.
    pub fn value_box(id: &str, name: &str, content: Self) -> Self {
        Self::wrapper(TcKind::ValueBox, id, name, content)
    }

    /// Creates `struct name { members }`.
    pub fn structure<'m>(
        id: &str,
        name: &str,
        members: impl IntoIterator<Item = (&'m str, Self)>,
    ) -> Self {
        Self::record(TcKind::Struct, id, name, members)
    }

    /// Creates `exception name { members }`.
    pub fn exception<'m>(
        id: &str,
        name: &str,
        members: impl IntoIterator<Item = (&'m str, Self)>,
    ) -> Self {
        Self::record(TcKind::Except, id, name, members)
    }

    /// Creates `union name switch (discriminator) { members }`; a member with several labels is
    /// passed once for each.
    ///
    /// ```
    /// use oxorb_cdr::{Label, TypeCode};
    ///
    /// let union = TypeCode::union(
    ///     "IDL:Answer:1.0",
    ///     "Answer",
    ///     TypeCode::BOOLEAN,
    ///     [(Label::Value(1), "value", TypeCode::LONG), (Label::Default, "reason", TypeCode::STRING)],
    /// );
    /// assert_eq!(
    ///     union.to_string(),
    ///     "union Answer switch (boolean) { case TRUE: long value; default: string reason; }",
    /// );
    /// ```
    pub fn union<'m>(
        id: &str,
        name: &str,
        discriminator: Self,
        members: impl IntoIterator<Item = (Label, &'m str, Self)>,
    ) -> Self {
        let mut parts = Parts::default();
        let discriminator = parts.add(&discriminator);
        let mut default = None;
        let members = (0..).zip(members).map(|(at, (label, name, ty))| {
            let label = match label {
                Label::Value(label) => label,
                Label::Default => {
                    default.get_or_insert(at);
                    0
                }
            };
            Case { label, name: name.into(), slot: parts.add(&ty) }
        });
        let cases = members.collect();
        let union = UnionNode::new(id.into(), name.into(), discriminator, default, cases);
        parts.finish(Node::Union(Box::new(union)))
    }

    /// Creates `enum name { members }`.
    pub fn enumeration<'m>(
        id: &str,
        name: &str,
        members: impl IntoIterator<Item = &'m str>,
    ) -> Self {
        Self::leaf(Node::Enum {
            id: id.into(),
            name: name.into(),
            members: members.into_iter().map(Name::from).collect(),
        })
    }

    /// Creates `interface name`.
    pub fn interface(id: &str, name: &str) -> Self {
        Self::named(TcKind::Objref, id, name)
    }

    /// Creates `abstract interface name`.
    pub fn abstract_interface(id: &str, name: &str) -> Self {
        Self::named(TcKind::AbstractInterface, id, name)
    }

    /// Creates `local interface name`, whose values cannot be sent.
    pub fn local_interface(id: &str, name: &str) -> Self {
        Self::named(TcKind::LocalInterface, id, name)
    }

    /// Creates `native name`, whose values cannot be sent.
    pub fn native(id: &str, name: &str) -> Self {
        Self::named(TcKind::Native, id, name)
    }

    /// Creates `component name`.
    pub fn component(id: &str, name: &str) -> Self {
        Self::named(TcKind::Component, id, name)
    }

    /// Creates `home name`.
    pub fn home(id: &str, name: &str) -> Self {
        Self::named(TcKind::Home, id, name)
    }

    /// Creates `valuetype name : base { members }`; without a base, pass `None` or
    /// [`NULL`](Self::NULL).
    pub fn value<'m>(
        id: &str,
        name: &str,
        modifier: ValueModifier,
        base: impl Into<Option<Self>>,
        members: impl IntoIterator<Item = (&'m str, Self, Visibility)>,
    ) -> Self {
        Self::state(TcKind::Value, id, name, modifier, base.into(), members)
    }

    /// Creates `eventtype name : base { members }`, as [`value`](Self::value).
    pub fn event<'m>(
        id: &str,
        name: &str,
        modifier: ValueModifier,
        base: impl Into<Option<Self>>,
        members: impl IntoIterator<Item = (&'m str, Self, Visibility)>,
    ) -> Self {
        Self::state(TcKind::Event, id, name, modifier, base.into(), members)
    }

    /// Creates a placeholder for the enclosing type with this repository id, which does not exist
    /// yet.
    ///
    /// When a type is created in which both occur, the placeholder is replaced by that type. To
    /// create mutually recursive types, write one out within the other; [`find`](Self::find)
    /// returns the inner one.
    ///
    /// ```
    /// use oxorb_cdr::TypeCode;
    ///
    /// let again = TypeCode::recursive("IDL:File:1.0");
    /// let folder = TypeCode::structure("IDL:Folder:1.0", "Folder", [("files", TypeCode::sequence(again))]);
    /// assert!(!folder.is_complete());
    /// let file = TypeCode::structure("IDL:File:1.0", "File", [("parents", TypeCode::sequence(folder))]);
    /// assert!(file.is_complete());
    /// let folder = file.find("IDL:Folder:1.0").unwrap();
    /// assert!(folder.is_complete());
    /// ```
    pub fn recursive(id: &str) -> Self {
        Self::leaf(Node::Open(id.into()))
    }

    /// Returns the type without the names of types and members, which take most of its octets on
    /// the wire; repository ids are kept.
    ///
    /// ```
    /// use oxorb_cdr::TypeCode;
    ///
    /// let point = TypeCode::structure("IDL:Point:1.0", "Point", [("x", TypeCode::LONG)]);
    /// let compact = point.compact();
    /// assert_eq!((compact.id(), compact.name()), (Some("IDL:Point:1.0"), Some("")));
    /// assert!(compact.equivalent(&point) && !compact.equal(&point));
    /// ```
    #[must_use]
    pub fn compact(&self) -> Self {
        let Some(graph) = &self.graph else {
            return self.clone();
        };
        let mut nodes = graph.nodes().to_vec();
        let nothing = Name::from("");
        for node in &mut nodes {
            match node {
                Node::Struct { name, members, .. } | Node::Value { name, members, .. } => {
                    *name = nothing.clone();
                    for member in members {
                        member.name = nothing.clone();
                    }
                }
                Node::Enum { name, members, .. } => {
                    *name = nothing.clone();
                    members.fill(nothing.clone());
                }
                Node::Union(union) => {
                    union.name = nothing.clone();
                    for case in &mut union.cases {
                        case.name = nothing.clone();
                    }
                }
                Node::Wrapper { name, .. } | Node::Named { name, .. } => *name = nothing.clone(),
                Node::Open(_)
                | Node::Text { .. }
                | Node::Fixed { .. }
                | Node::Sequence { .. }
                | Node::Array { .. } => {}
            }
        }
        Self { graph: Some(Arc::new(Graph::new(nodes))), slot: self.slot }
    }

    fn leaf(node: Node) -> Self {
        Parts::default().finish(node)
    }

    fn named(kind: TcKind, id: &str, name: &str) -> Self {
        Self::leaf(Node::Named { kind, id: id.into(), name: name.into() })
    }

    fn wrapper(kind: TcKind, id: &str, name: &str, content: Self) -> Self {
        let mut parts = Parts::default();
        let content = parts.add(&content);
        parts.finish(Node::Wrapper { kind, id: id.into(), name: name.into(), content })
    }

    fn record<'m>(
        kind: TcKind,
        id: &str,
        name: &str,
        members: impl IntoIterator<Item = (&'m str, Self)>,
    ) -> Self {
        let mut parts = Parts::default();
        let members = members.into_iter().map(|(name, ty)| Member {
            name: name.into(),
            slot: parts.add(&ty),
            visibility: Visibility::Public,
        });
        let members = members.collect();
        parts.finish(Node::Struct { kind, id: id.into(), name: name.into(), members })
    }

    fn state<'m>(
        kind: TcKind,
        id: &str,
        name: &str,
        modifier: ValueModifier,
        base: Option<Self>,
        members: impl IntoIterator<Item = (&'m str, Self, Visibility)>,
    ) -> Self {
        let mut parts = Parts::default();
        let base = parts.add(&base.unwrap_or_default());
        let members = members.into_iter().map(|(name, ty, visibility)| Member {
            name: name.into(),
            slot: parts.add(&ty),
            visibility,
        });
        let members = members.collect();
        parts.finish(Node::Value {
            kind,
            id: id.into(),
            name: name.into(),
            modifier,
            base,
            members,
        })
    }
}

/// Returns the slot of a type that is represented without a node although its kind can have one.
pub(super) fn without_node(node: &Node) -> Option<Slot> {
    let kind = match node {
        Node::Text { bound: 0, .. } => return Some(Slot::of_kind(node.kind())),
        Node::Named { kind, .. } => *kind,
        Node::Value {
            kind: TcKind::Value, modifier: ValueModifier::None, base, members, ..
        } if members.is_empty() && *base == Slot::of_kind(TcKind::Null) => TcKind::Value,
        _ => return None,
    };
    let (id, name) = node.names()?;
    WELL_KNOWN.contains(&(kind, id, name)).then_some(Slot::of_kind(kind))
}

/// Merger of the graphs of a new type's components into one graph.
#[derive(Default)]
struct Parts {
    nodes: Vec<Node>,
    /// Graphs already in `nodes`, with the index of their first node.
    graphs: Vec<(Arc<Graph>, usize)>,
}

impl Parts {
    fn add(&mut self, ty: &TypeCode) -> Slot {
        let (Some(graph), Some(node)) = (&ty.graph, ty.slot.node()) else {
            return ty.slot;
        };
        let known = self.graphs.iter().find(|(known, _)| Arc::ptr_eq(known, graph));
        let base = match known {
            Some(&(_, base)) => base,
            None => {
                let base = self.nodes.len();
                self.nodes.extend_from_slice(graph.nodes());
                shift(&mut self.nodes[base..], base);
                self.graphs.push((graph.clone(), base));
                base
            }
        };
        Slot::of_node(base + node)
    }

    fn finish(mut self, root: Node) -> TypeCode {
        if let Some(slot) = without_node(&root) {
            return TypeCode { graph: None, slot };
        }
        self.nodes.push(root);
        let root = self.nodes.len() - 1;
        let replaced = merged(&self.nodes, bound(&self.nodes));
        let (nodes, root) = reachable(self.nodes, &replaced, root);
        TypeCode { graph: Some(Arc::new(Graph::new(nodes))), slot: root }
    }
}

/// Shifts node numbers for nodes that are appended after `by` others.
fn shift(nodes: &mut [Node], by: usize) {
    for slot in nodes.iter_mut().flat_map(Node::children_mut) {
        if let Some(node) = slot.node() {
            *slot = Slot::of_node(by + node);
        }
    }
}

/// Returns for each node its replacement: for an open one, the node of the type with its id.
fn bound(nodes: &[Node]) -> Vec<usize> {
    let mut defined = Table::new();
    for (at, node) in nodes.iter().enumerate() {
        if let Some((id, _)) = node.names()
            && !id.is_empty()
        {
            defined.entry(id).or_insert(at);
        }
    }
    let place = |(at, node): (usize, &Node)| match node {
        Node::Open(id) => defined.get(id).copied().unwrap_or(at),
        _ => at,
    };
    nodes.iter().enumerate().map(place).collect()
}

/// Merges nodes that no walk through them could distinguish. Otherwise a type would contain a copy
/// of each component type for each path to it.
///
/// Nodes that look alike except for their children start in one class, which is split when their
/// children differ.
fn merged(nodes: &[Node], places: Vec<usize>) -> Vec<usize> {
    /// Maximum nesting depth that is processed; deeper types are not worth the time.
    const ROUNDS: usize = 100;

    let mut classes = vec![0; nodes.len()];
    let mut count = {
        let mut known: Table<Node, usize> = Table::new();
        for (class, node) in classes.iter_mut().zip(nodes) {
            let mut alone = node.clone();
            alone
                .children_mut()
                .filter(|child| child.node().is_some())
                .for_each(|child| *child = Slot::of_node(0));
            let next = known.len();
            *class = *known.entry(alone).or_insert(next);
        }
        known.len()
    };
    if count == nodes.len() {
        return places;
    }
    for _ in 0..ROUNDS {
        let mut known: Table<Vec<usize>, usize> = Table::new();
        let finer = nodes.iter().enumerate().map(|(at, node)| {
            let children = node.children().filter_map(Slot::node);
            let key = core::iter::once(at).chain(children).map(|at| classes[places[at]]);
            let next = known.len();
            *known.entry(key.collect()).or_insert(next)
        });
        classes = finer.collect();
        if known.len() == count {
            let mut first = vec![usize::MAX; count];
            for &at in &places {
                first[classes[at]] = first[classes[at]].min(at);
            }
            return places.iter().map(|&at| first[classes[at]]).collect();
        }
        count = known.len();
    }
    places
}

/// Keeps the nodes that are reachable, in the order of a walk from the root.
fn reachable(nodes: Vec<Node>, places: &[usize], root: usize) -> (Vec<Node>, Slot) {
    let mut numbers = vec![None; nodes.len()];
    let mut kept = Vec::new();
    let mut wanted = vec![places[root]];
    while let Some(at) = wanted.pop() {
        if numbers[at].is_some() {
            continue;
        }
        numbers[at] = Some(kept.len());
        kept.push(at);
        wanted.extend(nodes[at].children().filter_map(Slot::node).map(|child| places[child]));
    }
    let number = |at: usize| Slot::of_node(numbers[places[at]].expect("walked"));
    let nodes = kept.iter().map(|&at| {
        let mut node = nodes[at].clone();
        for child in node.children_mut() {
            if let Some(at) = child.node() {
                *child = number(at);
            }
        }
        node
    });
    (nodes.collect(), number(root))
}
