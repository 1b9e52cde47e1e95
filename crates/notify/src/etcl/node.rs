//! Tree of a parsed constraint.

use crate::etcl::arithmetic::{Comparison, Operator};
use crate::etcl::path::{Path, Root, Step, UnionLabel};
use crate::etcl::value::Value;
use crate::memory::block;

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Literal(Value<'static>),
    Path(Path),
    Exist(Path),
    Default(Path),
    Not(Box<Node>),
    All(Vec<Node>),
    Any(Vec<Node>),
    Compare(Comparison, Box<[Node; 2]>),
    Compute(Box<Node>, Vec<(Operator, Node)>),
    In(Box<Node>, Path),
    /// Whether the first operand is an element of the second.
    Within(Box<[Node; 2]>),
    /// A preference. In TAO's dialect it is never true.
    Never,
}

impl Node {
    /// Returns the size in octets of the heap memory below the node. The recursion is limited by the depth that the
    /// parser permits.
    pub(crate) fn octets(&self) -> usize {
        match self {
            Self::Literal(Value::Text(text)) => block(text.len()),
            Self::Literal(_) | Self::Never => 0,
            Self::Path(path) | Self::Exist(path) | Self::Default(path) => path.octets(),
            Self::Not(operand) => block(size_of::<Self>()) + operand.octets(),
            Self::All(operands) | Self::Any(operands) => of_all(operands),
            Self::Compare(_, operands) | Self::Within(operands) => of_all(&**operands),
            Self::Compute(first, rest) => {
                let operands = rest.iter().map(|(_, operand)| operand.octets());
                let list = block(size_of_val(&**rest)) + operands.sum::<usize>();
                block(size_of::<Self>()) + first.octets() + list
            }
            Self::In(value, path) => block(size_of::<Self>()) + value.octets() + path.octets(),
        }
    }
}

fn of_all(nodes: &[Node]) -> usize {
    block(size_of_val(nodes)) + nodes.iter().map(Node::octets).sum::<usize>()
}

impl Path {
    fn octets(&self) -> usize {
        let root = match &self.root {
            Root::Whole => 0,
            Root::Variable(name) => block(name.len()),
        };
        let names = self.steps.iter().map(|step| match step {
            Step::Member(name) | Step::Named(name) | Step::Label(UnionLabel::Text(name)) => {
                block(name.len())
            }
            _ => 0,
        });
        root + block(self.steps.capacity() * size_of::<Step>()) + names.sum::<usize>()
    }
}
