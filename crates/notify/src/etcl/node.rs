//! The tree of a parsed constraint.

use crate::etcl::arithmetic::{Comparison, Operator};
use crate::etcl::path::Path;
use crate::etcl::value::Value;

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
    /// Whether the first is a part of the second.
    Within(Box<[Node; 2]>),
    /// A preference: never true.
    Never,
}
