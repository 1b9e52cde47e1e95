//! Types as graphs of nodes that refer to each other by number, so that a recursive type is a cycle
//! of numbers, is freed like any vector, and takes one counter to share.

use crate::prelude::*;
use alloc::sync::Arc;

use crate::decimal::MAX_DIGITS;
use crate::primitive::padding;
use crate::{TcKind, ValueModifier, Visibility};

/// Name shared by a type, the types that contain it, and its dynamic values.
pub(crate) type Name = Arc<str>;

/// Type within a graph: a kind without a node, or the number of a node.
///
/// Kinds that have parameters but are used here without a node stand for their most common
/// instance: unbounded strings, `Object`, `ValueBase` and `AbstractBase`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Slot(u32);

const FIRST_NODE: u32 = 64;

/// Maximum length of a chain of typedefs, since it is followed on each access.
pub(crate) const MAX_ALIASES: u8 = 64;

impl Slot {
    pub(crate) const fn of_kind(kind: TcKind) -> Self {
        Self(kind as u32)
    }

    pub(crate) fn of_node(node: usize) -> Self {
        Self(node as u32 + FIRST_NODE)
    }

    #[inline]
    pub(crate) const fn node(self) -> Option<usize> {
        match self.0.checked_sub(FIRST_NODE) {
            Some(node) => Some(node as usize),
            None => None,
        }
    }

    /// Returns a number unique to the slot.
    pub(crate) const fn number(self) -> usize {
        self.0 as usize
    }

    /// Returns the kind of a slot without a node.
    #[inline]
    pub(crate) const fn kind(self) -> Option<TcKind> {
        TcKind::from_number(self.0)
    }
}

/// Type with parameters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Node {
    /// Placeholder for the type with this repository id, not defined yet.
    Open(Name),
    Text {
        wide: bool,
        bound: u32,
    },
    Fixed {
        digits: u16,
        scale: i16,
    },
    Sequence {
        element: Slot,
        bound: u32,
    },
    Array {
        element: Slot,
        length: u32,
    },
    /// Typedef or value box.
    Wrapper {
        kind: TcKind,
        id: Name,
        name: Name,
        content: Slot,
    },
    /// Struct or exception.
    Struct {
        kind: TcKind,
        id: Name,
        name: Name,
        members: Box<[Member]>,
    },
    Union(Box<UnionNode>),
    Enum {
        id: Name,
        name: Name,
        members: Box<[Name]>,
    },
    /// Type of which only the name is known: an interface of any kind, native, component or home.
    Named {
        kind: TcKind,
        id: Name,
        name: Name,
    },
    /// Valuetype or event type.
    Value {
        kind: TcKind,
        id: Name,
        name: Name,
        modifier: ValueModifier,
        base: Slot,
        members: Box<[Member]>,
    },
}

/// Member of a struct, exception or valuetype.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Member {
    pub(crate) name: Name,
    pub(crate) slot: Slot,
    /// Visibility of a valuetype's member; public for other members.
    pub(crate) visibility: Visibility,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct UnionNode {
    pub(crate) id: Name,
    pub(crate) name: Name,
    pub(crate) discriminator: Slot,
    /// Index of the default member.
    pub(crate) default: Option<u32>,
    pub(crate) cases: Box<[Case]>,
    /// Labels in ascending order, each with the first member that it selects.
    pub(crate) by_label: Box<[(i128, u32)]>,
    /// Smallest nonnegative number that is not a label.
    pub(crate) unused: i128,
}

/// Label with the member that it selects. A member with several labels occurs several times.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Case {
    /// Value of the label; ignored for the default.
    pub(crate) label: i128,
    pub(crate) name: Name,
    pub(crate) slot: Slot,
}

impl UnionNode {
    pub(crate) fn new(
        id: Name,
        name: Name,
        discriminator: Slot,
        default: Option<u32>,
        cases: Vec<Case>,
    ) -> Self {
        let labelled = (0u32..)
            .zip(&cases)
            .filter(|&(at, _)| Some(at) != default)
            .map(|(at, case)| (case.label, at));
        let mut by_label: Vec<_> = labelled.collect();
        by_label.sort_unstable();
        by_label.dedup_by_key(|&mut (label, _)| label);
        let natural = by_label.iter().map(|&(label, _)| label);
        let taken =
            natural.filter(|&label| label >= 0).zip(0..).take_while(|&(label, at)| label == at);
        let unused = taken.count() as i128;
        Self {
            id,
            name,
            discriminator,
            default,
            unused,
            cases: cases.into(),
            by_label: by_label.into(),
        }
    }

