use crate::prelude::*;
use crate::tables::Table;
use alloc::sync::Arc;

use super::graph::{Case, Graph, Member, Name, Node, Slot, UnionNode};
use super::{TypeCode, ValueModifier, Visibility, WELL_KNOWN};
use crate::TcKind;

/// Label that selects a member of a union.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Label {
    /// Any discriminant that selects no other member.
    Default,
    /// A discriminant, as a number: a boolean is 0 or 1, a character its code point, an enumerator its ordinal.
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

/// Making types. Each costs some allocations and time in proportion to the types it is made of, so types that are known
/// beforehand belong into a `static` [`LazyLock`](std::sync::LazyLock). Nothing is checked that IDL would check: a type
/// that cannot have values is one that is not [complete](Self::is_complete).
impl TypeCode {
    /// `string<bound>`; unbounded for 0.
    pub fn bounded_string(bound: u32) -> Self {
        Self::leaf(Node::Text { wide: false, bound })
    }

    /// `wstring<bound>`; unbounded for 0.
    pub fn bounded_wstring(bound: u32) -> Self {
        Self::leaf(Node::Text { wide: true, bound })
    }

    /// `fixed<digits, scale>`
    pub fn fixed(digits: u16, scale: i16) -> Self {
        Self::leaf(Node::Fixed { digits, scale })
    }

    /// `sequence<element>`
    pub fn sequence(element: Self) -> Self {
        Self::bounded_sequence(element, 0)
    }

    /// `sequence<element, bound>`; unbounded for 0.
    pub fn bounded_sequence(element: Self, bound: u32) -> Self {
        let mut parts = Parts::default();
        let element = parts.add(&element);
        parts.finish(Node::Sequence { element, bound })
    }

    /// `element[length]`; for more dimensions, the element is an array too.
    pub fn array(element: Self, length: u32) -> Self {
        let mut parts = Parts::default();
        let element = parts.add(&element);
        parts.finish(Node::Array { element, length })
    }

    /// `typedef content name`
    pub fn alias(id: &str, name: &str, content: Self) -> Self {
        Self::wrapper(TcKind::Alias, id, name, content)
    }

    /// `valuetype name content`
    pub fn value_box(id: &str, name: &str, content: Self) -> Self {
        Self::wrapper(TcKind::ValueBox, id, name, content)
    }

    /// `struct name { members }`
    pub fn structure<'m>(
        id: &str,
        name: &str,
        members: impl IntoIterator<Item = (&'m str, Self)>,
    ) -> Self {
        Self::record(TcKind::Struct, id, name, members)
    }

    /// `exception name { members }`
    pub fn exception<'m>(
        id: &str,
        name: &str,
        members: impl IntoIterator<Item = (&'m str, Self)>,
    ) -> Self {
        Self::record(TcKind::Except, id, name, members)
    }

    /// `union name switch (discriminator) { members }`; a member with several labels is given once for each.
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

    /// `enum name { members }`
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

    /// `interface name`
    pub fn interface(id: &str, name: &str) -> Self {
        Self::named(TcKind::Objref, id, name)
    }

    /// `abstract interface name`
    pub fn abstract_interface(id: &str, name: &str) -> Self {
        Self::named(TcKind::AbstractInterface, id, name)
    }

    /// `local interface name`; it has no values that could be sent.
    pub fn local_interface(id: &str, name: &str) -> Self {
        Self::named(TcKind::LocalInterface, id, name)
    }

    /// `native name`; it has no values that could be sent.
    pub fn native(id: &str, name: &str) -> Self {
        Self::named(TcKind::Native, id, name)
    }

    /// `component name`
    pub fn component(id: &str, name: &str) -> Self {
        Self::named(TcKind::Component, id, name)
    }

    /// `home name`
    pub fn home(id: &str, name: &str) -> Self {
        Self::named(TcKind::Home, id, name)
    }

    /// `valuetype name : base { members }`; without a base it is `None` or [`NULL`](Self::NULL).
    pub fn value<'m>(
        id: &str,
        name: &str,
        modifier: ValueModifier,
        base: impl Into<Option<Self>>,
        members: impl IntoIterator<Item = (&'m str, Self, Visibility)>,
    ) -> Self {
        Self::state(TcKind::Value, id, name, modifier, base.into(), members)
    }

    /// `eventtype name : base { members }`, as [`value`](Self::value).
    pub fn event<'m>(
        id: &str,
        name: &str,
        modifier: ValueModifier,
        base: impl Into<Option<Self>>,
        members: impl IntoIterator<Item = (&'m str, Self, Visibility)>,
    ) -> Self {
        Self::state(TcKind::Event, id, name, modifier, base.into(), members)
    }

    /// Stands for the type with this repository id within that type, which is not made yet.
    ///
    /// As soon as a type is made in which both occur, the two are one. Types that contain each other are made by
    /// spelling out one within the other; [`find`](Self::find) gives the other.
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

    /// Returns the type without the names of types and members, which take most of the octets when
    /// it is sent; repository ids stay.
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

/// The slot of a type that needs no node although it could have one.
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

/// Gathers the graphs of the types that a new type is made of into one.
#[derive(Default)]
struct Parts {
    nodes: Vec<Node>,
    /// The graphs already in `nodes`, and where each starts there.
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

/// Renumbers nodes that come after `by` others.
fn shift(nodes: &mut [Node], by: usize) {
    for slot in nodes.iter_mut().flat_map(Node::children_mut) {
        if let Some(node) = slot.node() {
            *slot = Slot::of_node(by + node);
        }
    }
}

/// Returns for each node the node that stands in its place: the type with the id of an open one.
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

/// Makes nodes one that no walk through them could tell apart. Without it a type would hold a copy of each type it is
/// made of for each way to get there.
///
/// Nodes start as the same if they look the same but for their children, and are told apart when children are.
fn merged(nodes: &[Node], places: Vec<usize>) -> Vec<usize> {
    /// Types nested more deeply than this are not worth the time.
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

/// Keeps the nodes that are needed, in the order of a walk from the root.
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
