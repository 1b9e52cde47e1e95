//! Record of the names that a run declares and uses, from which the index of names is made.

use std::collections::HashSet;
use std::sync::Arc;

use super::scope::Entity;
use crate::model::DefId;
use crate::source::Span;

/// Names recorded so far.
#[derive(Debug, Default)]
pub(super) struct Record {
    notes: Vec<Note>,
    /// Place and name of each note. A name at a place is recorded once, with its first meaning.
    seen: HashSet<(Span, Box<str>)>,
    /// Declaration that is being resolved.
    pub(super) around: Around,
}

/// Text and comment of a declaration.
#[derive(Debug, Clone, Default)]
pub(super) struct Around {
    pub(super) whole: Span,
    /// Comment, shared by all names of the declaration.
    pub(super) doc: Arc<str>,
}

/// Name at a place.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) name: Box<str>,
    pub(super) span: Span,
    /// Whether the text at the place is the name.
    pub(super) is_literal: bool,
    pub(super) meaning: Meaning,
    /// Declaration at the place; `None` if the name is used there.
    pub(super) declared: Option<Declared>,
}

/// Declaration of a name.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) entity: Entity,
    /// Innermost definition around the declaration.
    pub(super) container: Option<DefId>,
    pub(super) around: Around,
}

/// Identity of a declaration.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning {
    /// Definition, which may be declared at several places.
    Def(DefId),
    /// Declaration at one place.
    Place(Span),
}

impl Record {
    pub(super) fn add(&mut self, note: Note) {
        if self.seen.insert((note.span, note.name.clone())) {
            self.notes.push(note);
        }
    }

    pub(super) fn notes(&self) -> &[Note] {
        &self.notes
    }
}