    /// Returns the index of the member that a discriminant selects.
    pub(crate) fn select(&self, label: i128) -> Option<u32> {
        let found = self.by_label.binary_search_by_key(&label, |&(label, _)| label);
        match found {
            Ok(at) => Some(self.by_label[at].1),
            Err(_) => self.default,
        }
    }
}

impl Node {
    pub(crate) fn kind(&self) -> TcKind {
        match self {
            Self::Open(_) => TcKind::Null,
            Self::Text { wide: false, .. } => TcKind::String,
            Self::Text { wide: true, .. } => TcKind::Wstring,
            Self::Fixed { .. } => TcKind::Fixed,
            Self::Sequence { .. } => TcKind::Sequence,
            Self::Array { .. } => TcKind::Array,
            Self::Union(_) => TcKind::Union,
            Self::Enum { .. } => TcKind::Enum,
            Self::Wrapper { kind, .. }
            | Self::Struct { kind, .. }
            | Self::Named { kind, .. }
            | Self::Value { kind, .. } => *kind,
        }
    }

    /// Returns repository id and name, for kinds that have them.
    pub(crate) fn names(&self) -> Option<(&Name, &Name)> {
        match self {
            Self::Wrapper { id, name, .. }
            | Self::Struct { id, name, .. }
            | Self::Enum { id, name, .. }
            | Self::Named { id, name, .. }
            | Self::Value { id, name, .. } => Some((id, name)),
            Self::Union(union) => Some((&union.id, &union.name)),
            _ => None,
        }
    }

    /// Returns the component types, in wire order.
    pub(crate) fn children(&self) -> impl Iterator<Item = Slot> {
        let (one, members, cases): (Option<Slot>, &[Member], &[Case]) = match self {
            Self::Sequence { element, .. } | Self::Array { element, .. } => {
                (Some(*element), &[], &[])
            }
            Self::Wrapper { content, .. } => (Some(*content), &[], &[]),
            Self::Struct { members, .. } => (None, members, &[]),
            Self::Union(union) => (Some(union.discriminator), &[], &union.cases),
            Self::Value { base, members, .. } => (Some(*base), members, &[]),
            _ => (None, &[], &[]),
        };
        one.into_iter()
            .chain(members.iter().map(|member| member.slot))
            .chain(cases.iter().map(|case| case.slot))
    }

    /// Returns all component types for modification.
    pub(crate) fn children_mut(&mut self) -> impl Iterator<Item = &mut Slot> {
        let (one, members, cases): (Option<&mut Slot>, &mut [Member], &mut [Case]) = match self {
            Self::Sequence { element, .. } | Self::Array { element, .. } => {
                (Some(element), &mut [], &mut [])
            }
            Self::Wrapper { content, .. } => (Some(content), &mut [], &mut []),
            Self::Struct { members, .. } => (None, members, &mut []),
            Self::Union(union) => (Some(&mut union.discriminator), &mut [], &mut union.cases),
            Self::Value { base, members, .. } => (Some(base), members, &mut []),
            _ => (None, &mut [], &mut []),
        };
        one.into_iter()
            .chain(members.iter_mut().map(|member| &mut member.slot))
            .chain(cases.iter_mut().map(|case| &mut case.slot))
    }

    /// Reports whether the node itself, apart from its children, makes the type invalid.
    fn has_no_values(&self) -> bool {
        match *self {
            Self::Open(_) => true,
            Self::Fixed { digits, scale } => {
                !(1..=MAX_DIGITS as u16).contains(&digits) || !(0..=digits as i16).contains(&scale)
            }
            _ => false,
        }
    }

    /// Reports whether a value of this type contains values of its children inline, so that the
    /// type must not contain itself.
    fn contains_children(&self) -> bool {
        !matches!(
            self,
            Self::Sequence { .. }
                | Self::Value { .. }
                | Self::Wrapper { kind: TcKind::ValueBox, .. }
        )
    }
}

/// Graph of types that contain each other.
#[derive(Debug)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    facts: Vec<Facts>,
    /// Whether some value may contain characters, which depend on a code set.
    text: bool,
    /// Whether some value may contain references or valuetypes, which depend on an ORB.
    bound: bool,
    /// Largest alignment in any value.
    align: usize,
    /// Whether every type is defined, can have values, and contains itself only through a sequence
    /// or a valuetype.
    sound: bool,
}

