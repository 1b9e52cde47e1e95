use crate::prelude::*;
use alloc::sync::Arc;
use core::hash::{Hash, Hasher};

use super::graph::{Node, Slot};
use super::{TypeCode, TypeRef};

impl TypeCode {
    /// Reports whether the types are equal in every respect, names and aliases included.
    ///
    /// Terminates for all types, recursive ones included, in time proportional to their sizes.
    /// Allocates if both have component types.
    pub fn equal(&self, other: &Self) -> bool {
        Comparison::of(self.as_ref(), other.as_ref(), Rules::Equal)
    }

    /// Reports whether the types have the same values: aliases and names are ignored.
    ///
    /// As CORBA specifies, two types with repository ids are equivalent if and only if their ids
    /// are equal, regardless of their contents. Other types are compared by their structure.
    ///
    /// ```
    /// use oxorb_cdr::TypeCode;
    ///
    /// let name = TypeCode::alias("IDL:Name:1.0", "Name", TypeCode::STRING);
    /// assert!(name.equivalent(&TypeCode::STRING) && !name.equal(&TypeCode::STRING));
    /// ```
    pub fn equivalent(&self, other: &Self) -> bool {
        Comparison::of(self.as_ref(), other.as_ref(), Rules::Equivalent)
    }
}

impl PartialEq for TypeCode {
    fn eq(&self, other: &Self) -> bool {
        self.equal(other)
    }
}

impl Eq for TypeCode {}

impl Hash for TypeCode {
    /// Hashes kind, id and name, which distinguish most types.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.kind(), self.id(), self.name()).hash(state);
    }
}

impl PartialEq for TypeRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        Comparison::of(*self, *other, Rules::Equal)
    }
}

impl Eq for TypeRef<'_> {}

#[derive(Clone, Copy, PartialEq)]
enum Rules {
    Equal,
    Equivalent,
}

/// Comparison that assumes two types to be equal until they are found to differ. Assumptions are
/// recorded as classes of nodes, of which there are at most as many as nodes, so the comparison
/// terminates quickly.
struct Comparison<'a> {
    rules: Rules,
    /// Union-find structure over the nodes of the left graph, followed by those of the right one:
    /// for each node another node of its class, or the node itself.
    classes: Vec<u32>,
    left_nodes: usize,
    pending: Vec<(TypeRef<'a>, TypeRef<'a>)>,
}

impl<'a> Comparison<'a> {
    fn of(left: TypeRef<'a>, right: TypeRef<'a>, rules: Rules) -> bool {
        let mut comparison = Self {
            rules,
            classes: Vec::new(),
            left_nodes: left.graph.map_or(0, |graph| graph.nodes().len()),
            pending: vec![(left, right)],
        };
        while let Some((left, right)) = comparison.pending.pop() {
            if !comparison.agree(left, right) {
                return false;
            }
        }
        true
    }

    /// Reports whether two nodes agree, apart from their component types, which are compared later.
    fn agree(&mut self, mut left: TypeRef<'a>, mut right: TypeRef<'a>) -> bool {
        if self.rules == Rules::Equivalent {
            (left, right) = (left.resolved(), right.resolved());
        }
        let same_graph = match (left.graph, right.graph) {
            (Some(left), Some(right)) => Arc::ptr_eq(left, right),
            _ => false,
        };
        if left.slot == right.slot && (same_graph || left.slot.node().is_none()) {
            return true;
        }
        if left.kind() != right.kind() {
            return false;
        }
        // A pair that was compared before is assumed to be equal. Otherwise a recursive type would
        // be compared forever, and the names of a type mentioned n times n times.
        if !self.assume(left.slot, right.slot) {
            return true;
        }
        let ids = (left.id(), right.id());
        if self.rules == Rules::Equivalent
            && let (Some(left), Some(right)) = ids
            && !left.is_empty()
            && !right.is_empty()
        {
            return left == right;
        }
        if self.rules == Rules::Equal && (ids.0 != ids.1 || left.name() != right.name()) {
            return false;
        }
        let (Some(left_node), Some(right_node)) = (left.node(), right.node()) else {
            // At least one type has no node. A named type without a node has no members, and
            // differs only by its kind, id and name. A string without a node is unbounded, so it
            // differs from a string with a node, which is bounded.
            return left.id().is_some() && left.members().len() == right.members().len();
        };
        let parts = |ty: TypeRef<'a>, node: &'a Node| {
            node.children().map(move |slot| ty.part(slot)).collect::<Vec<_>>()
        };
        let (left_parts, right_parts) = (parts(left, left_node), parts(right, right_node));
        self.pending.extend(left_parts.iter().copied().zip(right_parts.iter().copied()));
        left_parts.len() == right_parts.len() && self.details_agree(left_node, right_node)
    }

    /// Compares everything except component types.
    fn details_agree(&self, left: &Node, right: &Node) -> bool {
        let named = self.rules == Rules::Equal;
        match (left, right) {
            (Node::Open(left), Node::Open(right)) => left == right,
            (Node::Text { bound: left, .. }, Node::Text { bound: right, .. })
            | (Node::Sequence { bound: left, .. }, Node::Sequence { bound: right, .. })
            | (Node::Array { length: left, .. }, Node::Array { length: right, .. }) => {
                left == right
            }
            (Node::Fixed { .. }, Node::Fixed { .. }) => left == right,
            (Node::Wrapper { .. }, Node::Wrapper { .. })
            | (Node::Named { .. }, Node::Named { .. }) => true,
            (Node::Struct { members: left, .. }, Node::Struct { members: right, .. }) => {
                let mut pairs = left.iter().zip(right);
                !named || pairs.all(|(left, right)| left.name == right.name)
            }
            (Node::Union(left), Node::Union(right)) => {
                let mut pairs = (0u32..).zip(left.cases.iter().zip(&right.cases));
                left.default == right.default
                    && pairs.all(|(at, (a, b))| {
                        (a.label == b.label || left.default == Some(at))
                            && (!named || a.name == b.name)
                    })
            }
            (Node::Enum { members: left, .. }, Node::Enum { members: right, .. }) => {
                left.len() == right.len() && (!named || left == right)
            }
            (
                Node::Value { modifier: left_modifier, members: left, .. },
                Node::Value { modifier: right_modifier, members: right, .. },
            ) => {
                left_modifier == right_modifier
                    && left.iter().zip(right).all(|(left, right)| {
                        left.visibility == right.visibility && (!named || left.name == right.name)
                    })
            }
            _ => false,
        }
    }

    /// Merges the classes of two nodes; returns `false` if they were in one already.
    fn assume(&mut self, left: Slot, right: Slot) -> bool {
        let (Some(left), Some(right)) = (left.node(), right.node()) else {
            return true;
        };
        let left = self.class(left);
        let right = self.class(self.left_nodes + right);
        if left == right {
            return false;
        }
        self.classes[left] = right as u32;
        true
    }

    fn class(&mut self, mut at: usize) -> usize {
        while self.classes.len() <= at {
            self.classes.push(self.classes.len() as u32);
        }
        while self.classes[at] as usize != at {
            let next = self.classes[at] as usize;
            self.classes[at] = self.classes[next]; // halves the way for the next time
            at = next;
        }
        at
    }
}
