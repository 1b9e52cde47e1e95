//! Valuetypes and event types (CORBA 3.3 part 1, 7.9).

use super::{Annotation, DefId, Export, Field, Param};
use crate::source::Span;
use std::sync::Arc;

/// Valuetype or, with `event`, event type.
#[derive(Debug, Clone, Default)]
pub struct ValueType {
    /// Plain, custom or abstract.
    pub kind: ValueKind,
    /// Whether the type is an `eventtype`.
    pub event: bool,
    /// Whether the concrete base is `truncatable`: a receiver that does not know this type may treat it as the base.
    pub truncatable: bool,
    /// Direct bases, in order; only the first may have state.
    pub bases: Vec<DefId>,
    /// Supported interfaces in order.
    pub supports: Vec<DefId>,
    /// Types, constants and exceptions declared inside, in order.
    pub members: Vec<DefId>,
    /// Own state, in order; [`Model::all_state`](super::Model::all_state) includes inherited state.
    pub state: Vec<StateMember>,
    /// Factories in order.
    pub factories: Vec<Factory>,
    /// Operations and attributes, in order, without inherited ones.
    pub exports: Vec<Export>,
}

/// Kind of a valuetype.
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
    /// Whether the member is `public`, not `private`.
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
    /// Comment before the declaration.
    pub doc: Arc<str>,
    /// All applied annotations.
    pub annotations: Arc<[Annotation]>,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// Exceptions in order.
    pub raises: Vec<DefId>,
}