/// Properties common to all values of a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Facts {
    /// Size for each start offset modulo eight, if it depends on nothing else.
    pub(crate) layout: Option<[u32; 8]>,
    /// Minimum size, in octets.
    pub(crate) min: u32,
}

impl Graph {
    pub(crate) fn new(nodes: Vec<Node>) -> Self {
        let mut graph = Self {
            facts: vec![Facts::NOTHING; nodes.len()],
            text: nodes.iter().any(|node| {
                matches!(node, Node::Text { .. }) || node.children().any(may_hold_text)
            }),
            bound: nodes.iter().any(|node| node_is_bound(node) || node.children().any(is_bound)),
            align: nodes.iter().map(largest_alignment).max().unwrap_or(1),
            sound: !nodes.iter().any(Node::has_no_values),
            nodes,
        };
        graph.find_facts();
        graph
    }

    #[inline]
    pub(crate) fn node(&self, at: usize) -> &Node {
        &self.nodes[at]
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    #[inline]
    pub(crate) fn facts(&self, at: usize) -> &Facts {
        &self.facts[at]
    }

    pub(crate) fn holds_text(&self) -> bool {
        self.text
    }

    pub(crate) fn is_bound(&self) -> bool {
        self.bound
    }

    pub(crate) fn align(&self) -> usize {
        self.align
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.sound
    }

    /// Computes the facts of each type after those of its component types. Does not recurse,
    /// because a chain of types may be as long as the graph.
    fn find_facts(&mut self) {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Entered,
            Done,
        }
        let mut states = vec![State::New; self.nodes.len()];
        let mut aliases = vec![0u8; self.nodes.len()];
        let mut stack = Vec::new();
        for start in 0..self.nodes.len() {
            stack.push(start);
            while let Some(&at) = stack.last() {
                let node = &self.nodes[at];
                match states[at] {
                    State::New => {
                        states[at] = State::Entered;
                        if node.contains_children() {
                            for child in node.children().filter_map(Slot::node) {
                                match states[child] {
                                    State::New => stack.push(child),
                                    State::Entered => self.sound = false,
                                    State::Done => {}
                                }
                            }
                        }
                    }
                    State::Entered => {
                        self.facts[at] = self.facts_of(node);
                        if let Node::Wrapper { kind: TcKind::Alias, content, .. } = node {
                            let behind = content.node().map_or(0, |content| aliases[content]);
                            aliases[at] = behind.saturating_add(1);
                            self.sound &= aliases[at] <= MAX_ALIASES;
                        }
                        states[at] = State::Done;
                        stack.pop();
                    }
                    State::Done => {
                        stack.pop();
                    }
                }
            }
        }
    }

    fn facts_of(&self, node: &Node) -> Facts {
        match node {
            Node::Open(_) => Facts::NOTHING,
            Node::Text { .. } | Node::Sequence { .. } | Node::Value { .. } => Facts::at_least(4),
            Node::Fixed { .. } => Facts::at_least(1), // JacORB leaves out leading zeros
            Node::Array { element, length } => self.slot_facts(*element).times(*length),
            Node::Wrapper { kind, content, .. } => match kind {
                TcKind::Alias => self.slot_facts(*content),
                _ => Facts::at_least(4),
            },
            Node::Struct { kind, members, .. } => {
                let start = match kind {
                    // The members follow the repository id, but omniORB omits the id, so it may
                    // take no octets.
                    TcKind::Except => Facts::at_least(0),
                    _ => Facts::NOTHING,
                };
                members.iter().fold(start, |facts, member| facts.then(self.slot_facts(member.slot)))
            }
            Node::Union(union) => Facts { layout: None, ..self.slot_facts(union.discriminator) },
            Node::Enum { .. } => Facts::number(4),
            Node::Named { kind, .. } => match kind {
                TcKind::AbstractInterface => Facts::at_least(1),
                _ => Facts::at_least(8),
            },
        }
    }

    fn slot_facts(&self, slot: Slot) -> Facts {
        match slot.node() {
            Some(node) => self.facts[node],
            None => Facts::of_kind(slot.kind().expect("a slot is a kind or a node")),
        }
    }
}

/// Reports whether values of a type without a node may contain characters.
fn may_hold_text(slot: Slot) -> bool {
    use TcKind::*;
    matches!(slot.kind(), Some(Char | Wchar | String | Wstring | Any | Value | AbstractInterface))
}

