//! Valuetypes and event types (CORBA 3.3 part 1, 7.9).

use super::{Annotation, DefId, Export, Field, Param};
use crate::source::Span;

/// A valuetype or, with `event`, an event type.
#[derive(Debug, Clone, Default)]
pub struct ValueType {
    /// Plain, custom or abstract.
    pub kind: ValueKind,
    /// `eventtype`.
    pub event: bool,
    /// The concrete base is `truncatable`: a receiver that does not know this
    /// type may take it for the base.
    pub truncatable: bool,
    /// Direct bases in order; one that has state can only be the first.
    pub bases: Vec<DefId>,
    /// Supported interfaces in order.
    pub supports: Vec<DefId>,
    /// Types, constants and exceptions declared inside, in order.
    pub members: Vec<DefId>,
    /// Own state in order; for all of it see [`Model::all_state`](super::Model::all_state).
    pub state: Vec<StateMember>,
    /// Factories in order.
    pub factories: Vec<Factory>,
    /// Operations and attributes in order, own ones only.
    pub exports: Vec<Export>,
}

/// The kinds of valuetypes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValueKind {
    /// Valuetype with state that is marshalled member by member.
    #[default]
    Stateful,
    /// Valuetype with state that its implementation marshals.
    Custom,
    /// Valuetype with operations only.
    Abstract,
}

/// State member.
#[derive(Debug, Clone)]
pub struct StateMember {
    /// `public`, not `private`.
    pub public: bool,
    /// Name and type.
    pub field: Field,
}

/// `factory` of a valuetype or home, `finder` of a home; only `in` parameters.
#[derive(Debug, Clone)]
pub struct Factory {
    /// Name without escape.
    pub name: String,
    /// Span of the name.
    pub span: Span,
    /// The comment before it.
    pub doc: String,
    /// All that were applied.
    pub annotations: Vec<Annotation>,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Exceptions in order.
    pub raises: Vec<DefId>,
}