/// Reports whether values of this node, apart from those of its component types, are bound to an
/// ORB.
fn node_is_bound(node: &Node) -> bool {
    match node {
        Node::Value { .. } => true,
        Node::Wrapper { kind, .. } => *kind == TcKind::ValueBox,
        Node::Named { kind, .. } => *kind != TcKind::Native,
        _ => false,
    }
}

/// Reports whether values of a type without a node may be bound to an ORB.
fn is_bound(slot: Slot) -> bool {
    use TcKind::*;
    matches!(slot.kind(), Some(Objref | Any | Value | AbstractInterface | Component | Home))
}

/// Reports whether values of this kind, which needs no graph, may be bound to an ORB.
pub(crate) fn kind_is_bound(kind: TcKind) -> bool {
    is_bound(Slot::of_kind(kind))
}

/// Reports whether values of this kind, which needs no graph, may contain characters.
pub(crate) fn kind_holds_text(kind: TcKind) -> bool {
    may_hold_text(Slot::of_kind(kind))
}

/// Returns the largest alignment in a value of this node, apart from those of its component types.
fn largest_alignment(node: &Node) -> usize {
    let own = match node {
        Node::Value { .. } => 8,
        Node::Wrapper { kind, .. } | Node::Named { kind, .. } => match kind {
            TcKind::ValueBox | TcKind::AbstractInterface => 8,
            TcKind::Alias => 1,
            _ => 4,
        },
        Node::Open(_) | Node::Fixed { .. } | Node::Array { .. } | Node::Union(_) => 1,
        Node::Struct { kind, .. } => match kind {
            TcKind::Except => 4,
            _ => 1,
        },
        Node::Text { .. } | Node::Sequence { .. } | Node::Enum { .. } => 4,
    };
    let children = node.children().filter_map(Slot::kind).map(kind_alignment);
    children.fold(own, usize::max)
}

/// Returns the largest alignment in a value of a kind that needs no node.
pub(crate) fn kind_alignment(kind: TcKind) -> usize {
    use TcKind::*;
    match kind {
        Null | Void | Boolean | Char | Octet => 1,
        Short | Ushort | Wchar => 2,
        Long | Ulong | Float | TypeCode | Principal | Objref | String | Wstring => 4,
        _ => 8,
    }
}

impl Facts {
    pub(crate) const NOTHING: Self = Self { layout: Some([0; 8]), min: 0 };

    const fn at_least(min: u32) -> Self {
        Self { layout: None, min }
    }

    fn number(size: u32) -> Self {
        let align = size.min(8) as usize;
        Self {
            layout: Some(core::array::from_fn(|phase| padding(phase, align) as u32 + size)),
            min: size,
        }
    }

    /// Returns the facts of a kind that needs no node.
    pub(crate) fn of_kind(kind: TcKind) -> Self {
        use TcKind::*;
        match kind {
            Null | Void => Self::NOTHING,
            Boolean | Char | Octet => Self::number(1),
            Short | Ushort => Self::number(2),
            Long | Ulong | Float => Self::number(4),
            Double | Longlong | Ulonglong => Self::number(8),
            Longdouble => Self::number(16),
            Wchar | AbstractInterface => Self::at_least(1),
            Objref => Self::at_least(8),
            _ => Self::at_least(4),
        }
    }

    fn then(self, next: Self) -> Self {
        Self {
            layout: self.layout.and_then(|mut sizes| {
                let next = next.layout?;
                for (phase, size) in sizes.iter_mut().enumerate() {
                    *size = size.checked_add(next[(phase + *size as usize) & 7])?;
                }
                Some(sizes)
            }),
            min: self.min.saturating_add(next.min),
        }
    }

    fn times(self, count: u32) -> Self {
        let Some(rest) = count.checked_sub(1) else {
            return Self::NOTHING;
        };
        Self {
            layout: self.layout.and_then(|mut sizes| {
                let all = u64::from(self.stride()?) * u64::from(rest);
                let all = u32::try_from(all).ok()?;
                for size in &mut sizes {
                    *size = size.checked_add(all)?;
                }
                Some(sizes)
            }),
            min: self.min.saturating_mul(count),
        }
    }

    /// Returns the distance from one element to the next, from the second on; see
    /// [`Layout::stride`](crate::Layout::stride).
    pub(crate) fn stride(&self) -> Option<u32> {
        self.layout.map(|sizes| sizes[(sizes[0] & 7) as usize])
    }

    /// Reports whether the values of the type take no octets.
    pub(crate) fn is_empty(&self) -> bool {
        self.layout == Some([0; 8])
    }
}
